/* SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "index/audit.h"

#define TINY_MAP_BYTES 65536

static int setup_tiny(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	fixture_make_folder(f->folder);
	f->map_bytes = TINY_MAP_BYTES;
	fixture_open(f);
	fixture_fill(f);
	*state = f;
	return 0;
}

/* ---- a growing map ------------------------------------------------------------------- */

struct counted_apply {
	struct fixture *fixture;
	unsigned int runs;
};

static int counted_body(struct catalog_writer *w, void *context)
{
	struct counted_apply *apply = context;

	apply->runs++;
	return fixture_apply_body(w, apply->fixture);
}

/* Adds a full batch of new files. Returns how often its body ran. */
static unsigned int add_batch(struct fixture *f, uint64_t *inode)
{
	static char names[FIXTURE_CHANGES_MAX][24];
	struct counted_apply apply = {.fixture = f};

	while (f->count < FIXTURE_CHANGES_MAX) {
		char *name = names[f->count];

		(void)snprintf(name, sizeof(names[0]), "%d", (int)*inode);
		add_file(f, f->roots[0], name, file_of(*inode, *inode % 50, 0));
		++*inode;
	}
	assert_int_equal(catalog_write(f->catalog, counted_body, &apply), 0);
	f->count = 0;
	return apply.runs;
}

static void test_batch_that_fills_the_map_runs_again_in_a_larger_one(void **state)
{
	struct fixture *f = *state;
	uint64_t inode = 10;
	unsigned int again = 0;

	for (int i = 0; i < 20; i++)
		again += add_batch(f, &inode) > 1;
	assert_true(again > 2);
	assert_int_equal(totals_of(f).files, 20 * FIXTURE_CHANGES_MAX);
	audit_index(f->catalog);
	fixture_reopen(f); /* opened with a map that is too small for the data */
	audit_index(f->catalog);
	(void)add_batch(f, &inode);
	audit_index(f->catalog);
}

/* ---- concurrent readers -------------------------------------------------------------- */

struct readers {
	struct fixture *fixture;
	_Atomic bool end;
	_Atomic uint64_t snapshots, bad;
};

/* Returns whether the files in one snapshot are as many as its totals have. */
static bool snapshot_is_right(struct fixture *f, uint64_t *generation)
{
	struct catalog_reader *reader CLEANUP_READER = NULL;
	struct catalog_scan *scan CLEANUP_SCAN = NULL;
	struct catalog_totals totals;
	struct entry_record entry;
	struct file_record file;
	uint64_t files = 0;

	if (catalog_read_begin(f->catalog, &reader) < 0 ||
	    catalog_get_totals(reader, &totals) < 0 || totals.generation < *generation ||
	    catalog_scan_files(reader, 0, &scan) < 0)
		return false;
	*generation = totals.generation;
	for (; catalog_next_file(scan, &file) == 0; files++) {
		if (files % 100 == 0 && catalog_entry_at(reader, file.dir, file.cookie, &entry) < 0)
			return false;
	}
	return files == totals.files;
}

static void *read_on(void *context)
{
	struct readers *readers = context;
	uint64_t generation = 0;

	while (!readers->end) {
		if (!snapshot_is_right(readers->fixture, &generation))
			readers->bad++;
		readers->snapshots++;
	}
	return NULL;
}

static void test_readers_see_whole_transactions_while_the_map_grows(void **state)
{
	struct fixture *f = *state;
	struct readers readers = {.fixture = f};
	pthread_t threads[4];
	uint64_t inode = 10;

	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, read_on, &readers), 0);
	for (int i = 0; i < 20 || readers.snapshots < 100; i++)
		(void)add_batch(f, &inode);
	readers.end = true;
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(readers.bad, 0);
	audit_index(f->catalog);
}

#define READERS 300

struct many_readers {
	struct fixture *fixture;
	pthread_barrier_t all_have_begun;
	_Atomic unsigned int served, refused;
};

static void *read_with_all(void *context)
{
	struct catalog_reader *reader = NULL;
	struct many_readers *many_readers = context;
	int r = catalog_read_begin(many_readers->fixture->catalog, &reader);

	many_readers->served += r == 0;
	many_readers->refused += r == -EAGAIN;
	(void)pthread_barrier_wait(&many_readers->all_have_begun);
	if (r == 0)
		catalog_read_end(reader);
	return NULL;
}

/* Begins this many snapshots in as many threads. They end when all have begun. */
static void read_at_once(struct many_readers *many_readers, unsigned int count)
{
	pthread_t threads[READERS];

	assert_in_range(count, 1, READERS);
	assert_int_equal(pthread_barrier_init(&many_readers->all_have_begun, NULL, count), 0);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, read_with_all, many_readers), 0);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(pthread_barrier_destroy(&many_readers->all_have_begun), 0);
}

static void test_readers_beyond_the_limit_are_refused(void **state)
{
	struct many_readers many_readers = {.fixture = *state};

	read_at_once(&many_readers, READERS);
	assert_int_equal(many_readers.served + many_readers.refused, READERS);
	assert_true(many_readers.served > 100 && many_readers.refused > 0);
	audit_index(many_readers.fixture->catalog);
}

static void read_totals(void *fixture)
{
	(void)totals_of(fixture);
}

static void test_thread_with_a_snapshot_is_refused_another_and_a_write(void **state)
{
	struct fixture *f = *state;
	struct catalog_reader *reader = fixture_read(f), *second = NULL;
	struct counted_apply apply = {.fixture = f};

	assert_int_equal(catalog_read_begin(f->catalog, &second), -EDEADLK);
	assert_null(second);
	assert_int_equal(catalog_write(f->catalog, counted_body, &apply), -EDEADLK);
	assert_int_equal(apply.runs, 0);
	run_in_thread(read_totals, f);
	catalog_read_end(reader);
	read_totals(f);
	assert_int_equal(catalog_write(f->catalog, counted_body, &apply), 0);
	assert_true(apply.runs > 0);
}

static void *take_ids(void *context)
{
	struct fixture *f = context;
	uint64_t *ids = calloc(5000, sizeof(*ids));

	for (size_t i = 0; ids && i < 5000; i++)
		ids[i] = catalog_new_id(f->catalog);
	return ids;
}

static void test_threads_get_different_ids(void **state)
{
	static unsigned char seen[100000];
	pthread_t threads[4];
	void *ids;

	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, take_ids, *state), 0);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
		assert_int_equal(pthread_join(threads[i], &ids), 0);
		assert_non_null(ids);
		for (size_t n = 0; n < 5000; n++) {
			assert_in_range(((uint64_t *)ids)[n], 1, sizeof(seen) - 1);
			assert_int_equal(seen[((uint64_t *)ids)[n]]++, 0);
		}
		free(ids);
	}
}

/* ---- no room to grow ----------------------------------------------------------------- */

/* Writes until the map cannot grow. Earlier commits are still readable. When the map can grow
 * again, writes succeed. */
static void fill_address_space(struct fixture *f)
{
	struct rlimit limit, before;
	uint64_t inode = 10;
	int r = 0;

	if (getrlimit(RLIMIT_AS, &before) < 0)
		_exit(1);
	limit = before;
	limit.rlim_cur = (rlim_t)64 << 20;
	if (setrlimit(RLIMIT_AS, &limit) < 0)
		_exit(2);
	for (int i = 0; r == 0 && i < 2000; i++) {
		char name[24];

		for (int n = 0; n < 8; n++) {
			(void)snprintf(name, sizeof(name), "%d", (int)inode);
			add_file(f, f->roots[0], "", file_of(inode++, 1, 0));
			f->changes[f->count - 1].name = name_of(strdup(name));
		}
		while (r == 0 && f->count > 0)
			r = fixture_commit_code(f);
	}
	if (r != -ENOMEM)
		_exit(3);
	audit_index(f->catalog);
	if (setrlimit(RLIMIT_AS, &before) < 0)
		_exit(4);
	(void)add_batch(f, &inode);
	audit_index(f->catalog);
	_exit(0);
}

static void test_index_is_readable_if_its_map_cannot_grow(void **state)
{
	struct fixture *f = *state;
	pid_t child;
	int status;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	(void)lacks(true, "address space beside that of a sanitizer");
	return;
#endif
	catalog_close(f->catalog);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		(void)signal(SIGSEGV, SIG_DFL);
		fixture_open(f);
		fill_address_space(f);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	fixture_open(f);
	audit_index(f->catalog);
}

/* ---- writes that fail ---------------------------------------------------------------- */

/* The calls by which LMDB writes. This program overrides those of the C library. */
static struct {
	_Atomic int until_fault; /* calls until the first failure; 0: none fails */
	_Atomic int faults; /* this many calls fail in a row */
	bool done_anyway; /* if set, a failing call writes before it reports a failure */
} writing;

static bool fails(void)
{
	if (writing.until_fault == 0 || --writing.until_fault > 0)
		return false;
	writing.until_fault = --writing.faults > 0;
	errno = EIO;
	return true;
}

/* LMDB can be built to call pwrite or pwrite64. */
ssize_t write_at(int fd, const void *data, size_t size, off_t offset) __asm__("pwrite");
ssize_t write_at_64(int fd, const void *data, size_t size, off_t offset) __asm__("pwrite64");

ssize_t write_at(int fd, const void *data, size_t size, off_t offset)
{
	static __typeof__(write_at) *real;
	bool failing = fails();
	ssize_t written = -1;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "pwrite");
	if (!failing || writing.done_anyway)
		written = real(fd, data, size, offset);
	if (failing)
		errno = EIO;
	return failing ? -1 : written;
}

ssize_t write_at_64(int fd, const void *data, size_t size, off_t offset)
{
	return write_at(fd, data, size, offset);
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
	static __typeof__(writev) *real;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "writev");
	return fails() ? -1 : real(fd, parts, count);
}

int fdatasync(int fd)
{
	static __typeof__(fdatasync) *real;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "fdatasync");
	return fails() ? -1 : real(fd);
}

/* Adds a file while the number-th write and the following ones fail. Returns false if there were
 * fewer writes. */
static bool add_file_without(struct fixture *f, uint64_t inode, int number, int faults)
{
	uint64_t before = totals_of(f).files;
	char name[24];
	bool failed;
	int r;

	(void)snprintf(name, sizeof(name), "%d", (int)inode);
	add_file(f, f->roots[0], name, file_of(inode, 1, 0));
	writing.faults = faults;
	writing.until_fault = number;
	r = fixture_commit_code(f);
	failed = writing.faults < faults;
	writing.until_fault = 0;
	assert_true(failed ? r == 0 || r == -EIO : r == 0);
	assert_int_equal(totals_of(f).files,
			 before + (r == 0)); /* true even right after a failure */
	audit_index(f->catalog);
	f->count = 0;
	return failed;
}

static void test_index_is_usable_after_any_failed_write(void **state)
{
	struct fixture *f = *state;
	uint64_t inode = 10;

	for (int faults = 1; faults <= 3; faults++) {
		int number = 1;

		writing.done_anyway = faults == 3;
		while (add_file_without(f, inode++, number, faults))
			number++;
		assert_true(number > 3);
		fixture_reopen(f);
		audit_index(f->catalog);
	}
}

/* ---- readers that were taken for dead ------------------------------------------------------ */

/* Frees the slots of this process in the table of readers, as another process does that takes this
 * one for dead: the close of an environment frees all slots of its process. */
static void free_slots(const struct fixture *f)
{
	struct store store;

	assert_int_equal(store_open(&store, f->folder, 0, NULL), 0);
	store_close(&store);
}

static void test_readers_that_were_taken_for_dead_begin_again(void **state)
{
	struct fixture *f = *state;
	uint64_t inode = 10;

	for (int round = 0; round < 3; round++) {
		struct many_readers many_readers = {.fixture = f};

		read_at_once(&many_readers, 3);
		assert_int_equal(many_readers.served, 3);
		free_slots(f);
		audit_index(f->catalog);
		free_slots(f);
		(void)add_batch(f, &inode);
	}
	assert_int_equal(totals_of(f).files, 3 * FIXTURE_CHANGES_MAX);
}

/* The environment must not be opened again: that would make a new index without any file. */
static void test_reader_that_was_taken_for_dead_goes_on_with_a_removed_index(void **state)
{
	struct fixture *f = *state;
	uint64_t inode = 10;
	char path[PATH_MAX];

	(void)add_batch(f, &inode);
	catalog_read_end(fixture_read(f));
	free_slots(f);
	(void)snprintf(path, sizeof(path), "%s/" TWINFS_INDEX_DATA, f->folder);
	assert_int_equal(unlink(path), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(totals_of(f).files, FIXTURE_CHANGES_MAX);
	assert_int_equal(access(path, F_OK), -1);
}

/* Takes the first free slot, writes a byte when it has it, and waits. */
static void occupy_slot(const struct fixture *f, int ready)
{
	struct catalog_reader *reader = NULL;
	struct store store;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test does not end it */
	if (store_open(&store, f->folder, 0, NULL) < 0 || store_read_begin(&store, &reader) < 0 ||
	    write(ready, "", 1) != 1)
		_exit(1);
	for (;;)
		(void)pause();
}

static int find_pid(const char *line, void *context)
{
	char pid[16];

	(void)snprintf(pid, sizeof(pid), "%d ", *(pid_t *)context);
	if (strstr(line, pid))
		*(pid_t *)context = 0;
	return 0;
}

static void test_reader_that_was_taken_for_dead_leaves_its_slot_to_the_next_owner(void **state)
{
	struct fixture *f = *state;
	struct catalog_reader *reader = fixture_read(f);
	int ready[2], status;
	pid_t child, found;
	char byte;

	catalog_read_end(reader);
	free_slots(f);
	assert_int_equal(pipe(ready), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		occupy_slot(f, ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	reader = fixture_read(f);
	found = child;
	assert_true(mdb_reader_list(reader->store->env, find_pid, &found) >= 0);
	assert_int_equal(found, 0);
	catalog_read_end(reader);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	close(ready[0]);
	close(ready[1]);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup_tiny, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_batch_that_fills_the_map_runs_again_in_a_larger_one),
		CASE(test_readers_see_whole_transactions_while_the_map_grows),
		CASE(test_readers_beyond_the_limit_are_refused),
		CASE(test_thread_with_a_snapshot_is_refused_another_and_a_write),
		CASE(test_threads_get_different_ids),
		CASE(test_index_is_readable_if_its_map_cannot_grow),
		CASE(test_index_is_usable_after_any_failed_write),
		CASE(test_readers_that_were_taken_for_dead_begin_again),
		CASE(test_reader_that_was_taken_for_dead_goes_on_with_a_removed_index),
		CASE(test_reader_that_was_taken_for_dead_leaves_its_slot_to_the_next_owner),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
