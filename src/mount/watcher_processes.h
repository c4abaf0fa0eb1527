/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_WATCHER_PROCESSES_H
#define MOUNT_WATCHER_PROCESSES_H

/* Processes with recent requests, which can have begun to watch folders of the view. One thread. */

#include <stddef.h>
#include <sys/types.h>

/* Maximum number of processes. A further process replaces the oldest. */
#define WATCHER_PROCESSES_MAX 16

/* All zero: empty. */
struct watcher_processes {
	pid_t processes[WATCHER_PROCESSES_MAX]; /* 0: none */
	size_t next; /* slot of the next new process */
};

/* Adds the process of a thread, unless the process is listed already or the thread has ended. */
void watcher_processes_add(struct watcher_processes *watcher_processes, pid_t thread);

#endif
