/* SPDX-License-Identifier: MIT */
#ifndef INDEX_HANDLE_H
#define INDEX_HANDLE_H

/* An open catalog: state that the files of catalog/ share. Only index includes this. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "index/commit_delta.h"
#include "index/filesystem.h"
#include "index/store/store.h"

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
	commit_delta_fn *observer; /* NULL: none */
	void *observer_context;
};

/* Removes the seal durably, unless this process has done so. Must be called before the data file is
 * changed. Changes nothing if the catalog is read only. Any thread. Returns 0 or -errno.
 *
 * opened	struct catalog, for struct store_hooks */
MUST_CHECK int catalog_unseal(void *opened);

#endif
