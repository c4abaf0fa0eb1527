/* SPDX-License-Identifier: MIT */
#include "catalog/fixture.h"
#include "daemon/recheck_plan.h"
#include "source/source.h"

/* An index of two sources, what is dirty in it, and what is made of that. */
struct play {
	struct fixture *f;
	struct source list[2];
	struct sources sources;
	struct dirty dirty;
	struct recheck_plan looks;
	struct bytes written;
};

static int play_setup(void **state)
{
	struct play *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	fixture_setup((void **)&p->f);
	for (size_t i = 0; i < 2; i++)
		p->list[i].root = p->f->roots[i];
	p->sources = (struct sources){.catalog = p->f->catalog, .list = p->list, .count = 2};
	*state = p;
	return 0;
}

static int play_teardown(void **state)
{
	struct play *p = *state;

	recheck_plan_free(&p->looks);
	bytes_free(&p->written);
	dirty_reset(&p->dirty);
	fixture_teardown((void **)&p->f);
	free(p);
	return 0;
}

static void note(struct play *p, uint64_t dir, const char *name, uint32_t why)
{
	assert_int_equal(dirty_note(&p->dirty, dir, name, (uint32_t)strlen(name), why), 0);
}

static uint64_t root_of(const struct play *p)
{
	return p->f->roots[0];
}

/* From what is dirty to looks, which borrow names of it. */
static void make_looks(struct play *p)
{
	const struct dirty_name **list AUTO_FREE = NULL;
	size_t count;

	recheck_plan_free(&p->looks);
	p->written.length = 0;
	assert_int_equal(dirty_list(&p->dirty, &list, &count), 0);
	assert_int_equal(recheck_plan_hide_written(&p->looks, p->f->catalog, list, count,
						   &p->written),
			 0);
	assert_int_equal(recheck_plan_make(&p->looks, &p->sources, list, count), 0);
}

static const struct ingest_look *look_at(const struct play *p, uint64_t dir)
{
	size_t i = 0;

	while (i < p->looks.count && p->looks.list[i].dir != dir)
		i++;
	assert_true(i < p->looks.count);
	return &p->looks.list[i];
}

/* The flags that a name of the first source's root is looked at with. */
static uint32_t flags_of(const struct play *p, const char *name)
{
	const struct ingest_look *look = look_at(p, root_of(p));

	for (size_t i = 0; i < look->count; i++) {
		if (strcmp(look->names[i].name.bytes, name) == 0)
			return look->names[i].flags;
	}
	fail();
	return 0;
}

static size_t count_written(const struct play *p)
{
	return p->written.length / sizeof(struct written_file);
}

/* ---- names --------------------------------------------------------------------------- */

static void test_nothing_dirty_is_no_look(void **state)
{
	struct play *p = *state;

	make_looks(p);
	assert_int_equal(p->looks.count, 0);
	assert_int_equal(count_written(p), 0);
}

static void test_names_are_looked_at_with_what_is_known_of_them(void **state)
{
	struct play *p = *state;
	const struct ingest_look *look;

	add_file(p->f, root_of(p), "written", file_of(10, 100, 0));
	fixture_commit(p->f);
	note(p, root_of(p), "came", DIRTY_NAME);
	note(p, root_of(p), "moved", DIRTY_NAME | DIRTY_MOVED | DIRTY_CAME);
	note(p, root_of(p), "made", DIRTY_NAME | DIRTY_CREATED);
	note(p, root_of(p), "written", DIRTY_CONTENT);
	note(p, root_of(p), "attributes", DIRTY_ATTRIBUTES);
	note(p, root_of(p), "from outside", DIRTY_NAME | DIRTY_UNSEEN);
	make_looks(p);
	assert_int_equal(p->looks.count, 1);
	assert_int_equal(p->looks.deep_count, 0);
	look = look_at(p, root_of(p));
	assert_int_equal(look->what, LOOK_NAMES);
	assert_int_equal(look->count, 6);
	for (size_t i = 1; i < look->count; i++)
		assert_true(strcmp(look->names[i - 1].name.bytes, look->names[i].name.bytes) < 0);
	assert_int_equal(flags_of(p, "came"), LOOK_SAME_BYTES);
	assert_int_equal(flags_of(p, "moved") & LOOK_SAME_BYTES, LOOK_SAME_BYTES);
	assert_int_equal(flags_of(p, "made"), LOOK_SAME_BYTES | LOOK_CREATED | LOOK_ARRIVED);
	assert_int_equal(flags_of(p, "written"), LOOK_TOUCHED);
	assert_int_equal(flags_of(p, "attributes"), LOOK_ATTRIBUTES | LOOK_TOUCHED);
	assert_int_equal(flags_of(p, "from outside"), 0);
	assert_false(p->looks.doubt);
}

static void test_each_directory_has_one_look(void **state)
{
	struct play *p = *state;
	uint64_t dir = add_dir(p->f, root_of(p), "dir");

	fixture_commit(p->f);
	note(p, root_of(p), "a", DIRTY_NAME);
	note(p, dir, "b", DIRTY_NAME);
	note(p, root_of(p), "c", DIRTY_NAME);
	note(p, p->f->roots[1], "d", DIRTY_NAME);
	make_looks(p);
	assert_int_equal(p->looks.count, 3);
	assert_int_equal(look_at(p, root_of(p))->count, 2);
	assert_string_equal(look_at(p, dir)->names[0].name.bytes, "b");
	assert_string_equal(look_at(p, p->f->roots[1])->names[0].name.bytes, "d");
}

/* ---- directories --------------------------------------------------------------------- */

static void test_directory_that_is_listed_needs_no_names(void **state)
{
	struct play *p = *state;
	uint64_t dir = add_dir(p->f, root_of(p), "dir");

	fixture_commit(p->f);
	note(p, dir, "a", DIRTY_NAME);
	note(p, dir, "", DIRTY_LISTING);
	make_looks(p);
	assert_int_equal(look_at(p, dir)->what, LOOK_LISTING);
	assert_int_equal(look_at(p, dir)->count, 0);
}

static void test_deep_looks_stand_in_front(void **state)
{
	struct play *p = *state;
	uint64_t one = add_dir(p->f, root_of(p), "one"), other = add_dir(p->f, root_of(p), "other");

	fixture_commit(p->f);
	note(p, root_of(p), "a", DIRTY_NAME);
	note(p, one, "a", DIRTY_NAME);
	note(p, other, "", DIRTY_DEEP);
	note(p, other, "a", DIRTY_NAME);
	make_looks(p);
	assert_int_equal(p->looks.count, 3);
	assert_int_equal(p->looks.deep_count, 1);
	assert_int_equal(p->looks.list[0].dir, other);
	assert_int_equal(p->looks.list[0].what, LOOK_DEEP);
	assert_int_equal(look_at(p, one)->what, LOOK_NAMES);
	assert_int_equal(look_at(p, root_of(p))->what, LOOK_NAMES);
}

static void test_only_a_source_itself_is_listed_for_its_attributes(void **state)
{
	struct play *p = *state;
	uint64_t dir = add_dir(p->f, root_of(p), "dir");

	fixture_commit(p->f);
	note(p, root_of(p), "", DIRTY_ATTRIBUTES);
	note(p, dir, "", DIRTY_ATTRIBUTES);
	make_looks(p);
	assert_int_equal(look_at(p, root_of(p))->what, LOOK_LISTING);
	assert_int_equal(look_at(p, dir)->what, LOOK_NAMES); /* its parent shows the rest */
	assert_int_equal(look_at(p, dir)->count, 0);
}

static void test_nothing_below_a_source_that_is_looked_at_as_a_whole_is_looked_at(void **state)
{
	struct play *p = *state;
	uint64_t dir = add_dir(p->f, root_of(p), "dir");
	uint64_t other = add_dir(p->f, root_of(p), "other");

	fixture_commit(p->f);
	note(p, root_of(p), "", DIRTY_DEEP);
	note(p, dir, "a", DIRTY_NAME);
	note(p, other, "", DIRTY_DEEP);
	note(p, p->f->roots[1], "a", DIRTY_NAME);
	make_looks(p);
	assert_int_equal(p->looks.count, 2);
	assert_int_equal(p->looks.list[0].dir, root_of(p));
	assert_int_equal(p->looks.list[1].dir, p->f->roots[1]);
}

static void test_source_that_is_missing_is_left_as_it_is(void **state)
{
	struct play *p = *state;

	note(p, root_of(p), "", DIRTY_DEEP);
	note(p, p->f->roots[1], "a", DIRTY_NAME);
	atomic_store(&p->list[0].missing, true);
	make_looks(p);
	assert_int_equal(p->looks.count, 1);
	assert_int_equal(p->looks.list[0].dir, p->f->roots[1]);
	assert_int_equal(p->looks.deep_count, 0);
}

static void test_directory_that_the_index_does_not_have_is_passed_over(void **state)
{
	struct play *p = *state;

	note(p, 123456, "a", DIRTY_NAME);
	make_looks(p);
	assert_int_equal(p->looks.count, 0);
}

/* ---- what was written to ------------------------------------------------------------- */

static void test_content_of_a_file_that_was_written_to_is_forgotten(void **state)
{
	struct play *p = *state;
	const struct written_file *written;
	uint64_t a, b;

	add_file(p->f, root_of(p), "a", file_of(10, 100, 0));
	add_file(p->f, root_of(p), "b", file_of(11, 100, 0));
	fixture_commit(p->f);
	a = id_at(p->f, root_of(p), "a");
	b = id_at(p->f, root_of(p), "b");
	assert_int_equal(set_content(p->f, a, 0), 0);
	assert_int_equal(set_content(p->f, b, 0), 0);
	note(p, root_of(p), "a", DIRTY_CONTENT);
	note(p, root_of(p), "b", DIRTY_NAME);
	make_looks(p);
	assert_int_equal(content_of(p->f, a).prefix, 0);
	assert_true(content_of(p->f, b).prefix != 0);
	assert_int_equal(count_written(p), 1);
	written = (const void *)p->written.data;
	assert_int_equal(written->file, a);
	assert_false(written->closed);
	note(p, root_of(p), "a", DIRTY_CONTENT | DIRTY_CLOSED);
	make_looks(p);
	written = (const void *)p->written.data;
	assert_true(written->closed);
}

static void test_file_that_comes_from_out_of_sight_under_its_old_name_is_read_again(void **state)
{
	static const uint32_t why[] = {DIRTY_NAME | DIRTY_MOVED | DIRTY_UNSEEN,
				       DIRTY_NAME | DIRTY_CREATED};
	struct play *p = *state;
	uint64_t a;

	add_file(p->f, root_of(p), "a", file_of(10, 100, 0));
	fixture_commit(p->f);
	a = id_at(p->f, root_of(p), "a");
	for (size_t i = 0; i < ARRAY_SIZE(why); i++) {
		const struct written_file *written;

		assert_int_equal(set_content(p->f, a, 0), 0);
		dirty_reset(&p->dirty);
		note(p, root_of(p), "a", why[i]);
		note(p, root_of(p), "new", why[i]);
		make_looks(p);
		assert_int_equal(content_of(p->f, a).prefix, 0);
		assert_int_equal(count_written(p), 1);
		written = (const void *)p->written.data;
		assert_true(written->closed);
		assert_false(p->looks.missed);
	}
}

static void test_what_is_written_to_and_no_file_of_the_index_is_only_looked_at(void **state)
{
	struct play *p = *state;

	(void)add_dir(p->f, root_of(p), "dir");
	fixture_commit(p->f);
	note(p, root_of(p), "dir", DIRTY_CONTENT);
	note(p, root_of(p), "new", DIRTY_CONTENT);
	note(p, root_of(p), "other", DIRTY_NAME);
	make_looks(p);
	assert_int_equal(count_written(p), 0);
	assert_int_equal(look_at(p, root_of(p))->count, 3);
	assert_true(p->looks.doubt);
	assert_int_equal(flags_of(p, "other"), 0);
}

/* Which file had the name in between nobody knows. */
static void test_write_to_a_name_that_changed_hands_may_have_been_to_any_that_moved(void **state)
{
	static const uint32_t doubtful[] = {
		DIRTY_NAME | DIRTY_CREATED | DIRTY_CONTENT,
		DIRTY_NAME | DIRTY_MOVED | DIRTY_CAME | DIRTY_CONTENT,
		DIRTY_NAME | DIRTY_REMOVED | DIRTY_ATTRIBUTES,
		DIRTY_NAME | DIRTY_CREATED | DIRTY_REMOVED | DIRTY_LOST,
	};
	struct play *p = *state;

	add_file(p->f, root_of(p), "there", file_of(10, 100, 0));
	fixture_commit(p->f);
	for (size_t i = 0; i < ARRAY_SIZE(doubtful); i++) {
		dirty_reset(&p->dirty);
		note(p, root_of(p), "there", doubtful[i]);
		note(p, root_of(p), "moved", DIRTY_NAME | DIRTY_MOVED | DIRTY_CAME);
		make_looks(p);
		assert_true(p->looks.doubt);
		assert_false(p->looks.missed);
		assert_int_equal(flags_of(p, "there") & LOOK_SAME_BYTES, 0);
		assert_int_equal(flags_of(p, "there") & LOOK_LOST,
				 doubtful[i] & DIRTY_LOST ? LOOK_LOST : 0);
		assert_int_equal(flags_of(p, "moved"), LOOK_MOVED | LOOK_ARRIVED);
	}
}

static void test_writes_where_the_index_has_no_directory_may_be_to_any_file(void **state)
{
	struct play *p = *state;

	note(p, root_of(p) + 1000, "gone", DIRTY_NAME | DIRTY_REMOVED);
	make_looks(p);
	assert_false(p->looks.missed);
	note(p, root_of(p) + 1000, "gone", DIRTY_CONTENT);
	make_looks(p);
	assert_true(p->looks.missed);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, play_setup, play_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_nothing_dirty_is_no_look),
		CASE(test_names_are_looked_at_with_what_is_known_of_them),
		CASE(test_each_directory_has_one_look),
		CASE(test_directory_that_is_listed_needs_no_names),
		CASE(test_deep_looks_stand_in_front),
		CASE(test_only_a_source_itself_is_listed_for_its_attributes),
		CASE(test_nothing_below_a_source_that_is_looked_at_as_a_whole_is_looked_at),
		CASE(test_source_that_is_missing_is_left_as_it_is),
		CASE(test_directory_that_the_index_does_not_have_is_passed_over),
		CASE(test_content_of_a_file_that_was_written_to_is_forgotten),
		CASE(test_file_that_comes_from_out_of_sight_under_its_old_name_is_read_again),
		CASE(test_what_is_written_to_and_no_file_of_the_index_is_only_looked_at),
		CASE(test_write_to_a_name_that_changed_hands_may_have_been_to_any_that_moved),
		CASE(test_writes_where_the_index_has_no_directory_may_be_to_any_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
