/* SPDX-License-Identifier: MIT */
#ifndef DOCTOR_DOCTOR_H
#define DOCTOR_DOCTOR_H

/* What stands in the way of a view, or of a faster one, and what to do about it: of the machine and
 * its user, of sources, of the place of their index, of mount points. Nothing is changed. For the
 * first thread. */

#include <stdint.h>

#include "base/attributes.h"
#include "base/inotify_limits.h"
#include "base/text_list.h"
#include "doctor/findings.h"

struct doctor {
	struct findings findings;
	const char *index; /* the folder that the user named, NULL: none */
	struct inotify_limit watches;
	uint64_t watches_left; /* what this user, and sources examined so far, leave */
	struct text_list sources; /* absolute, those that could be examined */
	uint64_t files; /* in them, as far as they were counted */
};

/* Everything that has nothing to do with any folder. */
void doctor_examine_machine(struct doctor *doctor);

/* A source, as the user named it. */
void doctor_examine_source(struct doctor *doctor, const char *given);

/* Where the index of the sources examined before would lie. */
void doctor_examine_index(struct doctor *doctor);

/* Where a view is to be mounted, or is. */
void doctor_examine_mount_point(struct doctor *doctor, const char *given);

#endif
