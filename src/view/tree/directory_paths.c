/* SPDX-License-Identifier: MIT */
#include "view/tree/directory_paths.h"

#include <stdlib.h>
#include <string.h>

#include "index/paths.h"
#include "index/query.h"

struct directory_path {
	uint64_t dir; /* 0: empty */
	uint64_t snapshot; /* catalog_snapshot_id */
	uint32_t source;
	uint16_t length;
	char path[DIRECTORY_PATH_BYTES_MAX];
};

void directory_paths_init(struct directory_paths *paths)
{
	*paths = (struct directory_paths){.lock = PTHREAD_MUTEX_INITIALIZER};
}

void directory_paths_deinit(struct directory_paths *paths)
{
	free(paths->list);
	pthread_mutex_destroy(&paths->lock);
}

/* Outcome: the cache has no valid entry. */
enum {
	PATH_UNKNOWN = 1
};

/* Appends a cached path. Returns 0, PATH_UNKNOWN or -ENOMEM. */
static int append_cached(struct directory_paths *paths, uint64_t snapshot, uint64_t dir,
			 struct bytes *path, uint32_t *source)
{
	const struct directory_path *entry;
	int r = PATH_UNKNOWN;

	pthread_mutex_lock(&paths->lock);
	entry = paths->list ? &paths->list[dir % DIRECTORY_PATHS_MAX] : NULL;
	if (entry && entry->dir == dir && entry->snapshot == snapshot) {
		*source = entry->source;
		r = bytes_append(path, entry->path, entry->length);
	}
	pthread_mutex_unlock(&paths->lock);
	return r;
}

static void store(struct directory_paths *paths, const struct directory_path *entry)
{
	pthread_mutex_lock(&paths->lock);
	if (!paths->list)
		paths->list = calloc(DIRECTORY_PATHS_MAX, sizeof(*paths->list));
	if (paths->list)
		paths->list[entry->dir % DIRECTORY_PATHS_MAX] = *entry;
	pthread_mutex_unlock(&paths->lock);
}

int directory_paths_append(struct directory_paths *paths, struct catalog_reader *reader,
			   uint64_t dir, struct bytes *path, uint32_t *source)
{
	struct directory_path entry = {.dir = dir, .snapshot = catalog_snapshot_id(reader)};
	size_t start = path->length;
	int r = append_cached(paths, entry.snapshot, dir, path, source);

	if (r != PATH_UNKNOWN)
		return r;
	r = catalog_dir_path(reader, dir, path, source);
	if (r < 0 || path->length - start > sizeof(entry.path))
		return r;
	entry.source = *source;
	entry.length = (uint16_t)(path->length - start);
	if (entry.length > 0)
		memcpy(entry.path, path->data + start, entry.length);
	store(paths, &entry);
	return 0;
}
