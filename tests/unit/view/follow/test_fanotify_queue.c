/* SPDX-License-Identifier: MIT */
#include "base/filesystem.h"
#include "view/follow/fanotify_group.h"
#include "watch_bench.h"

static int set_up(void **state)
{
	struct bench *bench = bench_new();
	struct fanotify_group groups[2] = {{.fd = -1}, {.fd = -1}};

	for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
		assert_int_equal(fanotify_group_open(&groups[i], bench->root), 0);
	bench_watch(bench, groups);
	assert_int_equal(groups[0].fd, -1);
	*state = bench;
	return 0;
}

static void test_events_of_a_name_are_taken(void **state)
{
	check_events_of_a_name(*state);
}

static void test_removals_are_known_before_the_events_are_taken(void **state)
{
	check_removals_are_known(*state);
}

static void test_rename_across_the_border_has_its_own_event(void **state)
{
	struct bench *bench = *state;

	assert_int_equal(mkdirat(bench->root, "sub", 0755), 0);
	close(create(bench, "sub/new"));
	assert_int_equal(mkdirat(bench->root, "sub/dir", 0755), 0);
	take(bench);
	assert_int_equal(bench->count, 1);
	assert_int_equal(renameat(bench->root, "sub/new", bench->root, "new"), 0);
	assert_int_equal(renameat(bench->root, "sub/dir", bench->root, "dir"), 0);
	assert_int_equal(renameat(bench->root, "new", bench->root, "newer"), 0);
	take(bench);
	assert_int_equal(events(bench, 1, "new"), EVENT_NAME | EVENT_MOVED_IN | EVENT_MOVED_AWAY);
	assert_int_equal(events(bench, 1, "dir"), EVENT_NAME | EVENT_MOVED_IN | EVENT_NEW_DIR);
	assert_int_equal(events(bench, 1, "newer"), EVENT_NAME | EVENT_MOVED_HERE);
	assert_false(bench->set.has_moved_out);
	assert_int_equal(renameat(bench->root, "newer", bench->root, "sub/new"), 0);
	take(bench);
	assert_int_equal(bench->count, 1);
	assert_int_equal(events(bench, 1, "newer"), EVENT_NAME | EVENT_MOVED_AWAY);
	assert_true(bench->set.has_moved_out);
	take(bench);
	assert_false(bench->set.has_moved_out);
}

/* The kernel merges the events and does not report their order. */
static void test_name_that_was_created_and_removed_is_replaced(void **state)
{
	struct bench *bench = *state;

	close(create(bench, "file"));
	assert_int_equal(unlinkat(bench->root, "file", 0), 0);
	take(bench);
	assert_true(events(bench, 1, "file") & EVENT_REPLACED);
}

static void test_writes_in_watched_directories_are_known_before_the_events_are_taken(void **state)
{
	struct bench *bench = *state;
	int fd, other;

	assert_int_equal(mkdirat(bench->root, "sub", 0755), 0);
	fd = create(bench, "file");
	other = create(bench, "sub/file");
	take(bench);
	assert_int_equal(write(other, "a", 1), 1);
	assert_false(watch_has_written(bench->watch));
	assert_int_equal(write(fd, "a", 1), 1);
	assert_true(watch_has_written(bench->watch));
	take(bench);
	assert_int_equal(events(bench, 1, "file"), EVENT_WRITTEN);
	assert_false(watch_has_written(bench->watch));
	close(fd);
	close(other);
}

static void test_directory_itself_has_no_name(void **state)
{
	struct bench *bench = *state;

	assert_int_equal(mkdirat(bench->root, "sub", 0755), 0);
	add(bench, 0, "sub", 2);
	take(bench);
	assert_int_equal(fchmodat(bench->root, "sub", 0700, 0), 0);
	take(bench);
	assert_int_equal(bench->count, 1);
	assert_int_equal(events(bench, 2, ""), EVENT_ATTRIBUTES);
	assert_int_equal(renameat(bench->root, "sub", bench->root, "bus"), 0);
	take(bench);
	assert_int_equal(events(bench, 2, ""), EVENT_ATTRIBUTES);
	assert_int_equal(events(bench, 1, "bus"), EVENT_NAME | EVENT_MOVED_HERE);
}

static void test_deleted_directory_is_forgotten(void **state)
{
	struct bench *bench = *state;

	assert_int_equal(mkdirat(bench->root, "sub", 0755), 0);
	add(bench, 0, "sub", 2);
	assert_int_equal(directories(bench), 2);
	assert_int_equal(unlinkat(bench->root, "sub", AT_REMOVEDIR), 0);
	take(bench);
	assert_true(events(bench, 1, "sub") & EVENT_REMOVED);
	assert_int_equal(directories(bench), 1);
	assert_int_equal(mkdirat(bench->root, "sub", 0755), 0);
	add(bench, 0, "sub", 2);
	close(create(bench, "sub/a"));
	take(bench);
	assert_true(events(bench, 2, "a") & EVENT_NAME);
}

static void test_events_before_a_directory_is_added_are_ignored(void **state)
{
	struct bench *bench = *state;

	assert_int_equal(mkdirat(bench->root, "sub", 0755), 0);
	close(create(bench, "sub/before"));
	assert_int_equal(renameat(bench->root, "sub/before", bench->root, "moved"), 0);
	add(bench, 0, "sub", 2);
	close(create(bench, "sub/after"));
	take(bench);
	assert_int_equal(events(bench, 2, "before"), 0);
	assert_int_equal(events(bench, 1, "moved"), EVENT_NAME | EVENT_MOVED_IN);
	assert_true(events(bench, 2, "after") & EVENT_CREATED);
}

static void test_renamed_directory_keeps_its_number(void **state)
{
	struct bench *bench = *state;
	uint64_t known = 0;
	int fd AUTO_CLOSE = -1;

	assert_int_equal(mkdirat(bench->root, "sub", 0755), 0);
	add(bench, 0, "sub", 2);
	add(bench, 0, "sub", 2);
	assert_int_equal(renameat(bench->root, "sub", bench->root, "bus"), 0);
	fd = openat(bench->root, "bus", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(watch_add(bench->watch, 0, fd, 3, &known), WATCH_KNOWN);
	assert_int_equal(known, 2);
	watch_renumber(bench->watch, 0, 2, 3);
	watch_renumber(bench->watch, 0, 2, 4);
	assert_int_equal(watch_add(bench->watch, 0, fd, 3, &known), WATCH_ADDED);
	assert_int_equal(directories(bench), 2);
	take(bench);
	close(create(bench, "bus/after"));
	take(bench);
	assert_true(events(bench, 3, "after") & EVENT_NAME);
	assert_int_equal(bench->count, 1);
}

static void test_number_belongs_to_the_directory_that_was_added_last(void **state)
{
	check_owner_of_a_number(*state);
}

/* A write in a directory whose watch has just ended possibly belongs to a known file. */
static void test_directory_that_was_removed_reports_unknown_writes_once(void **state)
{
	struct bench *bench = *state;

	assert_int_equal(mkdirat(bench->root, "sub", 0755), 0);
	add(bench, 0, "sub", 2);
	take(bench);
	watch_remove(bench->watch, 0, 2);
	watch_remove(bench->watch, 0, 2);
	assert_int_equal(directories(bench), 1);
	close(create(bench, "sub/a"));
	take(bench);
	assert_int_equal(bench->count, 0);
	assert_true(bench->set.has_unknown_dir);
	bench->set.has_unknown_dir = false;
	close(create(bench, "sub/b"));
	take(bench);
	assert_false(bench->set.has_unknown_dir);
	add(bench, 0, "sub", 2);
	close(create(bench, "sub/c"));
	take(bench);
	assert_int_equal(bench->count, 1);
	assert_true(events(bench, 2, "c") & EVENT_NAME);
}

static void test_only_directories_of_the_file_system_are_added(void **state)
{
	struct bench *bench = *state;
	uint64_t known;
	int file AUTO_CLOSE = create(bench, "file");
	int other AUTO_CLOSE = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);

	assert_int_equal(watch_add(bench->watch, 0, file, 2, &known), -ENOTDIR);
	assert_int_equal(watch_add(bench->watch, 0, other, 2, &known), WATCH_FULL);
}

/* The kernel accepts marks on control groups. twinfs does not know that type of file system. */
static void test_unknown_type_of_file_system_is_refused(void **state)
{
	static const char *const paths[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/cpu"};
	unsigned int tried = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		int fd AUTO_CLOSE = open(paths[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
		struct fanotify_group group;

		if (fd < 0 || filesystem_kind_at(fd) != FILESYSTEM_UNKNOWN)
			continue;
		assert_int_equal(fanotify_group_open(&group, fd), -EOPNOTSUPP);
		assert_int_equal(group.fd, -1);
		tried++;
	}
	(void)lacks(tried == 0, "a mounted control group");
}

static void test_changes_by_links_outside_are_reported_by_inode(void **state)
{
	struct bench *bench = *state;
	struct event_set inodes CLEANUP(event_set_reset) = {0};
	AUTO_FREE const struct name_events **list = NULL;
	struct stat status;
	uint64_t inode;
	size_t count;
	int fd;

	assert_int_equal(mkdirat(bench->root, "sub", 0755), 0);
	fd = create(bench, "file");
	assert_int_equal(linkat(bench->root, "file", bench->root, "sub/link", 0), 0);
	close(fd);
	take(bench);
	assert_int_equal(watch_take_inodes(bench->watch, &inodes), 0);
	event_set_reset(&inodes);
	fd = openat(bench->root, "sub/link", O_WRONLY | O_CLOEXEC);
	assert_int_equal(write(fd, "a", 1), 1);
	assert_int_equal(fstat(fd, &status), 0);
	close(fd);
	take(bench);
	assert_int_equal(bench->count, 0);
	assert_int_equal(watch_take_inodes(bench->watch, &inodes), 0);
	assert_int_equal(event_set_list(&inodes, &list, &count), 0);
	fd = 0;
	for (size_t i = 0; i < count; i++) { /* other programs write, too */
		memcpy(&inode, list[i]->name, sizeof(inode));
		if (inode != status.st_ino || list[i]->dir != 1)
			continue;
		assert_int_equal(list[i]->events, EVENT_WRITTEN | EVENT_CLOSED);
		fd++;
	}
	assert_int_equal(fd, 1);
}

static void test_overflow_of_a_kernel_queue_is_reported(void **state)
{
	struct bench *bench = *state;
	long limit = kernel_limit("/proc/sys/fs/fanotify/max_queued_events");
	char name[32];

	hold_up(bench);
	for (long i = 0; i <= limit; i++) {
		(void)snprintf(name, sizeof(name), "%ld", i);
		close(create(bench, name));
	}
	take(bench);
	assert_int_equal(bench->set.overflowed, 1 | 2);
	assert_int_equal(bench->count, 0);
	close(create(bench, "b"));
	take(bench);
	assert_int_equal(bench->set.overflowed, 0);
	assert_true(events(bench, 1, "b") & EVENT_NAME);
}

#define WATCHED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

/* fanotify needs root, Linux 5.17, and a file system with handles. */
static bool lacks_fanotify(void)
{
	int folder AUTO_CLOSE = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct fanotify_group group = {.fd = -1};
	int r = fanotify_group_open(&group, folder);

	fanotify_group_close(&group);
	return r == -EPERM || r == -EINVAL || r == -EOPNOTSUPP || r == -ENOSYS;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WATCHED(test_events_of_a_name_are_taken),
		WATCHED(test_removals_are_known_before_the_events_are_taken),
		WATCHED(test_rename_across_the_border_has_its_own_event),
		WATCHED(test_name_that_was_created_and_removed_is_replaced),
		WATCHED(test_writes_in_watched_directories_are_known_before_the_events_are_taken),
		WATCHED(test_directory_itself_has_no_name),
		WATCHED(test_deleted_directory_is_forgotten),
		WATCHED(test_events_before_a_directory_is_added_are_ignored),
		WATCHED(test_renamed_directory_keeps_its_number),
		WATCHED(test_number_belongs_to_the_directory_that_was_added_last),
		WATCHED(test_directory_that_was_removed_reports_unknown_writes_once),
		WATCHED(test_only_directories_of_the_file_system_are_added),
		WATCHED(test_unknown_type_of_file_system_is_refused),
		WATCHED(test_changes_by_links_outside_are_reported_by_inode),
		WATCHED(test_overflow_of_a_kernel_queue_is_reported),
	};

	if (lacks_fanotify()) {
		print_message("1..0 # SKIP lacks fanotify with names\n");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
