/* SPDX-License-Identifier: MIT */
#ifndef CHOOSE_STAYS_H
#define CHOOSE_STAYS_H

/* Counts the copies that an act leaves for another reason than a rule of the user: their bundle or
 * store, hard links elsewhere, symlinks that lead to them, or a place that something else empties
 * (index/emptied_place.h); and the symlinks that the act breaks. One thread at a time. */

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "choose/bundle.h"
#include "index/emptied_place.h"

/* Highest number of bundles whose copies are counted for each bundle. Copies in all further bundles
 * are counted together. */
#define STAYS_BUNDLES_MAX 64

/* Highest number of symlinks whose paths are kept. */
#define STAYS_LINKS_MAX 10

struct bundle_count {
	uint64_t dir; /* the bundle or store; 0: the copies are in none */
	const struct managed_kind *kind; /* of a store or set; NULL: none */
	uint64_t copies;
	char *path; /* of the bundle or store, or of the first copy; absolute */
};

/* All zero is empty. */
struct stay_tally {
	struct bundle_count bundles[STAYS_BUNDLES_MAX];
	size_t bundle_count;
	uint64_t in_others; /* copies in further bundles */
	uint64_t held; /* inodes with hard links elsewhere (rules.links) */
	uint64_t led; /* copies that stay because symlinks lead to them */
	uint64_t broken; /* symlinks to redundant copies, which would lead nowhere */
	/* Absolute paths of symlinks to copies that stay, or of broken ones; each ends with a NUL.
	 */
	struct bytes links;
	size_t link_count;
	/* by place: the number of inodes, and the absolute path of the first one */
	uint64_t in_places[EMPTIED_PLACES];
	struct bytes examples[EMPTIED_PLACES];
};

/* Empties it. */
void stay_tally_free(struct stay_tally *tally);
#define CLEANUP_STAY_TALLY CLEANUP(stay_tally_free)

/* Counts the copies of a group, after rules_apply(), for a report with its reader, sources and
 * breaks_symlinks. Returns 0 or -errno. */
MUST_CHECK int stay_tally_add(struct stay_tally *tally, const struct report *report,
			      const struct copies *copies);

/* A copy that stays for its bundle, store or set, or because a program writes it in place. */
struct bundle_stay {
	struct bundle_place place;
	uint32_t source;
	const char *path; /* relative to the source, borrowed */
};

/* Counts a copy. Returns 0 or -errno. */
MUST_CHECK int stay_tally_add_bundle(struct stay_tally *tally, struct catalog_reader *reader,
				     const struct sources *sources, const struct bundle_stay *stay);

/* Logs which copies stay, and why. */
void stay_tally_explain(const struct stay_tally *tally);

#endif
