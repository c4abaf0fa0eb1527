/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_GENERATIONS_H
#define MOUNT_GENERATIONS_H

/* Which generation of a file's inode a lookup gave to the kernel last.
 *
 * The kernel makes an inode unusable when a lookup gives its number with another generation. Until
 * then it may still hold that inode of 4096 versions ago, and opens it by a descriptor (/proc/self/fd)
 * without a lookup: what is read then would share its pages with those who have opened the old
 * version. So a file of a later generation is opened only if a lookup gave that very version;
 * otherwise the answer is ESTALE, upon which the kernel looks the path up again.
 *
 * Files of the first generation need no entry: their numbers were never used before. Of others, two
 * may share a slot, which costs one of them another lookup. Any thread. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "view/node.h"

#define GENERATIONS_SLOT_BITS 16

/* All zero: none. */
struct generations {
	/* 32 bits of the file id above its slot, then the version of its content, above 0 */
	_Atomic uint64_t given[1 << GENERATIONS_SLOT_BITS];
};

_Static_assert(NODE_ID_BITS - GENERATIONS_SLOT_BITS == 32, "an id and a version fit into a slot");

static inline _Atomic uint64_t *generations_slot(struct generations *generations, uint64_t file)
{
	return &generations->given[file & ((1 << GENERATIONS_SLOT_BITS) - 1)];
}

static inline uint64_t generations_entry(uint64_t file, uint32_t version)
{
	return file >> GENERATIONS_SLOT_BITS << 32 | version;
}

/* A lookup gives this version of a file to the kernel. */
static inline void generations_give(struct generations *generations, uint64_t file,
				    uint32_t version)
{
	if (node_generation(version) > 0)
		atomic_store(generations_slot(generations, file), generations_entry(file, version));
}

/* Is this the version that the kernel has? */
static inline bool generations_has(struct generations *generations, uint64_t file, uint32_t version)
{
	return node_generation(version) == 0 ||
	       atomic_load(generations_slot(generations, file)) == generations_entry(file, version);
}

#endif
