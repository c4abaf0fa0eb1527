/* SPDX-License-Identifier: MIT */
#include "index/fixture.h"
#include "view/follow/rechecks.h"

/* An index with an inbox, and the events that were taken from the inbox. */
struct case_state {
	struct fixture *f;
	struct recheck_inbox inbox;
	struct event_set dirty;
	const struct name_events **list; /* of dirty */
	size_t count;
	bool rescan;
};

static int case_setup(void **state)
{
	struct case_state *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	fixture_setup((void **)&p->f);
	recheck_inbox_init(&p->inbox);
	*state = p;
	return 0;
}

static int case_teardown(void **state)
{
	struct case_state *p = *state;

	free(p->list);
	event_set_reset(&p->dirty);
	recheck_inbox_deinit(&p->inbox);
	fixture_teardown((void **)&p->f);
	free(p);
	return 0;
}

static uint64_t root_of(const struct case_state *p)
{
	return p->f->roots[0];
}

static void take(struct case_state *p)
{
	free(p->list);
	p->list = NULL;
	event_set_reset(&p->dirty);
	assert_int_equal(recheck_inbox_take(&p->inbox, p->f->catalog, &p->dirty, &p->rescan), 0);
	assert_false(recheck_inbox_has_requests(&p->inbox));
	assert_int_equal(event_set_list(&p->dirty, &p->list, &p->count), 0);
}

static void assert_dirty(const struct case_state *p, size_t at, uint64_t dir, const char *name,
			 uint32_t events)
{
	assert_true(at < p->count);
	assert_int_equal(p->list[at]->dir, dir);
	assert_string_equal(p->list[at]->name, name);
	assert_int_equal(p->list[at]->events, events);
}

/* ---- cases --------------------------------------------------------------------------- */

static void test_new_inbox_is_empty(void **state)
{
	struct case_state *p = *state;

	assert_false(recheck_inbox_has_requests(&p->inbox));
	take(p);
	assert_int_equal(p->count, 0);
	assert_false(p->rescan);
}

static void test_recheck_is_taken_once(void **state)
{
	struct case_state *p = *state;

	recheck_inbox_add(&p->inbox, &(struct recheck){.dir = 7, .scope = RECHECK_LISTING}, false);
	recheck_inbox_add(&p->inbox, &(struct recheck){.dir = 8, .scope = RECHECK_TREE}, false);
	assert_true(recheck_inbox_has_requests(&p->inbox));
	take(p);
	assert_int_equal(p->count, 2);
	assert_dirty(p, 0, 7, "", EVENT_LISTING);
	assert_dirty(p, 1, 8, "", EVENT_TREE);
	take(p);
	assert_int_equal(p->count, 0);
}

static void test_names_of_a_recheck_keep_their_events(void **state)
{
	struct event_set before CLEANUP(event_set_reset) = {0};
	const struct name_events **names AUTO_FREE = NULL;
	struct recheck recheck = {.dir = 7};
	struct case_state *p = *state;

	assert_int_equal(event_set_add(&before, 7, "a", 1, EVENT_NAME), 0);
	assert_int_equal(event_set_add(&before, 7, "b", 1, EVENT_NAME | EVENT_CREATED), 0);
	assert_int_equal(event_set_list(&before, &names, &recheck.count), 0);
	recheck.names = names;
	recheck_inbox_add(&p->inbox, &recheck, false);
	recheck_inbox_add(&p->inbox, &recheck, false);
	take(p);
	assert_int_equal(p->count, 3);
	assert_dirty(p, 0, 7, "", 0); /* the directory itself */
	assert_dirty(p, 1, 7, "a", EVENT_NAME);
	assert_dirty(p, 2, 7, "b", EVENT_NAME | EVENT_CREATED); /* it was created once */
}

static void test_directory_that_is_missing_has_its_name_rechecked_in_the_parent(void **state)
{
	struct case_state *p = *state;
	uint64_t dir = add_dir(p->f, root_of(p), "dir");

	fixture_commit(p->f);
	recheck_inbox_add(&p->inbox, &(struct recheck){.dir = dir, .scope = RECHECK_TREE}, true);
	take(p);
	assert_int_equal(p->count, 2);
	assert_dirty(p, 0, root_of(p), "dir", EVENT_NAME);
	assert_dirty(p, 1, dir, "", EVENT_TREE);
}

static void test_source_that_is_missing_is_rechecked_alone(void **state)
{
	struct case_state *p = *state;

	recheck_inbox_add(&p->inbox, &(struct recheck){.dir = root_of(p), .scope = RECHECK_TREE},
			  true);
	take(p);
	assert_int_equal(p->count, 1);
	assert_dirty(p, 0, root_of(p), "", EVENT_TREE);
}

static void test_file_is_rechecked_by_its_first_name(void **state)
{
	struct case_state *p = *state;
	uint64_t dir = add_dir(p->f, root_of(p), "dir");

	add_file(p->f, dir, "bereft", file_of(10, 1, 0));
	fixture_commit(p->f);
	add_file(p->f, root_of(p), "suspect", file_of(11, 1, 0));
	fixture_commit(p->f);
	add_file(p->f, root_of(p), "another name", file_of(11, 1, 0));
	fixture_commit(p->f);
	recheck_inbox_add_file(&p->inbox, id_at(p->f, dir, "bereft"), EVENT_NAME);
	recheck_inbox_add_file(&p->inbox, id_at(p->f, root_of(p), "suspect"), EVENT_ATTRIBUTES);
	assert_true(recheck_inbox_has_requests(&p->inbox));
	take(p);
	assert_int_equal(p->count, 2);
	assert_dirty(p, 0, root_of(p), "suspect", EVENT_ATTRIBUTES);
	assert_dirty(p, 1, dir, "bereft", EVENT_NAME);
}

static void test_files_that_are_not_in_the_index_are_omitted(void **state)
{
	struct case_state *p = *state;
	uint64_t orphan;

	add_file(p->f, root_of(p), "a", file_of(10, 1, 0));
	fixture_commit(p->f);
	orphan = id_at(p->f, root_of(p), "a");
	remove_name(p->f, root_of(p), "a");
	fixture_commit(p->f);
	recheck_inbox_add_file(&p->inbox, orphan, EVENT_NAME);
	recheck_inbox_add_file(&p->inbox, orphan, EVENT_ATTRIBUTES);
	recheck_inbox_add_file(&p->inbox, 123456, EVENT_ATTRIBUTES);
	take(p);
	assert_int_equal(p->count, 0);
}

static void test_rescan_is_taken_once(void **state)
{
	struct case_state *p = *state;

	recheck_inbox_add_rescan(&p->inbox);
	assert_true(recheck_inbox_has_requests(&p->inbox));
	take(p);
	assert_true(p->rescan);
	take(p);
	assert_false(p->rescan);
}

static void test_earlier_events_stay_in_the_set(void **state)
{
	struct case_state *p = *state;

	assert_int_equal(event_set_add(&p->dirty, 7, "a", 1, EVENT_NAME), 0);
	recheck_inbox_add(&p->inbox, &(struct recheck){.dir = 7, .scope = RECHECK_LISTING}, false);
	assert_int_equal(recheck_inbox_take(&p->inbox, p->f->catalog, &p->dirty, &p->rescan), 0);
	assert_int_equal(p->dirty.count, 2);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, case_setup, case_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_new_inbox_is_empty),
		CASE(test_recheck_is_taken_once),
		CASE(test_names_of_a_recheck_keep_their_events),
		CASE(test_directory_that_is_missing_has_its_name_rechecked_in_the_parent),
		CASE(test_source_that_is_missing_is_rechecked_alone),
		CASE(test_file_is_rechecked_by_its_first_name),
		CASE(test_files_that_are_not_in_the_index_are_omitted),
		CASE(test_rescan_is_taken_once),
		CASE(test_earlier_events_stay_in_the_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
