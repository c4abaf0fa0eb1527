/* SPDX-License-Identifier: MIT */
#ifndef BASE_CACHE_TAG_H
#define BASE_CACHE_TAG_H

/* Folders that declare themselves caches: https://bford.info/cachedir/. Any thread. */

#include <stdbool.h>

/* The name of the tag in a folder that is a cache. */
#define CACHE_TAG "CACHEDIR.TAG"

/* Returns whether a name of a directory is that of the tag. */
bool is_cache_tag(const char *name);

/* Returns whether the directory has a tag: a regular file with that name, which begins with the
 * signature. fd may be O_PATH. Reads at most one block. Blocks on the disk. */
bool is_cache_at(int fd);

/* Returns whether a folder above this absolute path has a tag. */
bool is_below_cache(const char *path);

#endif
