/* SPDX-License-Identifier: MIT */
#include <linux/capability.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "base/filesystem.h"
#include "base/thread.h"
#include "index/paths.h"
#include "scan/reading.h"
#include "scan/tree.h"

struct case_state {
	struct tree *t;
	struct file_opener opener;
	struct catalog_reader *reader;
	struct reading reading;
};

/* Makes the equal files "dir/a" and "b" and scans them. */
static int setup_play(void **state)
{
	struct case_state *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	(void)signal(SIGIO, SIG_IGN);
	tree_setup((void **)&p->t);
	make_dir(p->t, "dir");
	write_text(p->t, "dir/a", "content");
	write_text(p->t, "b", "content");
	scan(p->t);
	p->opener = (struct file_opener)FILE_OPENER_INIT(&p->t->sources);
	p->reader = fixture_read(&p->t->index);
	*state = p;
	return 0;
}

static int teardown_play(void **state)
{
	struct case_state *p = *state;

	file_opener_deinit(&p->opener);
	catalog_read_end(p->reader);
	tree_teardown((void **)&p->t);
	free(p);
	return 0;
}

static struct file_record record_of(struct case_state *p)
{
	struct file_record file;
	struct entry_record dir, entry;

	assert_int_equal(catalog_find_entry(p->reader, p->t->index.roots[0], name_of("dir"), &dir),
			 0);
	assert_int_equal(catalog_find_entry(p->reader, dir.child, name_of("a"), &entry), 0);
	assert_int_equal(catalog_get_file(p->reader, entry.child, &file), 0);
	return file;
}

static int open_file(struct case_state *p, bool hold)
{
	struct file_record file = record_of(p);

	return reading_open(&p->reading, &p->opener, p->reader, &file, hold);
}

static int close_file(struct case_state *p)
{
	return reading_close(&p->reading, p->t->index.catalog);
}

static int open_writer(struct case_state *p)
{
	return openat(p->t->fd, "dir/a", O_WRONLY | O_NONBLOCK | O_CLOEXEC);
}

static void test_quiet_file_is_read(void **state)
{
	struct case_state *p = *state;
	char text[16] = "";

	for (int hold = 0; hold < 2; hold++) {
		assert_int_equal(open_file(p, hold), 0);
		assert_int_equal(p->reading.leased, hold);
		assert_int_equal(read_fully_at(p->reading.fd, text, sizeof(text), 0), 7);
		assert_string_equal(text, "content");
		assert_int_equal(close_file(p), 0);
		assert_int_equal(p->reading.fd, -1);
	}
}

static void test_file_open_for_writing_is_busy(void **state)
{
	struct case_state *p = *state;
	int writer = open_writer(p);

	assert_int_equal(open_file(p, false), READING_BUSY);
	assert_int_equal(p->reading.fd, -1);
	close(writer);
	assert_int_equal(open_file(p, false), 0);
	assert_int_equal(close_file(p), 0);
}

static void test_file_mapped_for_writing_is_busy(void **state)
{
	struct case_state *p = *state;
	int fd = openat(p->t->fd, "dir/a", O_RDWR | O_CLOEXEC);
	void *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	assert_true(map != MAP_FAILED);
	close(fd);
	assert_int_equal(open_file(p, false), READING_BUSY);
	assert_int_equal(munmap(map, 4096), 0);
	assert_int_equal(open_file(p, false), 0);
	reading_abandon(&p->reading);
}

/* Opens the file without a check, and leaves out another one. */
static struct reading_ahead open_ahead(struct case_state *p)
{
	struct reading_ahead list[2] = {{.file = record_of(p), .wanted = true, .length = 7}};

	readings_open(list, ARRAY_SIZE(list), &p->opener, p->reader);
	assert_int_equal(list[0].result, 0);
	assert_int_equal(list[1].reading.fd, -1);
	assert_false(list[0].reading.leased);
	return list[0];
}

static void test_writer_that_opens_before_the_check_is_detected(void **state)
{
	struct case_state *p = *state;
	struct reading_ahead ahead = open_ahead(p);
	int writer = open_writer(p);

	assert_true(writer >= 0); /* no lease stops it */
	assert_int_equal(reading_check(&ahead.reading, &p->opener, &ahead.file, true),
			 READING_BUSY);
	assert_int_equal(ahead.reading.fd, -1);
	close(writer);
}

static void test_change_before_the_check_is_detected(void **state)
{
	struct case_state *p = *state;
	struct reading_ahead ahead = open_ahead(p);

	write_text(p->t, "dir/a", "CONTENT");
	assert_int_equal(reading_check(&ahead.reading, &p->opener, &ahead.file, true), 0);
	assert_int_equal(reading_close(&ahead.reading, p->t->index.catalog), READING_CHANGED);
	assert_int_equal(unlinkat(p->t->fd, "dir/a", 0), 0);
	write_text(p->t, "dir/a", "content");
	ahead = open_ahead(p); /* the index has the other file of this name */
	assert_int_equal(reading_check(&ahead.reading, &p->opener, &ahead.file, false),
			 READING_GONE);
	assert_int_equal(ahead.reading.fd, -1);
}

static void test_window_takes_a_quarter_of_the_descriptors(void **state)
{
	struct rlimit limit;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(reading_window(1), READING_WINDOW);
	assert_int_equal(threads_with_files(8), 8);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){64, limit.rlim_max}), 0);
	assert_int_equal(reading_window(8), 2);
	assert_int_equal(reading_window(64), 1);
	assert_int_equal(threads_with_files(2), 2);
	assert_int_equal(threads_with_files(64), 8);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void test_writer_that_opens_during_the_read_is_detected(void **state)
{
	struct case_state *p = *state;
	int writer;

	assert_int_equal(open_file(p, false), 0);
	writer = open_writer(p);
	assert_true(writer >= 0);
	assert_int_equal(close_file(p), READING_BUSY);
	close(writer);
}

static void test_writer_that_closed_again_is_detected_by_its_change(void **state)
{
	struct case_state *p = *state;

	assert_int_equal(open_file(p, false), 0);
	write_text(p->t, "dir/a", "CONTENT");
	assert_int_equal(close_file(p), READING_CHANGED);
}

static void test_held_lease_blocks_writers_and_detects_them(void **state)
{
	struct case_state *p = *state;

	assert_int_equal(open_file(p, true), 0);
	assert_int_equal(open_writer(p), -1);
	assert_int_equal(errno, EWOULDBLOCK);
	assert_int_equal(close_file(p), READING_BUSY);
}

static void test_changed_file_has_its_new_attributes(void **state)
{
	struct case_state *p = *state;
	struct stat st;

	write_text(p->t, "dir/a", "another length");
	assert_int_equal(open_file(p, false), READING_CHANGED);
	assert_int_equal(p->reading.fd, -1);
	assert_int_equal(p->reading.attributes.size, 14);
	assert_int_equal(fchmodat(p->t->fd, "dir/a", 0600, 0), 0);
	assert_int_equal(fstatat(p->t->fd, "dir/a", &st, 0), 0);
	assert_int_equal(open_file(p, false), READING_CHANGED);
	assert_true(p->reading.attributes.ctime.tv_nsec == st.st_ctim.tv_nsec);
}

/* With a lease, the attributes are checked at the end of the read only. */
static void test_file_that_changed_before_its_lease_is_refused(void **state)
{
	struct case_state *p = *state;

	write_text(p->t, "dir/a", "CONTENT");
	assert_int_equal(open_file(p, true), 0);
	assert_int_equal(close_file(p), READING_CHANGED);
	assert_int_equal(p->reading.attributes.size, 7);
	assert_int_equal(fchmodat(p->t->fd, "dir/a", 0600, 0), 0);
	assert_int_equal(open_file(p, true), 0);
	assert_int_equal(close_file(p), READING_CHANGED);
	assert_int_equal(p->reading.attributes.mode & 0777, 0600);
}

static void test_attributes_that_change_under_the_lease_are_detected(void **state)
{
	struct case_state *p = *state;

	assert_int_equal(open_file(p, true), 0);
	assert_int_equal(fchmodat(p->t->fd, "dir/a", 0600, 0), 0);
	assert_int_equal(close_file(p), READING_CHANGED);
}

static void make_socket(struct case_state *p)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%.90s/dir/a", p->t->source);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	close(fd);
}

/* The name leads to another file, or to something that is no file. It is not left open, and a FIFO
 * or socket is not waited for. */
static void test_name_of_another_kind_is_missing(void **state)
{
	struct case_state *p = *state;

	assert_int_equal(renameat(p->t->fd, "dir/a", p->t->fd, "moved"), 0);
	assert_int_equal(open_file(p, true), READING_GONE);
	assert_int_equal(symlinkat("../moved", p->t->fd, "dir/a"), 0);
	assert_int_equal(open_file(p, true), READING_GONE);
	assert_int_equal(unlinkat(p->t->fd, "dir/a", 0), 0);
	assert_int_equal(mkfifoat(p->t->fd, "dir/a", 0600), 0);
	assert_int_equal(open_file(p, true), READING_GONE);
	assert_int_equal(unlinkat(p->t->fd, "dir/a", 0), 0);
	make_dir(p->t, "dir/a");
	assert_int_equal(open_file(p, true), READING_GONE);
	assert_int_equal(unlinkat(p->t->fd, "dir/a", AT_REMOVEDIR), 0);
	make_socket(p);
	assert_int_equal(open_file(p, true), READING_GONE);
	assert_int_equal(unlinkat(p->t->fd, "dir/a", 0), 0);
	write_text(p->t, "dir/a", "content"); /* equal bytes, but another file */
	assert_int_equal(open_file(p, false), READING_GONE);
	assert_int_equal(p->reading.fd, -1);
	assert_int_equal(open_file(p, true), 0);
	assert_int_equal(close_file(p), READING_GONE);
	assert_int_equal(p->reading.fd, -1);
}

/* Changes the mode of a file all the time. */
struct restless {
	int dir, failures;
	atomic_bool enough;
};

static void *change_modes(void *context)
{
	struct restless *restless = context;

	for (mode_t mode = 0600; !atomic_load(&restless->enough); mode ^= 0040) {
		restless->failures += fchmodat(restless->dir, "dir/a", mode, 0) != 0;
		(void)poll(NULL, 0, 1);
	}
	return NULL;
}

/* The index would get the inode number of the other file. */
static void test_other_file_that_changes_during_the_guard_time_is_missing(void **state)
{
	struct case_state *p = *state;
	struct restless restless = {.dir = p->t->fd};
	pthread_t thread;

	write_text(p->t, "other", "content");
	assert_int_equal(renameat(p->t->fd, "other", p->t->fd, "dir/a"), 0);
	assert_int_equal(pthread_create(&thread, NULL, change_modes, &restless), 0);
	assert_int_equal(open_file(p, false), READING_GONE);
	assert_int_equal(p->reading.fd, -1);
	atomic_store(&restless.enough, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(restless.failures, 0);
}

static void test_file_in_a_replaced_directory_is_missing(void **state)
{
	struct case_state *p = *state;

	assert_int_equal(renameat(p->t->fd, "dir", p->t->fd, "moved"), 0);
	assert_int_equal(open_file(p, false), READING_GONE);
	assert_int_equal(symlinkat("moved", p->t->fd, "dir"), 0);
	assert_int_equal(open_file(p, false), READING_GONE);
	assert_int_equal(unlinkat(p->t->fd, "dir", 0), 0);
	write_text(p->t, "dir", "");
	assert_int_equal(open_file(p, false), READING_GONE);
}

static int64_t change_age_ns(const struct case_state *p)
{
	struct timespec now, then = p->reading.attributes.ctime;

	assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
	return (now.tv_sec - then.tv_sec) * INT64_C(1000000000) + now.tv_nsec - then.tv_nsec;
}

/* A file that changed less than a tick ago can change again with the same times. */
static void test_file_that_changed_a_moment_ago_must_wait(void **state)
{
	struct case_state *p = *state;

	assert_int_equal(fchmodat(p->t->fd, "dir/a", 0600, 0), 0);
	assert_int_equal(open_file(p, false), READING_CHANGED);
	assert_true(change_age_ns(p) >= 20000000);
}

/* The file changed a moment ago, and the index has its current state; a lease is held. */
static void test_file_indexed_a_moment_ago_must_wait(void **state)
{
	struct case_state *p = *state;

	catalog_read_end(p->reader);
	assert_int_equal(fchmodat(p->t->fd, "dir/a", 0600, 0), 0);
	scan(p->t);
	p->reader = fixture_read(&p->t->index);
	assert_int_equal(open_file(p, true), 0);
	assert_int_equal(close_file(p), 0);
	assert_true(change_age_ns(p) >= 20000000);
}

/* ---- where leases are refused --------------------------------------------------------- */

/* Scans again, so that the index has the current state of the file. */
static void scan_again(struct case_state *p)
{
	catalog_read_end(p->reader);
	scan(p->t);
	p->reader = fixture_read(&p->t->index);
}

/* Gives or removes CAP_LEASE, which allows leases on files of other users. */
static void set_right_to_leases(bool given)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {0};

	assert_int_equal(syscall(SYS_capget, &header, sets), 0);
	if (given)
		sets[CAP_TO_INDEX(CAP_LEASE)].effective |= CAP_TO_MASK(CAP_LEASE);
	else
		sets[CAP_TO_INDEX(CAP_LEASE)].effective &= ~CAP_TO_MASK(CAP_LEASE);
	assert_int_equal(syscall(SYS_capset, &header, sets), 0);
}

/* Gives the file to another user. */
static void give_away(struct case_state *p)
{
	assert_int_equal(fchownat(p->t->fd, "dir/a", 1, 1, 0), 0);
	scan_again(p);
	set_right_to_leases(false);
}

static int teardown_rights(void **state)
{
	if (geteuid() == 0)
		set_right_to_leases(true);
	return teardown_play(state);
}

static void test_without_a_lease_a_writer_is_detected_by_its_change(void **state)
{
	struct case_state *p = *state;

	if (lacks_root())
		return;
	give_away(p);
	for (int hold = 0; hold < 2; hold++) {
		assert_int_equal(open_file(p, hold), 0);
		assert_true(p->reading.lease_refused && !p->reading.leased);
		assert_int_equal(close_file(p), 0);
	}
	assert_int_equal(open_file(p, true), 0);
	write_text(p->t, "dir/a", "CONTENT");
	assert_int_equal(close_file(p), READING_CHANGED);
	assert_int_equal(open_file(p, true), READING_CHANGED);
}

static void test_without_a_lease_a_file_that_changed_a_moment_ago_must_wait(void **state)
{
	struct case_state *p = *state;

	if (lacks_root())
		return;
	give_away(p);
	assert_int_equal(fchmodat(p->t->fd, "dir/a", 0604, 0), 0);
	scan_again(p);
	assert_int_equal(open_file(p, true), 0);
	assert_true(change_age_ns(p) >= 20000000);
	reading_abandon(&p->reading);
}

static void assert_guarded_for_longer(struct case_state *p, enum filesystem_kind kind)
{
	assert_int_equal(open_file(p, false), 0);
	reading_abandon(&p->reading);
	p->opener.kind = kind; /* takes effect because the directory is still open */
	assert_int_equal(fchmodat(p->t->fd, "dir/a", 0600, 0), 0);
	scan_again(p);
	for (int hold = 0; hold < 2; hold++) {
		while (open_file(p, hold) == READING_BUSY)
			(void)poll(NULL, 0, 10);
		assert_true(change_age_ns(p) >= 2000000000);
		assert_int_equal(close_file(p), 0);
	}
}

/* Other hosts can write with other clocks and ignore a lease. */
static void test_change_on_a_remote_file_system_must_wait_longer(void **state)
{
	assert_guarded_for_longer(*state, FILESYSTEM_REMOTE);
}

/* The time stamps of an unknown file system can have a resolution of seconds. */
static void test_change_on_an_unknown_file_system_must_wait_longer(void **state)
{
	assert_guarded_for_longer(*state, FILESYSTEM_UNKNOWN);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup_play, teardown_play)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_quiet_file_is_read),
		CASE(test_file_open_for_writing_is_busy),
		CASE(test_file_mapped_for_writing_is_busy),
		CASE(test_writer_that_opens_before_the_check_is_detected),
		CASE(test_change_before_the_check_is_detected),
		CASE(test_window_takes_a_quarter_of_the_descriptors),
		CASE(test_writer_that_opens_during_the_read_is_detected),
		CASE(test_writer_that_closed_again_is_detected_by_its_change),
		CASE(test_held_lease_blocks_writers_and_detects_them),
		CASE(test_changed_file_has_its_new_attributes),
		CASE(test_file_that_changed_before_its_lease_is_refused),
		CASE(test_attributes_that_change_under_the_lease_are_detected),
		CASE(test_name_of_another_kind_is_missing),
		CASE(test_other_file_that_changes_during_the_guard_time_is_missing),
		CASE(test_file_in_a_replaced_directory_is_missing),
		CASE(test_file_that_changed_a_moment_ago_must_wait),
		CASE(test_file_indexed_a_moment_ago_must_wait),
		cmocka_unit_test_setup_teardown(
			test_without_a_lease_a_writer_is_detected_by_its_change, setup_play,
			teardown_rights),
		cmocka_unit_test_setup_teardown(
			test_without_a_lease_a_file_that_changed_a_moment_ago_must_wait, setup_play,
			teardown_rights),
		CASE(test_change_on_a_remote_file_system_must_wait_longer),
		CASE(test_change_on_an_unknown_file_system_must_wait_longer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
