/* SPDX-License-Identifier: MIT */
#ifndef VIEW_TREE_NAMES_H
#define VIEW_TREE_NAMES_H

/* The names that the view makes: those of copies, and those with ranks. Pure code, any thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "index/record.h"

/* ---- copies ------------------------------------------------------------------------- */

/* The name of a copy in the folder of its group.
 *
 * The plain form is the path in uniques/ with '/' replaced by U+2215. The short form is used if the
 * plain form is too long or looks like a short form, if the path contains U+2215, or if it begins
 * with the mark of kept copies:
 *
 *	<beginning of the path>~<dir id in hex>-<cookie in hex><extension>
 *
 * So each name shows which form it is, and two paths never have the same name. A name depends only
 * on the path and the id of its entry.
 *
 * Listings show the kept copy with a mark before its name, so that people see it however they sort.
 * The copy is also found by its name without the mark, which stays when another copy is kept.
 */

/* Room for a name and its NUL. */
#define COPY_NAME_SIZE 256

/* The mark of kept copies. */
#define COPY_NAME_MARK "(kept) "

/* Longest extension of the short form, including the dot. */
#define COPY_NAME_EXTENSION_MAX 16

/* Writes the name of an entry.
 *
 * path		in uniques/, length bytes; not empty, without NUL
 * dir, cookie	the entry's id in the catalog
 */
void copy_name_make(char name[static COPY_NAME_SIZE], const char *path, size_t length, uint64_t dir,
		    uint64_t cookie);

/* Writes the name of an entry of the kept copy, with the mark. */
void copy_name_make_kept(char name[static COPY_NAME_SIZE], const char *path, size_t length,
			 uint64_t dir, uint64_t cookie);

/* Returns the part of a name after the mark, or NULL if it has no mark. */
const char *copy_name_skip_mark(const char *name);

/* Extracts the id from a short form. Returns false if the name has another form. */
MUST_CHECK bool copy_name_parse_short(const char *name, uint64_t *dir, uint64_t *cookie);

/* Writes the path of a plain form, with its NUL. Returns its length. */
size_t copy_name_parse_plain(const char *name, char path[static COPY_NAME_SIZE]);

/* ---- ranks -------------------------------------------------------------------------- */

/* Names in by-size/ and folders/.
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
