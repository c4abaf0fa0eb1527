/* SPDX-License-Identifier: MIT */
#ifndef DOCTOR_FINDINGS_H
#define DOCTOR_FINDINGS_H

/* What a check of the machine found, kept in the order in which it was found, and printed. One
 * thread.
 *
 * What lacks memory is told at the end, by findings_print(). */

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "base/output.h"

enum verdict {
	VERDICT_OK,
	VERDICT_NOTE, /* it works, and could work better */
	VERDICT_PROBLEM, /* it stands in the way */
};

struct findings {
	struct finding *list;
	size_t count, capacity;
	size_t notes, problems;
	const char *about; /* of what is added next; borrowed */
	const char *path;
	int error; /* the first, -errno */
};

void findings_deinit(struct findings *findings);
#define CLEANUP_FINDINGS CLEANUP(findings_deinit)

/* What is added from here on is about this ("machine", "source" ...; static), at this path, which
 * is borrowed until the next call; NULL: it has none. */
void findings_about(struct findings *findings, const char *about, const char *path);

/* Adds one: check is a word or two (static). */
void findings_add(struct findings *findings, enum verdict verdict, const char *check,
		  const char *format, ...) PRINTF_LIKE(4, 5);

/* What to do about the last one: each note and problem has that. */
void findings_remedy(struct findings *findings, const char *format, ...) PRINTF_LIKE(2, 3);

/* Prints all of them, for people or as JSON. 0 or -errno. */
MUST_CHECK int findings_print(const struct findings *findings, struct output *output, bool json);

#endif
