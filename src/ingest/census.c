/* SPDX-License-Identifier: MIT */
#include "ingest/census.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/directory.h"

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
	/* fields of the directory that is being listed */
	const char *path;
	uint64_t samples_end; /* census->sampled may reach this number */
	unsigned int names;
};

static void counting_free(struct counting *counting)
{
	for (size_t i = 0; i < counting->count; i++)
		free(counting->waiting[i]);
	free(counting->waiting);
}

static int wait_for(struct counting *counting, const char *name)
{
	const char *folder = counting->path;
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
static int count_name(void *context, int directory, const struct dirent *entry)
{
	struct counting *counting = context;
	struct census *census = counting->census;
	unsigned char type = type_of(directory, entry);

	if (type != DT_DIR)
		census->files++;
	else if (wait_for(counting, entry->d_name) < 0)
		return -ENOMEM;
	if (type == DT_REG && census->sampled < counting->samples_end)
		sample(census, directory, entry->d_name);
	return is_over(counting) || (++counting->names % NAMES_PER_CHECK == 0 && is_late(counting));
}

/* Counts one directory. A mount point inside the tree is skipped. Returns as count_name(). */
static int count_directory(struct counting *counting, int root, const char *path)
{
	int fd = open_beneath_for_reading(root, path, O_DIRECTORY, false);
	int r;

	if (fd == -EXDEV)
		return 0;
	counting->census->directories++;
	counting->path = path;
	counting->samples_end = counting->census->sampled + SAMPLES;
	counting->names = 0;
	r = directory_read(fd, count_name, counting);
	if (r >= 0 || r == -ENOMEM)
		return r;
	counting->census->unreadable++;
	return 0;
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
