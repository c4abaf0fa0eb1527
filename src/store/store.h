/* SPDX-License-Identifier: MIT */
#ifndef STORE_STORE_H
#define STORE_STORE_H

/* What is used of LMDB: environment, snapshots, checked records. Nothing above catalog/
 * includes this.
 *
 * LMDB's rules that matter here: data it returns is in its map and is valid until the
 * transaction ends, in a write transaction only until the next change; cursors belong to one
 * transaction; the map may only grow while this process has no transaction.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <lmdb.h>

#include "base/attributes.h"
#include "store/key.h"
#include "store/table.h"

struct store {
	char *folder;
	MDB_env *env; /* NULL: it failed, and could not be opened anew yet */
	MDB_dbi tables[TABLE_COUNT];
	pthread_rwlock_t map_lock; /* shared while a snapshot is open, exclusive to map anew */
	pthread_mutex_t idle_lock;
	struct catalog_reader *idle; /* readers kept for the next snapshot */
	pthread_mutex_t write_lock;
	uint64_t map_bytes;
	bool read_only;
	atomic_bool damaged; /* a record was, that somebody read */
	atomic_bool doubted; /* something in it seems not to be as it was written */
	struct timespec changed; /* ctime of the data file after the last write of ours */
};

/* A snapshot, or the reading side of the one write transaction. */
struct catalog_reader {
	struct store *store;
	MDB_txn *txn;
	MDB_cursor *cursors[TABLE_COUNT]; /* made at first use */
	bool current[TABLE_COUNT]; /* the cursor belongs to this transaction */
	uint64_t name_seed;
	struct catalog_reader *next;
};

/* -errno for LMDB's code: -ENOENT not found, -EUCLEAN damage, -EXFULL map full, -EAGAIN too many
 * readers. The one place that knows LMDB's codes. */
MUST_CHECK int store_error(int mdb_code);

/* The same of what was asked of this store: it is doubted where the code tells that a page of it is
 * not as it was written. */
MUST_CHECK int store_result(struct store *store, int mdb_code);

/* Says so, once. Any thread. */
void store_doubt(struct store *store);

/* Opens the environment in folder and its tables (made where they are missing unless
 * read_only). store_close may be called after a failure. */
MUST_CHECK int store_open(struct store *store, const char *folder, uint64_t map_bytes,
			  bool read_only);
/* The same, to read the table of an index of any format that says which format that is; it may not
 * have the others. */
MUST_CHECK int store_open_meta(struct store *store, const char *folder);
void store_close(struct store *store);

/* mdb_env_open with files that the user alone may use, whatever the umask; LMDB's code. */
MUST_CHECK int store_open_private(MDB_env *env, const char *path, unsigned int flags);

MUST_CHECK int store_read_begin(struct store *store, struct catalog_reader **reader);
void store_read_end(struct catalog_reader *reader);

/* Begins the one write transaction, under the write lock, when the snapshots of killed processes
 * are forgotten, and commits it: 0 also where the write of the root failed and readers see what it
 * wrote all the same. */
MUST_CHECK int store_write_begin(struct store *store, MDB_txn **txn);
MUST_CHECK int store_write_commit(struct store *store, MDB_txn *txn);
void store_write_abort(struct store *store, MDB_txn *txn);

/* Remembers when the data file was last changed: another change until the next write or until it is
 * closed is not ours, and has it doubted. For who changed it, and by who writes. */
void store_note_change(struct store *store);

/* Makes the map larger after -EXFULL; waits for all snapshots of this process to end. */
MUST_CHECK int store_grow(struct store *store);

/* The fields of a record, checked: -ENOENT, or -EUCLEAN (logged). */
MUST_CHECK int store_get(struct catalog_reader *r, enum table table, const struct key *key,
			 struct span *fields);

/* A cursor of the reader's transaction, kept by the reader for point look-ups. */
MUST_CHECK int store_cursor(struct catalog_reader *r, enum table table, MDB_cursor **cursor);

/* Checks a record that a cursor stands on: the fields, or -EUCLEAN (logged). */
MUST_CHECK int store_check(struct store *store, enum table table, const MDB_val *key,
			   const MDB_val *value, struct span *fields);

/* A key for LMDB, which does not write to it although its type says that it might. */
static inline MDB_val store_key(const struct key *key)
{
	return (MDB_val){.mv_size = key->length, .mv_data = (void *)(uintptr_t)key->data};
}

#endif
