/* SPDX-License-Identifier: MIT */
#include "ingest/census.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/descriptor.h"

/* Maximum number of regular files in each directory whose owner is checked. */
#define SAMPLES 4

/* Number of names of a directory after which the clock is read. */
#define NAMES_PER_CHECK 256

/* A stack of paths that are still to be listed, relative to the root. The walk is depth first, so
 * that few paths wait. */
struct counting {
	struct census *census;
	const struct census_limits *limits;
	uint64_t end_ns;
	char **waiting;
	size_t count, capacity;
};

static void counting_free(struct counting *counting)
{
	for (size_t i = 0; i < counting->count; i++)
		free(counting->waiting[i]);
	free(counting->waiting);
}

static int wait_for(struct counting *counting, const char *folder, const char *name)
{
	char *path;

	if (array_reserve(&counting->waiting, &counting->capacity, counting->count + 1,
			  sizeof(*counting->waiting)) < 0 ||
	    asprintf(&path, "%s%s%s", folder, folder[0] ? "/" : "", name) < 0)
		return -ENOMEM;
	counting->waiting[counting->count++] = path;
	return 0;
}

/* Returns true if the limit of names is reached. Waiting directories count as names, so the stack
 * never has more paths than this limit. */
static bool is_over(const struct counting *counting)
{
	const struct census *census = counting->census;

	return census->directories + census->files + counting->count >= counting->limits->names;
}

static bool is_late(const struct counting *counting)
{
	return clock_monotonic_ns() >= counting->end_ns;
}

static void sample(struct census *census, int folder, const char *name)
{
	struct stat status;

	if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	census->sampled++;
	census->foreign += status.st_uid != geteuid();
}

/* Returns the type of a name, even if the file system does not report types in listings. */
static unsigned char type_of(int folder, const struct dirent *entry)
{
	struct stat status;

	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type;
	if (fstatat(folder, entry->d_name, &status, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
		return DT_UNKNOWN;
	return (unsigned char)IFTODT(status.st_mode);
}

/* Returns 0, 1 if a limit is reached, or -ENOMEM. */
static int count_names(struct counting *counting, DIR *directory, const char *path)
{
	struct census *census = counting->census;
	uint64_t samples = census->sampled + SAMPLES;
	const struct dirent *entry;
	unsigned int names = 0;
	int r = 0;

	/* NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread has this DIR */
	while (r == 0 && (entry = readdir(directory))) {
		unsigned char type;

		if (is_dots(entry->d_name))
			continue;
		type = type_of(dirfd(directory), entry);
		if (type == DT_DIR)
			r = wait_for(counting, path, entry->d_name);
		else
			census->files++;
		if (type == DT_REG && census->sampled < samples)
			sample(census, dirfd(directory), entry->d_name);
		if (r == 0)
			r = is_over(counting) ||
			    (++names % NAMES_PER_CHECK == 0 && is_late(counting));
	}
	return r;
}

/* Counts one directory. A mount point inside the tree is skipped. */
static int count_directory(struct counting *counting, int root, const char *path)
{
	int fd = open_beneath_for_reading(root, path, O_DIRECTORY, false);
	AUTO_CLOSEDIR DIR *directory = fd < 0 ? NULL : fdopendir(fd);

	if (fd == -EXDEV)
		return 0;
	counting->census->directories++;
	if (!directory) {
		counting->census->unreadable++;
		if (fd >= 0)
			(void)close(fd);
		return 0;
	}
	return count_names(counting, directory, path);
}

int census_take(int directory, const struct census_limits *limits, struct census *census)
{
	CLEANUP(counting_free)
	struct counting counting = {
		.census = census,
		.limits = limits,
		.end_ns = clock_monotonic_ns() + limits->milliseconds * MS_NS,
	};
	int r;

	*census = (struct census){0};
	r = count_directory(&counting, directory, "");
	while (r == 0 && counting.count > 0) {
		AUTO_FREE char *path = counting.waiting[--counting.count];

		r = is_late(&counting) ? 1 : count_directory(&counting, directory, path);
	}
	census->complete = r == 0;
	return r < 0 ? r : 0;
}
