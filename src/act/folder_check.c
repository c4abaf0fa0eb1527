/* SPDX-License-Identifier: MIT */
#include "act/folder_check.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "act/place.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/extents.h"
#include "base/file_hash.h"
#include "base/filesystem_kind.h"
#include "base/numbers.h"
#include "base/size.h"
#include "base/stop.h"
#include "base/system_call.h"
#include "base/xattrs.h"
#include "source/managed.h"

/* A file that changed later than this before a check can change again without another ctime. It is
 * the coarsest resolution of time stamps. */
#define GUARD_NS (2 * SECOND_NS)

/* A name of an inode with several names. */
struct link {
	uint64_t device, inode, bytes;
	uint32_t links;
};

void folder_check_free(struct folder_check *check)
{
	free(check->memory);
	bytes_free(&check->links);
}

void folder_files_close(struct folder_files *files)
{
	held_close(&files->kept);
	held_close(&files->copy);
}

/* ---- metadata ------------------------------------------------------------------------- */

static int compare_xattrs(struct folder_check *check, int kept, int copy)
{
	CLEANUP_XATTRS struct xattrs of_kept = {0}, of_copy = {0};
	int r = xattrs_read(&of_kept, kept);

	if (r == 0)
		r = xattrs_read(&of_copy, copy);
	check->found.differences.xattrs += r == 0 && !xattrs_equal(&of_kept, &of_copy);
	return r;
}

static void compare_status(struct folder_check *check, const struct statx *kept,
			   const struct statx *copy)
{
	struct act_differences *differences = &check->found.differences;

	differences->owners += kept->stx_uid != copy->stx_uid || kept->stx_gid != copy->stx_gid;
	differences->modes += kept->stx_mode != copy->stx_mode;
	differences->times += kept->stx_mtime.tv_sec != copy->stx_mtime.tv_sec ||
			      kept->stx_mtime.tv_nsec != copy->stx_mtime.tv_nsec;
}

/* Counts how the metadata of a name differ. */
static int compare_metadata(struct folder_check *check, struct folder_pair *pair,
			    const struct folder_name *name)
{
	AUTO_CLOSE int kept = -1;
	AUTO_CLOSE int copy = -1;
	int r;

	compare_status(check, &name->of_kept, &name->of_copy);
	kept = openat(name->kept, name->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	copy = openat(name->copy, name->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (kept < 0 || copy < 0)
		return folder_fail(pair, name->name, -errno);
	r = compare_xattrs(check, kept, copy);
	return r < 0 ? folder_fail(pair, name->name, r) : 0;
}

/* Refuses a name that unlinkat(2) could not remove. */
static int check_removable(struct folder_pair *pair, const struct folder_name *name)
{
	const struct place place = {.directory = name->copy, .name = name->name};
	struct stat above;

	if (name->of_copy.stx_attributes & (STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND))
		return folder_refuse(pair, name->name, ACT_IMMUTABLE);
	if (place_has_permanent_names(&place, name->of_copy.stx_uid))
		return folder_refuse(pair, name->name, ACT_IMMUTABLE);
	if (!S_ISDIR(name->of_copy.stx_mode))
		return 0;
	if (fstat(name->copy, &above) < 0)
		return folder_fail(pair, name->name, -errno);
	/* rmdir(2) removes an empty subvolume */
	if (above.st_dev != makedev(name->of_copy.stx_dev_major, name->of_copy.stx_dev_minor))
		return folder_refuse(pair, name->name, ACT_SUBVOLUME);
	if (access_effective(name->copy, name->name, W_OK | X_OK) < 0)
		return folder_fail(pair, name->name, -errno);
	return 0;
}

/* Refuses a folder that cannot be removed or made again. */
static int check_root(struct folder_pair *pair)
{
	struct stat above, copy;

	if (access_effective(pair->copy, ".", W_OK | X_OK) < 0)
		return -errno;
	if (fstat(pair->copy, &copy) < 0 || fstatat(pair->copy, "..", &above, 0) < 0)
		return -errno;
	if (above.st_dev == copy.st_dev)
		return 0;
	pair->result->outcome = ACT_SUBVOLUME;
	pair->result->inside = NULL;
	return FOLDER_REFUSED;
}

/* ---- regular files -------------------------------------------------------------------- */

static int hold(const struct folder_check *check, struct folder_pair *pair,
		const struct folder_name *name, bool is_kept, struct held *held)
{
	const struct place place = {.directory = is_kept ? name->kept : name->copy,
				    .name = name->name};
	int r = held_open_any(held, &place);

	if (r == 0 && !held->leased && !check->without_leases) {
		held_close(held);
		r = HELD_NO_LEASE;
	}
	if (r == 0)
		return 0;
	pair->result->error = r < 0 ? -r : 0;
	return folder_refuse(pair, name->name, held_outcome(r, is_kept));
}

/* Returns whether each later write to the file moves its ctime. */
static bool shows_writes(const struct held *held)
{
	int64_t changed_ns = clock_ns(held->status.st_ctim);

	return held->leased && filesystem_times_are_reliable(filesystem_type_at(held->fd)) &&
	       changed_ns < clock_ns(clock_now()) - GUARD_NS;
}

/* Returns a hash of the signatures of both files, or zero. */
static struct hash128 sign(const struct folder_files *files)
{
	const struct stat *const both[] = {&files->kept.status, &files->copy.status};
	int64_t numbers[2][6];

	if (!shows_writes(&files->kept) || !shows_writes(&files->copy))
		return (struct hash128){0};
	for (size_t i = 0; i < ARRAY_SIZE(both); i++) {
		numbers[i][0] = (int64_t)both[i]->st_dev;
		numbers[i][1] = (int64_t)both[i]->st_ino;
		numbers[i][2] = both[i]->st_size;
		numbers[i][3] = clock_ns(both[i]->st_mtim);
		numbers[i][4] = clock_ns(both[i]->st_ctim);
		numbers[i][5] = both[i]->st_mode;
	}
	return hash128(numbers, sizeof(numbers));
}

static int remember(struct folder_check *check, const struct folder_name *name,
		    const struct folder_memory *memory)
{
	size_t before = check->capacity;
	int r = array_reserve(&check->memory, &check->capacity, name->number + 1,
			      sizeof(*check->memory));

	if (r < 0)
		return r;
	if (check->capacity > before)
		memset(check->memory + before, 0,
		       (check->capacity - before) * sizeof(*check->memory));
	check->memory[name->number] = *memory;
	return 0;
}

static bool is_as_remembered(const struct folder_check *check, const struct folder_name *name,
			     const struct folder_files *files)
{
	struct hash128 now = sign(files);

	return !hash128_is_zero(now) && name->number < check->capacity &&
	       hash128_equal(check->memory[name->number].signatures, now);
}

/* Returns 0, or FOLDER_REFUSED if a program opened one of the files for writing. */
static int check_leases(struct folder_pair *pair, const struct folder_name *name,
			const struct folder_files *files)
{
	if (!held_is_unbroken(&files->kept))
		return folder_refuse(pair, name->name, ACT_KEPT_BUSY);
	return held_is_unbroken(&files->copy) ? 0 : folder_refuse(pair, name->name, ACT_BUSY);
}

static int compare(struct folder_check *check, struct folder_pair *pair,
		   const struct folder_name *name, const struct folder_files *files)
{
	struct folder_memory memory = {.signatures = sign(files),
				       .inode = files->copy.status.st_ino};
	int r = is_same_inode(&files->kept.status, &files->copy.status)
			? 1
			: held_same_bytes(&files->kept, &files->copy);

	if (r == 0)
		return folder_refuse(pair, name->name, ACT_DIFFERS);
	if (r > 0)
		r = check->is_emptied && !check->is_begun
			    ? file_hash(files->copy.fd, NULL, &memory.content)
			    : 0;
	/* the kept file or its name possibly changed since the file system was synced */
	if (r == 0 && check->depth == FOLDER_RECHECK)
		r = fsync(files->kept.fd) < 0 ? -errno : sync_directory(name->kept);
	if (r < 0 && r != -EBUSY)
		return r == -EINTR ? r : folder_fail(pair, name->name, r);
	if (check_leases(pair, name, files) != 0)
		return FOLDER_REFUSED;
	return r == -EBUSY ? folder_refuse(pair, name->name, ACT_BUSY)
			   : remember(check, name, &memory);
}

int folder_check_files(struct folder_check *check, struct folder_pair *pair,
		       const struct folder_name *name, struct folder_files *files)
{
	int r;

	*files = (struct folder_files){.kept = {.fd = -1}, .copy = {.fd = -1}};
	if (!check->is_begun && stop_requested())
		return -EINTR;
	r = hold(check, pair, name, true, &files->kept);
	if (r == 0)
		r = hold(check, pair, name, false, &files->copy);
	if (r == 0 && files->kept.status.st_size != files->copy.status.st_size)
		r = folder_refuse(pair, name->name, ACT_DIFFERS);
	if (r == 0 && check->depth != FOLDER_LOOK &&
	    (check->depth == FOLDER_COMPARE || !is_as_remembered(check, name, files)))
		r = compare(check, pair, name, files);
	if (r != 0)
		folder_files_close(files);
	return r;
}

/* Adds what removing this name would free. */
static int count_own_bytes(struct folder_check *check, const struct folder_files *files)
{
	const struct stat *status = &files->copy.status;
	const struct link link = {.device = status->st_dev,
				  .inode = status->st_ino,
				  .bytes = extents_estimate_own_bytes(files->copy.fd),
				  .links = (uint32_t)status->st_nlink};

	if (status->st_nlink > 1)
		return bytes_append(&check->links, &link, sizeof(link));
	check->own_bytes = size_add(check->own_bytes, link.bytes);
	return 0;
}

static int compare_links(const void *a, const void *b)
{
	const struct link *one = a, *other = b;

	return one->device != other->device ? numbers_compare(one->device, other->device)
					    : numbers_compare(one->inode, other->inode);
}

/* Adds the inodes all of whose names are in the copy or in an earlier one, and removes them from
 * the list. */
static void count_links(struct folder_check *check)
{
	struct link *links = (struct link *)(void *)check->links.data;
	size_t count = check->links.length / sizeof(*links), first = 0, left = 0;

	if (count > 1)
		qsort(links, count, sizeof(*links), compare_links);
	for (size_t i = 1; i <= count; i++) {
		if (i < count && compare_links(&links[i], &links[first]) == 0)
			continue;
		if (links[first].links <= i - first) {
			check->own_bytes = size_add(check->own_bytes, links[first].bytes);
			first = i;
		}
		while (first < i)
			links[left++] = links[first++];
	}
	check->links.length = left * sizeof(*links);
}

static int check_regular(struct folder_check *check, struct folder_pair *pair,
			 const struct folder_name *name)
{
	struct folder_files files;
	int r = folder_check_files(check, pair, name, &files);

	if (r != 0)
		return r;
	check->found.files++;
	check->found.bytes = size_add(check->found.bytes, (uint64_t)files.copy.status.st_size);
	check->found.linked += is_same_inode(&files.kept.status, &files.copy.status);
	if (check->depth == FOLDER_LOOK)
		r = count_own_bytes(check, &files);
	folder_files_close(&files);
	return r;
}

/* ---- other names ---------------------------------------------------------------------- */

static int check_target(struct folder_pair *pair, const struct folder_name *name,
			const char *present)
{
	char target[PATH_MAX + 1];
	const struct place kept = {.directory = name->kept};
	ssize_t length = readlinkat(name->copy, present, target, PATH_MAX);

	if (length < 0)
		return folder_fail(pair, name->name, -errno);
	target[length] = '\0';
	return place_is_symlink_to(&kept, name->name, target)
		       ? 0
		       : folder_refuse(pair, name->name, ACT_DIFFERS);
}

int folder_check_other(struct folder_pair *pair, const struct folder_name *name,
		       const char *present)
{
	struct stat kept, copy;

	if (fstatat(name->copy, present, &copy, AT_SYMLINK_NOFOLLOW) < 0 ||
	    fstatat(name->kept, name->name, &kept, AT_SYMLINK_NOFOLLOW) < 0)
		return folder_fail(pair, name->name, -errno);
	if ((kept.st_mode & S_IFMT) != (copy.st_mode & S_IFMT) || S_ISREG(copy.st_mode) ||
	    S_ISDIR(copy.st_mode))
		return folder_refuse(pair, name->name, ACT_OTHER_TYPE);
	if (S_ISLNK(copy.st_mode))
		return check_target(pair, name, present);
	if ((S_ISBLK(copy.st_mode) || S_ISCHR(copy.st_mode)) && kept.st_rdev != copy.st_rdev)
		return folder_refuse(pair, name->name, ACT_DIFFERS);
	return 0;
}

static int check_name(void *context, struct folder_pair *pair, const struct folder_name *name)
{
	struct folder_check *check = context;
	int r = check->is_emptied ? check_removable(pair, name) : 0;

	if (r == 0 && !check->is_begun && managed_is_used_mark(name->copy, name->name))
		r = folder_refuse(pair, name->name, ACT_IN_USE);
	if (r == 0 && check->depth == FOLDER_LOOK)
		r = compare_metadata(check, pair, name);
	if (r != 0 || S_ISDIR(name->of_copy.stx_mode))
		return r;
	return S_ISREG(name->of_copy.stx_mode) ? check_regular(check, pair, name)
					       : folder_check_other(pair, name, name->name);
}

/* Counts how the metadata of the two folders differ. */
static int compare_roots(struct folder_check *check, const struct folder_pair *pair)
{
	struct statx kept, copy;

	if (statx(pair->kept, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &kept) < 0 ||
	    statx(pair->copy, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &copy) < 0)
		return -errno;
	compare_status(check, &kept, &copy);
	return compare_xattrs(check, pair->kept, pair->copy);
}

int folder_check_run(struct folder_check *check, struct folder_pair *pair)
{
	size_t earlier = check->links.length;
	int r = 0;

	check->found = (struct act_folder){.files = 0};
	check->own_bytes = 0;
	if (check->depth == FOLDER_LOOK)
		r = compare_roots(check, pair);
	if (r == 0 && check->is_emptied)
		r = check_root(pair);
	if (r == 0)
		r = folder_pair_walk(pair, check_name, check);
	if (r == 0)
		count_links(check);
	else
		check->links.length = earlier;
	return r;
}
