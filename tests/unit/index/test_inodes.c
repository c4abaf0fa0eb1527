/* SPDX-License-Identifier: MIT */
#include "base/attributes.h"
#include "index/file.h"
#include "index/fixture.h"
#include "index/query.h"
#include "unit_test.h"

static void assert_inodes_round_trip(const struct inode_block *block)
{
	struct value value = encode_inodes(block);
	struct inode_block got;

	assert_true(decode_inodes((struct span){value.data, value.length}, &got));
	assert_memory_equal(got.files, block->files, sizeof(got.files));
}

static void test_inodes_are_decoded(void **state)
{
	struct inode_block block = {.files = {[INODE_BLOCK_NUMBERS - 1] = 1}};

	(void)state;
	assert_inodes_round_trip(&block);
	for (size_t i = 0; i < INODE_BLOCK_NUMBERS; i++)
		block.files[i] = i % 2 ? UINT64_MAX : UINT64_MAX / 2;
	assert_inodes_round_trip(&block);
	for (size_t i = 0; i < INODE_BLOCK_NUMBERS; i++)
		block.files[i] = i % 3 ? 1000 - i : 0;
	assert_inodes_round_trip(&block);
}

static void test_block_without_inode_is_refused(void **state)
{
	const uint8_t none[] = {0}, zero[] = {2, 0}, missing[] = {3, 2}, more[] = {1, 2, 2};
	struct inode_block block;

	(void)state;
	assert_false(decode_inodes((struct span){none, sizeof(none)}, &block));
	assert_false(decode_inodes((struct span){zero, sizeof(zero)}, &block));
	assert_false(decode_inodes((struct span){missing, sizeof(missing)}, &block));
	assert_false(decode_inodes((struct span){more, sizeof(more)}, &block));
}

/* ---- changes ------------------------------------------------------------------------- */

/* Inode numbers at the borders of blocks. */
static const uint64_t numbers[] = {0, 31, 32, 33, 63, 64, UINT64_MAX};

static int set_numbers(struct catalog_writer *w, void *context)
{
	const uint64_t *first = context;
	struct inode_cursor cursor = {0};
	uint64_t *file;
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(numbers); i++) {
		r = inodes_seek(w, &cursor, &(struct attributes){.inode = numbers[i]}, &file);
		*file = *first ? *first + i : 0;
		cursor.changed = true;
	}
	return r < 0 ? r : inodes_flush(w, &cursor);
}

static void assert_numbers(struct fixture *f, uint64_t first)
{
	struct catalog_reader *reader;
	uint64_t file;

	assert_int_equal(catalog_write(f->catalog, set_numbers, &first), 0);
	assert_int_equal(catalog_read_begin(f->catalog, &reader), 0);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		assert_int_equal(catalog_find_inode(reader, 0, numbers[i], &file), 0);
		assert_int_equal(file, first ? first + i : 0);
	}
	assert_int_equal(catalog_find_inode(reader, 0, 1, &file), 0);
	assert_int_equal(file, 0);
	assert_int_equal(catalog_find_inode(reader, 1, 0, &file), 0);
	assert_int_equal(file, 0);
	catalog_read_end(reader);
}

static void test_numbers_are_set_replaced_and_removed(void **state)
{
	assert_numbers(*state, 1000);
	assert_numbers(*state, 70000);
	assert_numbers(*state, 0);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inodes_are_decoded),
		cmocka_unit_test(test_block_without_inode_is_refused),
		CASE(test_numbers_are_set_replaced_and_removed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
