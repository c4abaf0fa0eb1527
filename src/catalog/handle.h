/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_HANDLE_H
#define CATALOG_HANDLE_H

/* An open catalog: state that the files of catalog/ share. Only catalog/ includes this. */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "catalog/commit_delta.h"
#include "catalog/filesystem.h"
#include "store/store.h"

struct catalog {
	struct store store;
	struct filesystems filesystems;
	char *folder;
	int folder_fd;
	int lock_fd; /* -1: read only */
	uint64_t name_seed;
	bool store_opened;
	bool unsealed; /* open for writing, and the seal was removed */
	pthread_mutex_t ids_lock;
	uint64_t next_id;
	uint64_t reserved_id; /* ids below it are reserved for this process */
	commit_delta_fn *observer; /* NULL: none */
	void *observer_context;
};

#endif
