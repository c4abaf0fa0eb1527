/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/attributes.h"
#include "unit_test.h"
#include "view/follow/backoff.h"

#define MS ((uint64_t)1000000)

/* An arbitrary time that is far from 0. */
#define START ((uint64_t)1 << 50)

#define MANY 100000

static void change(struct backoff *backoff, uint64_t file, bool closed, uint64_t now_ns)
{
	assert_int_equal(backoff_changed(backoff, file, closed, now_ns), 0);
}

static size_t due_count(const struct backoff *backoff, uint64_t now_ns, bool all)
{
	struct due_files files = {0};

	assert_int_equal(backoff_due(backoff, all ? UINT64_MAX : now_ns, &files), 0);
	free(files.list);
	return files.count;
}

static bool is_due(const struct backoff *backoff, uint64_t file, uint64_t now_ns)
{
	return backoff_waits(backoff, file, 0) && !backoff_waits(backoff, file, now_ns);
}

/* The remaining wait of the only file. */
static uint64_t wait_ms(const struct backoff *backoff, uint64_t now_ns)
{
	return (backoff_next_ns(backoff) - now_ns) / MS;
}

static void test_new_backoff_is_empty(void **state)
{
	struct backoff backoff CLEANUP(backoff_free) = {0};

	(void)state;
	assert_int_equal(backoff_next_ns(&backoff), UINT64_MAX);
	assert_int_equal(due_count(&backoff, UINT64_MAX, true), 0);
	assert_false(backoff_waits(&backoff, 1, START));
	backoff_done(&backoff, 1, START);
	backoff_sweep(&backoff, START);
	assert_int_equal(backoff.count, 0);
}

static void test_closed_file_is_due_sooner_than_an_open_one(void **state)
{
	struct backoff backoff CLEANUP(backoff_free) = {0};

	(void)state;
	change(&backoff, 1, false, START);
	assert_int_equal(wait_ms(&backoff, START), DEBOUNCE_OPEN_MS);
	change(&backoff, 2, true, START);
	assert_int_equal(wait_ms(&backoff, START), DEBOUNCE_CLOSED_MS);
	assert_true(backoff_waits(&backoff, 2, START + DEBOUNCE_CLOSED_MS * MS - 1));
	assert_int_equal(due_count(&backoff, START + DEBOUNCE_CLOSED_MS * MS - 1, false), 0);
	assert_false(backoff_waits(&backoff, 2, START + DEBOUNCE_CLOSED_MS * MS));
	assert_int_equal(due_count(&backoff, START + DEBOUNCE_CLOSED_MS * MS, false), 1);
	assert_int_equal(due_count(&backoff, START + DEBOUNCE_OPEN_MS * MS, false), 2);
	assert_int_equal(due_count(&backoff, START, true), 2);
	assert_int_equal(backoff.count, 2);
}

static void test_event_extends_the_wait_and_a_close_shortens_it(void **state)
{
	struct backoff backoff CLEANUP(backoff_free) = {0};
	uint64_t now = START;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		now += 10 * MS;
		change(&backoff, 1, false, now);
		assert_int_equal(wait_ms(&backoff, now), DEBOUNCE_OPEN_MS);
	}
	change(&backoff, 1, true, now);
	assert_int_equal(wait_ms(&backoff, now), DEBOUNCE_CLOSED_MS);
	assert_int_equal(backoff.count, 1);
	backoff_done(&backoff, 1, now);
	assert_int_equal(backoff.count, 0);
	assert_false(backoff_waits(&backoff, 1, now));
	assert_int_equal(backoff_next_ns(&backoff), UINT64_MAX);
}

static void test_file_that_keeps_changing_waits_longer_each_time(void **state)
{
	struct backoff backoff CLEANUP(backoff_free) = {0};
	uint64_t now = START, expected = DEBOUNCE_CLOSED_MS;

	(void)state;
	for (int i = 0; i < 30; i++) {
		change(&backoff, 1, true, now);
		assert_int_equal(wait_ms(&backoff, now), expected);
		now = backoff_next_ns(&backoff);
		backoff_done(&backoff, 1, now);
		expected = 2 * expected < BACKOFF_MAX_MS ? 2 * expected : BACKOFF_MAX_MS;
	}
	assert_int_equal(expected, BACKOFF_MAX_MS);
}

static void test_file_written_every_second_is_read_rarely(void **state)
{
	struct backoff backoff CLEANUP(backoff_free) = {0};
	uint64_t now = START;
	size_t reads = 0;

	(void)state;
	for (int second = 0; second < 3600; second++) {
		change(&backoff, 1, true, now);
		now += 1000 * MS;
		if (due_count(&backoff, now, false) == 1) {
			reads++;
			backoff_done(&backoff, 1, backoff_next_ns(&backoff));
		}
	}
	assert_in_range(reads, 1, 10);
	assert_int_equal(due_count(&backoff, now + BACKOFF_MAX_MS * MS, false), 1);
}

static void test_quiet_file_loses_its_history(void **state)
{
	struct backoff backoff CLEANUP(backoff_free) = {0};
	uint64_t now = START;

	(void)state;
	for (int i = 0; i < 5; i++) {
		change(&backoff, 1, true, now);
		backoff_done(&backoff, 1, now);
	}
	backoff_sweep(&backoff, now + UINT64_C(10) * (DEBOUNCE_CLOSED_MS << 4) * MS - 1);
	change(&backoff, 1, true, now);
	assert_int_equal(wait_ms(&backoff, now), DEBOUNCE_CLOSED_MS << 5);
	backoff_sweep(&backoff, now + 100 * MS * BACKOFF_MAX_MS);
	assert_int_equal(backoff.count, 1);
	backoff_done(&backoff, 1, now);
	now += BACKOFF_MAX_MS * MS;
	change(&backoff, 1, true, now);
	assert_int_equal(wait_ms(&backoff, now), DEBOUNCE_CLOSED_MS);
	backoff_done(&backoff, 1, now);
	backoff_sweep(&backoff, now + BACKOFF_MAX_MS * MS);
	assert_null(backoff.table);
}

static void test_busy_file_waits_longer_each_time_until_it_is_closed(void **state)
{
	struct backoff backoff CLEANUP(backoff_free) = {0};
	uint64_t now = START, expected = DEBOUNCE_OPEN_MS;

	(void)state;
	change(&backoff, 1, false, now);
	for (int i = 0; i < 20; i++) {
		now = backoff_next_ns(&backoff);
		assert_int_equal(due_count(&backoff, now, false), 1);
		assert_int_equal(backoff_busy(&backoff, 1, now), 0);
		assert_int_equal(wait_ms(&backoff, now), expected);
		expected = 2 * expected < BACKOFF_MAX_MS ? 2 * expected : BACKOFF_MAX_MS;
	}
	change(&backoff, 1, false, now + MS);
	assert_int_equal(wait_ms(&backoff, now), BACKOFF_MAX_MS);
	change(&backoff, 1, true, now + MS);
	assert_int_equal(wait_ms(&backoff, now + MS), DEBOUNCE_CLOSED_MS);
	now = backoff_next_ns(&backoff);
	assert_int_equal(backoff_busy(&backoff, 1, now), 0);
	assert_int_equal(wait_ms(&backoff, now), DEBOUNCE_OPEN_MS);
	backoff_done(&backoff, 1, now);
	assert_int_equal(backoff_busy(&backoff, 1, now), 0);
	assert_int_equal(wait_ms(&backoff, now), DEBOUNCE_OPEN_MS);
}

/* A server can change the mtime of a file when it is opened, so that each attempt finds a change,
 * and the next walk of a polled source, too. */
static void test_file_that_each_attempt_changes_is_tried_rarely(void **state)
{
	(void)state;
	for (uint64_t interval_ms = 1000; interval_ms <= 10000; interval_ms += 250) {
		struct backoff backoff CLEANUP(backoff_free) = {0};
		uint64_t now = START, next = START;
		bool is_changed = true;
		size_t attempts = 0;

		while (now < START + UINT64_C(3600) * 1000 * MS) {
			if (now == next && is_changed)
				change(&backoff, 1, true, now);
			if (now == next)
				next += interval_ms * MS;
			is_changed = is_changed && now != next - interval_ms * MS;
			if (due_count(&backoff, now, false) == 1) {
				assert_int_equal(backoff_busy(&backoff, 1, now), 0);
				is_changed = true;
				attempts++;
			}
			now = next < backoff_next_ns(&backoff) ? next : backoff_next_ns(&backoff);
		}
		assert_in_range(attempts, 1, 300);
	}
}

static void test_file_without_earlier_events_can_be_busy(void **state)
{
	struct backoff backoff CLEANUP(backoff_free) = {0};

	(void)state;
	assert_int_equal(backoff_busy(&backoff, 9, START), 0);
	assert_int_equal(backoff.count, 1);
	assert_int_equal(wait_ms(&backoff, START), DEBOUNCE_OPEN_MS);
	assert_true(backoff_waits(&backoff, 9, START));
}

static void test_file_that_failed_waits_longer_each_time_up_to_a_day(void **state)
{
	struct backoff backoff CLEANUP(backoff_free) = {0};
	uint64_t now = START, expected = DEBOUNCE_OPEN_MS, on_the_first_day = 0;

	(void)state;
	assert_int_equal(backoff_failed(&backoff, 1, now), 0);
	for (int i = 0; i < 30; i++) {
		assert_int_equal(wait_ms(&backoff, now), expected);
		now = backoff_next_ns(&backoff);
		on_the_first_day += now - START <= BACKOFF_FAILED_MAX_MS * MS;
		assert_int_equal(backoff_failed(&backoff, 1, now), 0);
		expected =
			2 * expected < BACKOFF_FAILED_MAX_MS ? 2 * expected : BACKOFF_FAILED_MAX_MS;
	}
	assert_int_equal(expected, BACKOFF_FAILED_MAX_MS);
	assert_int_equal(on_the_first_day, 16);
	backoff_done(&backoff, 1, now);
	assert_int_equal(backoff_next_ns(&backoff), UINT64_MAX);
	assert_int_equal(backoff_failed(&backoff, 1, now), 0);
	assert_int_equal(wait_ms(&backoff, now), DEBOUNCE_OPEN_MS);
}

static void test_events_do_not_extend_the_wait_after_a_failure(void **state)
{
	struct backoff backoff CLEANUP(backoff_free) = {0};
	const uint64_t due = START + DEBOUNCE_OPEN_MS * MS;

	(void)state;
	assert_int_equal(backoff_failed(&backoff, 1, START), 0);
	for (int i = 0; i < 10; i++)
		assert_int_equal(backoff_failed(&backoff, 1, due - MS), 0);
	assert_false(is_due(&backoff, 1, due - MS));
	assert_true(is_due(&backoff, 1, due));
	assert_int_equal(wait_ms(&backoff, START), DEBOUNCE_OPEN_MS);
	assert_false(is_due(&backoff, 2, due));
	backoff_done(&backoff, 1, due);
	assert_false(is_due(&backoff, 1, due));
}

static void test_failed_files_beyond_the_limit_wait_together(void **state)
{
	struct backoff backoff CLEANUP(backoff_free) = {0};
	uint64_t now = START;

	(void)state;
	for (uint64_t file = 1; file <= BACKOFF_FAILED_FILES; file++)
		assert_int_equal(backoff_failed(&backoff, file, now), 0);
	assert_int_equal(backoff.count, BACKOFF_FAILED_FILES);
	for (uint64_t file = 1; file <= 10; file++)
		assert_int_equal(backoff_failed(&backoff, BACKOFF_FAILED_FILES + file, now), 0);
	assert_int_equal(backoff.count, BACKOFF_FAILED_FILES + 1);
	now = backoff_next_ns(&backoff);
	assert_true(is_due(&backoff, BACKOFF_ALL, now));
	assert_false(is_due(&backoff, BACKOFF_FAILED_FILES + 1, now));
	/* files that fail again are dropped, too */
	for (uint64_t file = 1; file <= BACKOFF_FAILED_FILES; file++)
		assert_int_equal(backoff_failed(&backoff, file, now), 0);
	assert_in_range(backoff.count, BACKOFF_FAILED_FILES - 1, BACKOFF_FAILED_FILES + 1);
	assert_true(backoff_waits(&backoff, BACKOFF_ALL, now));
	assert_int_equal(due_count(&backoff, now, false), 0);
}

static void test_due_files_are_appended(void **state)
{
	struct backoff backoff CLEANUP(backoff_free) = {0};
	struct due_files files = {malloc(sizeof(uint64_t)), 1, 1};

	(void)state;
	assert_non_null(files.list);
	files.list[0] = 42;
	change(&backoff, 7, true, START);
	assert_int_equal(backoff_due(&backoff, START, &files), 0);
	assert_int_equal(files.count, 1);
	assert_int_equal(backoff_due(&backoff, UINT64_MAX, &files), 0);
	assert_int_equal(files.count, 2);
	assert_int_equal(files.list[0], 42);
	assert_int_equal(files.list[1], 7);
	free(files.list);
}

static void test_taken_file_keeps_its_backoff_and_waits_only_after_a_change(void **state)
{
	struct backoff backoff CLEANUP(backoff_free) = {0};
	struct due_files files = {0};
	const uint64_t later = START + 100 * MS * BACKOFF_MAX_MS;

	(void)state;
	for (uint64_t file = 1; file <= 3; file++)
		assert_int_equal(backoff_busy(&backoff, file, START), 0);
	change(&backoff, 4, true, later);
	assert_int_equal(backoff_take(&backoff, later, false, &files), 0);
	assert_int_equal(files.count, 3);
	assert_int_equal(backoff.count, 1);
	backoff_sweep(&backoff, later);
	for (uint64_t file = 1; file <= 3; file++) {
		assert_true(backoff_is_taken(&backoff, file));
		assert_false(backoff_waits(&backoff, file, 0));
	}
	assert_false(backoff_is_taken(&backoff, 4));
	assert_int_equal(backoff_busy(&backoff, 1, later), 0);
	assert_true(backoff_waits(&backoff, 1, later + MS * 2 * DEBOUNCE_OPEN_MS - 1));
	change(&backoff, 2, true, later);
	assert_true(backoff_waits(&backoff, 2, later));
	backoff_done(&backoff, 3, later);
	for (uint64_t file = 1; file <= 3; file++)
		assert_false(backoff_is_taken(&backoff, file));
	assert_int_equal(backoff_take(&backoff, later, true, &files), 0);
	assert_int_equal(files.count, 6);
	free(files.list);
}

/* Compares with a model: an array of the time at which each file is due. */
static void test_many_files_are_due_as_in_the_model(void **state)
{
	struct backoff backoff CLEANUP(backoff_free) = {0};
	uint64_t *due_ns AUTO_FREE = calloc(MANY, sizeof(*due_ns));
	uint64_t now = START, next;
	size_t waiting = 0, file, due;

	(void)state;
	assert_non_null(due_ns);
	srandom(1);
	for (int i = 0; i < 3 * MANY; i++) {
		file = (size_t)random() % MANY;
		now += (uint64_t)random() % 1000;
		if (random() % 3 > 0) {
			waiting += due_ns[file] == 0;
			change(&backoff, file, random() % 2, now);
			due_ns[file] = 1;
		} else {
			waiting -= due_ns[file] != 0;
			backoff_done(&backoff, file, now);
			due_ns[file] = 0;
		}
		assert_int_equal(backoff.count, waiting);
	}
	for (; backoff.count > 0; now = next + 50 * MS) {
		next = backoff_next_ns(&backoff);
		due = 0;
		for (file = 0; file < MANY; file++)
			due += due_ns[file] && !backoff_waits(&backoff, file, now);
		assert_int_equal(due_count(&backoff, now, false), due);
		for (file = 0; file < MANY; file++) {
			if (!due_ns[file] || backoff_waits(&backoff, file, now))
				continue;
			backoff_done(&backoff, file, now);
			due_ns[file] = 0;
		}
		assert_true(backoff_next_ns(&backoff) > now);
	}
}

static void test_frequent_queries_are_cheap_while_many_files_wait(void **state)
{
	struct backoff backoff CLEANUP(backoff_free) = {0};

	(void)state;
	for (uint64_t file = 0; file < MANY; file++)
		change(&backoff, file, true, START + file);
	for (int i = 0; i < MANY;
	     /* if each query visited all files, this would take ten thousand million steps */
	     i++) {
		assert_int_equal(due_count(&backoff, START, false), 0);
		assert_int_equal(wait_ms(&backoff, START), DEBOUNCE_CLOSED_MS);
	}
}

/* Every third file waits, and the wait of the others ends. */
static void test_sweep_keeps_the_files_that_wait(void **state)
{
	static const uint64_t strides[] = {1, 8, 4096, UINT64_C(1) << 40};
	struct backoff backoff CLEANUP(backoff_free) = {0};
	const uint64_t later = START + 100 * MS * BACKOFF_MAX_MS;

	(void)state;
	for (size_t s = 0; s < ARRAY_SIZE(strides); s++) {
		for (uint64_t i = 0; i < 3000; i++) {
			change(&backoff, i * strides[s], true, START);
			if (i % 3)
				backoff_done(&backoff, i * strides[s], START);
		}
		assert_int_equal(backoff.files, 3000);
		backoff_sweep(&backoff, START);
		assert_int_equal(backoff.files, 3000);
		backoff_sweep(&backoff, later);
		assert_int_equal(backoff.files, 1000);
		for (uint64_t i = 0; i < 3000; i++)
			assert_int_equal(is_due(&backoff, i * strides[s], later), i % 3 == 0);
		backoff_free(&backoff);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_new_backoff_is_empty),
		cmocka_unit_test(test_closed_file_is_due_sooner_than_an_open_one),
		cmocka_unit_test(test_event_extends_the_wait_and_a_close_shortens_it),
		cmocka_unit_test(test_file_that_keeps_changing_waits_longer_each_time),
		cmocka_unit_test(test_file_written_every_second_is_read_rarely),
		cmocka_unit_test(test_quiet_file_loses_its_history),
		cmocka_unit_test(test_busy_file_waits_longer_each_time_until_it_is_closed),
		cmocka_unit_test(test_file_that_each_attempt_changes_is_tried_rarely),
		cmocka_unit_test(test_file_without_earlier_events_can_be_busy),
		cmocka_unit_test(test_file_that_failed_waits_longer_each_time_up_to_a_day),
		cmocka_unit_test(test_events_do_not_extend_the_wait_after_a_failure),
		cmocka_unit_test(test_failed_files_beyond_the_limit_wait_together),
		cmocka_unit_test(test_due_files_are_appended),
		cmocka_unit_test(test_taken_file_keeps_its_backoff_and_waits_only_after_a_change),
		cmocka_unit_test(test_many_files_are_due_as_in_the_model),
		cmocka_unit_test(test_frequent_queries_are_cheap_while_many_files_wait),
		cmocka_unit_test(test_sweep_keeps_the_files_that_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
