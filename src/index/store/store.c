/* SPDX-License-Identifier: MIT */
#include "index/store/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "index/store/value.h"
#include "twinfs/format.h"

/* Address space for the map, enough for about 200 million files. The address space costs no memory
 * and no disk space. If mapping fails (ulimit -v), half the size is tried, down to MAP_BYTES_MIN.
 * The map grows when it is full. */
#define MAP_BYTES_DEFAULT (UINT64_C(64) << 30)
#define MAP_BYTES_MIN (UINT64_C(16) << 20)
#define READERS_MAX 254

/* How long the commits of a new data file do not wait for the disk. A power cut can take only the
 * work of this time. */
#define UNSYNCED_MS 1000

/* Returns whether the kernel refuses to extend files beyond a size (ulimit -f). */
static bool file_sizes_are_limited(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

int store_error(int mdb_code)
{
	if (mdb_code == MDB_SUCCESS)
		return 0;
	if (mdb_code == EIO && file_sizes_are_limited())
		return -EFBIG; /* LMDB reports a short write so */
	if (mdb_code > 0)
		return -mdb_code;
	switch (mdb_code) {
	case MDB_NOTFOUND:
		return -ENOENT;
	case MDB_KEYEXIST:
		return -EEXIST;
	case MDB_MAP_FULL:
		return -EXFULL;
	case MDB_READERS_FULL:
		return -EAGAIN;
	case MDB_PAGE_NOTFOUND:
	case MDB_CORRUPTED:
	case MDB_VERSION_MISMATCH:
	case MDB_INVALID:
	case MDB_CURSOR_FULL:
	case MDB_PAGE_FULL:
	case MDB_BAD_TXN: /* an earlier operation found a damaged page */
		return -EUCLEAN;
	case MDB_TXN_FULL:
		return -E2BIG;
	default:
		log_error("cannot use the index: %s", mdb_strerror(mdb_code));
		return -EIO;
	}
}

/* Has the seal removed, so that even after a kill the next start checks the index. If that fails,
 * closing the index tries again. */
static void remove_seal(struct store *store)
{
	if (!store->read_only && store_before_change(store) < 0)
		log_debug("cannot remove the seal of the index");
}

void store_mark_untrusted(struct store *store)
{
	if (atomic_exchange(&store->is_untrusted, true))
		return;
	log_warning("the index is possibly corrupt; it will be checked completely at the next "
		    "start");
	remove_seal(store);
}

int store_result_of_failure(struct store *store, int mdb_code)
{
	int r = store_error(mdb_code);

	if (r == -EUCLEAN)
		store_mark_untrusted(store);
	return r;
}

int store_check(struct store *store, enum table table, const MDB_val *key, const MDB_val *value,
		struct span *fields)
{
	if (value_open((struct span){value->mv_data, value->mv_size}, table,
		       (struct span){key->mv_data, key->mv_size}, fields))
		return 0;
	if (!atomic_exchange(&store->damaged, true)) {
		log_error("a record in table %s of the index is damaged; the index will be rebuilt "
			  "at the next start",
			  table_name(table));
		remove_seal(store);
	}
	return -EUCLEAN;
}

/* ---- changes by other processes ------------------------------------------------------- */

/* Sets the status of the data file, whose ctime every write sets. All fields are zero if it cannot
 * be read. */
static void get_status(struct store *store, struct stat *status)
{
	int fd;

	if (!store->env || mdb_env_get_fd(store->env, &fd) || fstat(fd, status) < 0)
		*status = (struct stat){.st_nlink = 0};
}

void store_note_change(struct store *store)
{
	struct stat status;

	if (store->read_only)
		return;
	get_status(store, &status);
	store->changed = status.st_ctim;
}

/* Some file systems count no links of any file, so the name is looked up, too. */
static bool is_removed(const struct store *store, const struct stat *status)
{
	AUTO_FREE char *path = NULL;
	struct stat named;

	if (!status->st_ctim.tv_sec || status->st_nlink > 0 ||
	    asprintf(&path, "%s/" TWINFS_INDEX_DATA, store->folder) < 0)
		return false;
	return stat(path, &named) < 0 || named.st_ino != status->st_ino ||
	       named.st_dev != status->st_dev;
}

/* Finds what other processes did to the data file. If it was removed, no later process would find
 * what is written. If it was changed, pages that were not read yet are possibly damaged, so the
 * store is marked as untrusted and is not sealed. Returns 0, or -ENOENT if it was removed. */
static int check_data_file(struct store *store)
{
	struct stat now;

	get_status(store, &now);
	if (is_removed(store, &now))
		return -ENOENT;
	if (now.st_ctim.tv_sec && store->changed.tv_sec &&
	    !clock_equal(now.st_ctim, store->changed))
		store_mark_untrusted(store);
	return 0;
}

/* ---- opening ---------------------------------------------------------------------------- */

/* Opens the first count tables. flags: 0 or MDB_CREATE */
static int open_or_create_tables(struct store *store, int count, unsigned int flags)
{
	MDB_txn *txn;
	int r = mdb_txn_begin(store->env, NULL, flags ? 0 : MDB_RDONLY, &txn);

	if (r)
		return store_error(r);
	for (int i = 0; r == 0 && i < count; i++)
		r = mdb_dbi_open(txn, table_name((enum table)i), flags, &store->tables[i]);
	if (r) {
		mdb_txn_abort(txn);
		return store_error(r);
	}
	r = mdb_txn_commit(txn);
	store_note_change(store);
	return store_error(r);
}

/* Stops syncing commits. A power cut can then leave any pages in the data file. The next start
 * finds that, and builds a new index. */
static int leave_unsynced(struct store *store)
{
	int r = mdb_env_set_flags(store->env, MDB_NOSYNC, 1);

	if (r == 0)
		store->unsynced_ns = clock_monotonic_ns();
	return store_error(r);
}

/* Returns whether the next commit has to wait for the unsynced ones. */
static bool ends_unsynced(const struct store *store, bool is_urgent)
{
	return store->unsynced_ns &&
	       (is_urgent || clock_monotonic_ns() - store->unsynced_ns >= UNSYNCED_MS * MS_NS);
}

/* Notes whether the unsynced commits are on the disk, after one that waited for it. The kernel
 * reports once that it could not write them, and forgets them then. */
static void note_synced_commit(struct store *store, int mdb_code)
{
	if (mdb_code == EIO)
		store_mark_untrusted(store);
	else if (mdb_code == 0)
		store->unsynced_ns = 0;
}

/* Opens the first count tables, and creates missing ones unless read_only. */
static int open_tables(struct store *store, int count)
{
	int r = open_or_create_tables(store, count, 0);

	if (r != -ENOENT || store->read_only)
		return r;
	r = store_before_change(store);
	if (r == 0 && store_has_no_commit(store))
		r = leave_unsynced(store);
	return r < 0 ? r : open_or_create_tables(store, count, MDB_CREATE);
}

int store_open_private(MDB_env *env, const char *path, unsigned int flags)
{
	mode_t umask_before = umask(0077);
	int r = mdb_env_open(env, path, flags, 0600);

	umask(umask_before);
	return r;
}

/* LMDB calls this function before it ends the process. */
static void on_assertion(MDB_env *env, const char *text)
{
	log_error("the index is corrupt (%s); it will be checked completely at the next start",
		  text);
	remove_seal(mdb_env_get_userctx(env));
}

/* A private copy of a data file needs no locks. */
static unsigned int environment_flags(const struct store *store)
{
	unsigned int flags = MDB_NOTLS | (store->read_only ? MDB_RDONLY : 0);
	struct stat status;

	if (store->read_only && stat(store->folder, &status) == 0 && S_ISREG(status.st_mode))
		flags |= MDB_NOSUBDIR | MDB_NOLOCK;
	return flags;
}

static int open_environment(struct store *store)
{
	int r = mdb_env_create(&store->env);

	if (r)
		return store_error(r);
	r = mdb_env_set_userctx(store->env, store);
	if (r == 0)
		r = mdb_env_set_assert(store->env, on_assertion);
	if (r == 0)
		r = mdb_env_set_maxdbs(store->env, TABLE_COUNT);
	if (r == 0)
		r = mdb_env_set_maxreaders(store->env, READERS_MAX);
	if (r == 0)
		r = mdb_env_set_mapsize(store->env, store->map_bytes);
	if (r == 0)
		r = store_open_private(store->env, store->folder, environment_flags(store));
	if (r) {
		mdb_env_close(store->env);
		store->env = NULL;
	}
	return store_error(r);
}

static int open_store(struct store *store, const char *folder, int table_count)
{
	pthread_rwlockattr_t attr;
	int r;

	pthread_rwlockattr_init(&attr);
	/* a stream of short snapshots must not prevent the map from growing */
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&store->map_lock, &attr);
	pthread_rwlockattr_destroy(&attr);
	pthread_mutex_init(&store->idle_lock, NULL);
	pthread_mutex_init(&store->write_lock, NULL);
	store->folder = strdup(folder);
	if (!store->folder)
		return -ENOMEM;
	r = open_environment(store);
	/* EINVAL: the address space is smaller (about 100 GiB with valgrind) */
	while ((r == -ENOMEM || r == -EINVAL) && store->map_bytes / 2 >= MAP_BYTES_MIN) {
		store->map_bytes /= 2;
		r = open_environment(store);
	}
	return r < 0 ? r : open_tables(store, table_count);
}

int store_open(struct store *store, const char *folder, uint64_t map_bytes,
	       const struct store_hooks *hooks)
{
	*store = (struct store){.map_bytes = map_bytes ? map_bytes : MAP_BYTES_DEFAULT,
				.read_only = !hooks};
	if (hooks)
		store->hooks = *hooks;
	return open_store(store, folder, TABLE_COUNT);
}

int store_open_meta(struct store *store, const char *folder)
{
	*store = (struct store){.map_bytes = MAP_BYTES_DEFAULT, .read_only = true};
	return open_store(store, folder, TABLE_META + 1);
}

bool store_has_no_commit(const struct store *store)
{
	MDB_envinfo info;

	return store->env && mdb_env_info(store->env, &info) == 0 && info.me_last_txnid == 0;
}

static void close_cursors(struct catalog_reader *reader)
{
	for (int i = 0; i < TABLE_COUNT; i++) {
		if (reader->cursors[i])
			mdb_cursor_close(reader->cursors[i]);
		if (reader->spare[i])
			mdb_cursor_close(reader->spare[i]);
	}
}

static void reader_free(struct catalog_reader *reader)
{
	close_cursors(reader);
	mdb_txn_abort(reader->txn);
	free(reader);
}

/* Readers whose transactions are never aborted (reopen_if_forgotten()). LMDB has no other function
 * that frees them, so they are kept until the process ends. */
static _Atomic(struct catalog_reader *) abandoned;

static void reader_abandon(struct catalog_reader *reader)
{
	close_cursors(reader);
	reader->next = atomic_load(&abandoned);
	while (!atomic_compare_exchange_weak(&abandoned, &reader->next, reader))
		continue;
}

/* release: reader_free() or reader_abandon() */
static void close_environment(struct store *store, void (*release)(struct catalog_reader *))
{
	struct catalog_reader *reader;

	while ((reader = store->idle)) {
		store->idle = reader->next;
		release(reader);
	}
	if (store->env)
		mdb_env_close(store->env);
	store->env = NULL;
}

void store_close(struct store *store)
{
	(void)check_data_file(store);
	if (store->unsynced_ns && store->env && mdb_env_sync(store->env, 1))
		atomic_store(&store->is_untrusted, true);
	close_environment(store, reader_free);
	free(store->folder);
	pthread_rwlock_destroy(&store->map_lock);
	pthread_mutex_destroy(&store->idle_lock);
	pthread_mutex_destroy(&store->write_lock);
}

/* ---- environments that cannot be used any more ------------------------------------------ */

/* Returns whether LMDB has disabled the environment, because the root page of a transaction could
 * not be written, or the environment could not be reopened after that.
 */
static bool has_failed(MDB_env *env)
{
	MDB_txn *txn;
	int r = env ? mdb_txn_begin(env, NULL, MDB_RDONLY, &txn) : MDB_PANIC;

	if (r == 0)
		mdb_txn_abort(txn);
	return r == MDB_PANIC;
}

/* Leaves a removed index open, as LMDB would make an empty one. The caller has map_lock for
 * writing. release: what to do with unused readers */
static int reopen(struct store *store, void (*release)(struct catalog_reader *))
{
	int r = check_data_file(store);

	if (r < 0)
		return r;
	close_environment(store, release);
	r = open_environment(store);
	if (r == 0)
		r = open_tables(store, TABLE_COUNT);
	if (r < 0)
		close_environment(store, reader_free);
	return r;
}

/* Reopens the environment if it has failed. The caller holds the write lock. Waits for all
 * snapshots of this process to end. */
static int reopen_failed(struct store *store)
{
	int r = 0;

	pthread_rwlock_wrlock(&store->map_lock);
	if (has_failed(store->env))
		r = reopen(store, reader_free);
	pthread_rwlock_unlock(&store->map_lock);
	return r;
}

/* Reopens the environment if another process took this one for dead, and freed its slots in the
 * table of readers: a process loses its locks of the table when it closes any descriptor of it
 * (fcntl(2)), and new readers would be without a lock, too. The old transactions are not aborted,
 * which would free their slots: other processes possibly use these now. They are kept, which is
 * some 400 bytes for each. While snapshots or a writer use the environment, this is left to a later
 * call. */
static void reopen_if_forgotten(struct store *store)
{
	int r;

	if (!atomic_load(&store->is_forgotten) || pthread_mutex_trylock(&store->write_lock) != 0)
		return;
	if (pthread_rwlock_trywrlock(&store->map_lock) == 0) {
		r = reopen(store, reader_abandon);
		atomic_store(&store->is_forgotten, false);
		log_debug("reopened the index, as its readers were taken for dead (%d)", r);
		pthread_rwlock_unlock(&store->map_lock);
	}
	pthread_mutex_unlock(&store->write_lock);
}

/* ---- snapshots ----------------------------------------------------------------------- */

/* The stores whose snapshots this thread has, each once. As map_lock prefers writers, a thread that
 * waited for a second lock would keep the writer waiting that waits for its first. */
#define STORES_READ_MAX 4
static _Thread_local const struct store *stores_read[STORES_READ_MAX];

/* Replaces a store in stores_read; NULL is a free place. Returns false if it is not there. */
static bool replace_read(const struct store *old, const struct store *new)
{
	for (size_t i = 0; i < STORES_READ_MAX; i++)
		if (stores_read[i] == old) {
			stores_read[i] = new;
			return true;
		}
	return false;
}

/* Refuses what would wait for a snapshot of the same thread. Returns 0 or -EDEADLK. */
static int check_unread(const struct store *store)
{
	if (!replace_read(store, store) && replace_read(NULL, NULL))
		return 0;
	log_error("a thread that reads the index must not wait for it");
	return -EDEADLK;
}

static struct catalog_reader *take_idle(struct store *store)
{
	struct catalog_reader *reader;

	pthread_mutex_lock(&store->idle_lock);
	reader = store->idle;
	if (reader)
		store->idle = reader->next;
	pthread_mutex_unlock(&store->idle_lock);
	return reader;
}

/* Begins a snapshot in an unused reader whose slot in the table of readers is still its own. Sets
 * *reader to NULL if there is none. Returns a code of LMDB. */
static int renew_idle(struct store *store, struct catalog_reader **reader)
{
	int r;

	while ((*reader = take_idle(store))) {
		r = mdb_txn_renew((*reader)->txn);
		if (r != MDB_BAD_RSLOT)
			return r;
		atomic_store(&store->is_forgotten, true);
		reader_abandon(*reader);
	}
	return 0;
}

/* Returns a code of LMDB. */
static int begin_snapshot(struct store *store, struct catalog_reader **reader)
{
	struct catalog_reader *taken;
	int r = renew_idle(store, &taken);

	if (taken) {
		memset(taken->current, 0, sizeof(taken->current));
	} else {
		taken = calloc(1, sizeof(*taken));
		if (!taken)
			return ENOMEM;
		taken->store = store;
		r = mdb_txn_begin(store->env, NULL, MDB_RDONLY, &taken->txn);
	}
	if (r)
		reader_free(taken);
	else
		*reader = taken;
	return r;
}

/* Adopts the size of the map, which another process has grown. */
static int adopt_map_size(struct store *store)
{
	int r;

	pthread_rwlock_wrlock(&store->map_lock);
	r = store->env ? mdb_env_set_mapsize(store->env, 0) : 0;
	pthread_rwlock_unlock(&store->map_lock);
	return r;
}

/* Reopens a failed environment under the write lock, because the writer that failed tries to reopen
 * the environment, too. */
static int reopen_failed_for_reader(struct store *store)
{
	int r;

	pthread_mutex_lock(&store->write_lock);
	r = reopen_failed(store);
	pthread_mutex_unlock(&store->write_lock);
	return r;
}

int store_read_begin(struct store *store, struct catalog_reader **reader)
{
	int r = check_unread(store);

	while (r == 0) {
		reopen_if_forgotten(store);
		pthread_rwlock_rdlock(&store->map_lock);
		r = store->env ? begin_snapshot(store, reader) : MDB_PANIC;
		if (r == 0) {
			(void)replace_read(NULL, store);
			return 0;
		}
		pthread_rwlock_unlock(&store->map_lock);
		if (r == MDB_MAP_RESIZED)
			r = store_error(adopt_map_size(store));
		else if (r == MDB_PANIC)
			r = reopen_failed_for_reader(store);
		else
			r = store_result(store, r);
	}
	return r;
}

int store_read_last_commit(struct store *store, struct catalog_reader **reader)
{
	int r = check_unread(store);

	if (r < 0)
		return r;
	pthread_rwlock_rdlock(&store->map_lock);
	r = begin_snapshot(store, reader);
	if (r == 0) {
		(void)replace_read(NULL, store);
		return 0;
	}
	pthread_rwlock_unlock(&store->map_lock);
	return store_result(store, r);
}

void store_read_end(struct catalog_reader *reader)
{
	struct store *store;

	if (!reader)
		return;
	store = reader->store;
	(void)replace_read(store, NULL);
	mdb_txn_reset(reader->txn);
	pthread_mutex_lock(&store->idle_lock);
	reader->next = store->idle;
	store->idle = reader;
	pthread_mutex_unlock(&store->idle_lock);
	pthread_rwlock_unlock(&store->map_lock);
}

/* ---- writing ------------------------------------------------------------------------- */

int store_write_begin(struct store *store, MDB_txn **txn)
{
	int dead = 0;
	int r = check_unread(store);

	if (r == 0 && has_failed(store->env))
		r = reopen_failed(store);
	if (r == 0)
		r = check_data_file(store);
	if (r < 0)
		return r;
	/* releases the snapshots of killed processes, so that their pages can be reused */
	r = mdb_reader_check(store->env, &dead);
	if (r || dead)
		log_debug("discarded %d snapshots of killed processes from the index (%d)", dead,
			  r);
	return store_result(store, mdb_txn_begin(store->env, NULL, 0, txn));
}

/* Returns whether readers see the state that a transaction wrote. */
static bool is_last(struct store *store, size_t txn_id)
{
	MDB_envinfo info;

	return mdb_env_info(store->env, &info) == 0 && info.me_last_txnid >= txn_id;
}

int store_write_commit(struct store *store, MDB_txn *txn, bool is_urgent)
{
	size_t id = mdb_txn_id(txn);
	bool waits = ends_unsynced(store, is_urgent);
	int r;

	if (waits)
		(void)mdb_env_set_flags(store->env, MDB_NOSYNC, 0);
	r = mdb_txn_commit(txn);
	store_note_change(store);
	if (waits)
		note_synced_commit(store, r);
	if (r && has_failed(store->env) && reopen_failed(store) == 0 && is_last(store, id))
		r = 0;
	return store_result(store, r);
}

void store_write_abort(struct store *store, MDB_txn *txn)
{
	mdb_txn_abort(txn);
	store_note_change(store); /* LMDB has possibly written pages of the transaction */
}

/* Returns whether an area of this size can be mapped. LMDB unmaps the old map before it maps a
 * larger map. If the larger map could not be mapped, LMDB would have no map. */
static bool can_map(uint64_t bytes)
{
	void *probe =
		mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return probe != MAP_FAILED && munmap(probe, bytes) == 0;
}

int store_grow(struct store *store)
{
	int r = ENOMEM;

	pthread_rwlock_wrlock(&store->map_lock);
	if (can_map(store->map_bytes * 2))
		r = mdb_env_set_mapsize(store->env, store->map_bytes * 2);
	if (r == 0) {
		store->map_bytes *= 2;
		log_debug("the map of the index has grown to %llu MiB",
			  (unsigned long long)(store->map_bytes >> 20));
	}
	pthread_rwlock_unlock(&store->map_lock);
	return store_error(r);
}

/* ---- compaction -------------------------------------------------------------------- */

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

/* A copy is worth its time if it saves more than a third, or more than a sixth of a large index. A
 * first scan leaves about a fifth: of a small tree, the copy would take a tenth of its time. */
#define WASTE_PART 3
#define LARGE_BYTES (UINT64_C(256) << 20)
#define LARGE_WASTE_PART 6

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
	uint64_t records, branch_pages, file_bytes, part, bytes = 0;
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
	part = file_bytes < LARGE_BYTES ? WASTE_PART : LARGE_WASTE_PART;
	*wasteful = code == 0 && bytes < file_bytes - file_bytes / part;
	return code;
}

int store_is_wasteful(struct catalog_reader *r, bool *wasteful)
{
	*wasteful = false;
	return store_result(r->store, find_waste(r, wasteful));
}
