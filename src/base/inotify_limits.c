/* SPDX-License-Identifier: MIT */
#include "base/inotify_limits.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/attributes.h"

/* A limit is raised to no less. */
#define RAISED_MIN 65536

static uint64_t read_limit(const char *path)
{
	AUTO_FCLOSE FILE *file = fopen(path, "re");
	char text[32] = "";

	if (!file || !fgets(text, sizeof(text), file))
		return UINT64_MAX;
	return strtoull(text, NULL, 10);
}

static struct inotify_limit lower(struct inotify_limit a, struct inotify_limit b)
{
	return b.max < a.max ? b : a;
}

struct inotify_limit inotify_watches_max(void)
{
	const struct inotify_limit all = {read_limit("/proc/sys/fs/inotify/max_user_watches"),
					  "fs.inotify.max_user_watches"};
	const struct inotify_limit here = {read_limit("/proc/sys/user/max_inotify_watches"),
					   "user.max_inotify_watches"};

	return lower(all, here);
}

struct inotify_limit inotify_instances_max(void)
{
	const struct inotify_limit all = {read_limit("/proc/sys/fs/inotify/max_user_instances"),
					  "fs.inotify.max_user_instances"};
	const struct inotify_limit here = {read_limit("/proc/sys/user/max_inotify_instances"),
					   "user.max_inotify_instances"};

	return lower(all, here);
}

struct inotify_limit inotify_events_max(void)
{
	return (struct inotify_limit){read_limit("/proc/sys/fs/inotify/max_queued_events"),
				      "fs.inotify.max_queued_events"};
}

/* ---- what is taken ------------------------------------------------------------------- */

/* The lines "inotify wd:..." of one descriptor. */
static uint64_t count_watches(int folder, const char *name)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
	AUTO_FCLOSE FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	uint64_t count = 0;
	char line[256];

	if (!file && fd >= 0)
		(void)close(fd);
	while (file && fgets(line, sizeof(line), file))
		count += strncmp(line, "inotify wd:", strlen("inotify wd:")) == 0;
	return count;
}

static bool is_inotify(int folder, const char *name)
{
	char target[32] = "";

	return readlinkat(folder, name, target, sizeof(target) - 1) > 0 &&
	       strcmp(target, "anon_inode:inotify") == 0;
}

/* Adds what a process has. Of several that share an instance, each is counted: rather too many. */
static void add_process(int process, struct inotify_use *use)
{
	AUTO_CLOSE int details = openat(process, "fdinfo", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int fd = openat(process, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSEDIR DIR *files = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!files && fd >= 0)
		(void)close(fd);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): nobody else has it */
	while (files && details >= 0 && (entry = readdir(files))) {
		if (!is_inotify(fd, entry->d_name))
			continue;
		use->instances++;
		use->watches += count_watches(details, entry->d_name);
	}
}

void inotify_use_of(uid_t user, struct inotify_use *use)
{
	AUTO_CLOSEDIR DIR *processes = opendir("/proc");
	const struct dirent *entry;

	*use = (struct inotify_use){0};
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): nobody else has it */
	while (processes && (entry = readdir(processes))) {
		AUTO_CLOSE int process = -1;
		struct stat status;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		process =
			openat(dirfd(processes), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (process >= 0 && fstat(process, &status) == 0 && status.st_uid == user)
			add_process(process, use);
	}
}

uint64_t inotify_raised(uint64_t max, uint64_t missing)
{
	uint64_t wanted = (max == UINT64_MAX ? 0 : max) + 2 * missing, number = RAISED_MIN;

	while (number < wanted)
		number *= 2;
	return number;
}
