/* SPDX-License-Identifier: MIT */
#ifndef VIEW_RANK_NAME_H
#define VIEW_RANK_NAME_H

/* Names in by-size/. Pure code, any thread.
 *
 *	0001  1.2 GiB  4 copies  holiday.mp4	a link to a group
 *	00001-02000				a folder of such links, if there are many
 *
 * Each name begins with the rank of a group; rank 1 has the most reclaimable bytes. Ranks have a
 * fixed number of digits, so that programs that sort names show them in this order. The file name
 * is that of the kept copy, truncated if the name of the link would be too long.
 */

#include <stdint.h>

#include "catalog/record.h"

/* Room for a name and its NUL. */
#define RANK_NAME_SIZE (NAME_BYTES_MAX + 1)

/* Maximum number of links in one folder. File managers show this many without delay. */
#define RANKS_PER_FOLDER 2000

/* Layout of by-size/ for a number of groups. */
struct rank_layout {
	uint64_t groups;
	uint64_t folders; /* 0: the links are in by-size/ itself */
	int digits; /* number of digits of a rank */
};

struct rank_layout rank_layout_of(uint64_t groups);

/* The ranks in a folder, from 1 on: [first, last]. In the last folder, last can exceed the number
 * of groups. */
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

/* Returns the number at the beginning of a name, or 0 if there is none. The caller must make the
 * name of this number and compare both names. */
uint64_t rank_name_parse(const char *name);

#endif
