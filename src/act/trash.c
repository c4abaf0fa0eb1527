/* SPDX-License-Identifier: MIT */

/* Into the desktop's trash: gio(1) knows where that is on each file system, and how file managers
 * bring back what is in it. It takes a path, so another file that took it in that moment would be
 * in the trash, too; nothing is lost by that. */

#include <errno.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "act/internal.h"

static int run_gio(char *path)
{
	char program[] = "gio", verb[] = "trash", end_of_options[] = "--";
	char *arguments[] = {program, verb, end_of_options, path, NULL};
	pid_t pid;
	int status, r = posix_spawnp(&pid, program, NULL, NULL, arguments, environ);

	if (r != 0)
		return -r;
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -ECANCELED;
}

void deed_trash(struct deed *deed)
{
	const struct act_file *file = deed->copy.file;
	struct bytes path CLEANUP_BYTES = {0};
	int r;

	if (!deed_verify(deed))
		return;
	r = source_absolute_path(deed->settings->sources, file->source, file->path, &path);
	if (r == 0)
		r = bytes_text(&path) ? run_gio((char *)path.data) : -ENOMEM;
	if (r == 0 &&
	    place_leads_to(&deed->copy.place, deed->copy.place.name, &deed->copy.held.status))
		r = -ECANCELED;
	deed->result->outcome = ACT_DONE;
	if (r == -ENOENT)
		deed->result->outcome = ACT_NO_GIO;
	else if (r == -ECANCELED)
		deed->result->outcome = ACT_NO_TRASH;
	else if (r < 0)
		deed_fail(deed, r);
}
