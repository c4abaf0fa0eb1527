/* SPDX-License-Identifier: MIT */
#ifndef INDEX_MOUNT_POINT_H
#define INDEX_MOUNT_POINT_H

/* Checks whether a view can be mounted at a mount point, and finds mounted views. Any thread. */

#include <stdbool.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "base/text.h"

/* Outcomes of mount_point_prepare() and mount_point_clear(). */
enum mount_point_outcome {
	MOUNT_POINT_READY = 0,
	MOUNT_POINT_SERVED = 1, /* a live view is mounted there (not logged) */
	MOUNT_POINT_UNFIT = 2, /* logged: missing, no directory, not empty, inside a view ... */
};

/* The state of a possible mount point. */
enum mount_point_state {
	MOUNT_POINT_FREE,
	MOUNT_POINT_LIVE, /* a view is mounted there */
	MOUNT_POINT_DEAD, /* a view is mounted there, but its daemon was killed */
	MOUNT_POINT_IN_VIEW, /* it is inside a view */
	MOUNT_POINT_MISSING,
	MOUNT_POINT_NO_FOLDER,
	MOUNT_POINT_NOT_EMPTY,
	MOUNT_POINT_NOT_YOURS, /* fusermount3 would refuse the directory, even if it is empty */
	MOUNT_POINT_UNREACHABLE, /* the cause is in error */
};

struct mount_point_judgement {
	enum mount_point_state state;
	int error; /* -errno of the kernel, or 0 */
	char *absolute; /* absolute path without symlinks; NULL if not found */
	char *view; /* mount point of the view; for LIVE, DEAD and IN_VIEW */
};

/* Finds the state of a mount point, given as the user wrote it. Waits for a view like
 * mount_point_is_dead(). Changes and logs nothing. Returns 0 or -errno; the caller frees judgement
 * in either case. */
MUST_CHECK int mount_point_judge(const char *given, struct mount_point_judgement *judgement);
void mount_point_judgement_free(struct mount_point_judgement *judgement); /* accepts {0} */

/* Return a cause, to be appended to the path, and a remedy; both static. */
const char *mount_point_cause(enum mount_point_state state);
const char *mount_point_remedy(enum mount_point_state state);

/* Checks that a view can be mounted at a mount point. The mount of a killed daemon is not removed
 * yet, so the directory below it is not checked.
 *
 * given	as the user wrote it
 * nonempty	accept a directory that is not empty
 * absolute	set to the absolute path without symlinks, which the caller frees; NULL for
 *		MOUNT_POINT_UNFIT and failures
 *
 * Returns an outcome, or -errno, logged.
 */
MUST_CHECK int mount_point_prepare(const char *given, bool nonempty, char **absolute);

/* Detaches the mount of a killed daemon, if one is mounted there. Call it only when the next view
 * can be mounted at once: until then, programs get an error there, and do not see an empty folder.
 * Returns 0, MOUNT_POINT_UNFIT if the mount cannot be detached or the directory below it is unfit,
 * or -errno. Failures are logged.
 */
MUST_CHECK int mount_point_clear(const char *absolute, bool nonempty);

/* Adds the mount points of all views in this mount namespace, including dead ones. Returns 0 or
 * -errno. */
MUST_CHECK int mount_points_list(struct text_list *points);

/* Finds the mount point of the view that contains a path. The mount point itself is found without a
 * request to the view.
 *
 * path		borrowed; can be relative
 * point	set to a string that the caller frees, or to NULL if the path is in no view
 *
 * Returns 0, or -errno if the path does not exist or cannot be reached. */
MUST_CHECK int mount_point_of(const char *path, char **point);

/* Returns the device number of the file system at a path, or 0 if unknown. Sends no request to that
 * file system. */
dev_t mount_point_device(const char *point);

/* Returns whether the daemon of the view mounted there was killed. Waits up to two seconds for a
 * daemon that does not respond; such a daemon is not dead. */
bool mount_point_is_dead(const char *point);

#endif
