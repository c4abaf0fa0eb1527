/* SPDX-License-Identifier: MIT */
#include <sys/mman.h>

#include "base/descriptor.h"
#include "base/hash.h"
#include "unit_test.h"

/* Three times the size of a read, and some bytes. */
#define SIZE ((3U << 18) + 77U)

static int count(void *context, uint64_t bytes)
{
	uint64_t *sum = context;

	*sum += bytes;
	return 0;
}

/* Makes a file with holes around a block at this offset. Returns its descriptor. */
static int make_file(uint64_t offset)
{
	static const char block[5000] = "data";
	int fd = memfd_create("file", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, SIZE), 0);
	assert_int_equal(pwrite(fd, block, sizeof(block), (off_t)offset), sizeof(block));
	return fd;
}

static void read_file(int fd, bool has_holes, uint8_t digest[SHA256_BYTES])
{
	struct file_sha256 reader;
	uint64_t sum = 0;

	assert_int_equal(file_sha256_init(&reader), 0);
	reader.progress = count;
	reader.context = &sum;
	assert_int_equal(file_sha256_read(&reader, fd, SIZE, has_holes, digest), 0);
	assert_int_equal(sum, SIZE);
	file_sha256_deinit(&reader);
}

static void test_holes_are_zeros(void **state)
{
	static const uint64_t offsets[] = {0, 1U << 18, 300001, SIZE - 5000};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(offsets); i++) {
		uint8_t with_holes[SHA256_BYTES], without[SHA256_BYTES];
		int fd = make_file(offsets[i]);

		read_file(fd, true, with_holes);
		read_file(fd, false, without);
		assert_memory_equal(with_holes, without, sizeof(without));
		(void)close(fd);
	}
}

static void test_file_that_is_too_short_has_changed(void **state)
{
	struct file_sha256 reader;
	uint8_t digest[SHA256_BYTES];
	uint64_t sum = 0;
	int fd = make_file(0);

	(void)state;
	assert_int_equal(file_sha256_init(&reader), 0);
	reader.progress = count;
	reader.context = &sum;
	assert_int_equal(file_sha256_read(&reader, fd, SIZE + 1, false, digest),
			 FILE_SHA256_CHANGED);
	file_sha256_deinit(&reader);
	(void)close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_holes_are_zeros),
		cmocka_unit_test(test_file_that_is_too_short_has_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
