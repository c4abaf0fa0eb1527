/* SPDX-License-Identifier: MIT */
#include "act/folder_check.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "act/file_copy.h"
#include "act/place.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/extents.h"
#include "base/filesystem.h"
#include "base/hash.h"
#include "base/kernel.h"
#include "base/metadata.h"
#include "base/numbers.h"
#include "base/path.h"
#include "base/sort.h"
#include "base/stop.h"
#include "index/managed.h"

/* ---- the pair ------------------------------------------------------------------------- */

void folder_pair_free(struct folder_pair *pair)
{
	free(pair->dirs);
	bytes_free(&pair->paths);
	bytes_free(&pair->inside);
}

const char *folder_current(const struct folder_pair *pair)
{
	return (const char *)pair->paths.data + pair->dirs[pair->current].path;
}

int folder_refuse(struct folder_pair *pair, const char *name, enum act_outcome outcome)
{
	const char *dir = folder_current(pair);
	int r;

	pair->inside.length = 0;
	r = bytes_format(&pair->inside, "%s%s%s", dir, *dir && *name ? "/" : "", name);
	if (r < 0 || !bytes_text(&pair->inside))
		return -ENOMEM;
	pair->result->outcome = outcome;
	pair->result->inside = pair->inside.length > 0 ? bytes_text(&pair->inside) : NULL;
	return FOLDER_REFUSED;
}

/* As folder_refuse(), for a call that failed with this -errno. */
static int folder_fail(struct folder_pair *pair, const char *name, int error)
{
	pair->result->error = -error;
	return folder_refuse(pair, name, ACT_FAILED);
}

/* ---- names of one directory ----------------------------------------------------------- */

struct name_list {
	struct bytes text; /* each name with its NUL */
	size_t *offsets;
	size_t count, capacity;
};

static void name_list_free(struct name_list *list)
{
	bytes_free(&list->text);
	free(list->offsets);
}

static int add_name(void *context, int directory, const struct dirent *entry)
{
	struct name_list *list = context;
	int r = array_reserve(&list->offsets, &list->capacity, list->count + 1,
			      sizeof(*list->offsets));

	(void)directory;
	if (r < 0)
		return r;
	list->offsets[list->count++] = list->text.length;
	return bytes_append(&list->text, entry->d_name, strlen(entry->d_name) + 1);
}

static const char *name_at(const struct name_list *list, size_t index)
{
	return (const char *)list->text.data + list->offsets[index];
}

static int compare_names(const void *a, const void *b, void *context)
{
	const char *text = context;

	return strcmp(text + *(const size_t *)a, text + *(const size_t *)b);
}

/* Replaces the list. */
static int read_names(struct name_list *list, int directory)
{
	int r;

	list->count = list->text.length = 0;
	r = directory_visit(directory, add_name, list);

	if (r == 0 && list->count > 1)
		qsort_r(list->offsets, list->count, sizeof(*list->offsets), compare_names,
			list->text.data);
	return r;
}

/* ---- one name ------------------------------------------------------------------------- */

static int examine(int directory, const char *name, struct statx *status)
{
	return statx(directory, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC,
		     STATX_BASIC_STATS | STATX_BTIME, status) < 0
		       ? -errno
		       : 0;
}

static bool is_mount(const struct statx *status)
{
	return status->stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

/* Examines a name in both directories. */
static int examine_both(struct folder_pair *pair, struct folder_name *name)
{
	int r = examine(name->copy, name->name, &name->of_copy);

	if (r < 0)
		return folder_fail(pair, name->name, r);
	r = examine(name->kept, name->name, &name->of_kept);
	if (r == -ENOENT)
		return folder_refuse(pair, name->name, ACT_NOT_IN_KEPT);
	if (r < 0)
		return folder_fail(pair, name->name, r);
	if (is_mount(&name->of_copy) || is_mount(&name->of_kept))
		return folder_refuse(pair, name->name, ACT_MOUNT_INSIDE);
	if ((name->of_copy.stx_mode & S_IFMT) != (name->of_kept.stx_mode & S_IFMT))
		return folder_refuse(pair, name->name, ACT_OTHER_TYPE);
	return 0;
}

/* ---- the walk ------------------------------------------------------------------------- */

struct walking {
	folder_visitor *visit;
	void *context;
	uint64_t number;
	bool is_back;
};

static int add_dir(struct folder_pair *pair, const char *name)
{
	/* a copy, as the text moves when it grows */
	AUTO_FREE char *dir = pair->count > 0 ? strdup(folder_current(pair)) : strdup("");
	int r = array_reserve(&pair->dirs, &pair->capacity, pair->count + 1, sizeof(*pair->dirs));

	if (r < 0 || !dir)
		return -ENOMEM;
	pair->dirs[pair->count] = (struct folder_dir){.path = pair->paths.length};
	r = bytes_format(&pair->paths, "%s%s%s", dir, *dir ? "/" : "", name);
	if (r == 0)
		r = bytes_append(&pair->paths, "", 1);
	pair->count += r == 0;
	return r;
}

static int visit_name(struct folder_pair *pair, struct folder_name *name, struct walking *walking)
{
	bool is_dir;
	int r = examine_both(pair, name);

	if (r == 0 && !walking->is_back && own_is_quarantine(name->name, strlen(name->name)))
		r = folder_refuse(pair, name->name, ACT_OWN);
	if (r != 0)
		return r;
	is_dir = S_ISDIR(name->of_copy.stx_mode);
	if (is_dir && walking->is_back)
		return folder_refuse(pair, name->name, ACT_NOT_IN_KEPT);
	r = walking->visit(walking->context, pair, name);
	return r == 0 && is_dir ? add_dir(pair, name->name) : r;
}

/* Opens the current directory in one of the folders. */
static int open_dir(struct folder_pair *pair, int folder, bool kept)
{
	int fd = open_beneath_for_reading(folder, folder_current(pair), O_DIRECTORY, false);

	if (fd >= 0)
		return fd;
	if (fd == -EXDEV)
		(void)!folder_refuse(pair, "", ACT_MOUNT_INSIDE);
	else if (kept && (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP))
		(void)!folder_refuse(pair, "", ACT_NOT_IN_KEPT);
	else
		(void)!folder_fail(pair, "", fd);
	return -1;
}

static int visit_names(struct folder_pair *pair, struct folder_name *name, struct walking *walking)
{
	CLEANUP(name_list_free) struct name_list list = {.count = 0};
	int r = read_names(&list, name->copy);

	if (r < 0)
		return folder_fail(pair, "", r);
	for (size_t i = 0; r == 0 && i < list.count; i++) {
		name->name = name_at(&list, i);
		name->number = walking->number++;
		r = visit_name(pair, name, walking);
	}
	return r;
}

static int visit_dir(struct folder_pair *pair, size_t index, struct walking *walking)
{
	AUTO_CLOSE int kept = -1;
	AUTO_CLOSE int copy = -1;
	struct folder_name name;
	struct stat of_kept, of_copy;

	pair->current = index;
	copy = open_dir(pair, pair->copy, false);
	kept = copy < 0 ? -1 : open_dir(pair, pair->kept, true);
	if (kept < 0)
		return FOLDER_REFUSED;
	if (fstat(kept, &of_kept) < 0 || fstat(copy, &of_copy) < 0)
		return folder_fail(pair, "", -errno);
	if (is_same_inode(&of_kept, &of_copy))
		return folder_refuse(pair, "", ACT_SAME_FOLDER);
	if (own_is_marked(copy) || own_is_marked(kept))
		return folder_refuse(pair, "", ACT_OWN);
	name.kept = kept;
	name.copy = copy;
	return visit_names(pair, &name, walking);
}

int folder_pair_walk(struct folder_pair *pair, folder_visitor *visit, void *context)
{
	struct walking walking = {.visit = visit, .context = context};
	int r;

	pair->count = pair->current = 0;
	pair->paths.length = 0;
	r = add_dir(pair, "");
	for (size_t i = 0; r == 0 && i < pair->count; i++) {
		pair->dirs[i].first = walking.number;
		r = visit_dir(pair, i, &walking);
	}
	return r;
}

/* Calls leave for a directory whose names were visited. */
static int leave_dir(struct folder_pair *pair, size_t index, folder_visitor *leave, void *context)
{
	AUTO_CLOSE int above = -1;
	const char *path = (const char *)pair->paths.data + pair->dirs[index].path;
	const char *slash = strrchr(path, '/');
	AUTO_FREE char *parent = slash ? strndup(path, (size_t)(slash - path)) : strdup("");
	struct folder_name name = {.name = slash ? slash + 1 : path, .kept = -1};

	if (!parent)
		return -ENOMEM;
	pair->current = index;
	above = open_beneath(pair->copy, parent, O_PATH | O_DIRECTORY, false);
	if (above < 0)
		return folder_fail(pair, "", above);
	name.copy = above;
	return leave(context, pair, &name);
}

/* Visits the names of the copy in reverse order of the directories of the last walk, without those
 * directories. Refuses as folder_pair_walk() does, and a directory that the last walk did not find.
 * Calls leave for each directory, except for the folder itself, when its names were visited. */
static int folder_pair_walk_back(struct folder_pair *pair, folder_visitor *visit,
				 folder_visitor *leave, void *context)
{
	struct walking walking = {.visit = visit, .context = context, .is_back = true};
	int r = 0;

	for (size_t i = pair->count; r == 0 && i > 0; i--) {
		walking.number = pair->dirs[i - 1].first;
		r = visit_dir(pair, i - 1, &walking);
		if (r == 0 && i > 1)
			r = leave_dir(pair, i - 1, leave, context);
	}
	return r;
}

/* ---- private names -------------------------------------------------------------------- */

/* Makes the private name that a name in the copy has in the moment of its removal.
 *
 * folder	quarantine name of the folder
 */
static void folder_private_name(char other[static OTHER_NAME_SIZE], const char *name,
				const char *folder)
{
	uint64_t seed = hash64(folder, strlen(folder), 0);

	(void)snprintf(other, OTHER_NAME_SIZE, OTHER_NAME_PREFIX "%016" PRIx64,
		       hash64(name, strlen(name), seed));
}

/* ---- the check ------------------------------------------------------------------------ */

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

static void folder_files_close(struct folder_files *files)
{
	held_close(&files->kept);
	held_close(&files->copy);
}

/* ---- metadata ------------------------------------------------------------------------- */

static int compare_xattrs(struct folder_check *check, int kept, int copy)
{
	int same = xattrs_are_same(kept, copy);

	check->found.differences.xattrs += same == 0;
	return same < 0 ? same : 0;
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

	return held->leased && filesystem_keeps(filesystem_type_at(held->fd), PROMISE_STORES) &&
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

/* Holds both files of a name and checks that they have equal bytes, as far as the depth demands.
 * The caller must call folder_files_close() after the result 0. Returns 0, FOLDER_REFUSED or
 * -errno. */
static int folder_check_files(struct folder_check *check, struct folder_pair *pair,
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
	const struct place kept = {.directory = name->kept};
	char target[PATH_MAX];
	int r = read_link(name->copy, present, target);

	if (r < 0)
		return folder_fail(pair, name->name, r);
	return place_is_symlink_to(&kept, name->name, target)
		       ? 0
		       : folder_refuse(pair, name->name, ACT_DIFFERS);
}

/* Checks the type of a name that is no regular file, the target of a symlink, and the numbers of a
 * device. Returns 0, FOLDER_REFUSED or -errno.
 *
 * present	the name that the copy has now
 */
static int folder_check_other(struct folder_pair *pair, const struct folder_name *name,
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

/* ---- removal -------------------------------------------------------------------------- */

/* Removes a directory whose names were removed. */
static int leave(void *context, struct folder_pair *pair, const struct folder_name *name)
{
	struct folder_emptying *emptying = context;

	if (unlinkat(name->copy, name->name, AT_REMOVEDIR) == 0) {
		emptying->removed++;
		return 0;
	}
	/* a program made a name in the directory meanwhile */
	if (errno == ENOTEMPTY || errno == EEXIST)
		return folder_refuse(pair, "", ACT_BUSY);
	return folder_fail(pair, "", -errno);
}

/* Gives a name back that has its private form. Returns the result of the caller, or -errno. */
static int restore(const struct place *place, const char *other, int result)
{
	CLEANUP_BYTES struct bytes leftover = {0};
	int r = place_restore(place, other, &leftover);

	return r < 0 ? r : result;
}

/* Gives a name its private form, to which no other program renames a file. Returns 0,
 * FOLDER_REFUSED or -errno. */
static int hide_name(const struct folder_emptying *emptying, struct folder_pair *pair,
		     const struct folder_name *name, char other[static OTHER_NAME_SIZE])
{
	const struct place place = {.directory = name->copy, .name = name->name};
	int r;

	folder_private_name(other, name->name, emptying->other);
	r = place_hide(&place, other, PLACE_STAYS);
	return r < 0 ? folder_fail(pair, name->name, r) : 0;
}

/* Removes a regular file under its private name. */
static int remove_file(struct folder_emptying *emptying, struct folder_pair *pair,
		       const struct folder_name *name, struct folder_files *files)
{
	const struct place place = {.directory = name->copy, .name = name->name};
	char other[OTHER_NAME_SIZE];
	int r = hide_name(emptying, pair, name, other);

	if (r != 0)
		return r;
	if (!place_leads_to(&place, other, &files->copy.status))
		return restore(&place, other, folder_refuse(pair, name->name, ACT_CHANGED));
	r = emptying->remove_file(emptying->context, pair, name, other, files);
	if (r < 0)
		return restore(&place, other, folder_fail(pair, name->name, r));
	emptying->removed += r == 0;
	return r;
}

static int remove_regular(struct folder_emptying *emptying, struct folder_pair *pair,
			  const struct folder_name *name)
{
	struct folder_files files;
	int r = folder_check_files(emptying->check, pair, name, &files);

	if (r != 0)
		return r;
	r = remove_file(emptying, pair, name, &files);
	folder_files_close(&files);
	return r;
}

/* Removes a name of another type, which is compared under its private name. */
static int remove_other(struct folder_emptying *emptying, struct folder_pair *pair,
			const struct folder_name *name)
{
	const struct place place = {.directory = name->copy, .name = name->name};
	char other[OTHER_NAME_SIZE];
	int r = hide_name(emptying, pair, name, other);

	if (r != 0)
		return r;
	r = folder_check_other(pair, name, other);
	if (r == 0 && unlinkat(name->copy, other, 0) < 0)
		r = folder_fail(pair, name->name, -errno);
	emptying->removed += r == 0;
	return r == 0 ? 0 : restore(&place, other, r);
}

static int visit(void *context, struct folder_pair *pair, const struct folder_name *name)
{
	return S_ISREG(name->of_copy.stx_mode) ? remove_regular(context, pair, name)
					       : remove_other(context, pair, name);
}

int folder_empty(struct folder_emptying *emptying, struct folder_pair *pair,
		 const struct place *place)
{
	const struct folder_name name = {.name = emptying->other,
					 .copy = place->directory,
					 .kept = -1};
	int r;

	emptying->check->is_begun = true;
	r = folder_pair_walk_back(pair, visit, leave, emptying);
	pair->current = 0;
	return r != 0 ? r : leave(emptying, pair, &name);
}

/* ---- after an interruption ------------------------------------------------------------ */

struct names_restoring {
	int folder;
	const char *other; /* quarantine name of the folder */
	const char *path; /* of the folder in its record */
};

/* Gives the name of a record back if it has its private form. */
static int restore_name(void *context, const struct record *record, const char *line)
{
	const struct names_restoring *restoring = context;
	const char *below = path_below(record->path, restoring->path);
	char other[OTHER_NAME_SIZE];
	struct place place;
	struct stat status;
	int r;

	(void)line;
	if (!below || !*below || record->type == S_IFDIR)
		return 0;
	r = place_open_below(&place, restoring->folder, below, false);
	if (r < 0)
		return r == -ENOENT || r == -ENOTDIR || r == -ELOOP ? 0 : r;
	folder_private_name(other, place.name, restoring->other);
	if (fstatat(place.directory, other, &status, AT_SYMLINK_NOFOLLOW) == 0)
		r = restore(&place, other, 0);
	place_close(&place);
	return r;
}

int folder_restore_names(const struct place *place, const struct intent *intent,
			 const struct record *record, struct act_log *log)
{
	AUTO_CLOSE int folder =
		open_beneath_for_reading(place->directory, intent->other, O_DIRECTORY, false);
	struct names_restoring restoring = {folder, intent->other, record->path};
	struct act_log_pass pass = {.record = restore_name,
				    .context = &restoring,
				    .act = record->act};

	return folder < 0 ? folder : act_log_reread(log, &pass);
}

/* Removes a file, unless it is possibly the kept one. If a program opened one of the files in the
 * last moment, or the kept one lost its name, writes the file again. */
static int remove_and_check(void *context, struct folder_pair *pair, const struct folder_name *name,
			    const char *other, struct folder_files *files)
{
	const struct place kept = {.directory = name->kept, .name = name->name};
	const struct place copy = {.directory = name->copy, .name = name->name};
	int r;

	(void)context;
	if (held_is_itself(&files->kept, &files->copy))
		return restore(&copy, other, folder_refuse(pair, name->name, ACT_KEPT_ITSELF));
	if (unlinkat(name->copy, other, 0) < 0)
		return -errno;
	if (held_is_unbroken(&files->kept) && held_is_unbroken(&files->copy) &&
	    place_leads_to(&kept, name->name, &files->kept.status))
		return 0;
	held_wait_for_writer(&files->copy);
	r = file_copy_save(files->copy.fd, name->copy, other);
	if (r == 0)
		r = restore(&copy, other, 0);
	return r < 0 ? folder_fail(pair, name->name, r) : folder_refuse(pair, name->name, ACT_BUSY);
}

/* Opens the kept folder of a record. Returns a descriptor, or -errno if it is not at its path. */
static int open_kept(const struct record *record)
{
	const struct root_identity any = {0};
	const char *path = record->kept && record->kept_source
				   ? path_below(record->kept, record->kept_source)
				   : NULL;
	AUTO_CLOSE int root = path ? place_open_root(record->kept_source, &any) : -ENOENT;
	struct statx status;
	int fd;

	if (root < 0)
		return root;
	fd = open_beneath_for_reading(root, path, O_DIRECTORY, true);
	if (fd < 0)
		return fd;
	if (statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &status) == 0 &&
	    status.stx_ino == record->kept_inode &&
	    (!record->kept_born_ns || record->kept_born_ns == place_born_ns(&status)))
		return fd;
	close(fd);
	return -ESTALE;
}

int folder_complete(const struct place *place, const struct intent *intent,
		    const struct record *record, struct act_result *result)
{
	AUTO_CLOSE int kept = open_kept(record);
	AUTO_CLOSE int copy =
		open_beneath_for_reading(place->directory, intent->other, O_DIRECTORY, false);
	CLEANUP_FOLDER_PAIR
	struct folder_pair pair = {.kept = kept, .copy = copy, .result = result};
	CLEANUP_FOLDER_CHECK
	struct folder_check check = {.depth = FOLDER_COMPARE, .without_leases = true};
	struct folder_emptying emptying = {.check = &check,
					   .other = intent->other,
					   .remove_file = remove_and_check};
	int r;

	if (kept < 0)
		return FOLDER_KEPT_ABSENT;
	if (copy < 0)
		return copy;
	r = folder_check_run(&check, &pair);
	if (r == 0 && syncfs(kept) < 0)
		r = -errno;
	check.depth = FOLDER_RECHECK;
	if (r == 0)
		r = folder_empty(&emptying, &pair, place);
	result->inside = NULL; /* the pair has the text */
	return r;
}
