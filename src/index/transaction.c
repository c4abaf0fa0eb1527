/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <pthread.h>
#include <sys/statvfs.h>

#include "base/clock.h"
#include "base/stop.h"
#include "base/thread.h"
#include "index/catalog.h"
#include "index/folders.h"
#include "index/group.h"
#include "index/meta.h"
#include "index/query.h"
#include "index/redundant.h"
#include "index/store/store.h"
#include "index/writer.h"

/* If less than this space is left on the disk, a failed write is attributed to a full disk. */
#define NO_ROOM_BYTES (UINT64_C(1) << 20)

/* Interval at which a thread that waits for the transaction of another checks for cancellation. */
#define INTERRUPTION_NS (20 * MS_NS)

struct catalog_reader *catalog_writer_reader(struct catalog_writer *writer)
{
	return &writer->store.reader;
}

static int finish(struct catalog_writer *w, size_t *filesystem_count)
{
	int r = groups_flush(w);

	if (r == 0)
		r = redundancy_changes_find(&w->delta, &w->members);
	if (r == 0)
		r = folders_flush(w);
	if (r == 0) /* late, as the times that it stores are those of the commit */
		r = redundant_flush(w);
	if (r == 0)
		r = delta_finish(w);
	if (r == 0)
		r = filesystems_store(&w->catalog->filesystems, w, filesystem_count);
	if (r == 0 && w->store.changed) {
		w->totals.generation++;
		w->totals.changed = clock_now();
		w->totals.none_pending = w->none_pending;
		if (atomic_load(&w->catalog->viewed))
			w->totals.viewed = catalog_unused_id(w->catalog);
		r = meta_put_totals(w, &w->totals);
	}
	return r;
}

/* A first scan that ends soon waits for the disk once, at its end. */
static int commit(struct catalog_writer *w)
{
	struct catalog *catalog = w->catalog;
	uint64_t began_ns = clock_monotonic_ns();
	bool has_ended = w->totals.scans > 0 && !w->totals.unended;
	int r = store_write_commit(&catalog->store, w->store.reader.txn, has_ended);

	atomic_fetch_add(&catalog->commits_ns, clock_monotonic_ns() - began_ns);
	return r;
}

uint64_t catalog_commits_ns(const struct catalog *catalog)
{
	return atomic_load(&catalog->commits_ns);
}

static int try_write(struct catalog *catalog, catalog_write_fn *body, void *context)
{
	struct catalog_writer w = {.catalog = catalog, .observed = catalog->observer};
	size_t filesystem_count = 0;
	int r = store_write_begin(&catalog->store, &w.store.reader.txn);

	if (r < 0)
		return r;
	w.store.reader.store = &catalog->store;
	w.store.reader.writes = true;
	w.store.reader.name_seed = catalog->name_seed;
	r = catalog_get_totals(&w.store.reader, &w.totals);
	if (r == -ENOENT)
		r = 0; /* a new index */
	if (r == 0)
		r = catalog_get_keep_rules(&w.store.reader, &w.keep);
	if (r == 0)
		r = body(&w, context);
	if (r == 0)
		r = finish(&w, &filesystem_count);
	redundant_discard(&w);
	folders_discard(&w);
	groups_discard(&w);
	keep_rules_free(&w.keep);
	/* the end of a write transaction closes its cursors */
	if (r == 0)
		r = commit(&w);
	else
		store_write_abort(&catalog->store, w.store.reader.txn);
	if (r == 0)
		filesystems_stored(&catalog->filesystems, filesystem_count);
	w.delta.generation = w.totals.generation;
	if (r == 0 && w.observed && w.store.changed)
		catalog->observer(&w.delta, catalog->observer_context);
	commit_delta_free(&w.delta);
	bytes_free(&w.members);
	return r;
}

/* Returns the cause of a failed write. LMDB returns EIO for a short write, usually because the disk
 * is full. */
static int name_failure(const struct catalog *catalog, int r)
{
	struct statvfs fs;

	if (r == -EIO && fstatvfs(catalog->folder_fd, &fs) == 0 &&
	    fs.f_bavail * fs.f_frsize < NO_ROOM_BYTES)
		return -ENOSPC;
	return r;
}

/* Takes the store's write lock. Returns 0 or -EINTR. */
static int lock_writes(struct catalog *catalog, const struct cancellation *cancellation)
{
	pthread_mutex_t *lock = &catalog->store.write_lock;

	if (!cancellation) {
		pthread_mutex_lock(lock);
		return 0;
	}
	do {
		if (cancellation_is_requested(cancellation))
			return -EINTR;
	} while (!timed_lock(lock, INTERRUPTION_NS));
	return 0;
}

int catalog_write(struct catalog *catalog, catalog_write_fn *body, void *context)
{
	return catalog_write_unless(catalog, body, context, NULL);
}

int catalog_write_unless(struct catalog *catalog, catalog_write_fn *body, void *context,
			 const struct cancellation *cancellation)
{
	int r = lock_writes(catalog, cancellation);

	if (r < 0)
		return r;
	while ((r = try_write(catalog, body, context)) == -EXFULL) {
		r = store_grow(&catalog->store);
		if (r < 0)
			break;
	}
	pthread_mutex_unlock(&catalog->store.write_lock);
	return name_failure(catalog, r);
}
