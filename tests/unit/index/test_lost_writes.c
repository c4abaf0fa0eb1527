/* SPDX-License-Identifier: MIT */
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "index/audit.h"
#include "twinfs/format.h"

#define FILES 9000

#define CASE(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

static struct attributes changed_before(uint64_t inode, long seconds)
{
	struct attributes attributes = file_of(inode, 10, 1);

	attributes.ctime = clock_now();
	attributes.ctime.tv_sec -= seconds;
	return attributes;
}

static uint64_t add_one(struct fixture *f, const char *name, uint64_t inode, long seconds)
{
	return new_file(f, f->roots[0], name, changed_before(inode, seconds));
}

static void test_recent_files_are_read_again_after_a_reboot(void **state)
{
	struct fixture *f = *state;
	uint64_t files[3] = {add_one(f, "now", 10, 0), add_one(f, "a while ago", 11, 300),
			     add_one(f, "long ago", 12, 3600)};

	(void)add_group(f, (struct hash128){1, 2}, files, 3);
	fixture_reopen(f);
	for (size_t i = 0; i < 3; i++)
		assert_true(content_of(f, files[i]).prefix != 0);
	catalog_close(f->catalog);
	fixture_write_text(f, TWINFS_INDEX_BOOT, "01234567-89ab-cdef-0123-456789abcdef");
	fixture_open(f);
	assert_true(content_of(f, files[0]).prefix == 0);
	assert_true(content_of(f, files[1]).prefix == 0);
	assert_true(content_of(f, files[2]).prefix != 0);
	audit_index(f->catalog);
	(void)set_content(f, files[0], 0);
	fixture_reopen(f);
	assert_true(content_of(f, files[0]).prefix != 0); /* the boot identifier was stored */
}

static void add_many(struct fixture *f, uint64_t files[FILES])
{
	static char names[FILES][16];

	for (size_t i = 0; i < FILES; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "%zu", i);
		add_file(f, f->roots[0], names[i], changed_before(10 + i, (long)(i % 500)));
		if (f->count == FIXTURE_CHANGES_MAX || i + 1 == FILES)
			fixture_commit(f);
	}
	for (size_t i = 0; i < FILES; i++)
		files[i] = id_at(f, f->roots[0], names[i]);
}

static void test_any_number_of_recent_files_is_read_again(void **state)
{
	static uint64_t files[FILES];
	struct fixture *f = *state;

	add_many(f, files);
	(void)add_group(f, (struct hash128){1, 2}, files, FILES);
	catalog_close(f->catalog);
	fixture_write_text(f, TWINFS_INDEX_BOOT, "");
	fixture_open(f);
	for (size_t i = 0; i < FILES; i++)
		assert_true(content_of(f, files[i]).prefix == 0);
	assert_int_equal(totals_of(f).groups, 0);
	audit_index(f->catalog);
}

/* ---- kills --------------------------------------------------------------------------- */

/* This program overrides calls of the C library. */
static struct {
	time_t ahead; /* seconds that are added to the time of day */
	pid_t process; /* which ends at a sync */
	int until_end; /* number of its syncs until then */
} faked;

int clock_gettime(clockid_t clock, struct timespec *now)
{
	int r = (int)syscall(SYS_clock_gettime, clock, now);

	if (clock == CLOCK_REALTIME)
		now->tv_sec += faked.ahead;
	return r;
}

static void maybe_end(void)
{
	if (faked.process == getpid() && --faked.until_end == 0)
		_exit(2);
}

int fsync(int fd)
{
	maybe_end();
	return (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
	maybe_end();
	return (int)syscall(SYS_fdatasync, fd);
}

/* Opens the index in a child, which ends before this sync, as a killed process does. Returns
 * whether the child ended before the index was open. */
static bool open_until(struct fixture *f, int sync)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0) {
		faked.process = getpid();
		faked.until_end = sync;
		_exit(fixture_open_code(f) != CATALOG_OPENED);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 1);
	return WEXITSTATUS(status) == 2;
}

/* Each start is an hour later than the one before. So a file that changed shortly before the first
 * start did not change shortly before the commits of that start. */
static void test_kills_do_not_end_the_reading_of_recent_files(void **state)
{
	static uint64_t files[FILES];
	struct fixture *f = *state;
	int sync = 0;

	add_many(f, files);
	(void)add_group(f, (struct hash128){1, 2}, files, FILES);
	catalog_close(f->catalog);
	fixture_write_text(f, TWINFS_INDEX_BOOT, "01234567-89ab-cdef-0123-456789abcdef");
	do {
		faked.ahead += 3600;
	} while (open_until(f, ++sync));
	assert_true(sync > 5);
	fixture_open(f);
	for (size_t i = 0; i < FILES; i++)
		assert_true(content_of(f, files[i]).prefix == 0);
	audit_index(f->catalog);
	faked.ahead = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_recent_files_are_read_again_after_a_reboot),
		CASE(test_any_number_of_recent_files_is_read_again),
		CASE(test_kills_do_not_end_the_reading_of_recent_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
