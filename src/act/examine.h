/* SPDX-License-Identifier: MIT */
#ifndef ACT_EXAMINE_H
#define ACT_EXAMINE_H

/* Finds on the disk how far an interrupted act went. Any thread. */

#include <stdbool.h>

#include "act/journal.h"
#include "act/place.h"
#include "act/record.h"
#include "base/attributes.h"

/* The file that examine_name() finds. */
enum found {
	FOUND_NOTHING,
	FOUND_COPY, /* the file of the act */
	FOUND_LINK, /* the link of the act */
	FOUND_OTHER, /* another file */
};

/* Sets *found to which file has the name. Returns 0 or -errno. */
MUST_CHECK int examine_name(const struct place *place, const char *name,
			    const struct intent *intent, enum found *found);

/* Returns whether the act gave the copy its name at the destination or in the trash, by a hard link
 * besides the quarantine name (act/place.h), and syncs the directory of that name. The user
 * can have made such a link before the act, so the copy must have more names than then.
 *
 * other	the quarantine name
 */
bool examine_second_name(const struct place *other, const struct intent *intent);

/* Whether an act was done. */
enum deed {
	DEED_NONE,
	DEED_DONE,
	DEED_UNCERTAIN, /* the copy has no name where the act could have left one */
};

/* Returns whether the act of an intent was done. The quarantine name must be resolved before.
 *
 * place	the copy's name; directory -1: the folder is missing
 * record	record of the act
 */
enum deed examine_deed(const struct place *place, const struct intent *intent,
		       const struct record *record);

#endif
