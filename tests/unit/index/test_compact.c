/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "index/fixture.h"
#include "index/integrity.h"
#include "index/store/store.h"
#include "index/store/value.h"
#include "index/writer.h"
#include "twinfs/format.h"

/* Number of records. Copying all of them takes several transactions. */
#define MANY 120000

struct copied {
	struct fixture *f;
	struct catalog_reader *reader;
	struct store store;
	char path[128];
};

static int setup_copied(void **state)
{
	struct copied *c = calloc(1, sizeof(*c));

	assert_non_null(c);
	fixture_setup((void **)&c->f);
	(void)snprintf(c->path, sizeof(c->path), "%s/copy.mdb", c->f->folder);
	*state = c;
	return 0;
}

static int teardown_copied(void **state)
{
	struct copied *c = *state;

	fixture_teardown((void **)&c->f);
	free(c);
	return 0;
}

static int copy(struct copied *c)
{
	struct catalog_reader *reader = fixture_read(c->f);
	int r = store_copy(reader, c->path);

	catalog_read_end(reader);
	return r;
}

/* Moves the copied index to a folder of its own and opens it there. */
static void open_copy(struct copied *c)
{
	char folder[96], path[128];

	(void)snprintf(folder, sizeof(folder), "%s/opened", c->f->folder);
	(void)snprintf(path, sizeof(path), "%s/%s", folder, TWINFS_INDEX_DATA);
	assert_int_equal(mkdir(folder, 0700), 0);
	assert_int_equal(rename(c->path, path), 0);
	assert_int_equal(store_open(&c->store, folder, 0, NULL), 0);
	assert_int_equal(store_read_begin(&c->store, &c->reader), 0);
}

static void close_copy(struct copied *c)
{
	store_read_end(c->reader);
	store_close(&c->store);
}

static bool next_record(MDB_cursor *cursor, MDB_val *key, MDB_val *value)
{
	int code = mdb_cursor_get(cursor, key, value, MDB_NEXT);

	assert_true(code == 0 || code == MDB_NOTFOUND);
	return code == 0;
}

static size_t assert_same_table(struct catalog_reader *a, struct catalog_reader *b,
				enum table table)
{
	MDB_cursor *cursors[2];
	MDB_val keys[2], values[2];
	size_t count = 0;

	assert_int_equal(mdb_cursor_open(a->txn, a->store->tables[table], &cursors[0]), 0);
	assert_int_equal(mdb_cursor_open(b->txn, b->store->tables[table], &cursors[1]), 0);
	while (next_record(cursors[0], &keys[0], &values[0])) {
		assert_true(next_record(cursors[1], &keys[1], &values[1]));
		assert_int_equal(keys[0].mv_size, keys[1].mv_size);
		assert_memory_equal(keys[0].mv_data, keys[1].mv_data, keys[0].mv_size);
		assert_int_equal(values[0].mv_size, values[1].mv_size);
		assert_memory_equal(values[0].mv_data, values[1].mv_data, values[0].mv_size);
		count++;
	}
	assert_false(next_record(cursors[1], &keys[1], &values[1]));
	mdb_cursor_close(cursors[0]);
	mdb_cursor_close(cursors[1]);
	return count;
}

static size_t assert_same_records(struct copied *c)
{
	struct catalog_reader *reader = fixture_read(c->f);
	size_t count = 0;

	for (int table = 0; table < TABLE_COUNT; table++)
		count += assert_same_table(reader, c->reader, (enum table)table);
	catalog_read_end(reader);
	return count;
}

static void test_copy_has_the_same_records(void **state)
{
	struct copied *c = *state;
	uint64_t files[2];

	add_file(c->f, c->f->roots[0], "a", file_of(10, 100, 0));
	add_file(c->f, c->f->roots[1], "b", file_of(11, 100, 0));
	fixture_commit(c->f);
	files[0] = id_at(c->f, c->f->roots[0], "a");
	files[1] = id_at(c->f, c->f->roots[1], "b");
	(void)add_group(c->f, (struct hash128){1, 2}, files, 2);
	assert_int_equal(copy(c), 0);
	open_copy(c);
	assert_true(assert_same_records(c) > 15);
	assert_int_equal(check_catalog(c->reader), 0);
	close_copy(c);
}

static int many_body(struct catalog_writer *w, void *context)
{
	struct key key;
	int r = 0;

	(void)context;
	for (uint64_t i = 0; r == 0 && i < MANY; i++) {
		key = key_quad(i * 7919 % MANY, 0, 0, i);
		r = store_put(&w->store, TABLE_BYSIZE, key, encode_nothing());
	}
	return r;
}

static void test_copy_of_a_large_index_is_complete_and_no_larger(void **state)
{
	struct copied *c = *state;
	struct stat before, after;
	char path[128];

	assert_int_equal(catalog_write(c->f->catalog, many_body, NULL), 0);
	(void)snprintf(path, sizeof(path), "%s/%s", c->f->folder, TWINFS_INDEX_DATA);
	assert_int_equal(stat(path, &before), 0);
	assert_int_equal(copy(c), 0);
	assert_int_equal(stat(c->path, &after), 0);
	assert_true(after.st_size <= before.st_size);
	assert_int_equal(after.st_mode & 0777, 0600);
	open_copy(c);
	assert_true(assert_same_records(c) > MANY);
	close_copy(c);
}

/* Returns the number of records in the tables up to the one of sizes. */
static size_t records_until_sizes(struct copied *c)
{
	struct catalog_reader *reader = fixture_read(c->f);
	size_t count = 0;
	MDB_stat stat;

	for (int table = 0; table <= TABLE_BYSIZE; table++) {
		assert_int_equal(mdb_stat(reader->txn, reader->store->tables[table], &stat), 0);
		count += stat.ms_entries;
	}
	catalog_read_end(reader);
	return count;
}

struct sizes {
	uint64_t first, end;
};

static int sizes_body(struct catalog_writer *w, void *context)
{
	const struct sizes *sizes = context;
	int r = 0;

	for (uint64_t i = sizes->first; r == 0 && i < sizes->end; i++) {
		struct key key = key_quad(i, 0, 0, i);

		r = store_put(&w->store, TABLE_BYSIZE, key, encode_nothing());
	}
	return r;
}

static void test_copy_can_end_a_transaction_with_a_table(void **state)
{
	struct copied *c = *state;
	struct sizes sizes = {0};

	/* a transaction of store_copy() has 50,000 records */
	sizes.end = 50000 - 1 - records_until_sizes(c);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(catalog_write(c->f->catalog, sizes_body, &sizes), 0);
		assert_int_equal(copy(c), 0);
		open_copy(c);
		(void)assert_same_records(c);
		close_copy(c);
		folder_remove(path_in(c->f, "opened"));
		sizes.first = sizes.end++;
	}
}

static void test_copy_replaces_an_earlier_copy(void **state)
{
	struct copied *c = *state;
	FILE *earlier = fopen(c->path, "we");

	assert_non_null(earlier);
	assert_true(fprintf(earlier, "%s", "not an index") > 0);
	assert_int_equal(fclose(earlier), 0);
	assert_int_equal(copy(c), 0);
	open_copy(c);
	(void)assert_same_records(c);
	close_copy(c);
}

static void test_copy_that_cannot_be_written_leaves_no_file(void **state)
{
	struct copied *c = *state;
	struct rlimit limit, small = {.rlim_cur = 1 << 20};
	int r;

	assert_int_equal(catalog_write(c->f->catalog, many_body, NULL), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	small.rlim_max = limit.rlim_max;
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	r = copy(c);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	(void)signal(SIGXFSZ, SIG_DFL);
	assert_true(r == -EFBIG || r == -EIO); /* LMDB returns EIO for a short write */
	assert_int_equal(access(c->path, F_OK), -1);
}

static void test_copy_into_a_folder_that_is_missing_fails(void **state)
{
	struct copied *c = *state;

	(void)snprintf(c->path, sizeof(c->path), "%s/missing/copy.mdb", c->f->folder);
	assert_int_equal(copy(c), -ENOENT);
}

/* Position of the number of a transaction in a root page of LMDB, and the size of that page. */
#define ROOT_NUMBER_AT 144
#define ROOT_BYTES 4096

/* Makes the newer root page look older than the other one. */
static void lose_newest_root(const char *path)
{
	uint64_t numbers[2], zero = 0;
	int fd = open(path, O_RDWR | O_CLOEXEC);

	assert_true(fd >= 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pread(fd, &numbers[i], 8, i * ROOT_BYTES + ROOT_NUMBER_AT), 8);
	assert_int_equal(labs((long)(numbers[0] - numbers[1])), 1);
	assert_int_equal(pwrite(fd, &zero, 8,
				(numbers[1] > numbers[0]) * ROOT_BYTES + ROOT_NUMBER_AT),
			 8);
	assert_int_equal(close(fd), 0);
}

static void test_copy_is_complete_with_either_root_page(void **state)
{
	struct copied *c = *state;

	assert_int_equal(catalog_write(c->f->catalog, many_body, NULL), 0);
	assert_int_equal(copy(c), 0);
	lose_newest_root(c->path);
	open_copy(c);
	assert_true(assert_same_records(c) > MANY);
	close_copy(c);
}

/* Closes the index. Returns its status after the close, and whether the close replaced its file. */
static struct stat closed(struct fixture *f, bool *replaced)
{
	struct stat before, after;
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", f->folder, TWINFS_INDEX_DATA);
	assert_int_equal(stat(path, &before), 0);
	catalog_close(f->catalog);
	f->catalog = NULL; /* for the teardown after a failure */
	assert_int_equal(stat(path, &after), 0);
	*replaced = before.st_ino != after.st_ino;
	if (*replaced)
		assert_true(after.st_size < before.st_size - before.st_size / 5);
	return after;
}

static struct key wide_key(uint64_t i)
{
	return key_quad(i * 7919 % MANY, 0, 0, i);
}

/* Writes records in an order that leaves a part of the pages empty, as a first scan does. */
static int put_wide(struct catalog_writer *w, uint64_t count)
{
	static const char text[200];
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < count; i++)
		r = store_put(&w->store, TABLE_BYSIZE, wide_key(i),
			      encode_text(text, sizeof(text)));
	return r;
}

/* Writes 30 MiB. */
static int wide_body(struct catalog_writer *w, void *context)
{
	(void)context;
	return put_wide(w, MANY);
}

/* Writes twice as much, and deletes half of it. */
static int wasteful_body(struct catalog_writer *w, void *context)
{
	int r = put_wide(w, UINT64_C(2) * MANY);

	(void)context;
	for (uint64_t i = 0; r == 0 && i < UINT64_C(2) * MANY; i += 2)
		r = store_delete(&w->store, TABLE_BYSIZE, wide_key(i));
	return r;
}

static void test_close_compacts_an_index_with_much_waste(void **state)
{
	struct copied *c = *state;
	bool replaced;
	struct stat first, next;

	assert_int_equal(catalog_write(c->f->catalog, wasteful_body, NULL), 0);
	first = closed(c->f, &replaced);
	assert_true(replaced);
	fixture_open(c->f);
	assert_int_equal(copy(c), 0);
	open_copy(c);
	assert_true(assert_same_records(c) > MANY);
	close_copy(c);
	next = closed(c->f, &replaced);
	assert_false(replaced);
	assert_int_equal(next.st_size, first.st_size);
	fixture_open(c->f);
}

static void test_close_leaves_a_file_as_it_is_that_a_process_opens_just_now(void **state)
{
	struct copied *c = *state;
	int folder = open(c->f->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool replaced;

	assert_true(folder >= 0);
	index_files_hold(folder);
	assert_int_equal(catalog_write(c->f->catalog, wasteful_body, NULL), 0);
	(void)closed(c->f, &replaced);
	assert_false(replaced);
	assert_int_equal(faccessat(folder, TWINFS_INDEX_COPY, F_OK, 0), -1);
	index_files_release(folder);
	fixture_open(c->f);
	assert_int_equal(catalog_write(c->f->catalog, wasteful_body, NULL), 0);
	(void)closed(c->f, &replaced);
	assert_true(replaced);
	fixture_open(c->f);
	close(folder);
}

static void test_close_leaves_an_index_as_it_is_after_a_first_scan(void **state)
{
	struct copied *c = *state;
	bool replaced;

	assert_int_equal(catalog_write(c->f->catalog, wide_body, NULL), 0);
	(void)closed(c->f, &replaced);
	assert_false(replaced);
	fixture_open(c->f);
}

static void test_close_leaves_a_small_index_as_it_is(void **state)
{
	struct copied *c = *state;
	bool replaced;

	(void)new_file(c->f, c->f->roots[0], "a", file_of(10, 100, 0));
	(void)closed(c->f, &replaced);
	assert_false(replaced);
	fixture_open(c->f);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup_copied, teardown_copied)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_copy_has_the_same_records),
		CASE(test_copy_of_a_large_index_is_complete_and_no_larger),
		CASE(test_copy_can_end_a_transaction_with_a_table),
		CASE(test_copy_replaces_an_earlier_copy),
		CASE(test_copy_that_cannot_be_written_leaves_no_file),
		CASE(test_copy_into_a_folder_that_is_missing_fails),
		CASE(test_copy_is_complete_with_either_root_page),
		CASE(test_close_compacts_an_index_with_much_waste),
		CASE(test_close_leaves_an_index_as_it_is_after_a_first_scan),
		CASE(test_close_leaves_a_small_index_as_it_is),
		CASE(test_close_leaves_a_file_as_it_is_that_a_process_opens_just_now),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
