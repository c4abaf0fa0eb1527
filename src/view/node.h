/* SPDX-License-Identifier: MIT */
#ifndef VIEW_NODE_H
#define VIEW_NODE_H

/* Node numbers: what a node is in 4 bits above the 48 bits of its id in the catalog. They are
 * below 2^53, so that programs that keep inode numbers in a double keep them whole. */

#include <stdint.h>

#define NODE_ID_BITS 48

enum node_kind {
	NODE_FIXED = 0, /* enum fixed_node */
	NODE_DIR = 1, /* a directory of a source; dir id */
	NODE_GROUP = 2, /* a folder in dups/; group id */
	NODE_FILE = 3, /* a file of a source, under whatever name; file id */
};

/* The root is 1, as FUSE wants it. */
enum fixed_node {
	FIXED_ROOT = 1,
	FIXED_DUPS = 2,
	FIXED_UNIQUES = 3, /* only with several sources; a single one's root takes its place */
	FIXED_TWINFS = 4,
	FIXED_STATUS = 5,
	FIXED_ERRORS = 6,
};

static inline uint64_t node_make(enum node_kind kind, uint64_t id)
{
	return (uint64_t)kind << NODE_ID_BITS | id;
}

static inline uint64_t node_kind(uint64_t node)
{
	return node >> NODE_ID_BITS;
}

static inline uint64_t node_id(uint64_t node)
{
	return node & ((UINT64_C(1) << NODE_ID_BITS) - 1);
}

#endif
