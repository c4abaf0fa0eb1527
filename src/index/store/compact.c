/* SPDX-License-Identifier: MIT */
#include "index/store/compact.h"

#include <errno.h>
#include <unistd.h>

/* Records per transaction. The limit bounds memory, which has all changed pages of a
 * transaction. */
#define TRANSACTION_RECORDS 50000

/* Extra bytes of the map. Records in ascending order fill pages completely, so the copy is not
 * larger than the original, except for pages that the transactions leave behind. */
#define MAP_BYTES_EXTRA (UINT64_C(16) << 20)

struct compact_copy {
	struct catalog_reader *from;
	MDB_env *env;
	MDB_txn *txn; /* NULL: no transaction */
	MDB_dbi tables[TABLE_COUNT];
	size_t records; /* records in this transaction */
};

static int begin(struct compact_copy *copy)
{
	copy->records = 0;
	return mdb_txn_begin(copy->env, NULL, 0, &copy->txn);
}

static int commit(struct compact_copy *copy)
{
	MDB_txn *txn = copy->txn;

	copy->txn = NULL;
	return mdb_txn_commit(txn);
}

static int open_copy(struct compact_copy *copy, const char *path)
{
	MDB_envinfo info;
	MDB_stat stat;
	int r = mdb_env_info(copy->from->store->env, &info);

	if (r == 0)
		r = mdb_env_stat(copy->from->store->env, &stat);
	if (r == 0)
		r = mdb_env_create(&copy->env);
	if (r)
		return r;
	r = mdb_env_set_maxdbs(copy->env, TABLE_COUNT);
	if (r == 0)
		r = mdb_env_set_mapsize(copy->env,
					((uint64_t)info.me_last_pgno + 1) * stat.ms_psize * 2 +
						MAP_BYTES_EXTRA);
	/* no other process opens the copy, and copy_tables() syncs it once at the end */
	if (r == 0)
		r = store_open_private(copy->env, path, MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOSYNC);
	if (r == 0)
		r = begin(copy);
	for (int table = 0; r == 0 && table < TABLE_COUNT; table++)
		r = mdb_dbi_open(copy->txn, table_name((enum table)table), MDB_CREATE,
				 &copy->tables[table]);
	return r;
}

/* Begins the next transaction if this one has many records. Sets *into to a cursor of it. */
static int continue_copy(struct compact_copy *copy, enum table table, MDB_cursor **into)
{
	int r = 0;

	if (copy->records++ == TRANSACTION_RECORDS) {
		if (*into)
			mdb_cursor_close(TAKE(*into));
		r = commit(copy);
		if (r == 0)
			r = begin(copy);
	}
	if (r == 0 && !*into)
		r = mdb_cursor_open(copy->txn, copy->tables[table], into);
	return r;
}

/* Appends all records. A cursor that stays at the end of a table does not search it for each of
 * them. */
static int append_records(struct compact_copy *copy, enum table table, MDB_cursor *from)
{
	MDB_cursor *into = NULL;
	MDB_val k, v;
	int r = 0;

	while (r == 0 && (r = mdb_cursor_get(from, &k, &v, MDB_NEXT)) == 0) {
		r = continue_copy(copy, table, &into);
		if (r == 0)
			r = mdb_cursor_put(into, &k, &v, MDB_APPEND);
	}
	if (into)
		mdb_cursor_close(into);
	return r == MDB_NOTFOUND ? 0 : r;
}

static int copy_table(struct compact_copy *copy, enum table table)
{
	struct catalog_reader *from = copy->from;
	MDB_cursor *cursor;
	int r = mdb_cursor_open(from->txn, from->store->tables[table], &cursor);

	if (r)
		return r;
	r = append_records(copy, table, cursor);
	mdb_cursor_close(cursor);
	return r;
}

/* Commits the copy once more without a change, so that both root pages show all records. If another
 * process opens the old data file while the copy replaces it, that process can leave the number of
 * an old transaction in the lock file, and LMDB then chooses any root page. */
static int commit_again(struct compact_copy *copy)
{
	MDB_cursor *cursor;
	MDB_val k, v;
	int r = begin(copy);

	if (r == 0)
		r = mdb_cursor_open(copy->txn, copy->tables[TABLE_META], &cursor);
	if (r)
		return r;
	r = mdb_cursor_get(cursor, &k, &v, MDB_FIRST);
	if (r == 0)
		r = mdb_cursor_put(cursor, &k, &v, MDB_CURRENT);
	mdb_cursor_close(cursor);
	return r && r != MDB_NOTFOUND ? r : commit(copy);
}

static int copy_tables(struct compact_copy *copy, const char *path)
{
	int r = open_copy(copy, path);

	for (int table = 0; r == 0 && table < TABLE_COUNT; table++)
		r = copy_table(copy, (enum table)table);
	if (r == 0)
		r = commit(copy);
	if (r == 0)
		r = commit_again(copy);
	return r ? r : mdb_env_sync(copy->env, 1);
}

int store_copy(struct catalog_reader *r, const char *path)
{
	struct compact_copy copy = {.from = r};
	int result;

	if (unlink(path) < 0 && errno != ENOENT)
		return -errno;
	result = store_error(copy_tables(&copy, path));
	if (copy.txn)
		mdb_txn_abort(copy.txn);
	if (copy.env)
		mdb_env_close(copy.env);
	if (result < 0)
		(void)unlink(path);
	return result;
}

/* ---- waste ------------------------------------------------------------------------------- */

/* Waste of a smaller index does not matter: writing a copy waits for the disk. */
#define WASTE_BYTES_MIN (UINT64_C(16) << 20)

/* A process that wrote less than this part of the records made little waste. */
#define WRITTEN_PART 64

/* A copy is worth its time if it saves more than this part. A first scan leaves about a fifth. */
#define WASTE_PART 6

/* Bytes of a page and of a record that LMDB needs itself. */
#define PAGE_HEADER_BYTES 16
#define RECORD_HEADER_BYTES 10

/* Adds the bytes of the records of a table in full pages, rounded as LMDB does. */
static int measure_table(struct catalog_reader *r, enum table table, uint64_t *bytes)
{
	MDB_cursor *cursor;
	MDB_val k, v;
	int code = mdb_cursor_open(r->txn, r->store->tables[table], &cursor);

	if (code)
		return code;
	while ((code = mdb_cursor_get(cursor, &k, &v, MDB_NEXT)) == 0)
		*bytes += RECORD_HEADER_BYTES + ((k.mv_size + v.mv_size + 1) & ~(size_t)1);
	mdb_cursor_close(cursor);
	return code == MDB_NOTFOUND ? 0 : code;
}

/* Counts the records, and the pages above those of records. */
static int count_records(struct catalog_reader *r, uint64_t *records, uint64_t *branch_pages)
{
	MDB_stat stat;
	int code = 0;

	*records = *branch_pages = 0;
	for (int table = 0; code == 0 && table < TABLE_COUNT; table++) {
		code = mdb_stat(r->txn, r->store->tables[table], &stat);
		if (code)
			break;
		*records += stat.ms_entries;
		*branch_pages += stat.ms_branch_pages;
	}
	return code;
}

static int find_waste(struct catalog_reader *r, bool *wasteful)
{
	uint64_t records, branch_pages, file_bytes, bytes = 0;
	MDB_envinfo info;
	MDB_stat stat;
	int code = mdb_env_info(r->store->env, &info);

	if (code == 0)
		code = mdb_env_stat(r->store->env, &stat);
	if (code == 0)
		code = count_records(r, &records, &branch_pages);
	if (code)
		return code;
	file_bytes = ((uint64_t)info.me_last_pgno + 1) * stat.ms_psize;
	if (file_bytes < WASTE_BYTES_MIN || r->store->records_written < records / WRITTEN_PART)
		return 0;
	for (int table = 0; code == 0 && table < TABLE_COUNT; table++)
		code = measure_table(r, (enum table)table, &bytes);
	bytes += bytes / stat.ms_psize * PAGE_HEADER_BYTES + branch_pages * stat.ms_psize;
	*wasteful = code == 0 && bytes < file_bytes - file_bytes / WASTE_PART;
	return code;
}

int store_is_wasteful(struct catalog_reader *r, bool *wasteful)
{
	*wasteful = false;
	return store_result(r->store, find_waste(r, wasteful));
}
