/* SPDX-License-Identifier: MIT */
#include "base/inotify_queues.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* Bits of the minor number in a device number of the kernel. */
#define MINOR_BITS 20

/* Visits the lines "inotify wd:..." of one descriptor. */
static void show_watches(int folder, const char *name, const struct inotify_visitor *visitor)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
	AUTO_FCLOSE FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	char line[256];

	if (!file && fd >= 0)
		(void)close(fd);
	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, "inotify wd:", strlen("inotify wd:")) == 0)
			visitor->watch(visitor->context, line);
	}
}

static bool is_queue(int folder, const char *name)
{
	char target[32] = "";

	return readlinkat(folder, name, target, sizeof(target) - 1) > 0 &&
	       strcmp(target, "anon_inode:inotify") == 0;
}

static void show_process(int process, const struct inotify_visitor *visitor)
{
	AUTO_CLOSE int details = openat(process, "fdinfo", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int fd = openat(process, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSEDIR DIR *files = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!files && fd >= 0)
		(void)close(fd);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is local */
	while (files && details >= 0 && (entry = readdir(files))) {
		if (!is_queue(fd, entry->d_name))
			continue;
		if (visitor->queue)
			visitor->queue(visitor->context);
		show_watches(details, entry->d_name, visitor);
	}
}

void inotify_queues_visit(const uid_t *user, const struct inotify_visitor *visitor)
{
	AUTO_CLOSEDIR DIR *processes = opendir("/proc");
	const struct dirent *entry;

	/* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is local */
	while (processes && (entry = readdir(processes))) {
		AUTO_CLOSE int process = -1;
		struct stat status;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		process =
			openat(dirfd(processes), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (process >= 0 &&
		    (!user || (fstat(process, &status) == 0 && status.st_uid == *user)))
			show_process(process, visitor);
	}
}

/* ---- watched inodes of a device ------------------------------------------------------ */

bool inotify_watch_parse(const char *line, dev_t device, uint64_t *inode)
{
	uint64_t its_device;

	if (sscanf(line, "inotify wd:%*x ino:%" SCNx64 " sdev:%" SCNx64, inode, &its_device) != 2)
		return false;
	return its_device == ((uint64_t)major(device) << MINOR_BITS | minor(device));
}

static void add_watch(void *context, const char *line)
{
	struct inotify_watched *watched = context;

	if (watched->count < watched->capacity)
		watched->count += inotify_watch_parse(line, watched->device,
						      &watched->inodes[watched->count]);
}

void inotify_watched_by(pid_t process, struct inotify_watched *watched)
{
	const struct inotify_visitor visitor = {.watch = add_watch, .context = watched};
	char path[sizeof("/proc/") + 10];
	AUTO_CLOSE int fd = -1;

	(void)snprintf(path, sizeof(path), "/proc/%d", process);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		show_process(fd, &visitor);
}

void inotify_watched_by_all(struct inotify_watched *watched)
{
	const struct inotify_visitor visitor = {.watch = add_watch, .context = watched};

	inotify_queues_visit(NULL, &visitor);
}
