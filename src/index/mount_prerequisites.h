/* SPDX-License-Identifier: MIT */
#ifndef INDEX_MOUNT_PREREQUISITES_H
#define INDEX_MOUNT_PREREQUISITES_H

/* Checks whether this process can mount a view at all: the requirements of libfuse on the machine
 * and the user. Mounts and changes nothing, except that opening /dev/fuse makes the kernel load its
 * module. For a process that has not given up privileges; any thread. */

#include <stdbool.h>

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

#endif
