/* SPDX-License-Identifier: MIT */
#include "index/patterns.h"
#include "scan/recorded_hooks.h"

static void test_moved_directory_has_the_same_id(void **state)
{
	struct case_state *p = *state;
	const struct name_events *name = named(p, "sub", EVENT_MOVED_HERE);
	uint64_t sub, file;

	make_dir(p->t, "one");
	make_dir(p->t, "other");
	make_dir(p->t, "one/sub");
	write_text(p->t, "one/sub/file", "1");
	follow(p);
	sub = id_of(p, "one/sub");
	file = id_of(p, "one/sub/file");
	move(p, "one/sub", "other/sub");
	recheck_dirs(p,
		     (struct recheck[]){
			     {.dir = id_of(p, "one"), .names = &name, .count = 1},
			     {.dir = id_of(p, "other"), .names = &name, .count = 1},
		     },
		     2);
	assert_int_equal(id_of(p, "one/sub"), 0);
	assert_int_equal(id_of(p, "other/sub"), sub);
	assert_int_equal(id_of(p, "other/sub/file"), file);
	assert_int_equal(count_calls(p, CALL_IDENTIFY), 1);
	assert_int_equal(count_calls(p, CALL_ENTER),
			 0); /* the index already has the names in the directory */
	assert_int_equal(count_calls(p, CALL_ADD_RECHECK), 0);
}

static void test_moved_directory_disappears_from_its_old_name(void **state)
{
	struct case_state *p = *state;
	uint64_t id;

	id = move_indexed_dir(p, "a/file");
	recheck_name(p, root_of(p), "b", EVENT_MOVED_HERE);
	assert_int_equal(id_of(p, "b"), id);
	assert_int_equal(id_of(p, "a"), 0);
	recheck_name(p, root_of(p), "a",
		     EVENT_MOVED_HERE); /* the recheck of the old name comes later */
	assert_int_equal(id_of(p, "b"), id);
	assert_true(id_of(p, "b/file") != 0);
}

static void test_directories_that_swap_names_are_both_moved(void **state)
{
	struct case_state *p = *state;
	const struct name_events *names[] = {named(p, "a", EVENT_MOVED_HERE),
					     named(p, "b", EVENT_MOVED_HERE)};
	uint64_t a, b;

	make_dir(p->t, "a");
	make_dir(p->t, "b");
	write_text(p->t, "a/of a", "1");
	follow(p);
	a = id_of(p, "a");
	b = id_of(p, "b");
	move(p, "a", "c");
	move(p, "b", "a");
	move(p, "c", "b");
	recheck_dirs(p, &(struct recheck){.dir = root_of(p), .names = names, .count = 2}, 1);
	assert_int_equal(id_of(p, "a"), b);
	assert_int_equal(id_of(p, "b"), a);
	assert_true(id_of(p, "b/of a") != 0);
}

static void test_moved_directory_is_walked_again_if_a_glob_has_a_slash(void **state)
{
	struct case_state *p = *state;
	char glob[] = "/b/file", *globs[] = {glob, NULL};
	CLEANUP(patterns_free) struct patterns excludes = {0};
	uint64_t id;

	assert_int_equal(patterns_make(&excludes, globs, &p->t->sources, PATTERN_TO_EXCLUDE), 0);
	p->t->settings.excludes = &excludes;
	id = move_indexed_dir(p, "a/file");
	recheck_name(p, root_of(p), "b", EVENT_MOVED_HERE);
	assert_int_equal(the_call(p, CALL_ADD_RECHECK)->id, id);
	assert_int_equal(the_call(p, CALL_ADD_RECHECK)->scope, RECHECK_TREE);
	recheck_dir(p, id, RECHECK_TREE);
	assert_int_equal(id_of(p, "b"), id);
	assert_int_equal(id_of(p, "b/file"), 0);
}

static void test_directory_gets_a_new_id_if_its_old_name_was_rechecked_first(void **state)
{
	struct case_state *p = *state;
	uint64_t id;

	id = move_indexed_dir(p, "a/file");
	recheck_name(p, root_of(p), "a", EVENT_MOVED_HERE);
	recheck_name(p, root_of(p), "b", EVENT_MOVED_HERE);
	assert_true(id_of(p, "b") != 0 && id_of(p, "b") != id);
	assert_true(id_of(p, "b/file") != 0);
	assert_true(was_entered(p, id_of(p, "b")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_moved_directory_has_the_same_id),
		CASE(test_moved_directory_disappears_from_its_old_name),
		CASE(test_directories_that_swap_names_are_both_moved),
		CASE(test_moved_directory_is_walked_again_if_a_glob_has_a_slash),
		CASE(test_directory_gets_a_new_id_if_its_old_name_was_rechecked_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
