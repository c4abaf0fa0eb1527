/* SPDX-License-Identifier: MIT */
#ifndef BASE_INOTIFY_QUEUES_H
#define BASE_INOTIFY_QUEUES_H

/* Which processes have inotify queues, and what these watch, as /proc tells (proc(5)) of those that
 * this process may look into: one without rights sees what is its user's, and of that not what is
 * set-uid. Any thread. Some system calls for each process, one for each file that it has open, and
 * a line to read for each watch: takes milliseconds. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"

/* Who is shown them. A queue that several processes share is shown for each. */
struct inotify_visitor {
	void (*queue)(void *context); /* each; NULL: not wanted */
	void (*watch)(void *context, const char *line); /* the line that is there for it */
	void *context;
};

/* user		whose processes; NULL: all */
void inotify_queues_visit(const uid_t *user, const struct inotify_visitor *visitor);

/* Inodes of a device that are watched, some perhaps more than once. */
struct inotify_watched {
	dev_t device;
	uint64_t *inodes;
	size_t count, capacity; /* no more than that are found */
};

/* Adds those that one process (or thread, of any) watches; that all do. */
void inotify_watched_by(pid_t process, struct inotify_watched *watched);
void inotify_watched_by_all(struct inotify_watched *watched);

/* The inode that such a line is of, where that is on the device. Pure code. */
MUST_CHECK bool inotify_watch_parse(const char *line, dev_t device, uint64_t *inode);

#endif
