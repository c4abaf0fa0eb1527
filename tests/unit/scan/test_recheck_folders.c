/* SPDX-License-Identifier: MIT */

/* Which directories are equal while names are rechecked. */

#include "index/patterns.h"
#include "scan/recorded_hooks.h"

/* Scans the source, and compares its files. Then the folder groups are known. */
static void know(struct case_state *p)
{
	follow(p);
	compare(p);
	assert_true(totals_of(&p->t->index).folders_known);
}

static uint64_t group_of(const struct case_state *p, const char *path)
{
	uint64_t id = id_of(p, path), group;
	struct catalog_reader *reader = fixture_read(&p->t->index);

	assert_int_equal(catalog_find_folder_group(reader, id, &group), 0);
	catalog_read_end(reader);
	return group;
}

static bool are_equal(const struct case_state *p, const char *a, const char *b)
{
	uint64_t group = group_of(p, a);

	return group && group == group_of(p, b);
}

/* ---- new directories ----------------------------------------------------------------- */

/* Replaces the directory "new" after it was found, so it is not listed. */
static uint64_t identify_and_replace(void *context, uint32_t source, int fd, uint64_t new_dir)
{
	const struct case_state *p = context;
	uint64_t id = identify(context, source, fd, new_dir);

	move(p, "new", "aside");
	make_dir(p->t, "new");
	write_text(p->t, "new/file", "1");
	return id;
}

static void test_directory_that_is_not_listed_yet_equals_nothing(void **state)
{
	struct case_state *p = *state;

	make_dir(p->t, "empty");
	make_dir(p->t, "other");
	know(p);
	assert_true(are_equal(p, "empty", "other"));
	make_dir(p->t, "new");
	p->hooks.identify = identify_and_replace;
	recheck_name(p, root_of(p), "new", EVENT_CREATED);
	assert_int_equal(count_calls(p, CALL_RETRY), 1);
	assert_int_equal(group_of(p, "new"), 0);
}

static void test_new_directory_equals_another_when_it_is_listed(void **state)
{
	struct case_state *p = *state;

	make_dir(p->t, "empty");
	know(p);
	make_dir(p->t, "new");
	recheck_name(p, root_of(p), "new", EVENT_CREATED);
	assert_true(are_equal(p, "empty", "new"));
}

/* ---- excluded names ------------------------------------------------------------------ */

static void exclude_temporary(struct case_state *p, struct patterns *excludes)
{
	static char glob[] = "*.tmp", *globs[] = {glob, NULL};

	assert_int_equal(patterns_make(excludes, globs, &p->t->sources, PATTERN_TO_EXCLUDE), 0);
	p->t->settings.excludes = excludes;
}

static void test_excluded_name_is_noted_in_any_order(void **state)
{
	CLEANUP(patterns_free) struct patterns excludes = {0};
	struct case_state *p = *state;
	const struct name_events *in_root = named(p, "a", EVENT_NAME);
	const struct name_events *in_dir = named(p, "x.tmp", EVENT_CREATED);

	exclude_temporary(p, &excludes);
	make_dir(p->t, "a");
	make_dir(p->t, "b");
	know(p);
	assert_true(are_equal(p, "a", "b"));
	write_text(p->t, "a/x.tmp", "1");
	/* of the parent last */
	recheck_dirs(p,
		     (struct recheck[]){{.dir = id_of(p, "a"), .names = &in_dir, .count = 1},
					{.dir = root_of(p), .names = &in_root, .count = 1}},
		     2);
	assert_int_equal(group_of(p, "a"), 0);
}

static void test_excluded_name_that_is_gone_is_not_missing(void **state)
{
	CLEANUP(patterns_free) struct patterns excludes = {0};
	struct case_state *p = *state;

	exclude_temporary(p, &excludes);
	make_dir(p->t, "a");
	make_dir(p->t, "b");
	know(p);
	recheck_name(p, id_of(p, "a"), "x.tmp", EVENT_CREATED | EVENT_REMOVED);
	assert_true(are_equal(p, "a", "b"));
}

/* ---- symlinks ------------------------------------------------------------------------ */

/* In one tick of the clock, a symlink can be replaced by another with the same number and times. */
static void test_event_of_a_symlink_renews_its_target(void **state)
{
	struct case_state *p = *state;
	struct fixture *f = &p->t->index;

	make_dir(p->t, "a");
	make_dir(p->t, "b");
	assert_int_equal(symlinkat("there", p->t->fd, "a/l"), 0);
	assert_int_equal(symlinkat("other", p->t->fd, "b/l"), 0);
	know(p);
	assert_false(are_equal(p, "a", "b"));
	update_file(f, id_of(p, "b/l"), file_at(f, id_of(p, "b/l")).attributes);
	f->changes[0].target = name_of("there");
	fixture_commit(f);
	assert_true(are_equal(p, "a", "b"));
	recheck_name(p, id_of(p, "b"), "l", EVENT_CREATED);
	assert_false(are_equal(p, "a", "b"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_directory_that_is_not_listed_yet_equals_nothing),
		CASE(test_new_directory_equals_another_when_it_is_listed),
		CASE(test_excluded_name_is_noted_in_any_order),
		CASE(test_excluded_name_that_is_gone_is_not_missing),
		CASE(test_event_of_a_symlink_renews_its_target),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
