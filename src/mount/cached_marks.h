/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_CACHED_MARKS_H
#define MOUNT_CACHED_MARKS_H

/* Of which nodes the kernel may keep something, so that what changes elsewhere costs no system
 * call. A node is marked before the view is asked for what is handed out, so whoever finds no mark
 * after a commit knows that what is handed out later is of that commit or a later one.
 *
 * Marks stay for ever, and two nodes may share one: 2^23 of them leave 5 in 100 others marked when
 * 400,000 nodes are. Any thread.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CACHED_WORDS 131072 /* 1 MiB */

/* All zero: none. */
struct cached_marks {
	_Atomic uint64_t words[CACHED_WORDS];
};

/* The multiplier is that of Fibonacci hashing (Knuth, The Art of Computer Programming 6.4): ids
 * are counted up, and neighbours come to lie far apart; the upper 23 bits are used. */
static inline uint64_t cached_marks_slot(uint64_t inode)
{
	return inode * UINT64_C(0x9e3779b97f4a7c15) >> 41;
}

/* inode: the node without the version of its content. */
static inline void cached_marks_set(struct cached_marks *cached, uint64_t inode)
{
	uint64_t slot = cached_marks_slot(inode), bit = UINT64_C(1) << (slot % 64);
	_Atomic uint64_t *word = &cached->words[slot / 64];

	/* most are marked already; writing would take the line from other processors */
	if (!(atomic_load(word) & bit))
		atomic_fetch_or(word, bit);
}

static inline bool cached_marks_has(struct cached_marks *cached, uint64_t inode)
{
	uint64_t slot = cached_marks_slot(inode);

	return atomic_load(&cached->words[slot / 64]) >> (slot % 64) & 1;
}

#endif
