/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/copier.h"
#include "folder.h"
#include "unit_test.h"

#define MIB ((off_t)1 << 20)

static int open_named(int directory, const char *name, int flags)
{
	int fd = openat(directory, name, flags | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	return fd;
}

/* A file with data at some offsets and holes between them. */
static int make_sparse(int directory, const char *name, off_t size)
{
	int fd = open_named(directory, name, O_RDWR | O_CREAT | O_EXCL);

	assert_int_equal(ftruncate(fd, size), 0);
	for (off_t at = MIB; at + 4096 <= size; at += 3 * MIB)
		assert_int_equal(pwrite(fd, "data", 4, at), 4);
	return fd;
}

/* The hash of all bytes, read without the copier. */
static struct hash128 hash_of(int fd)
{
	struct bytes bytes CLEANUP_BYTES = {0};
	struct stat status;
	long got;

	assert_int_equal(fstat(fd, &status), 0);
	assert_int_equal(bytes_reserve(&bytes, (size_t)status.st_size + 1), 0);
	got = read_fully_at(fd, bytes.data, (unsigned long)status.st_size + 1, 0);
	assert_int_equal(got, status.st_size);
	return hash128(bytes.data, (size_t)got);
}

static void check_copy(const struct folder *folder, int from)
{
	int to = open_named(folder->fd, "copy", O_RDWR | O_CREAT | O_TRUNC);
	struct stat original;
	struct stat copied;
	struct copier copier;
	struct hash128 hash;

	assert_int_equal(copier_init(&copier), 0);
	assert_int_equal(copy_bytes(&copier, from, to, &hash), 0);
	assert_true(hash128_equal(hash, hash_of(from)));
	assert_true(hash128_equal(hash, hash_of(to)));
	assert_int_equal(copy_hash(&copier, from, &hash), 0);
	assert_true(hash128_equal(hash, hash_of(from)));
	assert_int_equal(fstat(from, &original), 0);
	assert_int_equal(fstat(to, &copied), 0);
	assert_int_equal(copied.st_size, original.st_size);
	assert_true(copied.st_blocks <= original.st_blocks + 16);
	copier_deinit(&copier);
	(void)close(to);
}

static void test_holes_stay_holes_and_count_as_zeros(void **state)
{
	static const off_t sizes[] = {0, 1, 4096, MIB - 1, MIB, 4 * MIB + 1, 10 * MIB, 11 * MIB};
	const struct folder *folder = *state;
	char name[32];

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		int fd;

		(void)snprintf(name, sizeof(name), "sparse %zu", i);
		fd = make_sparse(folder->fd, name, sizes[i]);
		check_copy(folder, fd);
		(void)close(fd);
	}
}

static void test_data_of_any_size_is_copied(void **state)
{
	static const size_t sizes[] = {1,      4095, (256 << 10) - 1, 256 << 10, (256 << 10) + 1,
				       1 << 20};
	const struct folder *folder = *state;
	struct bytes data CLEANUP_BYTES = {0};
	char name[32];

	assert_int_equal(bytes_reserve(&data, 1 << 20), 0);
	for (size_t i = 0; i < 1 << 20; i++)
		data.data[i] = (uint8_t)(i * i >> 7);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		int fd;

		(void)snprintf(name, sizeof(name), "data %zu", i);
		make_file(folder->fd, name, data.data, sizes[i]);
		fd = open_named(folder->fd, name, O_RDONLY);
		check_copy(folder, fd);
		(void)close(fd);
	}
}

/* Writes to the file after each copied part of it. Each write changes the time stamp. */
static void write_meanwhile(void *context, uint64_t bytes)
{
	static time_t now;
	const int *fd = context;
	const struct timespec times[] = {{++now, 0}, {now, 0}};

	(void)bytes;
	assert_int_equal(pwrite(*fd, "X", 1, 0), 1);
	assert_int_equal(futimens(*fd, times), 0);
}

static void test_file_that_is_written_to_meanwhile_is_detected(void **state)
{
	const struct folder *folder = *state;
	int from = make_sparse(folder->fd, "from", 8 * MIB);
	int to = open_named(folder->fd, "to", O_RDWR | O_CREAT);
	struct copier copier;
	struct hash128 hash;

	assert_int_equal(copier_init(&copier), 0);
	copier.progress = write_meanwhile;
	copier.context = &from;
	assert_int_equal(copy_bytes(&copier, from, to, NULL), COPY_CHANGED);
	assert_int_equal(copy_hash(&copier, from, &hash), COPY_CHANGED);
	copier_deinit(&copier);
	(void)close(from);
	(void)close(to);
}

static void count_bytes(void *context, uint64_t bytes)
{
	uint64_t *total = context;

	*total += bytes;
}

static void test_file_that_was_hashed_is_not_read_again_until_it_changes(void **state)
{
	const struct folder *folder = *state;
	int fd = make_sparse(folder->fd, "file", 2 * MIB);
	struct hash128 first;
	struct hash128 second;
	struct copier copier;
	uint64_t total = 0;

	assert_int_equal(copier_init(&copier), 0);
	copier.progress = count_bytes;
	copier.context = &total;
	assert_int_equal(copy_hash(&copier, fd, &first), 0);
	assert_int_equal(total, 2 * MIB);
	assert_int_equal(linkat(folder->fd, "file", folder->fd, "another name", 0), 0);
	copy_hash_linked(&copier, fd);
	assert_int_equal(copy_hash(&copier, fd, &second), 0);
	assert_int_equal(total, 2 * MIB);
	assert_true(hash128_equal(first, second));
	assert_int_equal(pwrite(fd, "other", 5, 0), 5);
	assert_int_equal(futimens(fd, (struct timespec[]){{1, 0}, {1, 0}}), 0);
	assert_int_equal(copy_hash(&copier, fd, &second), 0);
	assert_int_equal(total, 4 * MIB);
	assert_false(hash128_equal(first, second));
	copier_deinit(&copier);
	(void)close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(test_holes_stay_holes_and_count_as_zeros),
		TEST_IN_FOLDER(test_data_of_any_size_is_copied),
		TEST_IN_FOLDER(test_file_that_is_written_to_meanwhile_is_detected),
		TEST_IN_FOLDER(test_file_that_was_hashed_is_not_read_again_until_it_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
