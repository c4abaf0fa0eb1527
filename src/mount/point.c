/* SPDX-License-Identifier: MIT */
#include "mount/point.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/log.h"
#include "base/patience.h"
#include "base/quote.h"
#include "mount/table.h"

/* So many dead mounts on top of each other are detached before we give up. */
#define DEAD_MOUNTS_MAX 64

/* A daemon that has not said after so long how large its view is stands still, and is not dead. */
#define PATIENCE_MS 2000

/* The absolute path, without symlinks, of anything that can be looked up; works on a dead mount,
 * which answers nothing: the kernel knows the path by itself. */
static int resolve(const char *given, int flags, char **absolute)
{
	AUTO_CLOSE int fd = open(given, O_PATH | O_CLOEXEC | flags);
	char link[sizeof("/proc/self/fd/") + 10], path[PATH_MAX];
	ssize_t length;

	if (fd < 0)
		return -errno;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path));
	if (length < 0)
		return -errno;
	if ((size_t)length == sizeof(path))
		return -ENAMETOOLONG;
	*absolute = strndup(path, (size_t)length);
	return *absolute ? 0 : -ENOMEM;
}

static int ask_for_figures(void *context)
{
	struct statvfs figures;

	return statvfs(context, &figures) == 0 ? 0 : -errno;
}

bool mount_point_is_dead(const char *point)
{
	int r = ask_with_patience(ask_for_figures, (void *)(uintptr_t)point, -1, PATIENCE_MS);

	return r == -ENOTCONN || r == -ECONNABORTED;
}

/* ---- which views are mounted --------------------------------------------------------- */

int mount_points_list(char ***points)
{
	struct mount_table table CLEANUP_TABLE = {0};
	size_t count = 0;
	char **list;
	int r = mount_table_read(&table);

	if (r < 0)
		return r;
	list = calloc(table.count + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < table.count; i++) {
		if (mount_entry_is_view(&table.entries[i]))
			list[count++] = TAKE(table.entries[i].point);
	}
	*points = list;
	return 0;
}

void mount_points_free(char **points)
{
	for (char **point = points; point && *point; point++)
		free(*point);
	free(points);
}

/* The same for an absolute path without symlinks. */
static int point_of_absolute(const char *absolute, char **point)
{
	struct mount_table table CLEANUP_TABLE = {0};
	const struct mount_entry *entry;
	int r = mount_table_read(&table);

	*point = NULL;
	if (r < 0)
		return r;
	entry = mount_table_covering(&table, absolute);
	if (!entry || !mount_entry_is_view(entry))
		return 0;
	*point = strdup(entry->point);
	return *point ? 0 : -ENOMEM;
}

int mount_point_of(const char *path, char **point)
{
	AUTO_FREE char *absolute = NULL;
	int r = resolve(path, 0, &absolute);

	*point = NULL;
	return r < 0 ? r : point_of_absolute(absolute, point);
}

/* ---- making a place ready ------------------------------------------------------------ */

/* Asks the setuid program for what only root may do. */
static int detach_by_fusermount(char *point)
{
	char program[] = "fusermount3", options[] = "-uzq", end[] = "--";
	char *arguments[] = {program, options, end, point, NULL};
	pid_t pid;
	int status, r = posix_spawnp(&pid, arguments[0], NULL, NULL, arguments, environ);

	if (r)
		return -r;
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EPERM;
}

static int detach(char *point)
{
	int r;

	if (umount2(point, MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
		r = 0;
	else
		r = errno == EPERM ? detach_by_fusermount(point) : -errno;
	if (r < 0) {
		log_error("cannot detach the dead mount on %s: %s; unmount it first",
			  quote_path(point), error_text(r));
		return MOUNT_POINT_UNFIT;
	}
	log_info("detached the dead mount of a killed twinfs from %s", quote_path(point));
	return 0;
}

/* Takes away what killed daemons left there. 0, MOUNT_POINT_SERVED, MOUNT_POINT_UNFIT or -errno. */
static int clear_point(char *absolute)
{
	for (int i = 0; i < DEAD_MOUNTS_MAX; i++) {
		AUTO_FREE char *point = NULL;
		int r = point_of_absolute(absolute, &point);

		if (r < 0 || !point)
			return r;
		if (strcmp(point, absolute) != 0) {
			log_error("%s lies inside the view mounted on %s: choose another mount "
				  "point",
				  quote_path(absolute), quote_path(point));
			return MOUNT_POINT_UNFIT;
		}
		if (!mount_point_is_dead(point))
			return MOUNT_POINT_SERVED;
		r = detach(point);
		if (r)
			return r;
	}
	log_error("too many dead mounts on %s: unmount them first", quote_path(absolute));
	return MOUNT_POINT_UNFIT;
}

/* 0 for a directory without names, or -errno: -ENOTEMPTY. */
static int check_empty(const char *absolute)
{
	AUTO_CLOSEDIR DIR *directory = opendir(absolute);
	const struct dirent *entry;

	if (!directory)
		return -errno;
	do {
		errno = 0;
		entry = readdir(directory); // NOLINT(concurrency-mt-unsafe): nobody else has it
	} while (entry && is_dots(entry->d_name));
	return entry ? -ENOTEMPTY : -errno;
}

/* Says in one line what is wrong with a mount point, and what to do. */
static int explain(const char *given, int error)
{
	const char *quoted = quote_path(given);

	switch (error) {
	case -ENOENT:
		log_error("mount point %s does not exist: make the folder first", quoted);
		break;
	case -ENOTDIR:
		log_error("mount point %s is not a folder", quoted);
		break;
	case -ENOTEMPTY:
		log_error("mount point %s is not empty: choose an empty folder, or give -o "
			  "nonempty to hide what is in it",
			  quoted);
		break;
	default:
		log_error("cannot mount on %s: %s", quoted, error_text(error));
		break;
	}
	return MOUNT_POINT_UNFIT;
}

int mount_point_prepare(const char *given, bool nonempty, char **absolute)
{
	AUTO_FREE char *path = NULL;
	int r = resolve(given, O_DIRECTORY, &path);

	*absolute = NULL;
	if (r < 0 || !path)
		return r == -ENOMEM ? r : explain(given, r);
	r = clear_point(path);
	if (r < 0)
		log_error("cannot read /proc/self/mountinfo: %s", error_text(r));
	if (r < 0 || r == MOUNT_POINT_UNFIT)
		return r;
	if (r == 0 && !nonempty) {
		int empty = check_empty(path);

		if (empty < 0)
			return explain(given, empty);
	}
	*absolute = TAKE(path);
	return r;
}
