/* SPDX-License-Identifier: MIT */
#include "catalog/fixture.h"
#include "daemon/recheck_inbox.h"

/* An index, and what is heard of it. */
struct play {
	struct fixture *f;
	struct recheck_inbox inbox;
	struct dirty dirty;
	const struct dirty_name **list; /* of what is dirty */
	size_t count;
	bool rescan;
};

static int play_setup(void **state)
{
	struct play *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	fixture_setup((void **)&p->f);
	recheck_inbox_init(&p->inbox);
	*state = p;
	return 0;
}

static int play_teardown(void **state)
{
	struct play *p = *state;

	free(p->list);
	dirty_reset(&p->dirty);
	recheck_inbox_deinit(&p->inbox);
	fixture_teardown((void **)&p->f);
	free(p);
	return 0;
}

static uint64_t root_of(const struct play *p)
{
	return p->f->roots[0];
}

static void take(struct play *p)
{
	free(p->list);
	p->list = NULL;
	dirty_reset(&p->dirty);
	assert_int_equal(recheck_inbox_take(&p->inbox, p->f->catalog, &p->dirty, &p->rescan), 0);
	assert_false(recheck_inbox_has(&p->inbox));
	assert_int_equal(dirty_list(&p->dirty, &p->list, &p->count), 0);
}

static void assert_dirty(const struct play *p, size_t at, uint64_t dir, const char *name,
			 uint32_t why)
{
	assert_true(at < p->count);
	assert_int_equal(p->list[at]->dir, dir);
	assert_string_equal(p->list[at]->name, name);
	assert_int_equal(p->list[at]->why, why);
}

/* ---- cases --------------------------------------------------------------------------- */

static void test_nothing_is_heard_at_first(void **state)
{
	struct play *p = *state;

	assert_false(recheck_inbox_has(&p->inbox));
	take(p);
	assert_int_equal(p->count, 0);
	assert_false(p->rescan);
}

static void test_look_is_given_once_as_what_is_dirty(void **state)
{
	struct play *p = *state;

	recheck_inbox_look(&p->inbox, &(struct ingest_look){.dir = 7, .what = LOOK_LISTING}, false);
	recheck_inbox_look(&p->inbox, &(struct ingest_look){.dir = 8, .what = LOOK_DEEP}, false);
	assert_true(recheck_inbox_has(&p->inbox));
	take(p);
	assert_int_equal(p->count, 2);
	assert_dirty(p, 0, 7, "", DIRTY_LISTING);
	assert_dirty(p, 1, 8, "", DIRTY_DEEP);
	take(p);
	assert_int_equal(p->count, 0);
}

static void test_names_of_a_look_keep_what_is_known_of_them(void **state)
{
	const struct ingest_look_name names[] = {
		{name_of("a"), LOOK_SAME_BYTES},
		{name_of("b"), LOOK_ATTRIBUTES},
		{name_of("c"), 0},
		{name_of("d"), LOOK_SAME_BYTES | LOOK_CREATED},
	};
	struct play *p = *state;

	recheck_inbox_look(&p->inbox,
			   &(struct ingest_look){.dir = 7,
						 .names = names,
						 .count = ARRAY_SIZE(names)},
			   false);
	take(p);
	assert_int_equal(p->count, 5);
	assert_dirty(p, 0, 7, "", 0); /* the directory was looked at, too */
	assert_dirty(p, 1, 7, "a", DIRTY_NAME);
	assert_dirty(p, 2, 7, "b", DIRTY_ATTRIBUTES);
	assert_dirty(p, 3, 7, "c", DIRTY_CONTENT); /* it may have been written to */
	assert_dirty(p, 4, 7, "d", DIRTY_NAME | DIRTY_CREATED);
}

static void test_directory_not_at_its_place_is_looked_for_in_its_parent(void **state)
{
	struct play *p = *state;
	uint64_t dir = add_dir(p->f, root_of(p), "dir");

	fixture_commit(p->f);
	recheck_inbox_look(&p->inbox, &(struct ingest_look){.dir = dir, .what = LOOK_DEEP}, true);
	take(p);
	assert_int_equal(p->count, 2);
	assert_dirty(p, 0, root_of(p), "dir", DIRTY_NAME);
	assert_dirty(p, 1, dir, "", DIRTY_DEEP);
}

static void test_source_not_at_its_place_has_no_parent(void **state)
{
	struct play *p = *state;

	recheck_inbox_look(&p->inbox, &(struct ingest_look){.dir = root_of(p), .what = LOOK_DEEP},
			   true);
	take(p);
	assert_int_equal(p->count, 1);
	assert_dirty(p, 0, root_of(p), "", DIRTY_DEEP);
}

static void test_file_is_looked_at_under_its_first_name(void **state)
{
	struct play *p = *state;
	uint64_t dir = add_dir(p->f, root_of(p), "dir");

	add_file(p->f, dir, "bereft", file_of(10, 1, 0));
	fixture_commit(p->f);
	add_file(p->f, root_of(p), "suspect", file_of(11, 1, 0));
	fixture_commit(p->f);
	add_file(p->f, root_of(p), "another name", file_of(11, 1, 0));
	fixture_commit(p->f);
	recheck_inbox_bereft(&p->inbox, id_at(p->f, dir, "bereft"));
	recheck_inbox_suspect(&p->inbox, id_at(p->f, root_of(p), "suspect"));
	assert_true(recheck_inbox_has(&p->inbox));
	take(p);
	assert_int_equal(p->count, 2);
	assert_dirty(p, 0, root_of(p), "suspect", DIRTY_ATTRIBUTES);
	assert_dirty(p, 1, dir, "bereft", DIRTY_NAME);
}

static void test_what_the_index_does_not_have_is_left_out(void **state)
{
	struct play *p = *state;
	uint64_t orphan;

	add_file(p->f, root_of(p), "a", file_of(10, 1, 0));
	fixture_commit(p->f);
	orphan = id_at(p->f, root_of(p), "a");
	remove_name(p->f, root_of(p), "a");
	fixture_commit(p->f);
	recheck_inbox_bereft(&p->inbox, orphan);
	recheck_inbox_suspect(&p->inbox, orphan);
	recheck_inbox_suspect(&p->inbox, 123456);
	take(p);
	assert_int_equal(p->count, 0);
}

static void test_rescan_is_told_once(void **state)
{
	struct play *p = *state;

	recheck_inbox_rescan(&p->inbox);
	assert_true(recheck_inbox_has(&p->inbox));
	take(p);
	assert_true(p->rescan);
	take(p);
	assert_false(p->rescan);
}

static void test_what_was_dirty_before_stays_so(void **state)
{
	struct play *p = *state;

	assert_int_equal(dirty_note(&p->dirty, 7, "a", 1, DIRTY_NAME), 0);
	recheck_inbox_look(&p->inbox, &(struct ingest_look){.dir = 7, .what = LOOK_LISTING}, false);
	assert_int_equal(recheck_inbox_take(&p->inbox, p->f->catalog, &p->dirty, &p->rescan), 0);
	assert_int_equal(p->dirty.count, 2);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, play_setup, play_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_nothing_is_heard_at_first),
		CASE(test_look_is_given_once_as_what_is_dirty),
		CASE(test_names_of_a_look_keep_what_is_known_of_them),
		CASE(test_directory_not_at_its_place_is_looked_for_in_its_parent),
		CASE(test_source_not_at_its_place_has_no_parent),
		CASE(test_file_is_looked_at_under_its_first_name),
		CASE(test_what_the_index_does_not_have_is_left_out),
		CASE(test_rescan_is_told_once),
		CASE(test_what_was_dirty_before_stays_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
