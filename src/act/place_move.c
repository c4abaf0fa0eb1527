/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "act/held.h"
#include "act/journal.h"
#include "act/place.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/file_copy.h"

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

static bool exists(const struct place *place)
{
	struct stat status;

	return fstatat(place->directory, place->name, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

static int rename_plainly(const struct place *from, const struct place *to)
{
	if (exists(to))
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
	ssize_t length = readlinkat(a->directory, a->name, target, sizeof(target) - 1);

	if (length < 0)
		return false;
	target[length] = '\0';
	return place_is_symlink_to(b, b->name, target);
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
	ssize_t length = readlinkat(from->directory, from->name, target, sizeof(target) - 1);

	if (length < 0)
		return -errno;
	target[length] = '\0';
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
	r = exists(&exchange.other) ? rename_plainly(place, &exchange.swapped) : -ENOENT;
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
	if (!exists(&exchange.swapped))
		return 0;
	r = place_are_one_file(&exchange.other, place) ? drop(&exchange.other) : 0;
	if (r < 0)
		return r;
	if (!exists(&exchange.other))
		return rename_plainly(&exchange.swapped, &exchange.other);
	r = place_restore(place, exchange.swap, leftover);
	return r < 0 ? r : PLACE_RESTORED;
}
