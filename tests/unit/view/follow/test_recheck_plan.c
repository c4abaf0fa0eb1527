/* SPDX-License-Identifier: MIT */
#include "index/fixture.h"
#include "index/source.h"
#include "view/follow/event_set.h"
#include "view/follow/rechecks.h"

/* An index of two sources, events in these sources, and the plan for the events. */
struct case_state {
	struct fixture *f;
	struct source list[2];
	struct sources sources;
	struct event_set dirty;
	struct recheck_plan plan;
	struct bytes written;
	const struct name_events **names; /* of dirty; borrowed by the plan */
};

static int case_setup(void **state)
{
	struct case_state *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	fixture_setup((void **)&p->f);
	for (size_t i = 0; i < 2; i++)
		p->list[i].root = p->f->roots[i];
	p->sources = (struct sources){.catalog = p->f->catalog, .list = p->list, .count = 2};
	*state = p;
	return 0;
}

static int case_teardown(void **state)
{
	struct case_state *p = *state;

	recheck_plan_free(&p->plan);
	bytes_free(&p->written);
	free(p->names);
	event_set_reset(&p->dirty);
	fixture_teardown((void **)&p->f);
	free(p);
	return 0;
}

static void note(struct case_state *p, uint64_t dir, const char *name, uint32_t events)
{
	assert_int_equal(event_set_add(&p->dirty, dir, name, (uint32_t)strlen(name), events), 0);
}

static uint64_t root_of(const struct case_state *p)
{
	return p->f->roots[0];
}

/* Makes the rechecks for the events, whose names they borrow. */
static void make_plan(struct case_state *p)
{
	size_t count;

	recheck_plan_free(&p->plan);
	free(p->names);
	p->names = NULL;
	p->written.length = 0;
	assert_int_equal(event_set_list(&p->dirty, &p->names, &count), 0);
	assert_int_equal(written_files_hide(p->f->catalog, p->names, count, &p->plan.trust,
					    &p->written),
			 0);
	assert_int_equal(recheck_plan_make(&p->plan, &p->sources, p->names, count), 0);
}

static const struct recheck *recheck_of(const struct case_state *p, uint64_t dir)
{
	size_t i = 0;

	while (i < p->plan.count && p->plan.list[i].dir != dir)
		i++;
	assert_true(i < p->plan.count);
	return &p->plan.list[i];
}

/* The events of a name in the root of the first source that is rechecked. */
static uint32_t events_of(const struct case_state *p, const char *name)
{
	const struct recheck *recheck = recheck_of(p, root_of(p));

	for (size_t i = 0; i < recheck->count; i++) {
		if (strcmp(recheck->names[i]->name, name) == 0)
			return recheck->names[i]->events;
	}
	fail();
	return 0;
}

static size_t count_written(const struct case_state *p)
{
	return p->written.length / sizeof(struct written_file);
}

/* ---- names --------------------------------------------------------------------------- */

static void test_empty_set_plans_nothing(void **state)
{
	struct case_state *p = *state;

	make_plan(p);
	assert_int_equal(p->plan.count, 0);
	assert_int_equal(count_written(p), 0);
}

static void test_names_are_rechecked_with_their_events(void **state)
{
	struct case_state *p = *state;
	const struct recheck *recheck;

	add_file(p->f, root_of(p), "written", file_of(10, 100, 0));
	fixture_commit(p->f);
	note(p, root_of(p), "came", EVENT_NAME);
	note(p, root_of(p), "moved", EVENT_NAME | EVENT_MOVED_HERE);
	note(p, root_of(p), "made", EVENT_NAME | EVENT_CREATED);
	note(p, root_of(p), "written", EVENT_WRITTEN);
	note(p, root_of(p), "attributes", EVENT_ATTRIBUTES);
	note(p, root_of(p), "from outside", EVENT_NAME | EVENT_MOVED_IN);
	make_plan(p);
	assert_int_equal(p->plan.count, 1);
	assert_int_equal(p->plan.tree_count, 0);
	recheck = recheck_of(p, root_of(p));
	assert_int_equal(recheck->scope, RECHECK_NAMES);
	assert_int_equal(recheck->count, 6);
	for (size_t i = 1; i < recheck->count; i++)
		assert_true(strcmp(recheck->names[i - 1]->name, recheck->names[i]->name) < 0);
	assert_int_equal(recheck->trust, RENAME_TRUSTED);
	assert_int_equal(events_of(p, "came"), EVENT_NAME);
	assert_int_equal(events_of(p, "moved"), EVENT_NAME | EVENT_MOVED_HERE);
	assert_int_equal(events_of(p, "written"), EVENT_WRITTEN);
	assert_int_equal(p->plan.trust, RENAME_TRUSTED);
}

static void test_each_directory_has_one_recheck(void **state)
{
	struct case_state *p = *state;
	uint64_t dir = add_dir(p->f, root_of(p), "dir");

	fixture_commit(p->f);
	note(p, root_of(p), "a", EVENT_NAME);
	note(p, dir, "b", EVENT_NAME);
	note(p, root_of(p), "c", EVENT_NAME);
	note(p, p->f->roots[1], "d", EVENT_NAME);
	make_plan(p);
	assert_int_equal(p->plan.count, 3);
	assert_int_equal(recheck_of(p, root_of(p))->count, 2);
	assert_string_equal(recheck_of(p, dir)->names[0]->name, "b");
	assert_string_equal(recheck_of(p, p->f->roots[1])->names[0]->name, "d");
}

/* ---- directories --------------------------------------------------------------------- */

static void test_directory_that_is_listed_has_no_single_names(void **state)
{
	struct case_state *p = *state;
	uint64_t dir = add_dir(p->f, root_of(p), "dir");

	fixture_commit(p->f);
	note(p, dir, "a", EVENT_NAME);
	note(p, dir, "", EVENT_LISTING);
	make_plan(p);
	assert_int_equal(recheck_of(p, dir)->scope, RECHECK_LISTING);
	assert_int_equal(recheck_of(p, dir)->count, 0);
}

static void test_tree_rechecks_are_first(void **state)
{
	struct case_state *p = *state;
	uint64_t one = add_dir(p->f, root_of(p), "one"), other = add_dir(p->f, root_of(p), "other");

	fixture_commit(p->f);
	note(p, root_of(p), "a", EVENT_NAME);
	note(p, one, "a", EVENT_NAME);
	note(p, other, "", EVENT_TREE);
	note(p, other, "a", EVENT_NAME);
	make_plan(p);
	assert_int_equal(p->plan.count, 3);
	assert_int_equal(p->plan.tree_count, 1);
	assert_int_equal(p->plan.list[0].dir, other);
	assert_int_equal(p->plan.list[0].scope, RECHECK_TREE);
	assert_int_equal(recheck_of(p, one)->scope, RECHECK_NAMES);
	assert_int_equal(recheck_of(p, root_of(p))->scope, RECHECK_NAMES);
}

static void test_only_a_source_itself_is_listed_for_its_attributes(void **state)
{
	struct case_state *p = *state;
	uint64_t dir = add_dir(p->f, root_of(p), "dir");

	fixture_commit(p->f);
	note(p, root_of(p), "", EVENT_ATTRIBUTES);
	note(p, dir, "", EVENT_ATTRIBUTES);
	make_plan(p);
	assert_int_equal(recheck_of(p, root_of(p))->scope, RECHECK_LISTING);
	assert_int_equal(recheck_of(p, dir)->scope,
			 RECHECK_NAMES); /* the recheck of its parent covers the rest */
	assert_int_equal(recheck_of(p, dir)->count, 0);
}

static void test_source_that_is_walked_as_a_whole_has_no_other_recheck(void **state)
{
	struct case_state *p = *state;
	uint64_t dir = add_dir(p->f, root_of(p), "dir");
	uint64_t other = add_dir(p->f, root_of(p), "other");

	fixture_commit(p->f);
	note(p, root_of(p), "", EVENT_TREE);
	note(p, dir, "a", EVENT_NAME);
	note(p, other, "", EVENT_TREE);
	note(p, p->f->roots[1], "a", EVENT_NAME);
	make_plan(p);
	assert_int_equal(p->plan.count, 2);
	assert_int_equal(p->plan.list[0].dir, root_of(p));
	assert_int_equal(p->plan.list[1].dir, p->f->roots[1]);
}

static void test_source_that_is_missing_is_not_rechecked(void **state)
{
	struct case_state *p = *state;

	note(p, root_of(p), "", EVENT_TREE);
	note(p, p->f->roots[1], "a", EVENT_NAME);
	atomic_store(&p->list[0].missing, true);
	make_plan(p);
	assert_int_equal(p->plan.count, 1);
	assert_int_equal(p->plan.list[0].dir, p->f->roots[1]);
	assert_int_equal(p->plan.tree_count, 0);
}

static void test_directory_that_is_not_in_the_index_is_skipped(void **state)
{
	struct case_state *p = *state;

	note(p, 123456, "a", EVENT_NAME);
	make_plan(p);
	assert_int_equal(p->plan.count, 0);
}

/* ---- written files ------------------------------------------------------------------- */

static void test_file_that_was_written_to_loses_its_content(void **state)
{
	struct case_state *p = *state;
	const struct written_file *written;
	uint64_t a, b;

	add_file(p->f, root_of(p), "a", file_of(10, 100, 0));
	add_file(p->f, root_of(p), "b", file_of(11, 100, 0));
	fixture_commit(p->f);
	a = id_at(p->f, root_of(p), "a");
	b = id_at(p->f, root_of(p), "b");
	assert_int_equal(set_content(p->f, a, 0), 0);
	assert_int_equal(set_content(p->f, b, 0), 0);
	note(p, root_of(p), "a", EVENT_WRITTEN);
	note(p, root_of(p), "b", EVENT_NAME);
	make_plan(p);
	assert_int_equal(content_of(p->f, a).prefix, 0);
	assert_true(content_of(p->f, b).prefix != 0);
	assert_int_equal(count_written(p), 1);
	written = (const void *)p->written.data;
	assert_int_equal(written->file, a);
	assert_false(written->closed);
	note(p, root_of(p), "a", EVENT_WRITTEN | EVENT_CLOSED);
	make_plan(p);
	written = (const void *)p->written.data;
	assert_true(written->closed);
}

static void test_file_that_was_unobserved_under_another_name_is_read_again(void **state)
{
	static const uint32_t events[] = {EVENT_NAME | EVENT_MOVED_IN, EVENT_NAME | EVENT_CREATED};
	struct case_state *p = *state;
	uint64_t a;

	add_file(p->f, root_of(p), "a", file_of(10, 100, 0));
	fixture_commit(p->f);
	a = id_at(p->f, root_of(p), "a");
	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		const struct written_file *written;

		assert_int_equal(set_content(p->f, a, 0), 0);
		event_set_reset(&p->dirty);
		note(p, root_of(p), "a", events[i]);
		note(p, root_of(p), "new", events[i]);
		make_plan(p);
		assert_int_equal(content_of(p->f, a).prefix, 0);
		assert_int_equal(count_written(p), 1);
		written = (const void *)p->written.data;
		assert_true(written->closed);
		assert_false(p->plan.needs_walk);
	}
}

static void test_written_name_that_is_no_file_of_the_index_is_only_rechecked(void **state)
{
	struct case_state *p = *state;

	(void)add_dir(p->f, root_of(p), "dir");
	fixture_commit(p->f);
	note(p, root_of(p), "dir", EVENT_WRITTEN);
	note(p, root_of(p), "new", EVENT_WRITTEN);
	note(p, root_of(p), "other", EVENT_NAME);
	make_plan(p);
	assert_int_equal(count_written(p), 0);
	assert_int_equal(recheck_of(p, root_of(p))->count, 3);
	assert_int_equal(p->plan.trust, RENAME_UNTRUSTED);
	assert_int_equal(recheck_of(p, root_of(p))->trust, RENAME_UNTRUSTED);
}

/* Several files had the name, and it is unknown which of them the write changed. */
static void test_write_to_a_renamed_name_applies_to_all_files_that_moved(void **state)
{
	static const uint32_t doubtful[] = {
		EVENT_NAME | EVENT_CREATED | EVENT_WRITTEN,
		EVENT_NAME | EVENT_MOVED_HERE | EVENT_WRITTEN,
		EVENT_NAME | EVENT_REMOVED | EVENT_ATTRIBUTES,
		EVENT_NAME | EVENT_CREATED | EVENT_REMOVED | EVENT_REPLACED,
	};
	struct case_state *p = *state;

	add_file(p->f, root_of(p), "there", file_of(10, 100, 0));
	fixture_commit(p->f);
	for (size_t i = 0; i < ARRAY_SIZE(doubtful); i++) {
		event_set_reset(&p->dirty);
		note(p, root_of(p), "there", doubtful[i]);
		note(p, root_of(p), "moved", EVENT_NAME | EVENT_MOVED_HERE);
		make_plan(p);
		assert_int_equal(p->plan.trust, RENAME_UNTRUSTED);
		assert_false(p->plan.needs_walk);
		assert_int_equal(recheck_of(p, root_of(p))->trust, RENAME_UNTRUSTED);
	}
}

static void test_write_in_an_unknown_directory_applies_to_any_file(void **state)
{
	struct case_state *p = *state;

	note(p, root_of(p) + 1000, "gone", EVENT_NAME | EVENT_REMOVED);
	make_plan(p);
	assert_false(p->plan.needs_walk);
	note(p, root_of(p) + 1000, "gone", EVENT_WRITTEN);
	make_plan(p);
	assert_true(p->plan.needs_walk);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, case_setup, case_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_empty_set_plans_nothing),
		CASE(test_names_are_rechecked_with_their_events),
		CASE(test_each_directory_has_one_recheck),
		CASE(test_directory_that_is_listed_has_no_single_names),
		CASE(test_tree_rechecks_are_first),
		CASE(test_only_a_source_itself_is_listed_for_its_attributes),
		CASE(test_source_that_is_walked_as_a_whole_has_no_other_recheck),
		CASE(test_source_that_is_missing_is_not_rechecked),
		CASE(test_directory_that_is_not_in_the_index_is_skipped),
		CASE(test_file_that_was_written_to_loses_its_content),
		CASE(test_file_that_was_unobserved_under_another_name_is_read_again),
		CASE(test_written_name_that_is_no_file_of_the_index_is_only_rechecked),
		CASE(test_write_to_a_renamed_name_applies_to_all_files_that_moved),
		CASE(test_write_in_an_unknown_directory_applies_to_any_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
