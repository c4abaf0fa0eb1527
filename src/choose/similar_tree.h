/* SPDX-License-Identifier: MIT */
#ifndef CHOOSE_SIMILAR_TREE_H
#define CHOOSE_SIMILAR_TREE_H

/* The directories of an index with sums of the contents in them, for choose/similar.h.
 *
 * Directories are numbered in the order of their paths, from 1, so all directories below another
 * one have adjacent numbers. Number 0 contains all sources. One thread at a time. Takes 68 bytes
 * for each directory, and while it is made, as much again and their names. All zeros is an empty
 * tree.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

struct catalog_reader;
struct report;

/* Each content counts once for a directory, however many files at any depth have it. Before
 * similar_tree_add_up(), the sums count only what was added to the directory itself. */
struct similar_dir {
	uint64_t id;
	uint64_t contents;
	uint64_t bytes; /* of the contents */
	uint64_t inner; /* bytes of contents that are nowhere outside of the directory */
	uint64_t common; /* bytes of contents that are in many directories */
	uint32_t parent;
	uint32_t last; /* the highest number in the directory */
	uint32_t source;
	uint32_t depth; /* 0: a source */
	uint32_t listed; /* for the user of the tree */
	bool fits; /* the same */
};

struct similar_tree {
	struct similar_dir *list;
	uint32_t count; /* number 0 included */
	uint32_t *by_id; /* numbers of all directories in the order of their ids */
};

/* Reads all directories. Returns 0 or -errno. */
MUST_CHECK int similar_tree_make(struct similar_tree *tree, struct catalog_reader *reader);

void similar_tree_free(struct similar_tree *tree);

/* Returns whether a directory is the same as another one, or contains it. */
static inline bool similar_tree_contains(const struct similar_tree *tree, uint32_t dir,
					 uint32_t other)
{
	return dir <= other && other <= tree->list[dir].last;
}

/* Returns the lowest directory that contains both. */
uint32_t similar_tree_meet(const struct similar_tree *tree, uint32_t a, uint32_t b);

/* Adds the sums of each directory to those of all directories above it. */
void similar_tree_add_up(struct similar_tree *tree);

/* ---- similar contents ----------------------------------------------------------------------- */

/* Reads the contents of an index with their directories, for choose/similar.h. One thread at a
 * time. Takes memory for the directories of one content.
 */

/* A content. It belongs to a group of equal files, or to one inode. */
struct similar_content {
	uint64_t size; /* bytes, above 0 */
	/* the directories with a name of a file that has the content, each once, in their order */
	const uint32_t *dirs;
	size_t count; /* at least 1 */
};

/* Returns 0, or -errno, which ends the reading. */
typedef int similar_content_fn(void *context, const struct similar_content *content);

/* Calls a function for each content that the sizes and --exclude of the report's filter leave.
 * A file that was not read, or that failed, is a content of its own. Linear in names and copies.
 * Returns 0, -EINTR if stop_requested(), or another -errno. */
MUST_CHECK int similar_read_contents(const struct report *report, const struct similar_tree *tree,
				     similar_content_fn *take, void *context);

#endif
