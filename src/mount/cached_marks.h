/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_CACHED_MARKS_H
#define MOUNT_CACHED_MARKS_H

/* Marks nodes of which the kernel can have cached something, so that changes of other nodes cost no
 * system call. The directory of a lookup or listing, and the node of a getattr, is marked before
 * the view is queried. If such a node has no mark after a commit, all later replies about it
 * contain this commit. The node that a name refers to is marked after the query, but before the
 * reply.
 *
 * Marks are never removed, and two nodes can share a mark. With 400,000 marked nodes, 5 in 100
 * other nodes share one of the 2^23 marks. Any thread.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define CACHED_WORDS 131072 /* 1 MiB */

/* All zero: no marks. */
struct cached_marks {
	_Atomic uint64_t words[CACHED_WORDS];
};

/* Fibonacci hashing (Knuth, The Art of Computer Programming 6.4): distributes consecutive ids
 * evenly. The upper 23 bits are used. */
static inline uint64_t cached_marks_slot(uint64_t inode)
{
	return inode * UINT64_C(0x9e3779b97f4a7c15) >> 41;
}

/* inode: the node without the version of its content. */
static inline void cached_marks_set(struct cached_marks *cached, uint64_t inode)
{
	uint64_t slot = cached_marks_slot(inode), bit = UINT64_C(1) << (slot % 64);
	_Atomic uint64_t *word = &cached->words[slot / 64];

	/* usually set already; a write would move the cache line between processors */
	if (!(atomic_load(word) & bit))
		atomic_fetch_or(word, bit);
}

static inline bool cached_marks_has(struct cached_marks *cached, uint64_t inode)
{
	uint64_t slot = cached_marks_slot(inode);

	return atomic_load(&cached->words[slot / 64]) >> (slot % 64) & 1;
}

#endif
