/* SPDX-License-Identifier: MIT */
#include "scan/census.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/filesystem.h"

/* Maximum number of regular files in each directory whose owner and flags are checked. */
#define SAMPLES 4

/* Number of names of a directory after which the clock is read. */
#define NAMES_PER_CHECK 256

/* The outcome of examine_on_btrfs() for the root of another subvolume. */
enum {
	IS_SUBVOLUME = 1
};

/* A stack of paths that are still to be listed, relative to the root. The walk is depth first, so
 * that few paths wait. */
struct counting {
	struct census *census;
	const struct census_limits *limits;
	uint64_t end_ns;
	bool is_btrfs;
	dev_t device; /* of the root */
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
	struct statx status;

	if (statx(folder, name, AT_SYMLINK_NOFOLLOW, STATX_UID | STATX_CTIME | STATX_MTIME,
		  &status) < 0)
		return;
	census->sampled++;
	census->foreign += status.stx_uid != geteuid();
	census->own_ctimes += status.stx_ctime.tv_sec != status.stx_mtime.tv_sec;
	census->immutable += (status.stx_attributes & STATX_ATTR_IMMUTABLE) != 0;
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

static int add_place(struct census_places *places, const char *path)
{
	if (places->count++ == 0)
		places->first = strdup(path);
	return places->first ? 0 : -ENOMEM;
}

/* Examines a directory of a btrfs, which is open. Returns 0, IS_SUBVOLUME, or -ENOMEM. */
static int examine_on_btrfs(struct counting *counting, int fd, const char *path)
{
	struct census *census = counting->census;
	struct stat status;
	int flags = 0;
	int r = 0;

	if (fstat(fd, &status) == 0 && status.st_dev != counting->device) {
		r = add_place(&census->subvolumes, path);
		return r < 0 ? r : IS_SUBVOLUME;
	}
	if (ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0 && flags & FS_NOCOW_FL)
		r = add_place(&census->nodatacow, path);
	return r;
}

/* Counts one directory. A mount point or subvolume inside the tree is not entered. Returns as
 * count_name(). */
static int count_directory(struct counting *counting, int root, const char *path)
{
	int fd = open_beneath_for_reading(root, path, O_DIRECTORY, false);
	int r;

	if (fd == -EXDEV)
		return 0;
	if (fd >= 0 && counting->is_btrfs) {
		r = examine_on_btrfs(counting, fd, path);
		if (r != 0) {
			(void)close(fd);
			return r == IS_SUBVOLUME ? 0 : r;
		}
	}
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
		.is_btrfs = filesystem_has(filesystem_type_at(directory), TRAIT_SUBVOLUMES),
	};
	struct stat root;
	int r;

	*census = (struct census){0};
	if (fstat(directory, &root) == 0)
		counting.device = root.st_dev;
	else
		counting.is_btrfs = false;
	r = count_directory(&counting, directory, "");
	while (r == 0 && counting.count > 0) {
		AUTO_FREE char *path = counting.waiting[--counting.count];

		r = is_late(&counting) ? 1 : count_directory(&counting, directory, path);
	}
	census->complete = r == 0;
	return r < 0 ? r : 0;
}

void census_deinit(struct census *census)
{
	free(census->subvolumes.first);
	free(census->nodatacow.first);
}
