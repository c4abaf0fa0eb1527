/* SPDX-License-Identifier: MIT */
#ifndef INDEX_STORE_STORE_H
#define INDEX_STORE_STORE_H

/* The use of LMDB: environment, snapshots, checked records. Only index includes this.
 *
 * Rules of LMDB that matter here: Returned data is in the map and is valid until the transaction
 * ends. In a write transaction, returned data is valid only until the next change. A cursor belongs
 * to one transaction. The map may grow only while this process has no transaction.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <lmdb.h>

#include "base/attributes.h"
#include "index/store/value.h"

/* What a store that is open for writing calls. */
struct store_hooks {
	/* Called before each change of the data file, and when the store turns out to be damaged or
	 * untrusted. So the seal of the file can stay until then. Any thread. Returns 0, or -errno
	 * and the change fails. */
	int (*before_change)(void *context);
	void *context;
};

struct store {
	char *folder;
	MDB_env *env; /* NULL: the environment failed and could not be reopened yet */
	MDB_dbi tables[TABLE_COUNT];
	/* Shared while a snapshot is open; exclusive to change the map. */
	pthread_rwlock_t map_lock;
	pthread_mutex_t idle_lock;
	struct catalog_reader *idle; /* unused readers, for the next snapshots */
	pthread_mutex_t write_lock;
	uint64_t map_bytes; /* size of the map */
	bool read_only;
	struct store_hooks hooks; /* unless read_only */
	uint64_t records_written; /* written and deleted by this process; guarded by write_lock */
	uint64_t unsynced_ns; /* time of the first unsynced commit, or 0; by write_lock */
	atomic_bool damaged; /* a damaged record was read */
	atomic_bool is_forgotten; /* another process took this one for dead */
	atomic_bool is_untrusted; /* possibly corrupt: the next start checks the whole index */
	struct timespec changed; /* ctime of the data file after the last change by this process */
};

/* A snapshot, or the reading side of the only write transaction. */
struct catalog_reader {
	struct store *store;
	MDB_txn *txn;
	MDB_cursor *cursors[TABLE_COUNT]; /* opened at first use */
	bool current[TABLE_COUNT]; /* whether the cursor belongs to this transaction */
	MDB_cursor *spare[TABLE_COUNT]; /* of ended iterations, for the next ones; or NULL */
	bool writes; /* it is the reading side of a write transaction */
	uint64_t name_seed;
	const struct group_tokens *group_tokens; /* index/folder_token.h; mostly NULL */
	struct catalog_reader *next;
};

/* Converts a code of LMDB to 0 or -errno: -ENOENT not found, -EEXIST key exists, -EUCLEAN damaged,
 * -EXFULL map full, -E2BIG transaction too large, -EAGAIN too many readers, -EIO unknown,
 * logged. */
MUST_CHECK int store_error(int mdb_code);

/* Converts a code of an operation on this store, like store_error(). Marks the store as untrusted
 * if the code means that a page is not as it was written. */
MUST_CHECK int store_result_of_failure(struct store *store, int mdb_code);
MUST_CHECK static inline int store_result(struct store *store, int mdb_code)
{
	return mdb_code ? store_result_of_failure(store, mdb_code) : 0;
}

/* Marks the store as untrusted, logs this once, and calls before_change. Any thread. */
void store_mark_untrusted(struct store *store);

/* Opens the environment in folder and its tables. If hooks is not NULL, creates a missing data file
 * without calling a hook, and missing tables. The first commits to a new data file are synced by a
 * later store_write_commit() or by store_close(). Returns 0 or -errno; the caller must call
 * store_close() in either case.
 *
 * folder	or, only for reading, a private copy of a data file, which no process changes
 * map_bytes	initial size of the map; 0: the default
 * hooks	NULL: only for reading */
MUST_CHECK int store_open(struct store *store, const char *folder, uint64_t map_bytes,
			  const struct store_hooks *hooks);
/* Opens only TABLE_META, for reading, like store_open(). The index can have any format, and lack
 * the other tables. folder: as in store_open() */
MUST_CHECK int store_open_meta(struct store *store, const char *folder);
void store_close(struct store *store);

/* Returns whether the environment is open and no transaction was ever committed, not even that of
 * the tables. */
bool store_has_no_commit(const struct store *store);

/* Calls mdb_env_open() so that new files are accessible only to their owner. Changes the umask of
 * the process during the call. Returns the code of LMDB.
 */
MUST_CHECK int store_open_private(MDB_env *env, const char *path, unsigned int flags);

/* Begins a snapshot of the last commit, which the same thread must end. Reopens an environment that
 * has failed, or whose readers another process took for dead. Returns 0, -EDEADLK if the thread has
 * a snapshot of the store or of three other ones, or another -errno. */
MUST_CHECK int store_read_begin(struct store *store, struct catalog_reader **reader);
/* As store_read_begin(), in the thread that has the write transaction: the snapshot is without its
 * changes. Reopens nothing, as that takes the write lock. */
MUST_CHECK int store_read_last_commit(struct store *store, struct catalog_reader **reader);
/* Ends a snapshot; accepts NULL. */
void store_read_end(struct catalog_reader *reader);

/* store_write_begin() begins the only write transaction; the caller must have the write lock.
 * store_write_begin() also discards the snapshots of killed processes; it returns -ENOENT if the
 * data file was removed, as no later process would find the changes, and -EDEADLK if the thread has
 * a snapshot, for which a growing map would wait.
 *
 * store_write_commit() commits the transaction, and syncs it and all before it, unless is_urgent is
 * false and less than a second has passed since the data file was made. If the write of the root
 * page reported a failure but readers see the new state, store_write_commit() also returns 0. */
MUST_CHECK int store_write_begin(struct store *store, MDB_txn **txn);
MUST_CHECK int store_write_commit(struct store *store, MDB_txn *txn, bool is_urgent);
void store_write_abort(struct store *store, MDB_txn *txn);

/* Must be called before a record is written or deleted. Returns 0 or -errno. */
MUST_CHECK static inline int store_before_change(struct store *store)
{
	return store->hooks.before_change(store->hooks.context);
}

/* Records the ctime of the data file. If the ctime differs at the next write or at the close,
 * another process changed the file, and the store becomes untrusted. Call this function after each
 * own change of the file, including chmod(2). */
void store_note_change(struct store *store);

/* Doubles the map after -EXFULL. Waits for all snapshots of this process to end. Returns 0 or
 * -errno. */
MUST_CHECK int store_grow(struct store *store);

/* Finds a record, checks it and sets *fields. Returns 0, -ENOENT, -EUCLEAN, or another -errno. The
 * first -EUCLEAN of a store is logged. */
MUST_CHECK int store_get(struct catalog_reader *r, enum table table, struct key key,
			 struct span *fields);

/* A record: its key, and its checked fields. Borrowed like fields. */
struct record_span {
	struct span key, fields;
};

/* Finds the first record with this key or a greater one. Its key must begin with the first bytes of
 * from, of the length of the prefix; length 0 of from: the first record. Returns as store_get(). */
MUST_CHECK int store_seek(struct catalog_reader *r, enum table table, struct key from,
			  size_t prefix, struct record_span *found);

/* Gets a record that is one number, like store_get(). */
MUST_CHECK int store_get_number(struct catalog_reader *r, enum table table, struct key key,
				uint64_t *number);

/* Counts the records of a table. Returns 0 or -errno. */
MUST_CHECK int store_count(struct catalog_reader *r, enum table table, uint64_t *count);

/* Gets the cursor of a table in the transaction of the reader. The reader owns the cursor. Returns
 * 0 or -errno. */
MUST_CHECK int store_cursor(struct catalog_reader *r, enum table table, MDB_cursor **cursor);

/* Gets a cursor for an iteration, which the caller passes to store_cursor_release() before the
 * transaction ends. Returns 0 or -errno. */
MUST_CHECK int store_cursor_take(struct catalog_reader *r, enum table table, MDB_cursor **cursor);
void store_cursor_release(struct catalog_reader *r, enum table table, MDB_cursor *cursor);

/* Checks a record at a cursor and sets *fields. Returns 0 or -EUCLEAN. The first damaged record of
 * a store is logged. */
MUST_CHECK int store_check(struct store *store, enum table table, const MDB_val *key,
			   const MDB_val *value, struct span *fields);

/* Returns the key for LMDB, which does not write to the key, although mv_data is not const. */
static inline MDB_val store_key(const struct key *key)
{
	return (MDB_val){.mv_size = key->length, .mv_data = (void *)(uintptr_t)key->data};
}

/* ---- writing ------------------------------------------------------------------------ */

/* Writes sealed records in the only write transaction. One thread at a time. */
struct store_writer {
	struct catalog_reader reader; /* reads in the write transaction, also its own records */
	/* The last key of each table, or a greater key. A record with a still greater key is
	 * appended, which fills pages completely and is several times faster than a search. */
	struct key last[TABLE_COUNT];
	bool last_known[TABLE_COUNT];
	bool changed; /* whether a record was written or deleted */
};

/* Each function seals a value and writes the record. If the key exists, store_put() replaces its
 * record; store_add() returns -EEXIST. Return 0 or -errno. */
MUST_CHECK int store_put(struct store_writer *w, enum table table, struct key key,
			 struct value value);
MUST_CHECK int store_add(struct store_writer *w, enum table table, struct key key,
			 struct value value);

/* Deletes a record. Returns 0, -ENOENT if it does not exist, or -errno. */
MUST_CHECK int store_delete(struct store_writer *w, enum table table, struct key key);

/* Deletes a record if it exists. Returns 0 or -errno. */
MUST_CHECK int store_forget(struct store_writer *w, enum table table, struct key key);

/* ---- compaction -------------------------------------------------------------------- */

/* Compacts an index: writes a new data file from its records. */

/* Writes every record of the snapshot to a new data file, and syncs the file. Page headers, free
 * space in pages, counts and the list of free pages are not copied. (mdb_env_copy2 copies pages
 * including their headers.) Memory is bounded.
 *
 * path	an existing file is replaced
 *
 * Returns 0, or -errno and leaves no file. */
MUST_CHECK int store_copy(struct catalog_reader *r, const char *path);

/* Sets *wasteful to whether a copy would be smaller by more than a third, or a large one by more
 * than a sixth. Free pages and pages that are half empty take the space: changes leave both. An
 * index below 16 MiB is never wasteful. Reads the headers of all records (15 ms for a million), but
 * only if this process wrote many. Returns 0 or -errno. */
MUST_CHECK int store_is_wasteful(struct catalog_reader *r, bool *wasteful);

#endif
