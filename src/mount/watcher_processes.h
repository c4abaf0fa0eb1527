/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_WATCHER_PROCESSES_H
#define MOUNT_WATCHER_PROCESSES_H

/* Processes that looked at the view lately, so that they may have begun to watch it. One thread. */

#include <stddef.h>
#include <sys/types.h>

/* As many as are remembered: those that were added last. */
#define WATCHER_PROCESSES_MAX 16

/* All zero: none. */
struct watcher_processes {
	pid_t processes[WATCHER_PROCESSES_MAX]; /* 0: none */
	size_t next; /* the place of the next new one */
};

/* Adds the process that a thread is of, unless it is there; nothing where the thread has ended. */
void watcher_processes_add(struct watcher_processes *watcher_processes, pid_t thread);

#endif
