/* SPDX-License-Identifier: MIT */
#include "index/fixture.h"
#include "view/follow/due.h"

#define MANY ((size_t)DUE_RARE_FILES + 1)

/* An index with many files of 10 bytes, DUE_RARE_FILES of 20 and one of 30. */
struct case_state {
	struct fixture *f;
	uint64_t files[2 * MANY]; /* all of them, in this order */
	struct due due;
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

	due_free(&p->due);
	fixture_teardown((void **)&p->f);
	free(p);
	return 0;
}

/* Finds the sizes of count files from the first one on, in the reverse order. Returns *rare. */
static bool find(struct case_state *p, size_t first, size_t count, bool rare)
{
	due_free(&p->due);
	p->due.files.list = calloc(count, sizeof(*p->due.files.list));
	assert_non_null(p->due.files.list);
	for (size_t i = 0; i < count; i++)
		p->due.files.list[i] = p->files[first + count - 1 - i];
	p->due.files.count = count;
	assert_int_equal(due_find_sizes(&p->due, p->f->catalog, (struct ingest_range){.from = 10},
					&rare),
			 0);
	return rare;
}

static void assert_sizes(const struct case_state *p, size_t count, const uint64_t *sizes)
{
	assert_int_equal(p->due.size_count, count);
	assert_memory_equal(p->due.sizes, sizes, count * sizeof(*sizes));
}

static bool takes(const struct case_state *p, uint64_t file)
{
	size_t i = 0;

	while (i < p->due.files.count && p->due.files.list[i] != file)
		i++;
	return i < p->due.files.count;
}

/* ---- cases --------------------------------------------------------------------------- */

static void test_files_of_rare_sizes_are_taken_alone_from_many(void **state)
{
	static const uint64_t sizes[] = {20, 30};
	struct case_state *p = *state;

	assert_true(find(p, 0, 2 * MANY, true));
	assert_sizes(p, 2, sizes);
	assert_int_equal(p->due.files.count, MANY);
	for (size_t i = 0; i < MANY; i++)
		assert_true(takes(p, p->files[MANY + i]));
}

static void test_all_files_are_taken_if_that_is_wanted(void **state)
{
	static const uint64_t sizes[] = {10, 20, 30};
	struct case_state *p = *state;

	assert_false(find(p, 0, 2 * MANY, false));
	assert_sizes(p, 3, sizes);
	assert_int_equal(p->due.files.count, 2 * MANY);
}

static void test_all_files_are_taken_if_no_size_or_each_is_rare(void **state)
{
	static const uint64_t sizes[] = {10, 20, 30};
	struct case_state *p = *state;

	assert_false(find(p, 0, MANY, true));
	assert_sizes(p, 1, sizes);
	assert_int_equal(p->due.files.count, MANY);
	assert_false(find(p, 1, 2 * MANY - 1, true));
	assert_sizes(p, 3, sizes);
	assert_int_equal(p->due.files.count, 2 * MANY - 1);
}

static void test_files_without_a_size_are_never_alone(void **state)
{
	static const uint64_t sizes[] = {30};
	struct case_state *p = *state;

	/* unknown ids, and one file */
	for (size_t i = MANY; i < 2 * MANY - 1; i++)
		p->files[i] = 100000 + i;
	assert_false(find(p, MANY, MANY, true));
	assert_sizes(p, 1, sizes);
	assert_int_equal(p->due.files.count, MANY);
	/* too many of them to be taken together with it */
	p->files[MANY - 1] = 100000;
	assert_true(find(p, MANY - 1, MANY + 1, true));
	assert_sizes(p, 1, sizes);
	assert_int_equal(p->due.files.count, 1);
}

/* ---- the end of a comparison --------------------------------------------------------- */

#define MS ((uint64_t)1000000)
#define START ((uint64_t)1 << 50)
#define FROM (START + DEBOUNCE_CLOSED_MS * MS) /* the comparison begins */
#define NOW (FROM + 2000 * MS) /* and ends */

static uint64_t ids[] = {1, 2, 3};

/* Ends a comparison of the first due_count of the ids, of which pending_count are still unread. */
static void finish(struct backoff *backoff, size_t due_count, size_t pending_count, uint64_t from)
{
	const struct due due = {.files = {.list = ids, .count = due_count}};
	const struct bytes pending = {.data = (void *)ids, .length = pending_count * sizeof(*ids)};

	assert_int_equal(due_finish(&due, backoff, &pending, (struct due_times){from, NOW}), 0);
}

static void test_file_that_became_due_during_a_comparison_stays_due(void **state)
{
	struct backoff backoff CLEANUP(backoff_free) = {0};

	(void)state;
	assert_int_equal(backoff_changed(&backoff, 1, true, START), 0);
	assert_int_equal(backoff_changed(&backoff, 2, true, START + MS), 0);
	finish(&backoff, 1, 2, FROM);
	/* the first is open for writing; the comparison left the second out */
	assert_true(backoff_waits(&backoff, 1, NOW));
	assert_true(backoff_is_due(&backoff, 2, NOW));
}

static void test_file_that_changed_its_size_during_a_comparison_stays_due(void **state)
{
	struct backoff backoff CLEANUP(backoff_free) = {0};

	(void)state;
	assert_int_equal(backoff_changed(&backoff, 1, true, START), 0);
	assert_int_equal(backoff_changed(&backoff, 1, true, FROM + MS), 0);
	finish(&backoff, 1, 0, FROM);
	assert_true(backoff_is_due(&backoff, 1, NOW));
}

static void test_all_files_of_a_barrier_are_done_or_wait_longer(void **state)
{
	struct backoff backoff CLEANUP(backoff_free) = {0};

	(void)state;
	assert_int_equal(backoff_changed(&backoff, 1, true, START + MS), 0);
	assert_int_equal(backoff_changed(&backoff, 2, true, START + MS), 0);
	assert_int_equal(backoff_changed(&backoff, 3, true, NOW - MS), 0);
	finish(&backoff, 2, 1, UINT64_MAX);
	assert_true(backoff_waits(&backoff, 1, NOW));
	assert_int_equal(backoff.count, 2);
	assert_true(backoff_waits(&backoff, 3, NOW));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_files_of_rare_sizes_are_taken_alone_from_many,
						case_setup, case_teardown),
		cmocka_unit_test_setup_teardown(test_all_files_are_taken_if_that_is_wanted,
						case_setup, case_teardown),
		cmocka_unit_test_setup_teardown(test_all_files_are_taken_if_no_size_or_each_is_rare,
						case_setup, case_teardown),
		cmocka_unit_test_setup_teardown(test_files_without_a_size_are_never_alone,
						case_setup, case_teardown),
		cmocka_unit_test(test_file_that_became_due_during_a_comparison_stays_due),
		cmocka_unit_test(test_file_that_changed_its_size_during_a_comparison_stays_due),
		cmocka_unit_test(test_all_files_of_a_barrier_are_done_or_wait_longer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
