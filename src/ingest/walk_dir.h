/* SPDX-License-Identifier: MIT */
#ifndef INGEST_WALK_DIR_H
#define INGEST_WALK_DIR_H

/* A directory of a walk: one that waits to be looked at, or one above such. Each holds a reference
 * to its parent, so that its path can be put together from the chain.
 *
 * A directory whose subdirectories wait keeps its descriptor until all of them are opened, if the
 * budget of descriptors lasts: they are opened from it, in time that does not depend on how deep
 * they lie. Any thread; a directory that waits is touched by one at a time.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "catalog/record.h"
#include "ingest/ingest.h"
#include "source/source.h"

struct walk_dir {
	struct walk_dir *parent; /* a reference is held; NULL where the walk began */
	struct walk_dir *next; /* in a queue */
	atomic_uint references;
	atomic_uint unopened; /* subdirectories that will be opened from fd */
	int fd; /* -1: not kept */
	uint32_t source;
	bool known; /* to the index */
	bool expected; /* to be the inode of these attributes */
	bool crosses; /* into a file system that its parent is not on: it may never answer */
	struct attributes attributes; /* as they were when it was found */
	uint64_t id;
	enum recheck_scope scope;
	const struct recheck *recheck; /* borrowed, or NULL: what and id say all */
	uint32_t name_length;
	char name[]; /* where the walk began: its path in the source */
};

/* How many descriptors all walked directories together may still keep. */
struct walk_dir_budget {
	atomic_int left;
};

struct walk_dir *walk_dir_new(struct walk_dir *parent, struct name name); /* NULL: no memory */
void walk_dir_release(struct walk_dir *dir);
void walk_dir_release_list(struct walk_dir *list);

/* Sorts a list by file system and inode: its new first one. Without memory it stays as it is. */
struct walk_dir *walk_dir_sort(struct walk_dir *list);

/* Sets path to that of the directory, relative to its source. 0 or -ENOMEM. */
MUST_CHECK int walk_dir_path(const struct walk_dir *dir, struct bytes *path);

/* Opens it for listing, from its parent's descriptor or by its path (for which path is used).
 * A descriptor that the caller closes or gives to walk_dir_keep, or -errno. */
MUST_CHECK int walk_dir_open(struct walk_dir *dir, const struct sources *sources,
			     struct walk_dir_budget *budget, struct bytes *path);

/* Does the file system that is mounted there answer? Asked where a walk enters another one. 0,
 * -ETIMEDOUT when it has not after a second, or the -errno of opening the directory. */
MUST_CHECK int walk_dir_ask(const struct walk_dir *dir, const struct sources *sources,
			    struct bytes *path);

/* Keeps *fd (then -1) for opening count subdirectories, if the budget allows. Call it before they
 * are in any queue. */
void walk_dir_keep(struct walk_dir *dir, int *fd, unsigned int count,
		   struct walk_dir_budget *budget);

#endif
