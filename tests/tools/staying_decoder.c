/* SPDX-License-Identifier: MIT */

/* Preloaded into twinfs, has each process that decodes a picture stay when it has written it, as one
 * that a picture has taken over might; with STAYS_SILENT it closes its end of the pipe before. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void stay(void)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): nothing changes the environment */
	if (getenv("STAYS_SILENT"))
		(void)close(STDOUT_FILENO);
	for (;;)
		(void)pause();
}

void _exit(int status)
{
	if (strcmp(program_invocation_name, "twinfs-thumbnail") == 0)
		stay();
	for (;;)
		(void)syscall(SYS_exit_group, status);
}
