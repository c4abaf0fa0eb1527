/* SPDX-License-Identifier: MIT */
#include "mountpoint/unmount.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/path.h"
#include "base/quote.h"

/* Maximum number of processes that are named: a message must stay readable. */
#define NAMED_MAX 4

/* ---- unmounting ---------------------------------------------------------------------- */

/* Returns whether the messages of fusermount3 have the text of EBUSY. It prints them in English
 * (fusermount3 sets no locale), and its exit status is the same for each failure. */
static bool reports_busy(int messages)
{
	char text[PATH_MAX + 256] = "";

	return read_fully_at(messages, text, sizeof(text) - 1, 0) > 0 &&
	       strstr(text, error_text(EBUSY));
}

static int run_fusermount(char *const arguments[], int messages)
{
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int status;
	int r = posix_spawn_file_actions_init(&actions);

	if (r != 0)
		return -r;
	r = posix_spawn_file_actions_adddup2(&actions, messages, STDERR_FILENO);
	if (r == 0)
		r = posix_spawnp(&pid, arguments[0], &actions, NULL, arguments, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	if (r != 0)
		return -r;
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EPERM;
}

/* Unmounts by the setuid program fusermount3: only root can do this directly. */
static int unmount_by_fusermount(const char *point, bool detach)
{
	AUTO_CLOSE int messages = memfd_create("fusermount3", MFD_CLOEXEC);
	AUTO_FREE char *operand = strdup(point);
	char program[] = "fusermount3", unmount[] = "-u", lazily[] = "-uz", end[] = "--";
	char *arguments[] = {program, detach ? lazily : unmount, end, operand, NULL};
	int r;

	if (messages < 0 || !operand)
		return -errno;
	r = run_fusermount(arguments, messages);
	return r == -EPERM && reports_busy(messages) ? -EBUSY : r;
}

int mount_point_unmount(const char *point, bool detach)
{
	int flags = UMOUNT_NOFOLLOW | (detach ? MNT_DETACH : 0);
	int r = umount2(point, flags) < 0 ? -errno : 0;

	return r == -EPERM ? unmount_by_fusermount(point, detach) : r;
}

/* ---- the processes that use a view ---------------------------------------------------- */

static bool leads_into(int directory, const char *link, const char *point)
{
	char target[PATH_MAX];
	ssize_t length = readlinkat(directory, link, target, sizeof(target) - 1);

	if (length <= 0)
		return false;
	target[length] = '\0';
	return path_below(target, point);
}

static bool has_open_file(int process, const char *point)
{
	int fd = openat(process, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSEDIR DIR *files = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!files && fd >= 0)
		(void)close(fd);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is used by one thread */
	while (files && (entry = readdir(files))) {
		if (leads_into(fd, entry->d_name, point))
			return true;
	}
	return false;
}

/* Returns whether a file of the view is mapped into the memory of the process. */
static bool has_mapped_file(int process, const char *point)
{
	int fd = openat(process, "maps", O_RDONLY | O_CLOEXEC);
	AUTO_FCLOSE FILE *maps = fd < 0 ? NULL : fdopen(fd, "re");
	AUTO_FREE char *line = NULL;
	size_t size = 0;

	if (!maps && fd >= 0)
		(void)close(fd);
	while (maps && getline(&line, &size, maps) > 0) {
		const char *path = strchr(line, '/');

		if (path && path_below(path, point))
			return true;
	}
	return false;
}

static bool uses(int process, const char *point)
{
	return leads_into(process, "root", point) ||
	       has_open_file(process, point) || has_mapped_file(process, point);
}

/* Appends a process. */
static int append_process(int process, const char *pid, struct bytes *text)
{
	AUTO_CLOSE int fd = openat(process, "comm", O_RDONLY | O_CLOEXEC);
	char name[64] = "";

	if (fd < 0 || read_fully_at(fd, name, sizeof(name) - 1, 0) < 0)
		return 0; /* it has ended */
	name[strcspn(name, "\n")] = '\0';
	return bytes_format(text, "%s%s (process %s)", text->length > 0 ? ", " : "",
			    quote_path(name), pid);
}

/* Appends the process if it uses the view. Returns whether it does, or -errno. */
static int name_user(int processes, const char *pid, const char *point, struct mount_users *users)
{
	AUTO_CLOSE int process = openat(processes, pid, O_PATH | O_DIRECTORY | O_CLOEXEC);
	bool inside;
	int r;

	if (process < 0)
		return 0;
	inside = leads_into(process, "cwd", point);
	if (!inside && !uses(process, point))
		return 0;
	users->inside |= inside;
	r = append_process(process, pid, &users->names);
	return r < 0 ? r : 1;
}

int mount_point_name_users(const char *point, struct mount_users *users)
{
	AUTO_CLOSEDIR DIR *processes = opendir("/proc");
	const struct dirent *entry;
	int named = 0, r = 0;

	if (!processes)
		return -errno;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is used by one thread */
	while (r >= 0 && named < NAMED_MAX && (entry = readdir(processes))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		r = name_user(dirfd(processes), entry->d_name, point, users);
		named += r > 0;
	}
	return r < 0 ? r : 0;
}
