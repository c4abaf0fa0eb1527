/* SPDX-License-Identifier: MIT */
#include "backup/content_hash.h"
#include "index/record.h"
#include "unit_test.h"

static struct file_record file_of(uint64_t id, uint32_t version)
{
	return (struct file_record){.id = id, .content_version = version};
}

static void add(struct known_hashes *known, const struct file_record *file, uint64_t hash,
		int result)
{
	const struct known_hash added = {
		.file = file->id,
		.digest = file_digest(file),
		.hash = {.low = hash},
		.result = result,
	};

	assert_int_equal(known_hashes_add(known, &added), 0);
}

static void test_hash_is_found_only_for_the_same_state_of_the_file(void **state)
{
	struct known_hashes known CLEANUP_KNOWN_HASHES = {0};
	struct file_record file;

	(void)state;
	known_hashes_sort(&known);
	file = file_of(7, 1);
	assert_null(known_hashes_find(&known, &file));
	for (uint64_t id = 1000; id > 0; id--) {
		file = file_of(id, (uint32_t)id % 3);
		add(&known, &file, id, 0);
	}
	assert_null(known_hashes_find(&known, &file));
	known_hashes_sort(&known);
	for (uint64_t id = 1; id <= 1000; id++) {
		file = file_of(id, (uint32_t)id % 3);
		assert_int_equal(known_hashes_find(&known, &file)->hash.low, id);
		file.content_version = 5;
		assert_null(known_hashes_find(&known, &file));
	}
	file = file_of(1001, 0);
	assert_null(known_hashes_find(&known, &file));
}

static void test_success_precedes_failures(void **state)
{
	struct known_hashes known CLEANUP_KNOWN_HASHES = {0};
	const struct file_record file = file_of(7, 1);

	(void)state;
	add(&known, &file, 0, 2);
	add(&known, &file, 9, 0);
	add(&known, &file, 0, -5);
	known_hashes_sort(&known);
	assert_int_equal(known_hashes_find(&known, &file)->hash.low, 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hash_is_found_only_for_the_same_state_of_the_file),
		cmocka_unit_test(test_success_precedes_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
