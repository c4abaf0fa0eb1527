/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/new_file.h"
#include "folder.h"
#include "partial/blocks.h"
#include "unit_test.h"

#define BITS 12U
#define BLOCK 4096UL
#define BLOCKS 16

/* The hashes that a file has, by block. */
struct taken {
	uint64_t hashes[BLOCKS];
	uint64_t bytes; /* of progress */
	int batches;
};

static int take(void *context, uint64_t first, const uint64_t *hashes, uint32_t count)
{
	struct taken *taken = context;

	assert_int_equal(first % BLOCK_BATCH, 0);
	taken->batches++;
	for (uint32_t i = 0; i < count; i++) {
		if (hashes[i] && first + i < BLOCKS)
			taken->hashes[first + i] = hashes[i];
	}
	return 0;
}

static void count(void *context, uint64_t bytes)
{
	struct taken *taken = context;

	taken->bytes += bytes;
}

static int read_file(int fd, uint64_t size, struct taken *taken)
{
	struct block_reader reader;
	int r;

	*taken = (struct taken){.batches = 0};
	assert_int_equal(block_reader_init(&reader, BITS), 0);
	reader.take = take;
	reader.progress = count;
	reader.context = taken;
	r = block_reader_read(&reader, fd, size);
	block_reader_deinit(&reader);
	return r;
}

static void write_block(int fd, char byte, size_t length, long offset)
{
	char block[BLOCK];

	memset(block, byte, sizeof(block));
	assert_int_equal(pwrite(fd, block, length, offset), length);
}

static void test_holes_and_zeros_have_no_hash(void **state)
{
	AUTO_CLOSE int fd = spool_open();
	struct taken taken;
	char block[BLOCK];

	(void)state;
	write_block(fd, 'a', BLOCK, 0);
	write_block(fd, 0, BLOCK, BLOCK);
	write_block(fd, 'b', 7, 3 * BLOCK + 100); /* in a block that is a hole otherwise */
	assert_int_equal(ftruncate(fd, 8 * BLOCK), 0);
	assert_int_equal(read_file(fd, 8 * BLOCK, &taken), 0);
	memset(block, 'a', sizeof(block));
	assert_true(taken.hashes[0] == hash64(block, sizeof(block), 0));
	assert_int_equal(taken.hashes[1], 0);
	assert_int_equal(taken.hashes[2], 0);
	memset(block, 0, sizeof(block));
	memset(block + 100, 'b', 7);
	assert_true(taken.hashes[3] == hash64(block, sizeof(block), 0));
	assert_int_equal(taken.hashes[4], 0);
	assert_int_equal(taken.bytes, 8 * BLOCK);
	assert_int_equal(taken.batches, 1);
}

static void test_last_block_is_hashed_with_its_length(void **state)
{
	AUTO_CLOSE int fd = spool_open();
	struct taken taken;
	char block[BLOCK];

	(void)state;
	write_block(fd, 'c', 10, BLOCK);
	assert_int_equal(read_file(fd, BLOCK + 10, &taken), 0);
	memset(block, 'c', sizeof(block));
	assert_true(taken.hashes[1] == hash64(block, 10, 0));
}

static void test_sparse_file_of_many_blocks_has_few_batches(void **state)
{
	AUTO_CLOSE int fd = spool_open();
	uint64_t size = UINT64_C(1) << 42;
	struct taken taken;

	(void)state;
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	write_block(fd, 'a', BLOCK, 0);
	write_block(fd, 'b', BLOCK, 1L << 41);
	assert_int_equal(read_file(fd, size, &taken), 0);
	assert_int_equal(taken.batches, 2);
	assert_int_equal(taken.bytes, size);
}

static void test_file_shorter_than_expected_has_changed(void **state)
{
	AUTO_CLOSE int fd = spool_open();
	struct taken taken;

	(void)state;
	write_block(fd, 'a', BLOCK, 0);
	write_block(fd, 'b', 100, BLOCK);
	assert_int_equal(read_file(fd, 2 * BLOCK, &taken), BLOCK_READER_CHANGED);
	assert_int_equal(taken.batches, 0);
}

static void test_unreadable_file_is_an_error(void **state)
{
	struct folder *folder = *state;
	struct taken taken;

	assert_int_equal(read_file(folder->fd, BLOCK, &taken), -EISDIR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_holes_and_zeros_have_no_hash),
		cmocka_unit_test(test_last_block_is_hashed_with_its_length),
		cmocka_unit_test(test_sparse_file_of_many_blocks_has_few_batches),
		cmocka_unit_test(test_file_shorter_than_expected_has_changed),
		cmocka_unit_test_setup_teardown(test_unreadable_file_is_an_error, folder_set_up,
						folder_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
