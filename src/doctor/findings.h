/* SPDX-License-Identifier: MIT */
#ifndef DOCTOR_FINDINGS_H
#define DOCTOR_FINDINGS_H

/* The results of twinfs doctor, in the order in which they were found. One thread. If memory is
 * short, findings_print() returns the error. */

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "base/output.h"

enum verdict {
	VERDICT_OK,
	VERDICT_NOTE, /* a view works, but could work better; or acts would refuse files */
	VERDICT_PROBLEM, /* it prevents a view */
};

struct findings {
	struct printed_finding *list;
	size_t count, capacity;
	size_t notes, problems;
	const char *about; /* subject of the findings that are added next; borrowed */
	const char *path;
	int error; /* -errno if examining failed, or findings were lost; else 0 */
};

void findings_deinit(struct findings *findings);

/* Sets the subject of the next findings ("machine", "source" and so on; static) and its path. The
 * path is borrowed until the next call; NULL: none. */
void findings_about(struct findings *findings, const char *about, const char *path);

/* Returns a path below that of the subject. below: "" for the subject itself. The caller frees the
 * result. If memory is short, returns NULL and records the error. */
char *findings_path_below(struct findings *findings, const char *below);

/* Adds a finding. check: one or two words (static). */
void findings_add(struct findings *findings, enum verdict verdict, const char *check,
		  const char *format, ...) PRINTF_LIKE(4, 5);

/* Adds a remedy to the last finding. Each note and problem must have one. */
void findings_remedy(struct findings *findings, const char *format, ...) PRINTF_LIKE(2, 3);

/* Adds a remedy like findings_remedy(): a command that only root can run, which the text says. */
void findings_remedy_of_root(struct findings *findings, const char *format, ...) PRINTF_LIKE(2, 3);

/* Prints all findings, for people or as JSON. Returns 0, or -errno, which can be
 * findings->error. */
MUST_CHECK int findings_print(const struct findings *findings, struct output *output, bool json);

#endif
