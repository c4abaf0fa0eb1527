/* SPDX-License-Identifier: MIT */
#include "index/fixture.h"
#include "view/follow/due.h"

#define MANY ((size_t)DUE_RARE_FILES + 1)

/* An index with many files of 10 bytes, DUE_RARE_FILES of 20 and one of 30. */
struct case_state {
	struct fixture *f;
	uint64_t files[2 * MANY]; /* all of them, in this order */
	struct due due;
	struct due_part part;
};

static uint64_t size_of(size_t number)
{
	if (number < MANY)
		return 10;
	return number < 2 * MANY - 1 ? 20 : 30;
}

static int case_setup(void **state)
{
	struct case_state *p = calloc(1, sizeof(*p));
	char names[2 * MANY][16];

	assert_non_null(p);
	fixture_setup((void **)&p->f);
	for (size_t i = 0; i < 2 * MANY; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "%03u", (unsigned)i);
		add_file(p->f, p->f->roots[0], names[i], file_of(1000 + i, size_of(i), 0));
	}
	fixture_commit(p->f);
	for (size_t i = 0; i < 2 * MANY; i++)
		p->files[i] = id_at(p->f, p->f->roots[0], names[i]);
	*state = p;
	return 0;
}

static int case_teardown(void **state)
{
	struct case_state *p = *state;

	due_part_free(&p->part);
	due_free(&p->due);
	fixture_teardown((void **)&p->f);
	free(p);
	return 0;
}

/* Adds count files from the first one on. */
static void add(struct case_state *p, size_t first, size_t count)
{
	const struct due_files files = {.list = p->files + first, .count = count};

	assert_int_equal(due_add(&p->due, p->f->catalog, (struct ingest_range){.from = 10}, &files),
			 0);
}

/* Chooses a part, of these sizes. */
static void choose(struct case_state *p, enum due_choice choice, size_t files, size_t count,
		   const uint64_t *sizes)
{
	due_part_free(&p->part);
	assert_int_equal(due_choose(&p->due, choice, files, &p->part), 0);
	assert_int_equal(p->part.size_count, count);
	assert_memory_equal(p->part.sizes, sizes, count * sizeof(*sizes));
}

static bool takes(const struct case_state *p, uint64_t file)
{
	size_t i = 0;

	while (i < p->part.files.count && p->part.files.list[i] != file)
		i++;
	return i < p->part.files.count;
}

/* ---- cases --------------------------------------------------------------------------- */

static const uint64_t all_sizes[] = {10, 20, 30};

static void test_files_of_rare_sizes_are_taken_alone_from_many(void **state)
{
	struct case_state *p = *state;

	add(p, 0, 2 * MANY);
	choose(p, DUE_RARE, 2 * MANY, 2, all_sizes + 1);
	assert_int_equal(p->part.files.count, MANY);
	for (size_t i = 0; i < MANY; i++)
		assert_true(takes(p, p->files[MANY + i]));
	due_remove(&p->due, &p->part);
	choose(p, DUE_RARE, 2 * MANY, 0, all_sizes);
	assert_int_equal(p->part.files.count, 0);
	choose(p, DUE_SOME, 1, 1, all_sizes);
	due_remove(&p->due, &p->part);
	assert_int_equal(p->due.files, 0);
}

static void test_size_that_was_rare_is_not_if_more_files_of_it_are_due(void **state)
{
	struct case_state *p = *state;

	add(p, 0, MANY - 1);
	choose(p, DUE_RARE, MANY, 1, all_sizes);
	add(p, MANY - 1, 1);
	choose(p, DUE_RARE, MANY, 0, all_sizes);
}

static void test_size_with_far_fewer_files_than_others_is_rare(void **state)
{
	struct case_state *p = *state;

	for (int i = 0; i < 4; i++)
		add(p, 0, MANY);
	add(p, MANY, MANY - 1);
	add(p, MANY, 1);
	choose(p, DUE_RARE, MANY, 1, all_sizes + 1);
	assert_int_equal(p->part.files.count, MANY);
}

static void test_all_files_are_taken_if_that_is_wanted(void **state)
{
	struct case_state *p = *state;

	add(p, 0, 2 * MANY);
	choose(p, DUE_ALL, 1, 3, all_sizes);
	assert_int_equal(p->part.files.count, 2 * MANY);
}

static void test_parts_take_the_sizes_in_turn_until_none_is_left(void **state)
{
	struct case_state *p = *state;

	add(p, MANY, MANY);
	add(p, 0, 1);
	choose(p, DUE_SOME, 1, 1, all_sizes + 1);
	due_remove(&p->due, &p->part);
	add(p, MANY, 1); /* of 20 bytes again: the last */
	choose(p, DUE_SOME, 2, 2, (const uint64_t[]){10, 30});
	due_remove(&p->due, &p->part);
	choose(p, DUE_SOME, 2, 1, all_sizes + 1);
	assert_int_equal(p->part.files.count, 1);
	due_remove(&p->due, &p->part);
	assert_null(p->due.sizes);
}

static void test_files_without_a_size_are_in_each_part(void **state)
{
	struct case_state *p = *state;

	for (size_t i = 0; i < MANY; i++)
		p->files[i] = 100000 + i; /* unknown ids */
	add(p, 0, MANY + 1);
	choose(p, DUE_RARE, 1, 1, all_sizes + 1);
	assert_int_equal(p->part.files.count, MANY + 1);
	choose(p, DUE_SOME, 1, 1, all_sizes + 1);
	assert_int_equal(p->part.files.count, MANY + 1);
	due_remove(&p->due, &p->part);
	assert_int_equal(p->due.files, 0);
}

/* ---- the end of a comparison --------------------------------------------------------- */

#define MS ((uint64_t)1000000)
#define START ((uint64_t)1 << 50)
#define FROM (START + DEBOUNCE_CLOSED_MS * MS) /* the comparison begins */
#define NOW (FROM + 2000 * MS) /* and ends */

static bool is_due(const struct backoff *backoff, uint64_t file, uint64_t now_ns)
{
	return backoff_waits(backoff, file, 0) && !backoff_waits(backoff, file, now_ns);
}

/* Takes the files that are due at FROM, or all. */
static struct due_part part_of(struct backoff *backoff, bool all)
{
	struct due_part part = {0};

	assert_int_equal(backoff_take(backoff, FROM, all, &part.files), 0);
	return part;
}

/* Ends a comparison. The files up to this id are still unread. */
static void finish(struct backoff *backoff, const struct due_part *part, uint64_t unread)
{
	static const uint64_t ids[] = {1, 2, 3};
	const struct bytes pending = {.data = (void *)ids, .length = unread * sizeof(*ids)};

	assert_int_equal(due_finish(part, backoff, &pending, backoff_busy, NOW), 0);
}

static void test_file_that_became_due_during_a_comparison_stays_due(void **state)
{
	struct backoff backoff CLEANUP(backoff_free) = {0};
	CLEANUP(due_part_free) struct due_part part = {0};

	(void)state;
	assert_int_equal(backoff_changed(&backoff, 1, true, START), 0);
	assert_int_equal(backoff_changed(&backoff, 2, true, START + MS), 0);
	part = part_of(&backoff, false);
	assert_int_equal(part.files.count, 1);
	finish(&backoff, &part, 2);
	/* the first is open for writing; the comparison left the second out */
	assert_true(backoff_waits(&backoff, 1, NOW));
	assert_true(is_due(&backoff, 2, NOW));
}

static void test_file_that_changed_its_size_during_a_comparison_stays_due(void **state)
{
	(void)state;
	for (int all = 0; all < 2; all++) {
		struct backoff backoff CLEANUP(backoff_free) = {0};
		CLEANUP(due_part_free) struct due_part part = {0};

		assert_int_equal(backoff_changed(&backoff, 1, true, START), 0);
		part = part_of(&backoff, all);
		assert_int_equal(backoff_changed(&backoff, 1, true, FROM + MS), 0);
		finish(&backoff, &part, 0);
		assert_true(is_due(&backoff, 1, NOW));
	}
}

static void test_all_files_of_a_barrier_are_done_or_wait_longer(void **state)
{
	struct backoff backoff CLEANUP(backoff_free) = {0};
	CLEANUP(due_part_free) struct due_part part = {0};

	(void)state;
	assert_int_equal(backoff_changed(&backoff, 1, true, START + MS), 0);
	assert_int_equal(backoff_changed(&backoff, 2, true, NOW), 0);
	part = part_of(&backoff, true);
	assert_int_equal(backoff_changed(&backoff, 3, true, NOW - MS), 0);
	finish(&backoff, &part, 1);
	assert_true(backoff_waits(&backoff, 1, NOW));
	assert_int_equal(backoff.count, 2);
	assert_true(backoff_waits(&backoff, 3, NOW));
}

static void test_files_of_a_failed_round_wait_again_where_they_waited(void **state)
{
	struct case_state *p = *state;
	struct backoff changed CLEANUP(backoff_free) = {0}, failing CLEANUP(backoff_free) = {0};
	struct due_files files = {0};

	assert_int_equal(backoff_changed(&changed, p->files[0], true, START), 0);
	assert_int_equal(backoff_changed(&changed, p->files[1], true, START), 0);
	assert_int_equal(backoff_failed(&failing, p->files[MANY], START), 0);
	assert_int_equal(backoff_take(&changed, NOW, false, &files), 0);
	assert_int_equal(backoff_take(&failing, NOW, false, &files), 0);
	assert_int_equal(due_add(&p->due, p->f->catalog, (struct ingest_range){.from = 10}, &files),
			 0);
	assert_int_equal(backoff_changed(&changed, p->files[1], true, NOW), 0);
	assert_int_equal(due_return(&p->due, &changed, &failing, NOW), 0);
	assert_int_equal(backoff_next_ns(&changed), FROM);
	assert_true(backoff_waits(&changed, p->files[1], NOW));
	assert_int_equal(changed.count, 2);
	assert_int_equal(backoff_next_ns(&failing), START + DEBOUNCE_OPEN_MS * MS);
	assert_int_equal(failing.count, 1);
	free(files.list);
}

/* The part of the old size ends the wait of the file. The round also has it with the new one. */
static void test_file_that_is_in_a_failed_round_twice_waits_again(void **state)
{
	struct case_state *p = *state;
	struct backoff changed CLEANUP(backoff_free) = {0}, failing CLEANUP(backoff_free) = {0};
	struct due_files files = {0};
	const struct bytes none = {0};

	for (size_t size = 10; size <= 20; size += 10) {
		add_file(p->f, p->f->roots[0], "000", file_of(1000, size, 0));
		fixture_commit(p->f);
		p->files[0] = id_at(p->f, p->f->roots[0], "000");
		assert_int_equal(backoff_changed(&changed, p->files[0], true, START), 0);
		files.count = 0;
		assert_int_equal(backoff_take(&changed, NOW, false, &files), 0);
		assert_int_equal(files.count, 1);
		add(p, 0, 1);
	}
	choose(p, DUE_SOME, 1, 1, all_sizes);
	assert_int_equal(due_finish(&p->part, &changed, &none, backoff_busy, NOW), 0);
	due_remove(&p->due, &p->part);
	backoff_sweep(&changed, NOW + BACKOFF_MAX_MS * MS);
	assert_int_equal(due_return(&p->due, &changed, &failing, NOW), 0);
	assert_true(backoff_waits(&changed, p->files[0], NOW));
	assert_int_equal(changed.count, 1);
	free(files.list);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, case_setup, case_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_files_of_rare_sizes_are_taken_alone_from_many),
		CASE(test_size_that_was_rare_is_not_if_more_files_of_it_are_due),
		CASE(test_size_with_far_fewer_files_than_others_is_rare),
		CASE(test_all_files_are_taken_if_that_is_wanted),
		CASE(test_parts_take_the_sizes_in_turn_until_none_is_left),
		CASE(test_files_without_a_size_are_in_each_part),
		CASE(test_files_of_a_failed_round_wait_again_where_they_waited),
		CASE(test_file_that_is_in_a_failed_round_twice_waits_again),
		cmocka_unit_test(test_file_that_became_due_during_a_comparison_stays_due),
		cmocka_unit_test(test_file_that_changed_its_size_during_a_comparison_stays_due),
		cmocka_unit_test(test_all_files_of_a_barrier_are_done_or_wait_longer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
