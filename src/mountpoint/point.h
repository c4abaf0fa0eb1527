/* SPDX-License-Identifier: MIT */
#ifndef MOUNTPOINT_POINT_H
#define MOUNTPOINT_POINT_H

/* Whether a view can be mounted somewhere, and which views are mounted. Any thread. */

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"

/* Outcomes that the caller must handle; failures are -errno, logged. */
enum mount_point_outcome {
	MOUNT_POINT_READY = 0,
	MOUNT_POINT_SERVED = 1, /* a live view is mounted there (not logged) */
	MOUNT_POINT_UNFIT = 2, /* logged: missing, no directory, not empty, inside a view ... */
};

/* What a place is to who wants to mount a view there. */
enum mount_point_state {
	MOUNT_POINT_FREE,
	MOUNT_POINT_LIVE, /* a view is mounted there */
	MOUNT_POINT_DEAD, /* one whose daemon was killed */
	MOUNT_POINT_IN_VIEW, /* it lies in one */
	MOUNT_POINT_MISSING,
	MOUNT_POINT_NO_FOLDER,
	MOUNT_POINT_NOT_EMPTY,
	MOUNT_POINT_NOT_YOURS, /* fusermount3 would refuse it, empty or not */
	MOUNT_POINT_UNREACHABLE, /* see error */
};

struct mount_point_judgement {
	enum mount_point_state state;
	int error; /* -errno where the kernel gave one */
	char *absolute; /* its path without symlinks; NULL where it was not found */
	char *view; /* of LIVE, DEAD and IN_VIEW: the mount point of that */
};

/* Says what a place is, as the user named it, and changes nothing. 0; -errno where that cannot be
 * found out. judgement is to be freed in either case. */
MUST_CHECK int mount_point_judge(const char *given, struct mount_point_judgement *judgement);
void mount_point_judgement_free(struct mount_point_judgement *judgement); /* accepts {0} */

/* The same in words that follow on the path, and what to do (static). */
const char *mount_point_cause(enum mount_point_state state);
const char *mount_point_remedy(enum mount_point_state state);

/* Makes sure that a view can be mounted there, as far as that can be said before what a killed
 * daemon left behind is away.
 *
 * given	as the user said it
 * nonempty	a directory with something in it will do
 * absolute	its absolute path without symlinks, also for MOUNT_POINT_SERVED; else NULL. The
 *		caller frees it
 */
MUST_CHECK int mount_point_prepare(const char *given, bool nonempty, char **absolute);

/* Detaches what a killed daemon left behind. Not before the next view can be mounted at once: who
 * looks there until then gets an error, and takes it for no empty folder. 0, MOUNT_POINT_UNFIT where
 * nothing can be mounted on what is below, or -errno; said. */
MUST_CHECK int mount_point_clear(const char *absolute, bool nonempty);

/* The mount points of all views in this mount namespace, dead ones included; a NULL-terminated
 * array for mount_points_free. */
MUST_CHECK int mount_points_list(char ***points);
void mount_points_free(char **points); /* accepts NULL */

/* The mount point of the view that a path lies in.
 *
 * path		borrowed; need not be absolute
 * point	the caller frees it; NULL when the path is in none (also 0)
 *
 * -errno when the path does not exist or cannot be reached. Asks no view anything. */
MUST_CHECK int mount_point_of(const char *path, char **point);

/* Was the daemon of the view mounted there killed? One that stands still was not; it is waited for,
 * for two seconds. */
bool mount_point_is_dead(const char *point);

#endif
