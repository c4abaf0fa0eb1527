/* SPDX-License-Identifier: MIT */
#ifndef VIEW_TREE_DIRECTORY_PATHS_H
#define VIEW_TREE_DIRECTORY_PATHS_H

/* Cache of the paths of directories. Without it, a listing of copies in dups/ would look up all
 * directories above each copy. An entry is valid for snapshots of one state of the index, so the
 * first commit invalidates it. Any thread. */

#include <pthread.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "index/catalog.h"

/* Limits: entries, and the length of a path in the cache. Together 68 KiB. */
#define DIRECTORY_PATHS_MAX 256
#define DIRECTORY_PATH_BYTES_MAX 240

struct directory_paths {
	pthread_mutex_t lock;
	struct directory_path *list; /* array indexed by id; NULL if empty */
};

void directory_paths_init(struct directory_paths *paths);
void directory_paths_deinit(struct directory_paths *paths);

/* Appends the path of a directory as catalog_dir_path does, with the same results. Without memory
 * for the cache, the path is looked up. */
MUST_CHECK int directory_paths_append(struct directory_paths *paths, struct catalog_reader *reader,
				      uint64_t dir, struct bytes *path, uint32_t *source);

#endif
