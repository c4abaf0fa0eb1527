/* SPDX-License-Identifier: MIT */
#include "index/unmount.h"

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
#include "base/log.h"
#include "base/path.h"

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

enum use {
	USE_NONE,
	USE_UNKNOWN, /* this user may not examine the process */
	USE_EVENTS, /* only .twinfs/events is open */
	USE_FILES,
};

static enum use use_of_path(const char *path, const char *point)
{
	const char *below = path_below(path, point);

	if (!below)
		return USE_NONE;
	return strcmp(below, ".twinfs/events") == 0 ? USE_EVENTS : USE_FILES;
}

static enum use use_of_link(int directory, const char *link, const char *point)
{
	char target[PATH_MAX];
	ssize_t length = readlinkat(directory, link, target, sizeof(target) - 1);

	if (length <= 0)
		return USE_NONE;
	target[length] = '\0';
	return use_of_path(target, point);
}

static enum use use_of_open_files(int process, const char *point)
{
	int fd = openat(process, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSEDIR DIR *files = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	enum use most = USE_NONE, use;

	if (fd < 0)
		return errno == EACCES || errno == EPERM ? USE_UNKNOWN : USE_NONE;
	if (!files)
		(void)close(fd);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is used by one thread */
	while (most < USE_FILES && files && (entry = readdir(files))) {
		use = use_of_link(fd, entry->d_name, point);
		most = use > most ? use : most;
	}
	return most;
}

/* Returns whether a path in /proc/PID/maps, which has "\\012" for each newline, is in the view. */
static bool is_mapped_path_in(const char *path, const char *point)
{
	static const char newline[] = "\\012";

	for (; *point; point++) {
		if (*point == '\n' && strncmp(path, newline, strlen(newline)) == 0)
			path += strlen(newline);
		else if (*path++ != *point)
			return false;
	}
	return *path == '/';
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

		if (path && is_mapped_path_in(path, point))
			return true;
	}
	return false;
}

static enum use use_by(int process, const char *point)
{
	if (use_of_link(process, "root", point) || has_mapped_file(process, point))
		return USE_FILES;
	return use_of_open_files(process, point);
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

/* Adds the process if it uses the view, with its name if few are named. Returns 0 or -errno. */
static int add_user(int processes, const char *pid, const char *point, struct mount_users *users)
{
	AUTO_CLOSE int process = openat(processes, pid, O_PATH | O_DIRECTORY | O_CLOEXEC);
	enum use use;
	bool inside;

	if (process < 0)
		return 0;
	inside = use_of_link(process, "cwd", point) != USE_NONE;
	use = inside ? USE_FILES : use_by(process, point);
	users->unexamined |= use == USE_UNKNOWN;
	if (use <= USE_UNKNOWN)
		return 0;
	users->only_events = use == USE_EVENTS && (users->count == 0 || users->only_events);
	users->inside |= inside;
	users->count++;
	return users->count > NAMED_MAX ? 0 : append_process(process, pid, &users->names);
}

int mount_point_find_users(const char *point, struct mount_users *users)
{
	AUTO_CLOSEDIR DIR *processes = opendir("/proc");
	const struct dirent *entry;
	int r = 0;

	if (!processes)
		return -errno;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is used by one thread */
	while (r == 0 && (entry = readdir(processes))) {
		if (isdigit((unsigned char)entry->d_name[0]))
			r = add_user(dirfd(processes), entry->d_name, point, users);
	}
	return r;
}
