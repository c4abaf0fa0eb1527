/* SPDX-License-Identifier: MIT */
#ifndef CHOOSE_REFUSALS_H
#define CHOOSE_REFUSALS_H

/* The copies that an act leaves alone, and the messages about them. A cause that concerns a single
 * file is logged at once, with its path. Causes that many files have, such as a full disk, are
 * counted and logged once. One thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "act/act.h"
#include "base/attributes.h"

/* Number of causes that are counted; see is_of_many() in refusals.c. */
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

#endif
