/* SPDX-License-Identifier: MIT */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

/* Examines the machine and its user, the sources, the folder of the index, and the mount point.
 * Finds what prevents a view or makes it slow, or prevents acts on files, and remedies. Changes
 * nothing. For the main thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/inotify_use.h"
#include "base/output.h"
#include "base/text.h"

/* ---- findings -------------------------------------------------------------------------------- */

/* The results, in the order in which they were found. If memory is short, findings_print() returns
 * the error. */

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

/* ---- examining ------------------------------------------------------------------------------- */

struct doctor {
	struct findings findings;
	const char *index; /* the folder that the user named; NULL: none */
	struct inotify_limit watches;
	/* number of watches that this user can still add, after the sources examined so far */
	uint64_t watches_left;
	struct text_list sources; /* absolute paths of the sources that could be examined */
	uint64_t files; /* number of files in these sources, as far as counted */
};

/* Examines everything that does not depend on a folder. */
void doctor_examine_machine(struct doctor *doctor);

/* Examines a source. given: the path that the user named. */
void doctor_examine_source(struct doctor *doctor, const char *given);

/* Examines the folder of the index of the sources that were examined before. */
void doctor_examine_index(struct doctor *doctor);

/* Examines a mount point, or a mounted view. */
void doctor_examine_mount_point(struct doctor *doctor, const char *given);

#endif
