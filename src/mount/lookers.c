/* SPDX-License-Identifier: MIT */
#include "mount/lookers.h"

#include <stdio.h>

#include "base/attributes.h"

/* 0: there is no such thread. */
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

void lookers_add(struct lookers *lookers, pid_t thread)
{
	pid_t process = process_of(thread);

	if (process == 0)
		return;
	for (size_t i = 0; i < LOOKERS_MAX; i++) {
		if (lookers->processes[i] == process)
			return;
	}
	lookers->processes[lookers->next] = process;
	lookers->next = (lookers->next + 1) % LOOKERS_MAX;
}
