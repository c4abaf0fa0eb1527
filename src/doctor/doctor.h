/* SPDX-License-Identifier: MIT */
#ifndef DOCTOR_DOCTOR_H
#define DOCTOR_DOCTOR_H

/* Examines what prevents a view, or makes it slower, and the remedy: the machine and its user, the
 * sources, the folder of their index, and the mount point. Changes nothing. For the main thread. */

#include <stdint.h>

#include "base/inotify_limits.h"
#include "base/text_list.h"
#include "doctor/findings.h"

struct doctor {
	struct findings findings;
	const char *index; /* the folder that the user named, NULL: none */
	struct inotify_limit watches;
	/* watches that this user still has, after the sources examined so far */
	uint64_t watches_left;
	struct text_list sources; /* absolute paths of the sources that could be examined */
	uint64_t files; /* number of files in them, as far as they were counted */
};

/* Examines everything that does not depend on a folder. */
void doctor_examine_machine(struct doctor *doctor);

/* Examines a source, as the user named it. */
void doctor_examine_source(struct doctor *doctor, const char *given);

/* Examines the folder of the index of the sources that were examined before. */
void doctor_examine_index(struct doctor *doctor);

/* Examines a mount point, or a mounted view. */
void doctor_examine_mount_point(struct doctor *doctor, const char *given);

#endif
