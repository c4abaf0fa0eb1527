/* SPDX-License-Identifier: MIT */
#ifndef BASE_INOTIFY_QUEUES_H
#define BASE_INOTIFY_QUEUES_H

/* The inotify instances of processes and their watches, as /proc shows them (proc(5)). Without
 * privileges, a process sees only the instances of processes of its own user that are not
 * set-user-ID. Any thread. Takes milliseconds: some system calls for each process, one for each of
 * its open files, and a line for each watch. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"

/* Callbacks for instances and watches. An instance that several processes share is visited once for
 * each process.
 */
struct inotify_visitor {
	void (*queue)(void *context); /* for each instance; may be NULL */
	void (*watch)(void *context, const char *line); /* line: that of the watch in fdinfo */
	void *context;
};

/* Visits the instances and watches of processes.
 *
 * user	whose processes; NULL: those of all users
 */
void inotify_queues_visit(const uid_t *user, const struct inotify_visitor *visitor);

/* Watched inodes of a device. An inode can be listed more than once. */
struct inotify_watched {
	dev_t device;
	uint64_t *inodes;
	size_t count, capacity; /* up to capacity inodes are added */
};

/* Add the inodes of the device that one process watches, or that any process watches. process can
 * also be the id of a thread.
 */
void inotify_watched_by(pid_t process, struct inotify_watched *watched);
void inotify_watched_by_all(struct inotify_watched *watched);

/* Parses the line of a watch. Sets *inode and returns true if the inode is on the device. Pure
 * code. */
MUST_CHECK bool inotify_watch_parse(const char *line, dev_t device, uint64_t *inode);

#endif
