/* SPDX-License-Identifier: MIT */

/* Undo of acts on folders, and on names that are no regular files. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "act/trash_entry.h"
#include "act/undo_file.h"
#include "act/undo_place.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/directory.h"
#include "base/inode_flags.h"
#include "base/metadata.h"
#include "base/stored_time.h"

/* ---- a folder that was moved as a whole -------------------------------------------------- */

/* Returns whether the name is the folder of the record. */
static bool is_the_folder(const struct place *place, const struct record *record)
{
	AUTO_CLOSE int fd = open_beneath(place->directory, place->name, O_PATH, false);
	struct stat status;

	return fd >= 0 && fstat(fd, &status) == 0 && S_ISDIR(status.st_mode) &&
	       undo_is_inode(fd, record->inode, record->born_ns);
}

/* Renames the folder back. Returns 0 or -errno; -ENOENT if it is not where the act moved it. */
static int rename_back(struct bringing *bringing)
{
	const struct record *record = bringing->record;
	const struct place *place = &bringing->place;
	struct place there;
	struct stat status;
	int r = undo_place_open_path(&there, record->to);

	if (r < 0)
		return r == -ENOTDIR ? -ENOENT : r;
	if (!is_the_folder(&there, record))
		r = -ENOENT;
	else
		r = place_move(&there, place);
	if (r == 0 && fstat(there.directory, &status) == 0)
		durable_note_directory(&bringing->undo->durable, there.directory, status.st_dev);
	place_close(&there);
	return r;
}

/* Removes the info file of a folder that is no longer in the trash. */
static void forget_info(const struct record *record)
{
	if (record->info)
		trash_entry_forget(record->info, "", record->path);
}

static void return_folder(struct bringing *bringing)
{
	int r = rename_back(bringing);

	if (r == -ENOENT) {
		undo_end(bringing, UNDO_FOLDER_GONE);
	} else if (r < 0) {
		undo_fail(bringing, r);
	} else {
		forget_info(bringing->record);
		undo_end(bringing, UNDO_DONE);
	}
}

/* ---- a name that was removed ------------------------------------------------------------- */

/* Modes of a new folder, and of another new name except a symlink, until they get the former one.
 * No private name of the user has the sticky bit. */
#define FOLDER_MODE (S_ISVTX | 0700)
#define OTHER_MODE (S_ISVTX | 0600)

static int make_name(const struct record *record, const struct place *place)
{
	int r;

	if (record->type == S_IFDIR)
		r = mkdirat(place->directory, place->name, FOLDER_MODE);
	else if (record->type == S_IFLNK)
		r = symlinkat(record->target ? record->target : "", place->directory, place->name);
	else
		r = mknodat(place->directory, place->name, record->type | OTHER_MODE,
			    (dev_t)record->device);
	return r < 0 ? -errno : 0;
}

/* Gives a name that an undo made its former metadata. fd can be the -errno of making it. */
static void finish(struct bringing *bringing, int fd)
{
	const struct record *record = bringing->record;
	const struct metadata metadata = undo_metadata_of(record);
	struct metadata_refused refused = {0};
	int r = fd < 0 ? fd : metadata_apply(&metadata, fd, &refused);

	if (r < 0) {
		undo_fail(bringing, r);
		return;
	}
	undo_note_refused(bringing, &refused);
	bringing->result->fewer_flags =
		record->has_flags && !inode_flag_bits_set(fd, record->flags);
	undo_end(bringing, UNDO_DONE);
}

static void make(struct bringing *bringing)
{
	const struct place *place = &bringing->place;
	int r = make_name(bringing->record, place);
	AUTO_CLOSE int fd = r < 0 ? r : open_beneath(place->directory, place->name, O_PATH, false);

	finish(bringing, fd);
}

/* ---- a name that a killed undo made ------------------------------------------------------ */

static bool has_no_names(int fd)
{
	AUTO_CLOSE int folder = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return folder >= 0 && directory_check_empty(folder, NULL) == 0;
}

/* Returns whether all attributes are those of a new name of this undo, or already the former ones,
 * so that a killed undo made it, and nothing has changed it since. */
static bool is_half_made(const struct record *record, int fd)
{
	CLEANUP_XATTRS struct xattrs found = {0};
	struct statx status;
	struct stat now;
	mode_t fresh = record->type == S_IFDIR ? FOLDER_MODE : OTHER_MODE;
	bool is_owned, is_new;
	int64_t born_ns;

	if (fd < 0 || fstat(fd, &now) < 0 || statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &status) < 0)
		return false;
	/* the owner is set before the mode, and a new folder can inherit the set-group-ID bit */
	is_owned = now.st_uid == record->uid && now.st_gid == record->gid;
	is_new = now.st_uid == geteuid() || is_owned;
	if (record->type != S_IFLNK)
		is_new = (is_new && (now.st_mode & ALLPERMS & ~S_ISGID) == fresh) ||
			 (is_owned && (now.st_mode & ALLPERMS) == record->mode);
	born_ns = place_born_ns(&status);
	return is_new && born_ns > clock_ns(record->time) &&
	       (clock_ns(now.st_mtim) == born_ns || stored_time_equals(record->mtime, &now)) &&
	       xattrs_read(&found, fd) == 0 &&
	       (found.count == 0 || (record->xattrs && xattrs_equal(&found, record->xattrs))) &&
	       (record->type != S_IFDIR || has_no_names(fd));
}

/* Returns whether the existing name is what the record describes. */
static bool is_back(const struct bringing *bringing, const struct stat *status)
{
	const struct record *record = bringing->record;
	const struct place *place = &bringing->place;

	if ((status->st_mode & S_IFMT) != record->type)
		return false;
	if (record->type == S_IFLNK)
		return record->target && place_is_symlink_to(place, place->name, record->target);
	if (record->type == S_IFDIR && record->command != RECORD_REMOVE)
		return is_the_folder(place, record);
	return record->type == S_IFDIR || status->st_rdev == record->device;
}

/* Returns whether an existing name has another owner or mode than the removed one. The time of a
 * folder is set later. */
static bool is_altered(const struct stat *status, const struct record *record)
{
	return status->st_uid != record->uid || status->st_gid != record->gid ||
	       (record->type != S_IFLNK && (status->st_mode & ALLPERMS) != record->mode) ||
	       (record->type != S_IFDIR && !stored_time_equals(record->mtime, status));
}

static void examine_existing(struct bringing *bringing, const struct stat *status)
{
	const struct place *place = &bringing->place;
	AUTO_CLOSE int fd = -1;

	if (!is_back(bringing, status)) {
		undo_end(bringing, UNDO_EXISTS);
		return;
	}
	undo_end(bringing, UNDO_ALREADY);
	forget_info(bringing->record);
	if (bringing->record->to || !is_altered(status, bringing->record))
		return;
	fd = open_beneath(place->directory, place->name, O_PATH, false);
	if (is_half_made(bringing->record, fd))
		finish(bringing, fd);
	else
		bringing->result->other_metadata = true;
}

void undo_special(struct bringing *bringing)
{
	const struct record *record = bringing->record;
	const struct place *place = &bringing->place;
	struct stat status;

	if (fstatat(place->directory, place->name, &status, AT_SYMLINK_NOFOLLOW) == 0)
		examine_existing(bringing, &status);
	else if (errno != ENOENT)
		undo_fail(bringing, -errno);
	else if (record->to)
		return_folder(bringing);
	else
		make(bringing);
}

void undo_restore_time(const struct record *record)
{
	struct place place;
	struct stat now;

	if (undo_place_open_path(&place, record->path) < 0)
		return;
	(void)!stored_time_set(place.directory, place.name, AT_SYMLINK_NOFOLLOW, record->mtime,
			       &now);
	place_close(&place);
}
