/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_LISTING_HABITS_H
#define MOUNT_LISTING_HABITS_H

/* Decides which entries of a listing get attributes, by what the process did before.
 *
 * Attributes in a listing save one lookup for each file, which tar(1) waits for. But the kernel
 * makes an inode for each of them, which took half of the time of a find(1) that uses none. Both
 * read a whole directory first, so FUSE_READDIRPLUS_AUTO does not distinguish them. It requests
 * attributes for the first 32 KiB only. Here, a process that looks up or opens files gets all
 * attributes. Any other process gets those of its first listings, and then those of directories.
 *
 * A slot holds the last process that uses it. A wrong guess only costs time. Any thread. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define LISTING_HABIT_SLOTS 256

/* Number of directories whose first reply has attributes for a process without known use. */
#define LISTINGS_TRIED 2

enum listing_attributes {
	LISTING_OF_DIRECTORIES, /* directories only: a program that walks a tree looks them up */
	LISTING_OF_ALL,
};

/* All zero: no process. The upper 32 bits of a slot are the thread id, the lower 32 bits the number
 * of directories listed, or LISTING_USED. */
struct listing_habits {
	_Atomic uint64_t slots[LISTING_HABIT_SLOTS];
};

#define LISTING_USED UINT32_MAX

static inline _Atomic uint64_t *listing_habits_slot(struct listing_habits *habits, pid_t process)
{
	return &habits->slots[(uint32_t)process % LISTING_HABIT_SLOTS];
}

static inline uint32_t listing_habits_count(uint64_t slot, pid_t process)
{
	return slot >> 32 == (uint32_t)process ? (uint32_t)slot : 0;
}

/* Records that a process looked up or opened a file. */
static inline void listing_habits_note_use(struct listing_habits *habits, pid_t process)
{
	_Atomic uint64_t *slot = listing_habits_slot(habits, process);
	uint64_t used = (uint64_t)(uint32_t)process << 32 | LISTING_USED;

	if (atomic_load(slot) != used)
		atomic_store(slot, used);
}

/* Chooses the attributes for the next part of a listing. is_begin: the part begins with the first
 * entry. */
static inline enum listing_attributes listing_habits_choose(struct listing_habits *habits,
							    pid_t process, bool is_begin)
{
	_Atomic uint64_t *slot = listing_habits_slot(habits, process);
	uint32_t count = listing_habits_count(atomic_load(slot), process);

	if (count == LISTING_USED)
		return LISTING_OF_ALL;
	if (!is_begin || count >= LISTINGS_TRIED)
		return LISTING_OF_DIRECTORIES;
	atomic_store(slot, (uint64_t)(uint32_t)process << 32 | (count + 1));
	return LISTING_OF_ALL;
}

#endif
