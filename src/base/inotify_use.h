/* SPDX-License-Identifier: MIT */
#ifndef BASE_INOTIFY_USE_H
#define BASE_INOTIFY_USE_H

/* The inotify limits of a user, and the instances and watches of processes (inotify(7), proc(5)).
 *
 * Any thread. Each call reads files of /proc. Without privileges, a process sees only the instances
 * of processes of its own user that are not set-user-ID. To find them takes milliseconds: some
 * system calls for each process, one for each of its open files, and a line for each watch. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "base/bytes.h"

/* A limit and the sysctl that sets it. */
struct inotify_limit {
	uint64_t max; /* UINT64_MAX if it cannot be read */
	const char *setting; /* static, for sysctl(8): "fs.inotify.max_user_watches" */
};

/* Return the maximum of watches and of instances of a user. The sysctl for all users and the one of
 * the user namespace both apply: the lower one is returned. */
struct inotify_limit inotify_watches_max(void);
struct inotify_limit inotify_instances_max(void);

/* Returns the maximum of queued events of an instance. */
struct inotify_limit inotify_events_max(void);

struct inotify_use {
	uint64_t watches;
	uint64_t instances;
};

/* Counts the watches and instances of the processes of a user, as far as this process may see them.
 * Counts an instance once for each process that shares it, so the numbers can be too high. */
void inotify_use_of(uid_t user, struct inotify_use *use);

/* Returns the power of two to which to raise the limit max. It allows `missing` more watches or
 * instances, with a reserve for other programs. */
uint64_t inotify_raised(uint64_t max, uint64_t missing);

/* A watch. */
struct inotify_watch {
	uint64_t inode; /* its number as of stat(2) */
	/* of a FUSE file system, the number of the node (name_to_handle_at(2)); otherwise or if the
	 * kernel does not show it, 0 */
	uint64_t node;
};

/* Watched inodes of a device. An inode can be listed more than once. */
struct inotify_watched {
	dev_t device;
	/* Returns the number to add for a watch; 0: none. */
	uint64_t (*number_of)(const struct inotify_watch *watch);
	struct bytes numbers; /* of uint64_t */
};

/* Add the numbers of the inodes of the device that one process watches, or that any process
 * watches. process can also be the id of a thread. Return 0, or -ENOMEM if some are missing.
 */
MUST_CHECK int inotify_watched_by(pid_t process, struct inotify_watched *watched);
MUST_CHECK int inotify_watched_by_all(struct inotify_watched *watched);

/* Parses the line of a watch. Sets *watch and returns true if the inode is on the device. Pure
 * code. */
MUST_CHECK bool inotify_watch_parse(const char *line, dev_t device, struct inotify_watch *watch);

#endif
