/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_SESSION_ACCESS_H
#define MOUNT_SESSION_ACCESS_H

/* How a view is kept from being written, beyond that whatever would change it fails (EROFS). The
 * second and the third way leave room for nudges (mount/watcher_event.h). */
enum session_access {
	SESSION_READ_ONLY, /* the file system is read-only */
	SESSION_OPENED, /* it is until somebody watches, and the mount that is seen always: of
			 * root, alone */
	SESSION_REFUSING, /* by nothing else, and rights are for the daemon to judge: of a plain
			   * user, alone */
};

#endif
