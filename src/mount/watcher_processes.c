/* SPDX-License-Identifier: MIT */
#include "mount/watcher_processes.h"

#include <stdio.h>

#include "base/attributes.h"

/* Returns the process of a thread, or 0 if there is no such thread. */
static pid_t process_of(pid_t thread)
{
	char path[sizeof("/proc//status") + 10], line[256];
	AUTO_FCLOSE FILE *file = NULL;
	int process = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", thread);
	file = fopen(path, "re");
	while (process == 0 && file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "Tgid: %d", &process) != 1)
			process = 0;
	}
	return process;
}

void watcher_processes_add(struct watcher_processes *watcher_processes, pid_t thread)
{
	pid_t process = process_of(thread);

	if (process == 0)
		return;
	for (size_t i = 0; i < WATCHER_PROCESSES_MAX; i++) {
		if (watcher_processes->processes[i] == process)
			return;
	}
	watcher_processes->processes[watcher_processes->next] = process;
	watcher_processes->next = (watcher_processes->next + 1) % WATCHER_PROCESSES_MAX;
}
