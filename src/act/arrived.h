/* SPDX-License-Identifier: MIT */
#ifndef ACT_ARRIVED_H
#define ACT_ARRIVED_H

/* The file that a copy became on another file system. Further names of the same copy, which an act
 * takes one after the other, become hard links of that file. One thread. A struct that is zeroed
 * knows of no file. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "act/held.h"
#include "act/place.h"
#include "base/attributes.h"

struct arrived {
	bool is_known;
	struct stat original; /* the copy when it was last acted upon */
	struct held file; /* fd -1: no link can be made of it */
	bool is_parted; /* two names of that copy became two files */
	uint64_t parted; /* copies before that one of which a name stayed, or became another file */
};

/* Notes that a name of a copy became a file of its own, and holds that file if the copy has further
 * names.
 *
 * copy		held, after its name was removed
 * there	where the file is
 * file		the file as it was when it got that name */
void arrived_note(struct arrived *arrived, const struct held *copy, const struct place *there,
		  const struct stat *file);

/* Outcome besides -errno: the name must become a file of its own. */
enum {
	ARRIVED_APART = 1,
};

/* Makes a hard link of the file for another name of the same copy. The file must have the same bytes,
 * mode, owner and attributes as the copy, and no writer since it was noted: both are read again.
 *
 * Returns 0, ARRIVED_APART, -EEXIST if the place is taken, or another -errno. */
MUST_CHECK int arrived_link(struct arrived *arrived, const struct held *copy,
			    const struct place *to);

/* Notes that a name of the copy was removed after arrived_link(). */
void arrived_note_link(struct arrived *arrived, const struct held *copy);

/* Lets the file go unless the copy is the one that it was made of. */
void arrived_expect(struct arrived *arrived, const struct held *copy);

/* Returns of how many copies a name has stayed, or has become another file than one before. */
uint64_t arrived_count_parted(const struct arrived *arrived);

void arrived_deinit(struct arrived *arrived);

#endif
