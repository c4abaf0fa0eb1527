/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_LOOKERS_H
#define MOUNT_LOOKERS_H

/* Processes that looked at the view lately, so that they may have begun to watch it. One thread. */

#include <stddef.h>
#include <sys/types.h>

/* As many as are remembered: those that were added last. */
#define LOOKERS_MAX 16

/* All zero: none. */
struct lookers {
	pid_t processes[LOOKERS_MAX]; /* 0: none */
	size_t next; /* the place of the next new one */
};

/* Adds the process that a thread is of, unless it is there; nothing where the thread has ended. */
void lookers_add(struct lookers *lookers, pid_t thread);

#endif
