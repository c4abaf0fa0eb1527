/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/descriptor.h"
#include "base/log.h"
#include "index/audit.h"
#include "index/integrity.h"
#include "twinfs/format.h"

#define PAGE_BYTES ((size_t)4096)

#define COMMITS_MAX 64

/* The bytes of a closed index, and the hashes of its records after each commit. */
struct original {
	struct fixture *fixture;
	char data_path[128], seal_path[128], damaged_path[128];
	uint8_t *data;
	size_t length;
	struct hash128 states[COMMITS_MAX];
	size_t state_count;
};

/* ---- records of an index ------------------------------------------------------------- */

static struct hash128 hash_index(const struct fixture *f)
{
	struct catalog_reader *reader = fixture_read(f);
	struct hash128 hash = {0};

	assert_int_equal(hash_records(reader, &hash), 0);
	catalog_read_end(reader);
	return hash;
}

static bool is_known_state(const struct original *o, struct hash128 hash)
{
	for (size_t i = 0; i < o->state_count; i++) {
		if (o->states[i].high == hash.high && o->states[i].low == hash.low)
			return true;
	}
	return false;
}

/* ---- an index to damage -------------------------------------------------------------- */

static void note_state(struct original *o)
{
	assert_true(o->state_count < COMMITS_MAX);
	o->states[o->state_count++] = hash_index(o->fixture);
}

/* Adds directories, names, hard links, groups and orphans. */
static void add_some(struct fixture *f, uint64_t *inode, struct original *o)
{
	static char names[FIXTURE_CHANGES_MAX][32];
	uint64_t dir = add_dir(f, f->roots[0], ""), ids[20];

	for (size_t i = 0; i < 200; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "%d.name", (int)*inode);
		add_file(f, dir, names[i], file_of((*inode)++, i / 20, 0));
	}
	(void)snprintf(names[200], sizeof(names[200]), "d%d", (int)dir);
	f->changes[0].name = name_of(names[200]);
	add_file(f, f->roots[1], names[200], file_of(*inode - 1, 9, 0));
	fixture_commit(f);
	if (o)
		note_state(o);
	for (size_t i = 0; i < 20; i++)
		ids[i] = id_at(f, dir, names[20 + i]);
	add_group(f, (struct hash128){7, dir}, ids, 20);
	if (o)
		note_state(o);
	for (size_t i = 0; i < 10; i++)
		remove_name(f, dir, names[i]);
	fixture_commit(f);
	if (o)
		note_state(o);
}

static int setup_original(void **state)
{
	struct original *o = calloc(1, sizeof(*o));
	uint64_t inode = 10;

	assert_non_null(o);
	fixture_setup((void **)&o->fixture);
	for (int i = 0; i < 8; i++)
		add_some(o->fixture, &inode, o);
	assert_true(purge_orphans(o->fixture, 40)); /* so that there are free pages */
	note_state(o);
	for (uint32_t i = 0; i < 4; i++) {
		add_file(o->fixture, o->fixture->roots[1], "last", file_of(5000 + i, 1, 0));
		o->fixture->changes[0].name.length = i + 1;
		fixture_commit(o->fixture);
		note_state(o);
	}
	catalog_close(o->fixture->catalog);
	(void)snprintf(o->data_path, sizeof(o->data_path), "%s/%s", o->fixture->folder,
		       TWINFS_INDEX_DATA);
	(void)snprintf(o->seal_path, sizeof(o->seal_path), "%s/%s", o->fixture->folder,
		       TWINFS_INDEX_SEAL);
	(void)snprintf(o->damaged_path, sizeof(o->damaged_path), "%s/%s", o->fixture->folder,
		       TWINFS_INDEX_DAMAGED);
	o->data = fixture_read_file(o->fixture, TWINFS_INDEX_DATA, &o->length);
	*state = o;
	return 0;
}

static int teardown_original(void **state)
{
	struct original *o = *state;

	o->fixture->catalog = NULL;
	fixture_teardown((void **)&o->fixture);
	free(o->data);
	free(o);
	return 0;
}

/* Restores the original data file of an index that was not closed cleanly. */
static void restore(const struct original *o)
{
	int fd = open(o->data_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write_fully(fd, o->data, o->length), 0);
	assert_int_equal(close(fd), 0);
	(void)unlink(o->seal_path);
	(void)unlink(o->damaged_path);
}

static void overwrite(const struct original *o, size_t offset, const void *data, size_t length)
{
	int fd = open(o->data_path, O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, data, length, (off_t)offset), length);
	assert_int_equal(close(fd), 0);
}

/* Opens the index and checks the result. Either the index was rebuilt, or it has exactly the
 * records of some commit and is writable. It can also be refused: the format has no checksum, so
 * that a damaged format can look newer. Returns whether the index was not reused. */
static bool assert_survives(const struct original *o)
{
	struct fixture *f = o->fixture;
	int opened = fixture_open_code(f);
	bool anew;

	if (opened == CATALOG_NEWER)
		return true;
	assert_int_equal(opened, CATALOG_OPENED);
	anew = access(o->damaged_path, F_OK) == 0;
	assert_true(catalog_new_id(f->catalog) > f->roots[1] + 1600);
	if (anew) {
		assert_int_equal(totals_of(f).directories, 0);
	} else {
		uint64_t inode = 9000;

		assert_true(is_known_state(o, hash_index(f)));
		audit_index(f->catalog);
		add_some(f, &inode, NULL);
		(void)purge_orphans(f, 100);
		audit_index(f->catalog);
	}
	catalog_close(f->catalog);
	return anew;
}

/* ---- damage -------------------------------------------------------------------------- */

static void test_undamaged_index_is_accepted_without_its_seal(void **state)
{
	struct original *o = *state;

	restore(o);
	assert_false(assert_survives(o));
	assert_int_equal(access(o->seal_path, F_OK), 0);
}

/* A process that reads the data file is registered in the lock file. A writer with another lock
 * file would overwrite the pages of that process. */
static void test_lock_file_stays_if_the_data_file_cannot_be_copied(void **state)
{
	struct original *o = *state;
	struct rlimit limit, small = {.rlim_cur = 1 << 16};
	AUTO_CLOSE int fd = open(o->fixture->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool sealed;
	int r;

	restore(o);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	small.rlim_max = limit.rlim_max;
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	r = index_examine(fd, o->fixture->folder, false, &sealed);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	(void)signal(SIGXFSZ, SIG_DFL);
	assert_int_equal(r, CATALOG_OPENED);
	assert_int_equal(faccessat(fd, TWINFS_INDEX_READERS, F_OK, 0), 0);
}

/* The index can be consistent, because its last pages can be unused. */
static void test_truncated_index_is_rebuilt_or_consistent(void **state)
{
	struct original *o = *state;
	size_t tried = 0, anew = 0;

	srandom(4);
	for (size_t length = PAGE_BYTES; length < o->length; length += PAGE_BYTES, tried += 2) {
		restore(o);
		assert_int_equal(truncate(o->data_path, (off_t)length), 0);
		anew += assert_survives(o);
		restore(o);
		assert_int_equal(truncate(o->data_path, (off_t)length - 1 - random() % 4000), 0);
		anew += assert_survives(o);
	}
	assert_true(anew > tried * 3 / 4);
}

static void test_index_truncated_to_0_bytes_is_a_new_one(void **state)
{
	struct original *o = *state;

	restore(o);
	assert_int_equal(truncate(o->data_path, 0), 0);
	fixture_open(o->fixture);
	assert_int_equal(totals_of(o->fixture).directories, 0);
	catalog_close(o->fixture->catalog);
}

static void test_index_with_a_page_of_zeros_is_rebuilt_or_consistent(void **state)
{
	static const uint8_t zeros[PAGE_BYTES];
	struct original *o = *state;

	for (size_t at = 0; at < o->length; at += PAGE_BYTES) {
		restore(o);
		overwrite(o, at, zeros, PAGE_BYTES);
		(void)assert_survives(o);
	}
}

static void test_index_with_a_misplaced_page_is_rebuilt_or_consistent(void **state)
{
	struct original *o = *state;
	size_t pages = o->length / PAGE_BYTES;

	srandom(5);
	for (int i = 0; i < 60; i++) {
		size_t from = (size_t)random() % pages, to = (size_t)random() % pages;

		restore(o);
		overwrite(o, to * PAGE_BYTES, o->data + from * PAGE_BYTES, PAGE_BYTES);
		(void)assert_survives(o);
	}
}

static void flip_bit(const struct original *o, size_t bit)
{
	int fd = open(o->data_path, O_RDWR | O_CLOEXEC);
	uint8_t byte;

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &byte, 1, (off_t)(bit / 8)), 1);
	byte ^= (uint8_t)(1 << bit % 8);
	assert_int_equal(pwrite(fd, &byte, 1, (off_t)(bit / 8)), 1);
	assert_int_equal(close(fd), 0);
}

static void test_index_with_a_flipped_bit_is_rebuilt_or_consistent(void **state)
{
	struct original *o = *state;

	srandom(6);
	for (int i = 0; i < 200; i++) {
		restore(o);
		flip_bit(o, (size_t)random() % (o->length * 8));
		(void)assert_survives(o);
	}
}

/* The headers of pages, and the first pages with the roots of the tables. */
static void test_index_with_a_flipped_bit_in_a_header_is_rebuilt_or_consistent(void **state)
{
	struct original *o = *state;
	size_t pages = o->length / PAGE_BYTES;

	srandom(7);
	for (int i = 0; i < 200; i++) {
		size_t page = i % 4 ? (size_t)random() % pages : (size_t)random() % 2;
		size_t bytes = page < 2 ? 160 : 64;

		restore(o);
		flip_bit(o, page * PAGE_BYTES * 8 + (size_t)random() % (bytes * 8));
		(void)assert_survives(o);
	}
}

/* A flipped bit can be in any page, even in an unused page. */
static void test_any_change_of_a_sealed_index_is_detected(void **state)
{
	struct original *o = *state;

	srandom(8);
	for (int i = 0; i < 30; i++) {
		restore(o);
		fixture_open(o->fixture);
		catalog_close(o->fixture->catalog); /* which seals it */
		assert_int_equal(access(o->seal_path, F_OK), 0);
		if (i == 0)
			assert_int_equal(truncate(o->seal_path, 10), 0);
		else
			flip_bit(o, (size_t)random() % (PAGE_BYTES * 40));
		assert_true(assert_survives(o));
	}
}

#define CASE(test) cmocka_unit_test(test)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_undamaged_index_is_accepted_without_its_seal),
		CASE(test_lock_file_stays_if_the_data_file_cannot_be_copied),
		CASE(test_truncated_index_is_rebuilt_or_consistent),
		CASE(test_index_truncated_to_0_bytes_is_a_new_one),
		CASE(test_index_with_a_page_of_zeros_is_rebuilt_or_consistent),
		CASE(test_index_with_a_misplaced_page_is_rebuilt_or_consistent),
		CASE(test_index_with_a_flipped_bit_is_rebuilt_or_consistent),
		CASE(test_index_with_a_flipped_bit_in_a_header_is_rebuilt_or_consistent),
		CASE(test_any_change_of_a_sealed_index_is_detected),
	};

	log_set_level(LOG_LEVEL_ERROR);
	return cmocka_run_group_tests(tests, setup_original, teardown_original);
}
