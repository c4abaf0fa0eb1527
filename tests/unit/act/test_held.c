/* SPDX-License-Identifier: MIT */
#include <signal.h>

#include "act/files.h"
#include "act/held.h"

#define LARGE ((off_t)3 << 20)

static struct held held_on(const struct folder *folder, const char *name)
{
	struct held held = {.fd = openat(folder->fd, name, O_RDONLY | O_CLOEXEC)};

	assert_true(held.fd >= 0);
	assert_int_equal(fstat(held.fd, &held.status), 0);
	return held;
}

static int same(const struct folder *folder, const char *a, const char *b)
{
	struct held x = held_on(folder, a), y = held_on(folder, b);
	int r = held_same_bytes(&x, &y);

	held_close(&x);
	held_close(&y);
	return r;
}

/* Makes a file of holes with one byte. */
static void put_sparse(const struct folder *folder, const char *name, off_t at, const char *byte)
{
	int fd AUTO_CLOSE = openat(folder->fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, LARGE), 0);
	assert_int_equal(pwrite(fd, byte, 1, at), 1);
}

static void test_all_bytes_are_compared(void **state)
{
	const struct folder *folder = *state;

	put_file(folder, "a", "the same");
	put_file(folder, "b", "the same");
	put_file(folder, "c", "the samE");
	put_file(folder, "d", "the same ");
	put_file(folder, "e", "");
	put_file(folder, "f", "");
	assert_int_equal(same(folder, "a", "b"), 1);
	assert_int_equal(same(folder, "a", "c"), 0);
	assert_int_equal(same(folder, "a", "d"), 0);
	assert_int_equal(same(folder, "e", "f"), 1);
}

static void test_hole_equals_zeros(void **state)
{
	const struct folder *folder = *state;

	put_sparse(folder, "a", LARGE - 1, "x");
	put_sparse(folder, "b", LARGE - 1, "x");
	put_sparse(folder, "c", LARGE / 2, "x");
	put_sparse(folder, "d", LARGE / 2, "\0");
	put_sparse(folder, "e", 0, "\0");
	assert_int_equal(same(folder, "a", "b"), 1);
	assert_int_equal(same(folder, "a", "c"), 0);
	assert_int_equal(same(folder, "c", "a"), 0);
	assert_int_equal(same(folder, "c", "d"), 0);
	assert_int_equal(same(folder, "d", "e"), 1);
}

static void test_file_that_got_shorter_differs(void **state)
{
	const struct folder *folder = *state;
	struct held x, y;

	put_file(folder, "a", "the same");
	put_file(folder, "b", "the same");
	x = held_on(folder, "a");
	y = held_on(folder, "b");
	put_file(folder, "a", "the");
	put_file(folder, "b", "the");
	assert_int_equal(held_same_bytes(&x, &y), 0);
	held_close(&x);
	held_close(&y);
}

static void test_writer_breaks_the_lease(void **state)
{
	const struct folder *folder = *state;
	struct held held;
	int fd;

	put_file(folder, "a", "text");
	held = held_on(folder, "a");
	assert_true(signal(SIGIO, SIG_IGN) != SIG_ERR);
	assert_int_equal(fcntl(held.fd, F_SETLEASE, F_RDLCK), 0);
	held.leased = true;
	assert_true(held_is_unbroken(&held));
	fd = openat(folder->fd, "a", O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	assert_int_equal(fd, -1);
	assert_int_equal(errno, EWOULDBLOCK);
	assert_false(held_is_unbroken(&held));
	held_release_lease(&held);
	fd = openat(folder->fd, "a", O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(fd >= 0);
	close(fd);
	held_close(&held);
}

static void test_without_a_lease_size_and_time_detect_a_writer(void **state)
{
	const struct folder *folder = *state;
	struct held held;

	put_file(folder, "a", "text");
	held = held_on(folder, "a");
	assert_true(held_is_unbroken(&held));
	assert_int_equal(linkat(folder->fd, "a", folder->fd, "b", 0), 0);
	assert_true(held_is_unbroken(&held)); /* linkat(2) changed the ctime */
	put_file(folder, "a", "longer text");
	assert_false(held_is_unbroken(&held));
	held_close(&held);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_all_bytes_are_compared),
		CASE(test_hole_equals_zeros),
		CASE(test_file_that_got_shorter_differs),
		CASE(test_writer_breaks_the_lease),
		CASE(test_without_a_lease_size_and_time_detect_a_writer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
