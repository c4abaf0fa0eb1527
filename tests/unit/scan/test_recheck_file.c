/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>

#include "base/stop.h"
#include "index/audit.h"
#include "scan/ingest.h"
#include "scan/tree.h"

#define LENGTH 300000

/* Three equal files in a group and one in none. */
static struct tree *scanned(void **state)
{
	struct tree *t = *state;

	write_content(t, "a", LENGTH, 0);
	write_content(t, "b", LENGTH, 0);
	write_content(t, "c", LENGTH, 0);
	write_content(t, "lone", LENGTH, 1);
	scan(t);
	assert_true(are_grouped(t, "a", "b"));
	return t;
}

static struct file_record record_of(const struct tree *t, const char *path)
{
	return file_at(&t->index, id_of_path(t, path));
}

/* Changes only the ctime. The clock of a file system can be unchanged for some milliseconds, so
 * this is repeated. */
static void move_ctime(const struct tree *t, const char *path)
{
	const struct timespec before = record_of(t, path).attributes.ctime;
	struct stat status;

	do {
		assert_int_equal(fchmodat(t->fd, path, 0600, 0), 0);
		assert_int_equal(fchmodat(t->fd, path, 0644, 0), 0);
		assert_int_equal(fstatat(t->fd, path, &status, 0), 0);
	} while (status.st_ctim.tv_sec == before.tv_sec &&
		 status.st_ctim.tv_nsec == before.tv_nsec);
}

/* Writes other bytes and restores the mtime. */
static void rewrite(const struct tree *t, const char *path)
{
	const struct timespec times[] = {{.tv_nsec = UTIME_OMIT},
					 record_of(t, path).attributes.mtime};
	int fd = openat(t->fd, path, O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, "other", 5, LENGTH - 5), 5);
	assert_int_equal(close(fd), 0);
	move_ctime(t, path);
	assert_int_equal(utimensat(t->fd, path, times, 0), 0);
}

static int recheck(const struct tree *t, const char *path)
{
	return ingest_recheck_file(t->index.catalog, &t->sources, id_of_path(t, path), UINT64_MAX,
				   NULL);
}

static void test_file_that_was_rechecked_stays_in_its_group(void **state)
{
	struct tree *t = scanned(state);
	uint64_t group = group_of_path(t, "a");
	uint32_t content_version = record_of(t, "b").content_version;

	move_ctime(t, "b");
	assert_int_equal(recheck(t, "b"), 0);
	assert_int_equal(group_of_path(t, "b"), group);
	assert_int_equal(record_of(t, "b").content_version, content_version);
	scan(t);
	assert_int_equal(t->candidates, 0); /* the index has its current state */
	audit_index(t->index.catalog);
}

static void test_group_stays_if_all_ctimes_moved(void **state)
{
	struct tree *t = scanned(state);
	uint64_t group = group_of_path(t, "a");

	move_ctime(t, "a");
	move_ctime(t, "b");
	move_ctime(t, "c");
	assert_int_equal(recheck(t, "c"), 0);
	assert_int_equal(recheck(t, "b"), 0);
	assert_int_equal(recheck(t, "a"), 0);
	assert_int_equal(group_of_path(t, "a"), group);
	assert_int_equal(group_of_path(t, "b"), group);
	assert_int_equal(group_of_path(t, "c"), group);
	scan(t);
	assert_int_equal(t->candidates, 0);
	audit_index(t->index.catalog);
}

static void test_file_with_other_bytes_leaves_its_group(void **state)
{
	struct tree *t = scanned(state);
	uint64_t group = group_of_path(t, "a");

	rewrite(t, "b");
	assert_int_equal(recheck(t, "b"), 0);
	assert_int_equal(group_of_path(t, "b"), 0);
	assert_int_equal(group_of_path(t, "a"), group);
	assert_true(are_grouped(t, "a", "c"));
	audit_index(t->index.catalog);
}

/* Only the hash of the group shows which of the two files has the content of the group. */
static void test_equal_files_with_other_bytes_than_before_leave_their_group(void **state)
{
	struct tree *t = scanned(state);

	rewrite(t, "a");
	rewrite(t, "b");
	rewrite(t, "c");
	assert_int_equal(recheck(t, "b"), 0);
	assert_int_equal(group_of_path(t, "b"), 0);
	/* the file that "b" was compared with also leaves the group */
	assert_true((group_of_path(t, "a") == 0) != (group_of_path(t, "c") == 0));
	scan(t);
	assert_true(are_grouped(t, "a", "b"));
	assert_true(are_grouped(t, "a", "c"));
	audit_index(t->index.catalog);
}

static void test_member_with_other_bytes_proves_nothing(void **state)
{
	struct tree *t = scanned(state);

	rewrite(t, "a");
	rewrite(t, "c");
	move_ctime(t, "b");
	assert_int_equal(recheck(t, "b"), 0);
	scan(t);
	assert_int_equal(group_of_path(t, "b"), 0);
	assert_true(are_grouped(t, "a", "c"));
	audit_index(t->index.catalog);
}

static void test_file_in_no_group_is_read_again(void **state)
{
	struct tree *t = scanned(state);
	uint32_t content_version = record_of(t, "lone").content_version;

	move_ctime(t, "lone");
	assert_int_equal(recheck(t, "lone"), 0);
	assert_int_equal(record_of(t, "lone").content_version, content_version + 1);
	audit_index(t->index.catalog);
}

static void test_large_file_is_left_to_the_comparer(void **state)
{
	struct tree *t = *state;

	for (const char *name = "a"; name; name = *name == 'a' ? "b" : NULL) {
		int fd = openat(t->fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

		assert_true(fd >= 0);
		assert_int_equal(ftruncate(fd, RECHECK_BYTES_MAX + 1), 0);
		assert_int_equal(close(fd), 0);
	}
	scan(t);
	assert_true(are_grouped(t, "a", "b"));
	move_ctime(t, "b");
	assert_int_equal(recheck(t, "b"), 0);
	assert_int_equal(group_of_path(t, "b"), 0);
	audit_index(t->index.catalog);
}

static void test_file_with_other_attributes_is_left_to_the_follower(void **state)
{
	struct tree *t = scanned(state);
	uint64_t group = group_of_path(t, "b");

	assert_int_equal(recheck(t, "b"), 0); /* the file is unchanged */
	write_content(t, "b", LENGTH, 1);
	assert_int_equal(recheck(t, "b"), -ESTALE);
	assert_int_equal(unlinkat(t->fd, "a", 0), 0);
	assert_int_equal(recheck(t, "a"), -ENOENT);
	assert_int_equal(group_of_path(t, "b"), group);
	assert_int_equal(group_of_path(t, "a"), group);
}

static void test_file_that_is_open_for_writing_is_left_to_the_follower(void **state)
{
	struct tree *t = scanned(state);
	uint64_t group = group_of_path(t, "b");
	int fd;

	move_ctime(t, "b");
	fd = openat(t->fd, "b", O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(recheck(t, "b"), -ESTALE);
	assert_int_equal(group_of_path(t, "b"), group);
	assert_int_equal(close(fd), 0);
	assert_int_equal(recheck(t, "b"), 0);
}

static void test_comparison_that_times_out_changes_nothing(void **state)
{
	struct tree *t = scanned(state);
	uint64_t group = group_of_path(t, "b");

	move_ctime(t, "b");
	assert_int_equal(ingest_recheck_file(t->index.catalog, &t->sources, id_of_path(t, "b"), 0,
					     NULL),
			 -ETIMEDOUT);
	assert_int_equal(group_of_path(t, "b"), group);
	assert_int_equal(recheck(t, "b"), 0);
	assert_int_equal(group_of_path(t, "b"), group);
}

/* Returns false for the next *times - 1 calls, then true. */
static bool is_requested_later(void *context)
{
	unsigned int *times = context;

	return *times == 0 || --*times == 0;
}

static void test_recheck_ends_wherever_it_is_interrupted(void **state)
{
	struct tree *t = scanned(state);
	uint64_t group = group_of_path(t, "b");
	unsigned int left, times = 0;
	const struct cancellation cancellation = {is_requested_later, &left};
	int r = -EINTR;

	move_ctime(t, "b");
	while (r == -EINTR && times < 1000) {
		assert_int_equal(group_of_path(t, "b"), group);
		left = ++times;
		r = ingest_recheck_file(t->index.catalog, &t->sources, id_of_path(t, "b"),
					UINT64_MAX, &cancellation);
	}
	assert_int_equal(r, 0);
	/* interrupted before a member was examined, before a block was compared, and before the
	 * transaction */
	assert_true(times > 3);
	assert_int_equal(group_of_path(t, "b"), group);
}

/* Must be the last test, because a stop cannot be undone. */
static void test_comparison_ends_after_a_stop_request(void **state)
{
	struct tree *t = scanned(state);
	uint64_t group = group_of_path(t, "b");

	move_ctime(t, "b");
	stop_request();
	assert_int_equal(recheck(t, "b"), -ECANCELED);
	assert_int_equal(group_of_path(t, "b"), group);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, tree_setup, tree_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_file_that_was_rechecked_stays_in_its_group),
		CASE(test_group_stays_if_all_ctimes_moved),
		CASE(test_file_with_other_bytes_leaves_its_group),
		CASE(test_equal_files_with_other_bytes_than_before_leave_their_group),
		CASE(test_member_with_other_bytes_proves_nothing),
		CASE(test_file_in_no_group_is_read_again),
		CASE(test_large_file_is_left_to_the_comparer),
		CASE(test_file_with_other_attributes_is_left_to_the_follower),
		CASE(test_file_that_is_open_for_writing_is_left_to_the_follower),
		CASE(test_comparison_that_times_out_changes_nothing),
		CASE(test_recheck_ends_wherever_it_is_interrupted),
		CASE(test_comparison_ends_after_a_stop_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
