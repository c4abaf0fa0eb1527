/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "base/clock.h"
#include "capture.h"
#include "fleet/file_list.h"
#include "fleet/promises.h"
#include "folder.h"
#include "index/store/index_files.h"

#define FILE_NAME ".promises/alpha/promises"

static const struct file_list alpha = {.host = "alpha", .index = 1};
static const uint8_t one[SHA256_BYTES] = {1}, two[SHA256_BYTES] = {2}, three[SHA256_BYTES] = {3};

/* Promises contents of one byte. */
static void promise(struct promises *promises, const uint8_t *first, const uint8_t *second)
{
	struct listed_file rows[] = {
		{.size = 1, .sha256 = first},
		{.size = 1, .sha256 = second},
	};
	struct file_list list = {.rows = rows, .count = ARRAY_SIZE(rows)};

	assert_int_equal(promises_add(promises, &list), 0);
}

/* Returns the path of the folder of an index, which exists. */
static const char *index_of(const struct folder *folder, uint64_t index)
{
	static char path[4096];

	(void)snprintf(path, sizeof(path), "%s/index-%" PRIu64, folder->path, index);
	assert_int_equal(index_folder_make(path), 0);
	return path;
}

static struct promises *open_promises(const struct folder *folder)
{
	struct promises *promises;

	assert_int_equal(promises_open(&promises, folder->path, index_of(folder, 1), &alpha), 0);
	assert_non_null(promises);
	return promises;
}

/* Opens the promises, which must fail. Returns the result; *message is what was logged. */
static int refuse(const struct folder *folder, const char **message)
{
	static struct capture capture;
	struct promises *promises;
	int r;

	capture_begin(&capture, STDERR_FILENO);
	r = promises_open(&promises, folder->path, index_of(folder, 1), &alpha);
	*message = capture_end(&capture);
	assert_null(promises);
	return r;
}

static void write_file(const struct folder *folder, const char *text, size_t length)
{
	int fd = openat(folder->fd, FILE_NAME, O_WRONLY | O_TRUNC | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write_fully(fd, text, length), 0);
	(void)close(fd);
}

static void test_promises_are_read_again(void **state)
{
	struct promises *promises = open_promises(*state);
	int64_t now = clock_now().tv_sec, until;

	assert_int_equal(promises_until(promises, one, 1), 0);
	promise(promises, two, one);
	promises_close(promises);
	promises = open_promises(*state);
	promise(promises, three, one);
	promises_close(promises);
	promises = open_promises(*state);
	until = promises_until(promises, one, 1);
	assert_true(until >= now + PROMISE_SECONDS && until < now + PROMISE_SECONDS + 60);
	assert_true(promises_until(promises, two, 1) > now);
	assert_true(promises_until(promises, three, 1) > now);
	assert_int_equal(promises_until(promises, one, 2), 0);
	promises_close(promises);
}

/* Returns whether another list finds a promise of alpha. */
static bool is_promised_to(const struct folder *folder, const char *host, uint64_t index)
{
	struct file_list other = {.index = index};
	struct promises *others;
	bool is;

	(void)snprintf(other.host, sizeof(other.host), "%s", host);
	assert_int_equal(promises_open(&others, folder->path, index_of(folder, index), &other), 0);
	is = promises_until(others, one, 1) > 0;
	promises_close(others);
	return is;
}

static void test_promises_are_those_of_a_host_and_of_an_index(void **state)
{
	const struct folder *folder = *state;
	struct promises *promises = open_promises(folder);

	promise(promises, one, two);
	promises_close(promises);
	assert_true(is_promised_to(folder, "alpha", 2));
	assert_true(is_promised_to(folder, "beta", 1));
	assert_false(is_promised_to(folder, "beta", 2));
}

static void test_second_process_is_refused(void **state)
{
	struct promises *promises = open_promises(*state);
	const char *message;

	assert_int_equal(refuse(*state, &message), -EWOULDBLOCK);
	assert_non_null(strstr(message, "wait until it has ended"));
	promise(promises, one, two); /* replaces the file, and keeps the lock */
	assert_int_equal(refuse(*state, &message), -EWOULDBLOCK);
	promises_close(promises);
	promises_close(open_promises(*state));
}

static void test_each_changed_byte_is_found(void **state)
{
	const struct folder *folder = *state;
	struct promises *promises = open_promises(folder);
	const char *message;
	char text[1024];
	long length;
	int fd;

	promise(promises, one, two);
	promises_close(promises);
	fd = openat(folder->fd, FILE_NAME, O_RDONLY | O_CLOEXEC);
	length = read_fully_at(fd, text, sizeof(text), 0);
	(void)close(fd);
	assert_true(length > 200 && length < (long)sizeof(text));
	for (long i = 0; i < length; i++) {
		text[i] ^= 1;
		write_file(folder, text, (size_t)length);
		assert_int_equal(refuse(folder, &message), -EPROTO);
		assert_non_null(strstr(message, "nothing was read or removed; move the file away"));
		text[i] ^= 1;
		write_file(folder, text, (size_t)i);
		assert_int_equal(refuse(folder, &message), -EPROTO);
	}
	write_file(folder, text, (size_t)length);
	promises = open_promises(folder);
	assert_true(promises_until(promises, two, 1) > 0);
	promises_close(promises);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(test_promises_are_read_again),
		TEST_IN_FOLDER(test_promises_are_those_of_a_host_and_of_an_index),
		TEST_IN_FOLDER(test_second_process_is_refused),
		TEST_IN_FOLDER(test_each_changed_byte_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
