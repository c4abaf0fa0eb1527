/* SPDX-License-Identifier: MIT */
#ifndef CHOOSE_STAYS_H
#define CHOOSE_STAYS_H

/* The copies that an act leaves alone, and the messages about them: refusals and stays. One thread
 * at a time. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "act/act.h"
#include "base/attributes.h"
#include "base/bytes.h"
#include "choose/bundle.h"
#include "index/emptied_place.h"

/* ---- refusals ------------------------------------------------------------------------------- */

/* Copies whose act was refused. A cause that concerns a single file is logged at once, with its
 * path. Causes that many files have, such as a full disk, are counted and logged once. */

/* Number of causes that are counted; see is_of_many() in stays.c. */
#define REFUSALS_COUNTED_MAX 16

struct refusal {
	enum act_outcome outcome;
	int error; /* with ACT_FAILED */
	uint64_t count; /* of copies */
	char *first; /* path of the first copy; NULL if memory was short */
};

struct refusals {
	const char *verb; /* of the act, for messages: "remove" */
	const struct sources *sources;
	struct refusal counted[REFUSALS_COUNTED_MAX];
	size_t counted_count;
	uint64_t count; /* all refused copies */
};

/* Logs or counts a copy whose act was refused.
 *
 * result	its outcome satisfies act_is_refused()
 */
void refusals_add(struct refusals *refusals, const struct act_file *copy,
		  const struct act_result *result);

/* Returns whether all other copies of the sources would be refused for the same cause. */
bool refusals_concern_all(const struct refusals *refusals, const struct act_result *result);

/* Counts further copies that have the cause of the last copy, which must be a counted one. */
void refusals_add_rest(struct refusals *refusals, const struct act_result *result, uint64_t count);

/* Logs one line for each counted cause, and frees the causes. refusals->count stays. */
void refusals_end(struct refusals *refusals);

/* ---- stays ---------------------------------------------------------------------------------- */

/* Counts the copies that an act leaves for another reason than a rule of the user: their bundle or
 * store, hard links elsewhere, symlinks that lead to them, or a place that something else empties
 * (index/emptied_place.h); and the symlinks that the act breaks. */

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
