/* SPDX-License-Identifier: MIT */

#include "ingest/disk_seeks.h"
#include "unit_test.h"

#define CACHED_NS UINT64_C(10000)
#define SOLID_NS UINT64_C(200000)
#define SEEK_NS UINT64_C(8000000)

/* Notes reads, as many as count. Returns whether the disk seeks after the last read. */
static bool reads(struct disk_seeks *seeks, unsigned int count, uint64_t took_ns)
{
	bool seek = false;

	for (unsigned int i = 0; i < count; i++)
		seek = disk_seeks_add(seeks, took_ns);
	return seek;
}

static void test_reads_of_caches_and_solid_disks_are_no_seeks(void **state)
{
	struct disk_seeks seeks = {0};

	(void)state;
	assert_false(reads(&seeks, 1000, CACHED_NS));
	assert_false(reads(&seeks, 1000, SOLID_NS));
}

static void test_seeking_disk_is_detected_by_a_few_reads(void **state)
{
	struct disk_seeks seeks = {0};

	(void)state;
	assert_false(reads(&seeks, 2, SEEK_NS));
	assert_true(reads(&seeks, 8, SEEK_NS));
}

static void test_seeking_disk_is_detected_after_many_cached_reads(void **state)
{
	struct disk_seeks seeks = {0};

	(void)state;
	assert_false(reads(&seeks, 100000, CACHED_NS));
	assert_true(reads(&seeks, 8, SEEK_NS));
}

static void test_single_delays_are_no_seeks(void **state)
{
	struct disk_seeks seeks = {0};

	(void)state;
	for (unsigned int i = 0; i < 1000; i++) {
		assert_false(reads(&seeks, 30, CACHED_NS));
		assert_false(reads(&seeks, 1, SEEK_NS));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_of_caches_and_solid_disks_are_no_seeks),
		cmocka_unit_test(test_seeking_disk_is_detected_by_a_few_reads),
		cmocka_unit_test(test_seeking_disk_is_detected_after_many_cached_reads),
		cmocka_unit_test(test_single_delays_are_no_seeks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
