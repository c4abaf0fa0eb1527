/* SPDX-License-Identifier: MIT */
#ifndef REPORT_PLACE_TALLY_H
#define REPORT_PLACE_TALLY_H

/* Counts the copies that the rules spare because something else empties their place
 * (catalog/emptied_place.h). One thread at a time. */

#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "catalog/emptied_place.h"

struct copies;
struct sources;

/* By place: the number of inodes, and the absolute path of the first one. All zero is empty. */
struct place_tally {
	uint64_t copies[EMPTIED_PLACES];
	struct bytes examples[EMPTIED_PLACES];
};

void place_tally_free(struct place_tally *tally);
#define CLEANUP_PLACE_TALLY CLEANUP(place_tally_free)

/* Adds the copies of a group after rules_apply(). Returns 0 or -errno. */
MUST_CHECK int place_tally_add(struct place_tally *tally, const struct copies *copies,
			       const struct sources *sources);

/* Logs a line for each place with copies. */
void place_tally_explain(const struct place_tally *tally);

#endif
