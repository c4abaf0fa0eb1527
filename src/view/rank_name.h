/* SPDX-License-Identifier: MIT */
#ifndef VIEW_RANK_NAME_H
#define VIEW_RANK_NAME_H

/* Names in by-size/ and folders/. Pure code, any thread.
 *
 *	0001 holiday.mp4 (4 copies, frees 1.2 GiB)	a group
 *	00001-02000					a folder of such names, if there are many
 *
 * Each name begins with the rank of a group; rank 1 has the most reclaimable bytes. Ranks have a
 * fixed number of digits, so that programs that sort names show them in this order. The name of a
 * copy follows, truncated if the whole would be too long. It comes early, as file managers show
 * little of a long name. The spaces within "4 copies" and "frees 1.2 GiB" are no-break spaces
 * (U+00A0), so that a name that is shown in several lines is not broken there.
 */

#include <stdint.h>

#include "catalog/record.h"

/* Room for a name and its NUL. */
#define RANK_NAME_SIZE (NAME_BYTES_MAX + 1)

/* Maximum number of groups in one folder. File managers show this many without delay. */
#define RANKS_PER_FOLDER 2000

/* Layout of by-size/ or folders/ for a number of groups. */
struct rank_layout {
	uint64_t groups;
	uint64_t folders; /* 0: the names are in by-size/ or folders/ itself */
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

/* What a name says of a group. */
struct ranked_group {
	uint64_t rank;
	uint64_t reclaimable; /* bytes */
	uint64_t copies;
	struct name name; /* of one copy */
};

void rank_name_make(char name[static RANK_NAME_SIZE], const struct rank_layout *layout,
		    const struct ranked_group *group);

/* Returns the number at the beginning of a name, or 0 if there is none. The caller must make the
 * name of this number and compare both names. */
uint64_t rank_name_parse(const char *name);

#endif
