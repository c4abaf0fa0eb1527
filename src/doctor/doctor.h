/* SPDX-License-Identifier: MIT */
#ifndef DOCTOR_DOCTOR_H
#define DOCTOR_DOCTOR_H

/* Examines the machine and its user, the sources, the folder of the index, and the mount point.
 * Finds what prevents a view or makes it slow, or prevents acts on files, and remedies. Changes
 * nothing. For the main thread. */

#include <stdint.h>

#include "base/inotify_use.h"
#include "base/text_list.h"
#include "doctor/findings.h"

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
