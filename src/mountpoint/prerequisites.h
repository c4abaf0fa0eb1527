/* SPDX-License-Identifier: MIT */
#ifndef MOUNTPOINT_PREREQUISITES_H
#define MOUNTPOINT_PREREQUISITES_H

/* Whether this process can mount a view at all, wherever: what a mount by libfuse needs of the
 * machine and the user. Nothing is mounted or changed (but that opening /dev/fuse has the kernel
 * load its module). For a process that did not give up rights; any thread. */

#include <stdbool.h>

enum mount_obstacle {
	MOUNT_NO_OBSTACLE, /* that is known */
	MOUNT_NO_DEVICE, /* there is no /dev/fuse */
	MOUNT_NO_DRIVER, /* it is there, and no module behind it */
	MOUNT_DEVICE_REFUSED, /* this user may not open it */
	MOUNT_DEVICE_FORBIDDEN, /* nobody may: a container does not let its users */
	MOUNT_NOT_PERMITTED, /* CAP_SYS_ADMIN cannot be had, not by fusermount3 either */
	MOUNT_NO_NEW_RIGHTS, /* programs cannot gain rights, so that fusermount3 has none */
	MOUNT_NO_PROGRAM, /* needs fusermount3, which is nowhere */
	MOUNT_PROGRAM_WITHOUT_RIGHTS, /* it is not set-uid, or on a file system where that is off */
	MOUNT_NO_TABLE, /* fusermount3 could mount, but never unmount, without /etc/mtab */
};

/* What stands in the way: of opening /dev/fuse, of mounting what was opened, and of the two the
 * first one. */
enum mount_obstacle mount_obstacle_of_device(void);
enum mount_obstacle mount_obstacle_of_rights(void);
enum mount_obstacle mount_obstacle_find(void);

/* In words for the user: what it is, and what to do (static). */
const char *mount_obstacle_cause(enum mount_obstacle obstacle);
const char *mount_obstacle_remedy(enum mount_obstacle obstacle);

/* May this process mount by itself, as root can; or does it need fusermount3? */
bool mount_is_privileged(void);

/* Where libfuse finds fusermount3, for the caller to free; NULL: nowhere. */
char *mount_program_find(void);

#endif
