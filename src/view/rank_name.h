/* SPDX-License-Identifier: MIT */
#ifndef VIEW_RANK_NAME_H
#define VIEW_RANK_NAME_H

/* Names in by-size/. Pure code, any thread.
 *
 *	0001  1.2 GiB  4 copies  holiday.mp4	a link to a group
 *	00001-02000				a folder of such links, where there are many
 *
 * They begin with the rank of a group, 1 for the one that would give back most, in so many digits
 * that programs that sort names show them in this order. The file's name is that of the kept copy,
 * cut where the whole would be longer than a name may be.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "catalog/record.h"

/* Room for a name and its NUL. */
#define RANK_NAME_SIZE (NAME_BYTES_MAX + 1)

/* The most links that lie in one folder: what file managers show without delay. */
#define RANKS_PER_FOLDER 2000

/* How so many groups are laid out. */
struct rank_layout {
	uint64_t groups;
	uint64_t folders; /* 0: the links lie in by-size/ itself */
	int digits; /* of ranks */
};

struct rank_layout rank_layout_of(uint64_t groups);

/* The ranks in a folder, from 1 on: [first, last]. last is behind the last group in the last
 * one. */
static inline uint64_t rank_folder_first(uint64_t folder)
{
	return (folder - 1) * RANKS_PER_FOLDER + 1;
}

static inline uint64_t rank_folder_last(uint64_t folder)
{
	return folder * RANKS_PER_FOLDER;
}

void rank_folder_name_make(char name[static RANK_NAME_SIZE], const struct rank_layout *layout,
			   uint64_t folder);

/* file: the name of the kept copy */
void rank_name_make(char name[static RANK_NAME_SIZE], const struct rank_layout *layout,
		    uint64_t rank, const struct group_record *group, struct name file);

/* The number that a name begins with; 0: it is none of ours. Names that are made for that number
 * may be others. */
uint64_t rank_name_parse(const char *name);

#endif
