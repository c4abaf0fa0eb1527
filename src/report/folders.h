/* SPDX-License-Identifier: MIT */
#ifndef REPORT_FOLDERS_H
#define REPORT_FOLDERS_H

/* What would come free in each folder, added up in memory that does not grow with the number of
 * files, nor beyond a limit with that of folders: where there are too many, the small ones are
 * counted as a part of the folder that they are in. So no byte is lost, and sums of folders with
 * all that is below them stay exact.
 *
 * Pure code but for the question where a folder is. One thread at a time; a struct folders that is
 * all zero is empty and valid.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

/* Folders that are told apart while they are added up. */
#define FOLDERS_MAX 32768

/* Levels below the source that are told apart in the end. */
#define FOLDERS_DEPTH_MAX 32

/* What is in a folder itself. */
struct folder_sum {
	uint64_t dir;
	uint64_t bytes;
	uint64_t files;
	uint64_t folded_bytes; /* of these, in folders in it that are not told apart */
};

struct folders {
	struct folder_sum *list;
	size_t count;
	size_t capacity;
};

/* Gives the folder that a folder is in, 0 for the root of a source, and for one that is not there
 * any more: then it counts as one. 0 or -errno. */
typedef int folders_parent_fn(void *context, uint64_t dir, uint64_t *parent);

/* Who is asked. */
struct folders_map {
	folders_parent_fn *parent;
	void *context;
};

void folders_free(struct folders *folders);
#define CLEANUP_FOLDERS CLEANUP(folders_free)

/* Adds a file in a folder. 0 or -errno. */
MUST_CHECK int folders_add(struct folders *folders, const struct folders_map *map, uint64_t dir,
			   uint64_t bytes);

/* Ends the adding: each folder that has less than so many bytes itself becomes a part of the one
 * it is in, until there is none but roots. 0 or -errno. */
MUST_CHECK int folders_settle(struct folders *folders, const struct folders_map *map,
			      uint64_t bytes_min);

/* A folder with what is below it. */
struct folder_node {
	uint64_t dir; /* 0: all sources */
	size_t parent; /* its place; that of all sources is 0, and its own */
	size_t depth; /* 0: all sources, 1: one of them */
	struct folder_sum own; /* in it itself, and in folders below that are not told apart */
	struct folder_sum whole; /* the same with all below it */
};

/* Makes the tree of what was settled: the first node is all sources; behind each comes all that is
 * in it, and of what is side by side the largest first. list is the caller's to free. 0 or
 * -errno. */
MUST_CHECK int folders_tree(const struct folders *folders, const struct folders_map *map,
			    struct folder_node **list, size_t *count);

#endif
