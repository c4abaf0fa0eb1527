/* SPDX-License-Identifier: MIT */
#ifndef INDEX_EMPTIED_PLACE_H
#define INDEX_EMPTIED_PLACE_H

/* Places that something else empties: a user, a program, or the end of the machine's power. The
 * table of names is in emptied_place.c, and the manual has the same table (twinfs(1), "Places that
 * something else empties"). Any thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* From the place in which a copy remains longest to that in which it is lost first. If all copies
 * of a group are in such places, the kept copy is in the first of them. */
enum emptied_place {
	PLACE_LASTS, /* no such place */
	PLACE_SNAPSHOT, /* a read-only state of a tree, which a schedule deletes */
	PLACE_CACHE, /* a folder that declares itself a cache */
	PLACE_TRASH, /* a trash, or a folder of old versions that a program deletes */
	PLACE_MEMORY, /* a file system in memory */
};
#define EMPTIED_PLACES (PLACE_MEMORY + 1)

static inline enum emptied_place emptied_first(enum emptied_place a, enum emptied_place b)
{
	return a > b ? a : b;
}

/* Returns whether a name in this place must stay if the kept file is in the other one: something
 * else empties the place of the kept file, and the name can be what remains. */
static inline bool place_spares(enum emptied_place kept, enum emptied_place place)
{
	return kept != PLACE_LASTS && kept != place;
}

/* Returns whether an act leaves a copy because of its place. Programs of their own delete copies in
 * a trash or in a snapshot. If no copy is in a place that lasts, each copy can be the last one.
 *
 * best		the place of the kept copy: the first of the places of all copies */
static inline bool place_stays(enum emptied_place best, enum emptied_place place)
{
	return place == PLACE_SNAPSHOT ||
	       (place > best && (place == PLACE_TRASH || best != PLACE_LASTS));
}

/* As place_stays(), for a file: place is the first of the places of its names, several means
 * that there are others. If none of them lasts, the file can be the last copy. */
static inline bool place_stays_of(enum emptied_place best, enum emptied_place place, bool several)
{
	return place_stays(best, place) || (several && best != PLACE_LASTS);
}

/* Returns a few words for messages, such as "in a trash"; NULL for PLACE_LASTS. */
const char *emptied_place_text(enum emptied_place place);

/* Returns the place of a file, by the names of its folders: PLACE_TRASH, PLACE_SNAPSHOT or
 * PLACE_LASTS.
 *
 * source	absolute path of the source, which can be in such a place itself
 * path		path of the file, relative to source, of length bytes */
enum emptied_place emptied_place_of(const char *source, const char *path, size_t length);

/* Returns the place of the files in a folder. The path of a source is "" or ".". */
enum emptied_place emptied_place_in(const char *source, const char *path, size_t length);

/* Returns PLACE_TRASH if a file is on a bind mount of a folder in a trash, whose names its path
 * does not show; otherwise PLACE_LASTS. A snapshot is no such place, because it can be the root of
 * the system.
 *
 * fd		the file, may be O_PATH
 * path		its absolute path; "": that of the mount point */
enum emptied_place emptied_place_of_mount(int fd, const char *path);

/* Returns the place of an open file or directory, as it is now: by the names of its folders, tags
 * of caches in these, and its file system. Blocks on the disk.
 *
 * path		its absolute path */
enum emptied_place emptied_place_at(int fd, const char *path);

/* Returns a number that changes if a move of the folder changes the place of a file below it, by
 * names. */
uint32_t emptied_place_state(const char *source, const char *path, size_t length);

/* Functions for folders that declare themselves caches: https://bford.info/cachedir/. */

/* Returns whether a name of a directory is that of the tag of a cache, CACHEDIR.TAG. */
bool is_cache_tag(const char *name);

/* Returns whether the directory has a tag: a regular file with that name, which begins with the
 * signature. fd may be O_PATH. Reads at most one block. Blocks on the disk. */
bool is_cache_at(int fd);

/* Returns whether a folder above this absolute path has a tag. */
bool is_below_cache(const char *path);

#endif
