/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_POINT_H
#define MOUNT_POINT_H

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

/* Makes sure that a view can be mounted there: detaches what a killed daemon left behind.
 *
 * given	as the user said it
 * nonempty	a directory with something in it will do
 * absolute	its absolute path without symlinks, also for MOUNT_POINT_SERVED; else NULL. The
 *		caller frees it
 */
MUST_CHECK int mount_point_prepare(const char *given, bool nonempty, char **absolute);

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
