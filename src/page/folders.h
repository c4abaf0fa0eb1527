/* SPDX-License-Identifier: MIT */
#ifndef PAGE_FOLDERS_H
#define PAGE_FOLDERS_H

/* Reclaimable bytes of each folder. The memory does not depend on the number of files and is
 * bounded. If there are too many folders, the small folders are folded into their parents. Folding
 * loses no byte, and the sum of a folder with all its descendants stays exact.
 *
 * Pure code except for the callback that finds the parent of a folder. One thread at a time. A
 * struct folders that is all zero is empty and valid.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

/* Highest number of folders that have a sum of their own while files are added. */
#define FOLDERS_MAX 32768

/* Highest number of levels in the tree of folders_tree(), including the source. Deeper folders are
 * folded. */
#define FOLDERS_DEPTH_MAX 32

/* The sum of a folder and of the subfolders that are folded into it, without other subfolders. */
struct folder_sum {
	uint64_t dir;
	uint64_t bytes;
	uint64_t files;
	uint64_t folded_bytes; /* the part of bytes that is in folded subfolders */
};

struct folders {
	struct folder_sum *list;
	size_t count;
	size_t capacity;
};

/* Sets *parent to the parent of a folder, or to 0 for the root of a source. A folder that is
 * missing by now counts as a root. Returns 0 or -errno. */
typedef int folders_parent_fn(void *context, uint64_t dir, uint64_t *parent);

/* The callback that finds parents. */
struct folders_map {
	folders_parent_fn *parent;
	void *context;
};

void folders_free(struct folders *folders);
#define CLEANUP_FOLDERS CLEANUP(folders_free)

/* Adds a file to a folder.
 *
 * bytes	size of the file
 *
 * Returns 0 or -errno. */
MUST_CHECK int folders_add(struct folders *folders, const struct folders_map *map, uint64_t dir,
			   uint64_t bytes);

/* Finishes the sums. Folds each folder with fewer than bytes_min into its parent, repeatedly, until
 * only roots have fewer than bytes_min. Returns 0 or -errno. */
MUST_CHECK int folders_finish(struct folders *folders, const struct folders_map *map,
			      uint64_t bytes_min);

/* A folder in the tree. */
struct folder_node {
	uint64_t dir; /* 0: all sources */
	size_t parent; /* index in the list; node 0, all sources, is its own parent */
	size_t depth; /* 0: all sources, 1: one source */
	struct folder_sum own; /* the folder itself, with folded subfolders */
	struct folder_sum whole; /* the folder with all its descendants */
};

/* Makes the tree of the finished sums. The first node is that of all sources. Each node is before
 * its descendants, and siblings are ordered by size, the largest first. The caller must free list.
 * Returns 0 or -errno. */
MUST_CHECK int folders_tree(const struct folders *folders, const struct folders_map *map,
			    struct folder_node **list, size_t *count);

#endif
