/* SPDX-License-Identifier: MIT */
#ifndef VIEW_FOLLOW_OPENING_WATCH_H
#define VIEW_FOLLOW_OPENING_WATCH_H

/* Notices that a program opens or reads one of some files. The watch is on the inode, so it notices
 * a program that reads the file by another path or mount, such as the server of a network file
 * system. The kernel adds the event before the open of that program returns. Not shared between
 * threads. A watch must begin as OPENING_WATCH_CLOSED. */

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"

struct opening_watch {
	int fd; /* inotify; -1: not open yet */
	int *numbers; /* of the kernel, for each file */
	size_t count, capacity;
};

#define OPENING_WATCH_CLOSED ((struct opening_watch){.fd = -1})

void opening_watch_close(struct opening_watch *watch);

/* Watches one more file.
 *
 * fd	of the file, can be O_PATH; the caller must be allowed to read the file
 *
 * Returns 0 or -errno; -ENOSPC if the user has too many watches. */
MUST_CHECK int opening_watch_add(struct opening_watch *watch, int fd);

/* Watches no file, and forgets the events. */
void opening_watch_clear(struct opening_watch *watch);

/* Forgets the events so far. Returns whether there was one: a program opened or read a file, or
 * events were lost, or they cannot be read. */
bool opening_watch_take(struct opening_watch *watch);

#endif
