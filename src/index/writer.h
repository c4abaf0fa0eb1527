/* SPDX-License-Identifier: MIT */
#ifndef INDEX_WRITER_H
#define INDEX_WRITER_H

/* The open catalog, and its write transaction, at the end of which the records of groups and totals
 * are written. Only index includes this. The state of a catalog is shared by all threads; a
 * transaction belongs to one. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "index/catalog.h"
#include "index/commit_delta.h"
#include "index/filesystem.h"
#include "index/keep_rules.h"
#include "index/store/store.h"

struct group_change;

struct catalog {
	struct store store;
	struct filesystems filesystems;
	char *folder;
	int folder_fd;
	int lock_fd; /* has the lock; -1: read only */
	uint64_t name_seed;
	bool store_opened;
	bool writable; /* open for writing, and the data file is sound or new */
	bool was_killed; /* the process that wrote the index before did not close it */
	atomic_bool unsealed; /* this process removed the seal */
	pthread_mutex_t ids_lock;
	uint64_t next_id;
	uint64_t reserved_id; /* ids below it are reserved for this process */
	_Atomic uint64_t commits_ns; /* duration of all commits */
	atomic_bool viewed; /* see catalog_begin_view() */
	commit_delta_fn *observer; /* NULL: none */
	void *observer_context;
};

/* Removes the seal durably, unless this process has done so. Must be called before the data file is
 * changed. Changes nothing if the catalog is read only. Any thread. Returns 0 or -errno.
 *
 * opened	struct catalog, for struct store_hooks */
MUST_CHECK int catalog_unseal(void *opened);

/* Returns the lowest id that catalog_new_id() has not returned. Any thread. */
uint64_t catalog_unused_id(struct catalog *catalog);

/* Names and directories that were added and removed in this transaction (redundant.c). */
struct redundant_changes {
	struct bytes names; /* of struct name_note */
	struct bytes dirs; /* of struct dir_note */
	struct bytes listings; /* of struct listing_note */
	struct bytes gone; /* ids of removed directories */
};

/* What changed in this transaction and can change folder groups (folders.c). */
struct folder_notes {
	struct bytes names; /* of struct name_note */
	struct bytes files; /* ids */
	struct bytes dirs; /* ids */
};

/* A file that joined a group or left it. */
struct member_delta {
	uint64_t group;
	uint64_t file;
	uint64_t dir; /* as in struct delta_flip */
	uint32_t order; /* for redundant.c */
	bool joined;
};

struct catalog_writer {
	struct store_writer store;
	struct catalog *catalog;
	bool observed; /* the catalog has an observer */
	/* Without an observer, it has only groups and redundancy, as the redundant counts of
	 * directories depend on both (redundant.h). */
	struct commit_delta delta;
	struct bytes members; /* of struct member_delta */
	struct redundant_changes redundant;
	struct folder_notes folders;
	struct group_change *groups; /* changed in this transaction, by id (uthash) */
	struct group_change *last_group; /* one of them that was used last, or NULL */
	struct bytes rivals; /* of struct kept_rival (group.c) */
	struct keep_rules keep; /* read by catalog_write() */
	const struct deferred_file *joined; /* see catalog_join_deferred(); NULL: none */
	size_t joined_count;
	/* Hash of the last new group, and its ordinal if no group of this hash has a higher one;
	 * otherwise last_ordinal is 0. */
	struct hash128 last_hash;
	uint32_t last_ordinal;
	struct catalog_totals totals;
	bool reconsiders_kept; /* see catalog_reconsider_kept() */
	bool none_pending; /* see catalog_end_scan() */
};

/* Returns whether a view can have shown the file or directory with this id before this
 * transaction. */
static inline bool was_viewed(const struct catalog_writer *w, uint64_t id)
{
	return id < w->totals.viewed;
}

/* Adds a change to the commit delta if the catalog has an observer; as commit_delta_add(). */
MUST_CHECK int delta_add(struct catalog_writer *w, enum delta_kind kind, const void *change);

/* Adds a struct delta_name in the same way. */
MUST_CHECK int delta_add_name(struct catalog_writer *w, uint64_t dir, struct name name,
			      bool directory);

/* Completes the delta at the end of the transaction: removes DELTA_FILE_GONE of files that have a
 * name again. Returns 0, -EUCLEAN or another -errno. */
MUST_CHECK int delta_finish(struct catalog_writer *w);

#endif
