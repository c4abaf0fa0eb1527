/* SPDX-License-Identifier: MIT */
#ifndef INDEX_MOUNT_POINT_H
#define INDEX_MOUNT_POINT_H

/* Checks whether a view can be mounted, here and at a mount point; finds mounted views and unmounts
 * them. Any thread. */

#include <stdbool.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "base/bytes.h"
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

/* ---- options of a mount ------------------------------------------------------------ */

/* The classification of mount -o items. Pure code, any thread. */

enum mount_option_kind {
	MOUNT_OPTION_FUSE, /* passed to FUSE by session_new() */
	MOUNT_OPTION_IGNORED, /* generic words of fstab, and options without effect (ro, rw) */
	MOUNT_OPTION_NONEMPTY, /* for mount_point_prepare() */
	MOUNT_OPTION_PASSTHROUGH, /* a setting of the daemon, as are the next four */
	MOUNT_OPTION_TRUSTED_XATTRS,
	MOUNT_OPTION_IO_URING,
	MOUNT_OPTION_SHARED,
	MOUNT_OPTION_AUTO_UNMOUNT,
	MOUNT_OPTION_REFUSED, /* known, but incompatible with a view */
	MOUNT_OPTION_UNKNOWN,
};

/* Classifies one item ("name" or "name=value"). For MOUNT_OPTION_REFUSED, *reason is set to a
 * static message for the user. Options of twinfs itself are unknown here, so the caller must check
 * for them first. */
enum mount_option_kind mount_option_classify(const char *item, const char **reason);

/* ---- obstacles to a mount ---------------------------------------------------------- */

/* Checks whether this process can mount a view at all: the requirements of libfuse on the machine
 * and the user. Mounts and changes nothing, except that opening /dev/fuse makes the kernel load its
 * module. For a process that has not given up privileges; any thread. */

enum mount_obstacle {
	MOUNT_NO_OBSTACLE, /* none that is known */
	MOUNT_NO_DEVICE, /* /dev/fuse does not exist */
	MOUNT_NO_DRIVER, /* /dev/fuse exists, but the kernel has no FUSE module */
	MOUNT_DEVICE_REFUSED, /* this user may not open /dev/fuse */
	MOUNT_DEVICE_FORBIDDEN, /* no user may open /dev/fuse, as in a container */
	MOUNT_NOT_PERMITTED, /* CAP_SYS_ADMIN is unavailable, even for fusermount3 */
	MOUNT_NO_NEW_RIGHTS, /* programs cannot gain privileges, so fusermount3 has none */
	MOUNT_NO_PROGRAM, /* fusermount3 is required, but missing */
	MOUNT_PROGRAM_WITHOUT_RIGHTS, /* fusermount3 is not, or not effectively, set-user-ID */
	MOUNT_NO_TABLE, /* /etc/mtab is missing: fusermount3 could mount, but not unmount */
};

/* Find the first obstacle: to opening /dev/fuse, to mounting by this user, or to either of them. */
enum mount_obstacle mount_obstacle_of_device(void);
enum mount_obstacle mount_obstacle_of_rights(void);
enum mount_obstacle mount_obstacle_find(void);

/* Return the cause and the remedy for the user; both static. */
const char *mount_obstacle_cause(enum mount_obstacle obstacle);
const char *mount_obstacle_remedy(enum mount_obstacle obstacle);

/* Returns whether this process can mount by itself, like root, without fusermount3. */
bool mount_is_privileged(void);

/* Returns the path of the fusermount3 that libfuse uses, or NULL if none is found. The caller frees
 * the path. */
char *mount_program_find(void);

/* ---- unmount ----------------------------------------------------------------------- */

/* Unmounts views, as root or by fusermount3. No request is sent to the view, so this works if its
 * daemon was killed or is stopped. Any thread. */

/* Unmounts the view at its mount point.
 *
 * detach	remove the mount from the tree of files, even if it is in use (MNT_DETACH)
 *
 * Returns 0, -EBUSY if a process uses the view, -EPERM if fusermount3 refuses, -ENOENT if there is
 * no fusermount3, or another -errno. Logs nothing. */
MUST_CHECK int mount_point_unmount(const char *point, bool detach);

/* Processes that keep a view from being unmounted. */
struct mount_users {
	size_t count;
	struct bytes names; /* of the first few: "'bash' (process 17), 'tail' (process 19)" */
	bool inside; /* one of them has its working directory in the view */
	bool only_events; /* all of them only have .twinfs/events open */
	bool unexamined; /* other processes possibly use the view, too */
};

/* Finds the processes that keep a view from being unmounted and that this user may examine
 * (proc(5)). The caller frees users->names in either case. Returns 0 or -errno. */
MUST_CHECK int mount_point_find_users(const char *point, struct mount_users *users);

#endif
