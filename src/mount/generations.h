/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_GENERATIONS_H
#define MOUNT_GENERATIONS_H

/* The inode generation that the last lookup of each file returned to the kernel.
 *
 * When a lookup returns another generation for a node number, the kernel marks its inode bad. Until
 * then, the kernel can still have the inode of 4096 versions ago, and can open that inode without a
 * lookup (/proc/self/fd). Pages read by this open would mix with those of the old version.
 * Therefore a file with a generation above 0 is opened only if a lookup returned exactly this
 * version. For another version the reply is ESTALE, and the kernel looks the path up again.
 *
 * Files of generation 0 need no entry: their numbers are new. Two other files can share a slot,
 * which costs one of them another lookup. Any thread.  */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "view/node.h"

#define GENERATIONS_SLOT_BITS 16

/* All zero: empty. */
struct generations {
	/* 32 bits of the file id (above the slot's bits), then the version of its content, above
	 * 0 */
	_Atomic uint64_t recorded[1 << GENERATIONS_SLOT_BITS];
};

_Static_assert(NODE_ID_BITS - GENERATIONS_SLOT_BITS == 32, "an id and a version fit into a slot");

static inline _Atomic uint64_t *generations_slot(struct generations *generations, uint64_t file)
{
	return &generations->recorded[file & ((1 << GENERATIONS_SLOT_BITS) - 1)];
}

static inline uint64_t generations_entry(uint64_t file, uint32_t version)
{
	return file >> GENERATIONS_SLOT_BITS << 32 | version;
}

/* Records that a lookup returns this version of a file to the kernel. */
static inline void generations_record(struct generations *generations, uint64_t file,
				      uint32_t version)
{
	if (node_generation(version) > 0)
		atomic_store(generations_slot(generations, file), generations_entry(file, version));
}

/* Returns whether the last lookup of the file returned this version. Always true for generation
 * 0. */
static inline bool generations_has(struct generations *generations, uint64_t file, uint32_t version)
{
	return node_generation(version) == 0 ||
	       atomic_load(generations_slot(generations, file)) == generations_entry(file, version);
}

#endif
