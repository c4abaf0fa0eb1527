/* SPDX-License-Identifier: MIT */
#include "act/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "act/file_copy.h"
#include "act/held.h"
#include "act/journal.h"
#include "base/clock.h"
#include "base/confine.h"
#include "base/descriptor.h"
#include "index/filesystem.h"

int place_open_below(struct place *place, int root, const char *path, bool cross_mounts)
{
	const char *slash = strrchr(path, '/');
	AUTO_FREE char *parent = slash ? strndup(path, (size_t)(slash - path)) : strdup("");

	place->directory = -1;
	place->name = slash ? slash + 1 : path;
	if (!parent)
		return -ENOMEM;
	place->directory = open_beneath(root, parent, O_PATH | O_DIRECTORY, cross_mounts);
	return place->directory < 0 ? place->directory : 0;
}

int place_open(struct place *place, const struct sources *sources, uint32_t source,
	       const char *path)
{
	place->directory = -1;
	if (source >= sources->count || sources->list[source].missing ||
	    sources->list[source].fd < 0)
		return -ENODEV;
	return place_open_below(place, sources->list[source].fd, path, sources->cross_mounts);
}

int place_open_parent(struct place *there, const char *to)
{
	const char *slash = to ? strrchr(to, '/') : NULL;
	AUTO_FREE char *folder = slash ? strndup(to, (size_t)(slash - to)) : NULL;

	*there = (struct place){.directory = -1, .name = slash ? slash + 1 : ""};
	if (!folder)
		return slash ? -ENOMEM : -ENOENT;
	there->directory = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return there->directory < 0 ? -errno : 0;
}

static bool is_same_directory(int a, int b)
{
	struct stat one, other;

	return fstat(a, &one) == 0 && fstat(b, &other) == 0 && is_same_inode(&one, &other);
}

static bool source_is_at_its_path(const struct source *source)
{
	AUTO_CLOSE int now = open(source->path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return now >= 0 && is_same_directory(now, source->fd);
}

bool place_is_at(const struct place *place, const struct sources *sources, uint32_t source,
		 const char *path)
{
	struct place now;
	bool is_there;

	if (place_open(&now, sources, source, path) < 0)
		return false;
	is_there = is_same_directory(now.directory, place->directory) &&
		   source_is_at_its_path(&sources->list[source]);
	place_close(&now);
	return is_there;
}

void place_close(struct place *place)
{
	if (place->directory >= 0)
		close(place->directory);
	place->directory = -1;
}

int64_t place_born_ns(const struct statx *status)
{
	struct timespec born = {status->stx_btime.tv_sec, status->stx_btime.tv_nsec};

	return status->stx_mask & STATX_BTIME ? clock_ns(born) : 0;
}

struct root_identity place_identify_root(int root)
{
	struct root_identity identity = {.filesystem = filesystem_lasting_identity(root)};
	struct statx status;

	if (statx(root, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &status) == 0) {
		identity.inode = status.stx_ino;
		identity.born_ns = place_born_ns(&status);
	}
	return identity;
}

static bool is_same_root(const struct root_identity *known, struct root_identity now)
{
	if (known->filesystem && now.filesystem && known->filesystem != now.filesystem)
		return false;
	return !known->inode || (known->inode == now.inode && known->born_ns == now.born_ns);
}

int place_open_root(const char *path, const struct root_identity *identity)
{
	int root = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (root < 0)
		return -errno;
	if (is_same_root(identity, place_identify_root(root)))
		return root;
	close(root);
	return -ENODEV;
}

static bool is_mount_root(int directory)
{
	struct statx status;

	return statx(directory, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT, 0, &status) == 0 &&
	       status.stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

int place_find_mount(int directory, struct bytes *path, struct root_identity *root)
{
	AUTO_CLOSE int fd = openat(directory, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char there[PATH_MAX];
	ssize_t length;
	int r = fd < 0 ? -errno : 1;

	path->length = 0;
	/* the root directory of the process need not be the root of a mount */
	while (r > 0 && !is_mount_root(fd))
		r = ascend(&fd);
	if (r < 0)
		return r;
	*root = place_identify_root(fd);
	length = readlink(fd_path(fd).text, there, sizeof(there));
	if (length < 0)
		return -errno;
	if ((size_t)length == sizeof(there))
		return -ENAMETOOLONG;
	return bytes_append(path, there, (size_t)length);
}

bool place_is_mounted(const struct mount_identity *mount)
{
	AUTO_CLOSE int root = mount->path ? place_open_root(mount->path, &mount->root) : -1;

	return !mount->path || root >= 0;
}

bool place_is_inode(const struct statx *status, uint64_t inode, int64_t born_ns)
{
	int64_t born_now_ns = place_born_ns(status);

	return status->stx_ino == inode && (!born_ns || !born_now_ns || born_ns == born_now_ns);
}

bool place_has_inode(int directory, const char *name, uint64_t inode, int64_t born_ns)
{
	struct statx now;

	return statx(directory, name, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
		     STATX_INO | STATX_BTIME, &now) == 0 &&
	       place_is_inode(&now, inode, born_ns);
}

bool place_leads_to(const struct place *place, const char *name, const struct stat *inode)
{
	struct stat there;

	return fstatat(place->directory, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	       is_same_inode(&there, inode);
}

bool place_is_symlink_to(const struct place *place, const char *name, const char *target)
{
	char there[PATH_MAX];
	ssize_t length = readlinkat(place->directory, name, there, sizeof(there));

	return length >= 0 && (size_t)length == strlen(target) &&
	       memcmp(there, target, (size_t)length) == 0;
}

static bool is_immutable(int directory, const char *name)
{
	struct statx what;

	return statx(directory, name, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH | AT_NO_AUTOMOUNT, 0,
		     &what) == 0 &&
	       what.stx_attributes & (STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND);
}

bool place_is_immutable(const struct place *place)
{
	return is_immutable(place->directory, place->name) || is_immutable(place->directory, "");
}

bool place_has_permanent_names(const struct place *place, uid_t owner)
{
	uid_t user = geteuid();
	struct stat status;

	if (is_immutable(place->directory, ""))
		return true;
	return user != owner && fstat(place->directory, &status) == 0 && status.st_mode & S_ISVTX &&
	       user != status.st_uid && !confine_has_capability(CAP_FOWNER);
}

/* Cuts the last component of an absolute path off. Returns false if none would be left. */
static bool ascend_path(char *path)
{
	char *slash = path ? strrchr(path, '/') : NULL;

	if (!slash || slash == path)
		return false;
	*slash = '\0';
	return true;
}

uint64_t place_count_missing(const char *path)
{
	AUTO_FREE char *folder = strdup(path);
	struct stat status;
	uint64_t count = 0;

	while (ascend_path(folder) && lstat(folder, &status) < 0 && errno == ENOENT)
		count++;
	return count;
}

void place_remove_folders(const char *path, uint64_t count)
{
	AUTO_FREE char *folder = path ? strdup(path) : NULL;

	for (; count > 0 && ascend_path(folder); count--) {
		struct place place;
		int r = place_open_parent(&place, folder);

		if (r == 0 && unlinkat(place.directory, place.name, AT_REMOVEDIR) < 0)
			r = -errno;
		place_close(&place);
		if (r < 0 && r != -ENOENT)
			return;
	}
}

/* ---- renames that replace no file ----------------------------------------------------- */

/* Highest number of names NAME.kept-N that are tried for a file. */
#define LEFTOVER_NAMES_MAX 1000

static int rename_with(const struct place *from, const struct place *to, unsigned int flags)
{
	return renameat2(from->directory, from->name, to->directory, to->name, flags) == 0 ? 0
											   : -errno;
}

/* Returns whether the kernel or the file system does not know the flags of renameat2(2). EINVAL can
 * also mean that a folder was to be moved into itself; rename(2) repeats that answer. */
static bool is_flag_unknown(int result)
{
	return result == -EINVAL || result == -ENOSYS;
}

static int rename_plainly(const struct place *from, const struct place *to)
{
	if (name_exists(to->directory, to->name))
		return -EEXIST;
	if (renameat(from->directory, from->name, to->directory, to->name) == 0)
		return 0;
	/* another program made a file or a folder with names in it */
	return errno == ENOTDIR || errno == ENOTEMPTY ? -EEXIST : -errno;
}

static bool has_same_bytes(const struct place *a, const struct place *b)
{
	struct held one, other;
	bool same = false;

	if (held_open_any(&one, a) != 0)
		return false;
	if (held_open_any(&other, b) == 0) {
		same = held_same_bytes(&one, &other) == 1;
		held_close(&other);
	}
	held_close(&one);
	return same;
}

/* Returns whether the second name is a symlink with the target of the first one. */
static bool has_same_target(const struct place *a, const struct place *b)
{
	char target[PATH_MAX];

	return read_link(a->directory, a->name, target) == 0 &&
	       place_is_symlink_to(b, b->name, target);
}

/* mergerfs and unionfs-fuse give each name an inode number of its own. There, files with several
 * names, the same times and the same bytes count as one: no content is lost with one of the
 * names. */
bool place_are_one_file(const struct place *a, const struct place *b)
{
	struct stat one, other;

	if (fstatat(a->directory, a->name, &one, AT_SYMLINK_NOFOLLOW) < 0 ||
	    fstatat(b->directory, b->name, &other, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	if (S_ISLNK(one.st_mode))
		return has_same_target(a, b);
	if (!S_ISREG(one.st_mode) || one.st_nlink < 2)
		return false;
	return is_same_inode(&one, &other) ||
	       (one.st_dev == other.st_dev && one.st_nlink == other.st_nlink &&
		one.st_mode == other.st_mode && one.st_uid == other.st_uid &&
		one.st_gid == other.st_gid && clock_equal(one.st_mtim, other.st_mtim) &&
		clock_equal(one.st_ctim, other.st_ctim) && has_same_bytes(a, b));
}

/* Removes a name of a file that has another one. */
static int drop(const struct place *place)
{
	return unlinkat(place->directory, place->name, 0) < 0 ? -errno : 0;
}

static int make_symlink_again(const struct place *from, const struct place *to)
{
	char target[PATH_MAX];
	int r = read_link(from->directory, from->name, target);

	if (r < 0)
		return r;
	return symlinkat(target, to->directory, to->name) < 0 ? -errno : 0;
}

/* Gives a file that is no folder a second name. */
static int add_name(const struct place *from, const struct place *to, mode_t mode)
{
	int r = linkat(from->directory, from->name, to->directory, to->name, 0) < 0 ? -errno : 0;

	if (r == 0 || r == -EEXIST || r == -EXDEV || r == -ENOENT || r == -ENOSPC || r == -EROFS ||
	    r == -EIO)
		return r;
	/* no hard links here, or not of this file: EPERM, EOPNOTSUPP, ENOSYS, EMLINK, EACCES */
	return S_ISLNK(mode) ? make_symlink_again(from, to) : -EOPNOTSUPP;
}

int place_move(const struct place *from, const struct place *to)
{
	int r = rename_with(from, to, RENAME_NOREPLACE), undone;
	struct stat status;

	if (!is_flag_unknown(r))
		return r;
	if (fstatat(from->directory, from->name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (S_ISDIR(status.st_mode))
		return rename_plainly(from, to);
	r = add_name(from, to, status.st_mode);
	if (r < 0)
		return r;
	/* two calls can reach the disk in another order */
	r = from->directory == to->directory ? 0 : sync_directory(to->directory);
	if (r == 0)
		r = drop(from);
	if (r < 0) {
		undone = drop(to);
		r = undone < 0 ? undone : r;
	}
	return r;
}

/* Makes a hard link to a file and removes it again. Returns whether a move by two names is
 * possible. */
static bool can_move_by_names(const struct place *place, const struct place *link,
			      enum place_next next)
{
	struct stat one, other;
	bool usable;

	if (linkat(place->directory, place->name, link->directory, link->name, 0) < 0)
		return false;
	usable = next == PLACE_MOVES ||
		 (fstatat(place->directory, place->name, &one, AT_SYMLINK_NOFOLLOW) == 0 &&
		  fstatat(link->directory, link->name, &other, AT_SYMLINK_NOFOLLOW) == 0 &&
		  is_same_inode(&one, &other));
	return drop(link) == 0 && usable;
}

int place_hide(const struct place *place, const char *other, enum place_next next)
{
	const struct place hidden = {.directory = place->directory, .name = other};
	int r = rename_with(place, &hidden, RENAME_NOREPLACE);
	struct stat status;

	if (!is_flag_unknown(r))
		return r;
	if (next != PLACE_STAYS &&
	    fstatat(place->directory, place->name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISREG(status.st_mode) && !can_move_by_names(place, &hidden, next))
		return -EOPNOTSUPP;
	return rename_plainly(place, &hidden);
}

/* ---- back to the own name --------------------------------------------------------------- */

/* Copies a file that cannot be renamed without a risk for others, and removes it. The new file is
 * made under its name, so it is incomplete for a while. If a program writes to the file meanwhile,
 * the file stays. */
static int copy_to(const struct place *from, const struct place *to)
{
	struct stat made;
	struct held held;
	int r = held_open_any(&held, from);

	if (r != 0)
		return r == HELD_BUSY ? -EBUSY : r < 0 ? r : -EOPNOTSUPP;
	r = file_copy(held.fd, to->directory, to->name);
	if (r == 0 && fstatat(to->directory, to->name, &made, AT_SYMLINK_NOFOLLOW) < 0)
		r = -errno;
	if (r == 0 && !held_is_unbroken(&held)) {
		if (place_leads_to(to, to->name, &made))
			(void)drop(to);
		r = -EBUSY;
	}
	if (r == 0)
		r = sync_directory(to->directory);
	if (r == 0)
		r = drop(from);
	held_close(&held);
	return r;
}

static int restore_as(const struct place *place, const char *other, const char *name)
{
	const struct place from = {.directory = place->directory, .name = other};
	const struct place to = {.directory = place->directory, .name = name};
	int r = place_move(&from, &to);

	if (r == -EEXIST && place_are_one_file(&from, &to))
		return drop(&from); /* an earlier move by two names was interrupted */
	/* mergerfs can have a name and a link to it on two branches only: EXDEV */
	return r == -EOPNOTSUPP || r == -EXDEV ? copy_to(&from, &to) : r;
}

/* Makes the name <name>.kept-<n>, cut to the length limit of a name. */
static int leftover_name(struct bytes *leftover, const char *name, int number)
{
	size_t length = strlen(name);

	leftover->length = 0;
	if (length > NAME_BYTES_MAX - sizeof(".kept-1000"))
		length = NAME_BYTES_MAX - sizeof(".kept-1000");
	return bytes_format(leftover, "%.*s.kept-%d", (int)length, name, number);
}

int place_restore(const struct place *place, const char *other, struct bytes *leftover)
{
	int r = restore_as(place, other, place->name);

	leftover->length = 0;
	for (int i = 1; r == -EEXIST && i <= LEFTOVER_NAMES_MAX; i++) {
		r = leftover_name(leftover, place->name, i);
		if (r == 0)
			r = bytes_text(leftover) ? restore_as(place, other, bytes_text(leftover))
						 : -ENOMEM;
	}
	return r;
}

/* ---- exchange --------------------------------------------------------------------------- */

/* The names of an exchange. */
struct exchange {
	char swap[OTHER_NAME_SIZE + sizeof(PLACE_SWAP)];
	struct place other, swapped;
};

static void exchange_init(struct exchange *exchange, const struct place *place, const char *other)
{
	(void)snprintf(exchange->swap, sizeof(exchange->swap), "%s" PLACE_SWAP, other);
	exchange->other = (struct place){.directory = place->directory, .name = other};
	exchange->swapped = (struct place){.directory = place->directory, .name = exchange->swap};
}

int place_exchange(const struct place *place, const char *other, struct bytes *leftover)
{
	struct exchange exchange;
	int r;

	exchange_init(&exchange, place, other);
	r = rename_with(&exchange.other, place, RENAME_EXCHANGE);
	if (!is_flag_unknown(r))
		return r;
	r = name_exists(place->directory, other) ? rename_plainly(place, &exchange.swapped)
						 : -ENOENT;
	if (r < 0)
		return r;
	r = place_move(&exchange.other, place);
	if (r == 0)
		return rename_plainly(&exchange.swapped, &exchange.other);
	return place_restore(place, exchange.swap, leftover) < 0 ? -EIO : r;
}

int place_end_exchange(const struct place *place, const char *other, struct bytes *leftover)
{
	struct exchange exchange;
	int r;

	exchange_init(&exchange, place, other);
	if (!name_exists(place->directory, exchange.swap))
		return 0;
	r = place_are_one_file(&exchange.other, place) ? drop(&exchange.other) : 0;
	if (r < 0)
		return r;
	if (!name_exists(place->directory, other))
		return rename_plainly(&exchange.swapped, &exchange.other);
	r = place_restore(place, exchange.swap, leftover);
	return r < 0 ? r : PLACE_RESTORED;
}
