/* SPDX-License-Identifier: MIT */
#ifndef ACT_ARRIVED_H
#define ACT_ARRIVED_H

/* The file that a copy became on another file system. If further names of the copy are moved
 * directly afterwards, they become hard links of that file. One thread. A zeroed struct has no
 * file. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "act/held.h"
#include "act/place.h"
#include "base/attributes.h"

struct arrived {
	bool is_known;
	struct stat original; /* attributes of the copy after one of its names was moved */
	struct held file; /* fd -1: no link to the file is possible */
	bool is_split; /* two names of the copy became two files */
	uint64_t split; /* earlier copies with a name that stayed or became another file */
};

/* Notes that a name of a copy became a separate file, and holds that file if the copy has further
 * names.
 *
 * copy		held, after its name was removed
 * there	place of the file
 * file		attributes of the file when it got its name in this place
 */
void arrived_note(struct arrived *arrived, const struct held *copy, const struct place *there,
		  const struct stat *file);

/* Outcome of arrived_link(): the name must become a separate file. */
enum {
	ARRIVED_APART = 1,
};

/* Makes a hard link of the file for another name of the same copy. The file must have the same
 * bytes, mode, owner and extended attributes as the copy. Both files are read for that.
 *
 * Returns 0, ARRIVED_APART, -EEXIST if the name exists, or another -errno. */
MUST_CHECK int arrived_link(struct arrived *arrived, const struct held *copy,
			    const struct place *to);

/* Notes that the copy's name was removed after arrived_link(). */
void arrived_note_link(struct arrived *arrived, const struct held *copy);

/* Prepares for an act on a copy: closes the file unless it was made from this copy. */
void arrived_expect(struct arrived *arrived, const struct held *copy);

/* Returns the number of copies so far with a name that stayed or became another file. */
uint64_t arrived_count_split(const struct arrived *arrived);

void arrived_deinit(struct arrived *arrived);

#endif
