/* SPDX-License-Identifier: MIT */

/* ACT_REMOVE and ACT_MOVE.
 *
 *	comparison	one_act_verify() compares all bytes.
 *	quarantine	The copy is renamed within its directory, so that no program can open it by
 *			its path. Then inode, folder and leases are checked.
 *	removal		one_act_remove_other() removes the quarantine name.
 *	move		On one file system the quarantined copy is renamed to the destination.
 *	move across	On two file systems the bytes are copied to a new file and synced. The
 *			inode of the new file is noted in the journal, then the file gets its name.
 *			Only then is the quarantine name removed.
 *	last check	After the removal one_act_remove_other() checks the leases once more.
 *	undo		If a step fails, the new file is removed and the copy gets its own name
 *			back.
 */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "act/file_copy.h"
#include "act/one_act.h"
#include "base/clock.h"
#include "base/copier.h"
#include "base/descriptor.h"
#include "base/kernel.h"
#include "base/metadata.h"
#include "index/filesystem.h"
#include "index/source.h"

/* ---- where names of a copy arrived ---------------------------------------------------- */

uint64_t arrived_count_split(const struct arrived *arrived)
{
	return arrived->split +
	       (arrived->is_split || (arrived->is_known && arrived->original.st_nlink > 0));
}

void arrived_deinit(struct arrived *arrived)
{
	uint64_t split = arrived_count_split(arrived);

	if (arrived->is_known)
		held_close(&arrived->file);
	*arrived = (struct arrived){.split = split};
}

void arrived_expect(struct arrived *arrived, const struct held *copy)
{
	if (arrived->is_known && !is_same_inode(&arrived->original, &copy->status))
		arrived_deinit(arrived);
}

/* Notes that the copy's name was removed after arrived_link(). The copy knows how many names it has
 * left: a FUSE server can hide a removed name and count it. If the copy has no further name, or
 * fstat(2) fails, closes the file that the copy became. This ends the lease on that file, so that
 * writers can continue. */
static void arrived_note_link(struct arrived *arrived, const struct held *copy)
{
	if (fstat(copy->fd, &arrived->original) < 0)
		arrived->original = (struct stat){0};
	if (arrived->original.st_nlink > copy->status.st_nlink)
		arrived->original.st_nlink = copy->status.st_nlink;
	if (arrived->original.st_nlink == 0)
		held_close(&arrived->file);
}

/* Notes that a name of a copy became a separate file, and holds that file if the copy has further
 * names.
 *
 * copy		held, after its name was removed
 * there	place of the file
 * file		attributes of the file when it got its name in this place
 */
static void arrived_note(struct arrived *arrived, const struct held *copy,
			 const struct place *there, const struct stat *file)
{
	if (arrived->is_known) {
		arrived->is_split = true;
		held_close(&arrived->file);
	}
	arrived->is_known = true;
	arrived->file.fd = -1;
	arrived_note_link(arrived, copy);
	if (arrived->original.st_nlink == 0 || held_open_any(&arrived->file, there) != 0)
		return;
	if (!copy_same_signature(&arrived->file.status, file))
		held_close(&arrived->file);
}

static bool has_same_owner(const struct stat *a, const struct stat *b)
{
	return a->st_mode == b->st_mode && a->st_uid == b->st_uid && a->st_gid == b->st_gid;
}

/* Compares the attributes of a copy. Returns whether nothing but its names changed. */
static bool is_unchanged(const struct stat *before, const struct stat *now)
{
	return has_same_owner(before, now) && before->st_size == now->st_size &&
	       clock_equal(before->st_mtim, now->st_mtim);
}

/* Returns whether the file may be linked as a further name of the copy. A user who can write to the
 * destination could replace the file by one with the same bytes. A link to that one would let this
 * user change the copy, so owner, mode and attributes must be equal. */
static bool can_be_linked(const struct arrived *arrived, const struct held *copy)
{
	struct stat now;

	return fstat(arrived->file.fd, &now) == 0 && has_same_owner(&now, &copy->status) &&
	       xattrs_are_same(arrived->file.fd, copy->fd) == 1 &&
	       held_same_bytes(&arrived->file, copy) == 1 && held_is_unbroken(&arrived->file);
}

/* Outcome of arrived_link(): the name must become a separate file. */
enum {
	ARRIVED_APART = 1,
};

/* Returns whether the error means that no link is possible: the file has no name or too many names,
 * the directory is on another file system, or links are not supported or not permitted. */
static bool is_no_link_possible(int error)
{
	return error == ENOENT || error == EXDEV || error == EMLINK || error == EPERM ||
	       error == EOPNOTSUPP;
}

/* Makes a hard link of the file for another name of the same copy. The file must have the same
 * bytes, mode, owner and extended attributes as the copy. Both files are read for that.
 *
 * Returns 0, ARRIVED_APART, -EEXIST if the name exists, or another -errno. */
static int arrived_link(struct arrived *arrived, const struct held *copy, const struct place *to)
{
	struct fd_path path;

	if (!arrived->is_known || arrived->file.fd < 0 ||
	    !is_unchanged(&arrived->original, &copy->status) || !can_be_linked(arrived, copy))
		return ARRIVED_APART;
	path = fd_path(arrived->file.fd);
	if (linkat(AT_FDCWD, path.text, to->directory, to->name, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	return is_no_link_possible(errno) ? ARRIVED_APART : -errno;
}

/* ---- removal -------------------------------------------------------------------------- */

/* Does the last check of a move: the lease on the copy must be unbroken. The kept file is not
 * checked, as the moved file has the bytes. */
static bool copy_is_unbroken(struct one_act *act)
{
	return held_is_unbroken(&act->copy.held);
}

/* Removes the quarantine name. Returns false if the copy has its own name back. Then the moved file
 * is not needed. */
static bool remove_other(struct one_act *act)
{
	int r = one_act_remove_other(act, act->settings->kind == ACT_MOVE ? copy_is_unbroken
									  : one_act_still_holds);

	if (r == 0)
		return act->result->outcome == ACT_DONE || act->result->outcome == ACT_FAILED ||
		       act->result->outcome == ACT_LEFTOVER || act->is_saved_elsewhere;
	(void)one_act_fail(act, r);
	one_act_put_back(act);
	return false;
}

/* ---- to another folder --------------------------------------------------------------- */

/* Outcome besides -errno and ARRIVED_APART: a check failed, and the outcome of the act is filled
 * in. */
enum {
	COPY_REFUSED = 2,
};

/* Opens the directory of the source that corresponds to a path below the destination. */
static int open_original(const struct one_act *act, const char *path)
{
	const struct sources *sources = act->settings->sources;
	const struct source *source = &sources->list[act->copy.file->source];
	size_t tree = strlen(source->tree);

	path += tree;
	return open_beneath(source->fd, tree > 0 && *path == '/' ? path + 1 : path,
			    O_PATH | O_DIRECTORY, sources->cross_mounts);
}

/* Gives a new directory the owner, mode and ACLs of another one. */
static int copy_directory_access(int original, int fd)
{
	CLEANUP_XATTRS struct xattrs acls = {0};
	struct metadata_refused refused = {0};
	struct metadata metadata;
	struct stat status;
	int r;

	if (fstat(original, &status) < 0)
		return -errno;
	/* a user without the right to set the owner gets a private directory */
	if (fchown(fd, status.st_uid, status.st_gid) < 0)
		return xattrs_write(&acls, fd, &refused.xattrs);
	r = xattrs_read_acls(&acls, original);
	metadata = metadata_of(&status, &acls);
	return r == 0 ? metadata_apply(&metadata, fd, &refused) : r;
}

/* Makes a missing directory, with the access rights of the corresponding directory in the
 * source. */
static int make_directory(const struct one_act *act, const struct place *made, const char *path)
{
	AUTO_CLOSE int original = -1;
	AUTO_CLOSE int fd = -1;
	int r;

	if (mkdirat(made->directory, made->name, 0700) < 0)
		return errno == EEXIST ? 0 : -errno;
	original = open_original(act, path);
	if (original < 0)
		return original;
	fd = openat(made->directory, made->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = copy_directory_access(original, fd);
	return r == 0 ? sync_directory(made->directory) : r;
}

/* Makes the directories on the path of the copy below the destination, and opens the last one.
 * Returns 0 or -errno. */
static int open_parent(const struct one_act *act, struct place *parent)
{
	const char *path = act->entry->to + strlen(act->settings->destination) + 1, *slash;
	AUTO_FREE char *part = NULL;

	for (slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		struct place made;
		int r;

		free(part);
		part = strndup(path, (size_t)(slash - path));
		if (!part)
			return -ENOMEM;
		r = place_open_below(&made, act->session->destination, part, true);
		if (r < 0)
			return r;
		r = make_directory(act, &made, part);
		place_close(&made);
		if (r < 0)
			return r;
	}
	return place_open_below(parent, act->session->destination, path, true);
}

/* Removes the file at the destination again, unless a program changed it. The caller knows that the
 * copy still has a name. */
static void remove_arrived(const struct place *parent, const struct stat *arrived)
{
	struct stat now;

	if (fstatat(parent->directory, parent->name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
	    copy_same_signature(&now, arrived))
		(void)unlinkat(parent->directory, parent->name, 0);
}

/* Syncs the new name at the destination and reads the attributes of the file. If that fails,
 * removes the file. */
static int sync_arrived(const struct place *parent, struct stat *arrived)
{
	int r;

	if (fstatat(parent->directory, parent->name, arrived, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	r = sync_directory(parent->directory);
	if (r < 0)
		remove_arrived(parent, arrived);
	return r;
}

/* Writes the inode of the new file to the journal. If the act is interrupted, undo removes the copy
 * only if this inode is at the destination. A file that another program put there can have the same
 * bytes but another owner, mode or attributes. */
static int note_made(struct one_act *act, int directory, const char *name)
{
	struct intent intent = act->entry->intent;
	struct record record = act->entry->record;
	struct statx status;

	if (statx(directory, name, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH, STATX_INO | STATX_BTIME,
		  &status) < 0)
		return -errno;
	record.made_inode = intent.made_inode = status.stx_ino;
	record.made_born_ns = intent.made_born_ns = place_born_ns(&status);
	record.made_filesystem = filesystem_lasting_identity(directory);
	return one_act_amend(act, &intent, &record);
}

/* Copies to another file system. Bytes and name are synced before the copy is removed. If the
 * destination is the directory of the copy, reached by another mount, the quarantine name exists
 * there: file_copy() fails, and the copy stays. Returns 0, COPY_REFUSED or -errno. */
static int copy_to(struct one_act *act, const struct place *parent, struct stat *arrived)
{
	const struct place arriving = {.directory = parent->directory, .name = act->other};
	int r = place_has_permanent_names(parent, geteuid())
			? -EPERM
			: file_copy(act->copy.held.fd, parent->directory, act->other);

	if (r < 0)
		return r;
	r = note_made(act, parent->directory, act->other);
	if (r == 0)
		r = one_act_still_holds(act) ? place_move(&arriving, parent) : COPY_REFUSED;
	if (r == 0)
		return sync_arrived(parent, arrived);
	(void)unlinkat(parent->directory, act->other, 0);
	return r;
}

/* Makes a hard link to the file that another name of the copy became, and syncs it. Returns 0,
 * ARRIVED_APART or -errno. */
static int link_to(struct one_act *act, const struct place *parent, struct stat *arrived)
{
	const struct arrived *known = &act->session->arrived;
	int r = place_has_permanent_names(parent, geteuid()) ? -EPERM : 0;

	if (r == 0 && known->is_known && known->file.fd >= 0)
		r = note_made(act, known->file.fd, "");
	if (r == 0)
		r = arrived_link(&act->session->arrived, &act->copy.held, parent);
	return r == 0 ? sync_arrived(parent, arrived) : r;
}

/* Moves to another file system. Returns 0 if the outcome is filled in and the copy needs no undo,
 * COPY_REFUSED if the outcome is filled in, or -errno. */
static int move_across(struct one_act *act, const struct place *parent)
{
	struct stat arrived = {0};
	int r = one_act_still_holds(act) ? link_to(act, parent, &arrived) : COPY_REFUSED;
	bool is_link = r == 0;

	if (r == ARRIVED_APART)
		r = copy_to(act, parent, &arrived);
	if (r != 0)
		return r;
	if (!remove_other(act))
		remove_arrived(parent, &arrived);
	else if (is_link)
		arrived_note_link(&act->session->arrived, &act->copy.held);
	else
		arrived_note(&act->session->arrived, &act->copy.held, parent, &arrived);
	return 0;
}

bool act_may_move(struct one_act *act)
{
	const char *path = act->entry->to + strlen(act->settings->destination) + 1;
	struct place parent;
	struct stat status;
	int r = place_open_below(&parent, act->session->destination, path, true);

	if (r == -ENOENT) /* the act makes the folder */
		return access_effective(act->session->destination, ".", W_OK | X_OK) == 0 ||
		       one_act_fail(act, -errno);
	if (r < 0)
		return one_act_fail(act, r);
	if (fstatat(parent.directory, parent.name, &status, AT_SYMLINK_NOFOLLOW) == 0)
		r = -EEXIST;
	else if (access_effective(parent.directory, ".", W_OK | X_OK) < 0)
		r = -errno;
	place_close(&parent);
	if (r == -EEXIST)
		return one_act_refuse(act, ACT_EXISTS);
	return r == 0 || one_act_fail(act, r);
}

void one_act_move(struct one_act *act)
{
	const struct place hidden = {.directory = act->copy.place.directory, .name = act->other};
	struct place parent = {.directory = -1, .name = ""};
	int r = open_parent(act, &parent);

	if (r == 0)
		r = place_move(&hidden, &parent);
	if (r == 0)
		act->result->outcome = ACT_DONE;
	if (r == -EXDEV && !act->entry->is_folder)
		r = move_across(act, &parent);
	place_close(&parent);
	if (r == 0)
		return;
	if (r == -EEXIST)
		act->result->outcome = ACT_EXISTS;
	else if (r == -EXDEV && act->entry->is_folder)
		act->result->outcome = ACT_ACROSS;
	else if (r < 0)
		(void)one_act_fail(act, r);
	one_act_put_back(act);
	place_remove_folders(act->entry->to, act->entry->record.new_folders);
}

void act_remove_or_move(struct one_act *act)
{
	if (!one_act_verify(act) || !one_act_quarantine(act))
		return;
	if (act->settings->kind == ACT_MOVE)
		one_act_move(act);
	else
		(void)remove_other(act);
}
