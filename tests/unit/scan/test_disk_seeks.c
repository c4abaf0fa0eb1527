/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "scan/disk.h"
#include "unit_test.h"

#define CACHED_NS UINT64_C(10000)
#define SOLID_NS UINT64_C(200000)
#define SEEK_NS UINT64_C(8000000)

/* ---- suspicion ------------------------------------------------------------------------ */

/* Notes reads, as many as count. Returns whether they raise suspicion after the last one. */
static bool reads(struct disk_waits *waits, unsigned int count, uint64_t took_ns)
{
	bool many = false;

	for (unsigned int i = 0; i < count; i++)
		many = disk_waits_add(waits, took_ns);
	return many;
}

static void test_reads_of_caches_and_solid_disks_raise_no_suspicion(void **state)
{
	struct disk_waits waits = {0};

	(void)state;
	assert_false(reads(&waits, 1000, CACHED_NS));
	assert_false(reads(&waits, 1000, SOLID_NS));
}

static void test_few_slow_reads_raise_suspicion(void **state)
{
	struct disk_waits waits = {0};

	(void)state;
	assert_false(reads(&waits, 2, SEEK_NS));
	assert_true(reads(&waits, 8, SEEK_NS));
}

static void test_slow_reads_after_many_cached_reads_raise_suspicion(void **state)
{
	struct disk_waits waits = {0};

	(void)state;
	assert_false(reads(&waits, 100000, CACHED_NS));
	assert_true(reads(&waits, 8, SEEK_NS));
}

static void test_single_delays_raise_no_suspicion(void **state)
{
	struct disk_waits waits = {0};

	(void)state;
	for (unsigned int i = 0; i < 1000; i++) {
		assert_false(reads(&waits, 30, CACHED_NS));
		assert_false(reads(&waits, 1, SEEK_NS));
	}
}

/* A thread that is slow because other threads have the processor reads nothing from a disk. */
static void test_slow_reads_without_disk_raise_no_suspicion(void **state)
{
	int fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct disk_waits waits = {0};

	(void)state;
	assert_true(fd >= 0);
	for (unsigned int i = 0; i < 100; i++)
		assert_false(disk_waits_note(&waits, fd, SEEK_NS));
	(void)close(fd);
}

/* ---- trial ---------------------------------------------------------------------------- */

/* Adds equal pairs until the trial is over. Returns whether the disk seeks. */
static bool trial_seeks(uint64_t first_ns, uint64_t again_ns, bool before)
{
	struct disk_trial trial = {0};

	while (!disk_trial_is_over(&trial))
		disk_trial_add(&trial, first_ns, again_ns);
	return disk_trial_seeks(&trial, before);
}

static void test_disk_with_a_slow_first_read_only_seeks(void **state)
{
	(void)state;
	assert_true(trial_seeks(SEEK_NS, CACHED_NS, false));
	assert_true(trial_seeks(SEEK_NS, SOLID_NS, false));
	/* its buffer answers late, too, as the disk is busy */
	assert_true(trial_seeks(3 * SEEK_NS, 2 * SEEK_NS, false));
}

static void test_disk_with_quick_reads_does_not_seek(void **state)
{
	(void)state;
	assert_false(trial_seeks(SOLID_NS, CACHED_NS, false));
	assert_false(trial_seeks(SOLID_NS, CACHED_NS, true));
}

static void test_disk_with_two_slow_reads_is_not_decided(void **state)
{
	(void)state;
	assert_false(trial_seeks(SEEK_NS, SEEK_NS, false));
	assert_true(trial_seeks(SEEK_NS, SEEK_NS, true));
}

/* Load delays any read. The fastest of a few reads still are quicker than a seek. */
static void test_quick_reads_under_load_prove_that_the_disk_does_not_seek(void **state)
{
	struct disk_trial trial = {0};

	(void)state;
	for (unsigned int i = 0; i < 32; i++)
		disk_trial_add(&trial, i % 3 ? SEEK_NS * i : SOLID_NS, SEEK_NS * (32 - i));
	assert_false(disk_trial_seeks(&trial, true));
}

/* Delays of up to 100 ms for either read of each pair, in many random orders. */
static void test_load_does_not_look_like_seeks(void **state)
{
	unsigned int wrong = 0;
	uint64_t random = 1;

	(void)state;
	for (unsigned int round = 0; round < 10000; round++) {
		struct disk_trial trial = {0};

		while (!disk_trial_is_over(&trial)) {
			uint64_t delays[2];

			for (unsigned int i = 0; i < 2; i++) {
				random = random * UINT64_C(6364136223846793005) + 1;
				delays[i] = (random >> 33) % 100 * UINT64_C(1000000);
			}
			disk_trial_add(&trial, delays[0], delays[1]);
		}
		wrong += disk_trial_seeks(&trial, false);
	}
	assert_true(wrong < 10);
}

static void test_trial_ends_after_few_pairs(void **state)
{
	struct disk_trial trial = {0};
	unsigned int pairs = 0;

	(void)state;
	for (; !disk_trial_is_over(&trial); pairs++)
		disk_trial_add(&trial, SEEK_NS, pairs % 2 ? SEEK_NS : CACHED_NS);
	assert_int_equal(pairs, 32);
	assert_false(disk_trial_seeks(&trial, false));
}

static void test_block_that_cannot_be_read_adds_no_pair(void **state)
{
	char name[] = "seeks-XXXXXX";
	struct disk_trial trial = {0};
	int fd = mkstemp(name);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(unlink(name), 0);
	assert_true(disk_trial_read(&trial, fd, 0) < 0); /* empty, or without O_DIRECT */
	(void)close(fd);
	assert_int_equal(disk_trial_read(&trial, fd, 0), -EBADF);
	assert_int_equal(trial.pairs, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_of_caches_and_solid_disks_raise_no_suspicion),
		cmocka_unit_test(test_few_slow_reads_raise_suspicion),
		cmocka_unit_test(test_slow_reads_after_many_cached_reads_raise_suspicion),
		cmocka_unit_test(test_single_delays_raise_no_suspicion),
		cmocka_unit_test(test_slow_reads_without_disk_raise_no_suspicion),
		cmocka_unit_test(test_disk_with_a_slow_first_read_only_seeks),
		cmocka_unit_test(test_disk_with_quick_reads_does_not_seek),
		cmocka_unit_test(test_disk_with_two_slow_reads_is_not_decided),
		cmocka_unit_test(test_quick_reads_under_load_prove_that_the_disk_does_not_seek),
		cmocka_unit_test(test_load_does_not_look_like_seeks),
		cmocka_unit_test(test_trial_ends_after_few_pairs),
		cmocka_unit_test(test_block_that_cannot_be_read_adds_no_pair),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
