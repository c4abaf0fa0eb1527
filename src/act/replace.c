/* SPDX-License-Identifier: MIT */

/* ACT_LINK and ACT_SYMLINK: a link to the kept file replaces the copy.
 *
 *	comparison	one_act_verify() compares all bytes.
 *	link		The link is made under the quarantine name, beside the copy.
 *	exchange	Link and copy exchange their names in one system call (RENAME_EXCHANGE), so
 *			the path leads to the same bytes at every moment. Where the file system does
 *			not know that call, place_exchange() does it in three steps.
 *	check		The link must lead to the kept file. Owner, mode and xattrs must still be
 *			equal. Inode, folder and leases of the copy are checked under the
 *			quarantine name.
 *	removal		one_act_remove_other() removes the quarantine name, and checks once more.
 *	undo		If a check fails, the names are exchanged again and the link is removed.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "act/one_act.h"
#include "base/array.h"
#include "base/attributes.h"
#include "base/bytes.h"
#include "base/descriptor.h"
#include "base/extents.h"
#include "base/filesystem.h"
#include "base/metadata.h"
#include "base/numbers.h"

/* ---- reach ---------------------------------------------------------------------------------- */

/* Reach of a file: the users that can access it through the folders on its path. Any thread. */

#define SEARCH_BITS (S_IXUSR | S_IXGRP | S_IXOTH)

/* A folder on a path. */
struct path_step {
	struct stat status;
	struct bytes acl; /* empty: none */
};

/* The folders from a directory up to the root. */
struct steps {
	struct path_step *list;
	size_t count, capacity;
};

static void steps_free(struct steps *steps)
{
	for (size_t i = 0; i < steps->count; i++)
		bytes_free(&steps->list[i].acl);
	free(steps->list);
}

static int read_acl(int fd, struct bytes *acl)
{
	static const char name[] = "system.posix_acl_access";
	struct fd_path path = fd_path(fd);
	AUTO_FREE char *value = malloc(XATTR_SIZE_MAX);
	ssize_t size;

	if (!value)
		return -ENOMEM;
	size = getxattr(path.text, name, value, XATTR_SIZE_MAX);
	if (size < 0)
		return errno == ENODATA || errno == EOPNOTSUPP ? 0 : -errno;
	return bytes_append(acl, value, (size_t)size);
}

static int add_step(struct steps *steps, int fd)
{
	struct path_step *step;
	int r = array_reserve(&steps->list, &steps->capacity, steps->count + 1,
			      sizeof(*steps->list));

	if (r < 0)
		return r;
	step = &steps->list[steps->count++];
	*step = (struct path_step){0};
	return fstat(fd, &step->status) < 0 ? -errno : read_acl(fd, &step->acl);
}

static int find_steps(struct steps *steps, int directory)
{
	AUTO_CLOSE int fd = openat(directory, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r = fd < 0 ? -errno : 1;

	while (r > 0) {
		r = add_step(steps, fd);
		if (r == 0)
			r = ascend(&fd);
	}
	return r;
}

/* Returns whether a folder is certain to admit all users that another folder admits. */
static bool admits_users_of(const struct path_step *step, const struct path_step *other)
{
	unsigned int bits = step->status.st_mode & SEARCH_BITS;
	unsigned int others = other->status.st_mode & SEARCH_BITS;

	return (bits & others) == others && step->status.st_uid == other->status.st_uid &&
	       step->status.st_gid == other->status.st_gid &&
	       bytes_compare(&step->acl, &other->acl) == 0;
}

static bool is_passed_by_all(const struct path_step *step, const struct steps *from)
{
	if ((step->status.st_mode & SEARCH_BITS) == SEARCH_BITS && step->acl.length == 0)
		return true;
	for (size_t i = 0; i < from->count; i++) {
		if (admits_users_of(step, &from->list[i]))
			return true;
	}
	return false;
}

/* Returns whether the kernel forbids other users to follow symlinks of the effective user in the
 * folder. */
static bool is_protected(const struct stat *folder)
{
	return folder->st_mode & S_ISVTX && folder->st_mode & S_IWOTH &&
	       folder->st_uid != geteuid();
}

static int compare_steps(int from, int to, struct steps *above_from, struct steps *above_to)
{
	int r = find_steps(above_from, from);

	if (r == 0)
		r = find_steps(above_to, to);
	if (r < 0)
		return r;
	if (!above_from->list || !above_to->list || is_protected(&above_from->list[0].status))
		return 0;
	if (above_from->list[0].status.st_dev != above_to->list[0].status.st_dev &&
	    is_remote_filesystem(to))
		return 0;
	for (size_t i = 0; i < above_to->count; i++) {
		if (!is_passed_by_all(&above_to->list[i], above_from))
			return 0;
	}
	return 1;
}

/* Returns whether each user who can reach the files in directory "from" can reach the files in
 * directory "to" by the path of "to". The check is conservative: in rare cases it returns 0
 * although the answer is yes.
 *
 * Each folder on the path of "to" must be searchable by all users and have no ACL, or correspond to
 * a folder on the path of "from": same owner, group and ACL, and at least the same search bits. If
 * both are on different file systems, that of "to" must not be remote or FUSE, as these check
 * access by other rules. Nor may "from" be a sticky folder that all users can write to and another
 * user owns: there the kernel follows a symlink of the effective user for no other user
 * (fs.protected_symlinks, proc_sys_fs(5)).
 *
 * from, to	open directories, O_PATH suffices
 *
 * Returns 1, 0, or -errno if a folder cannot be examined. */
static int reach_includes(int from, int to)
{
	CLEANUP(steps_free) struct steps above_from = {0}, above_to = {0};

	return compare_steps(from, to, &above_from, &above_to);
}

/* ---- replace -------------------------------------------------------------------------------- */

/* Compares owner, mode and extended attributes of copy and kept file, as a link of either kind
 * shows those of the kept file. Times are not compared. */
static bool has_same_metadata(struct one_act *act)
{
	struct stat a, b;
	int r;

	if (fstat(act->kept->held.fd, &a) < 0 || fstat(act->copy.held.fd, &b) < 0)
		return one_act_fail(act, -errno);
	if (a.st_mode != b.st_mode || a.st_uid != b.st_uid || a.st_gid != b.st_gid)
		return one_act_refuse(act, ACT_OTHER_METADATA);
	r = xattrs_are_same(act->kept->held.fd, act->copy.held.fd);
	if (r < 0)
		return one_act_fail(act, r);
	return r > 0 || one_act_refuse(act, ACT_OTHER_METADATA);
}

/* Returns true if all users who can reach the copy can reach the kept file by its path, as they
 * need for a symlink. If that is not certain, fills in the outcome and returns false. */
static bool is_as_reachable(struct one_act *act)
{
	int r = reach_includes(act->copy.place.directory, act->kept->place.directory);

	if (r < 0)
		return one_act_fail(act, r);
	return r > 0 || one_act_refuse(act, ACT_OTHER_REACH);
}

bool act_may_replace(struct one_act *act)
{
	bool symbolic = act->settings->kind == ACT_SYMLINK;
	uid_t owner = symbolic ? geteuid() : act->kept->held.status.st_uid;

	if (place_has_permanent_names(&act->copy.place, owner))
		return one_act_refuse(act, ACT_IMMUTABLE);
	if (!symbolic && act->kept->held.status.st_dev != act->copy.held.status.st_dev)
		return one_act_refuse(act, ACT_OTHER_FILE_SYSTEM);
	if (act->settings->force_metadata)
		return true;
	return has_same_metadata(act) && (!symbolic || is_as_reachable(act));
}

/* Makes a symbolic link under the quarantine name. Some file systems show another target, or let no
 * user read it: the act could neither check the link nor know it as its own. */
static int make_symlink(const struct one_act *act)
{
	const struct place *copy = &act->copy.place;

	if (symlinkat(act->entry->record.target, copy->directory, act->other) < 0)
		return -errno;
	if (place_is_symlink_to(copy, act->other, act->entry->record.target))
		return 0;
	(void)unlinkat(copy->directory, act->other, 0);
	return -EOPNOTSUPP;
}

/* Makes the link under the quarantine name. */
static int make_link(struct one_act *act)
{
	const struct place *kept = &act->kept->place, *copy = &act->copy.place;

	if (act->settings->kind == ACT_SYMLINK)
		return make_symlink(act);
	if (linkat(kept->directory, kept->name, copy->directory, act->other, 0) < 0)
		return -errno;
	if (place_leads_to(copy, act->other, &act->kept->held.status))
		return 0;
	/* another file has the name of the kept file, or a link has another inode number */
	(void)unlinkat(copy->directory, act->other, 0);
	return place_leads_to(kept, kept->name, &act->kept->held.status) ? -EOPNOTSUPP : -ENOENT;
}

/* Returns whether link(2) failed as the file system has no hard links. It fails with EPERM then,
 * but also for immutable files and for files of other users. */
static bool is_link_unsupported(const struct one_act *act, int result)
{
	const struct subject *kept = act->kept;

	if (result == -EPERM)
		return (geteuid() == 0 || geteuid() == kept->held.status.st_uid) &&
		       !place_is_immutable(&kept->place) && !place_is_immutable(&act->copy.place);
	return result == -EOPNOTSUPP || result == -ENOSYS;
}

/* Returns whether the name leads to the link of this act. */
static bool is_our_link(const struct one_act *act, const char *name)
{
	if (act->settings->kind == ACT_LINK)
		return place_leads_to(&act->copy.place, name, &act->kept->held.status);
	return place_is_symlink_to(&act->copy.place, name, act->entry->record.target);
}

/* Returns whether the link at the copy's name leads to the kept file. It does not if a folder on
 * the path of the kept file was renamed. */
static bool link_leads_to_kept(const struct one_act *act)
{
	const struct place *place = &act->copy.place;
	struct stat there;

	return fstatat(place->directory, place->name, &there, 0) == 0 &&
	       is_same_inode(&there, &act->kept->held.status);
}

/* Removes the link under the quarantine name. If the link is the last name of the kept file, or
 * another file has the quarantine name, renames that file to the copy's name or a name beside
 * it. */
static void remove_link(struct one_act *act)
{
	struct stat status;

	if (is_our_link(act, act->other) &&
	    fstatat(act->copy.place.directory, act->other, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
	    (S_ISLNK(status.st_mode) || status.st_nlink > 1))
		one_act_note_undone(act, unlinkat(act->copy.place.directory, act->other, 0) < 0
						 ? -errno
						 : 0);
	else
		one_act_put_back(act);
}

/* Exchanges the names of link and copy again, and removes the link. */
static void exchange_back(struct one_act *act)
{
	const struct place *place = &act->copy.place;
	int r = is_our_link(act, place->name) ? place_exchange(place, act->other, act->leftover)
					      : -ENOENT;

	if (r == 0)
		remove_link(act);
	else if (r == -ENOENT)
		one_act_put_back(act);
	else
		one_act_note_undone(act, r);
}

/* Checks the act after the exchange. Owner, mode and attributes are compared again, as a program
 * could set them during the comparison. The path of the copy now leads to the link, so no program
 * can set the attributes of the copy by that path. */
static bool is_what_was_verified(struct one_act *act)
{
	if (!is_our_link(act, act->copy.place.name))
		return one_act_refuse(act, ACT_CHANGED);
	if (!link_leads_to_kept(act))
		return one_act_refuse(act, ACT_KEPT_MISSING);
	if (!act->settings->force_metadata && !has_same_metadata(act))
		return false;
	return one_act_is_still_verified(act);
}

/* Returns true if a program possibly waits in open(2) for a lease, to write to the kept file by the
 * path of the copy, where the link is now. The program's writes must be found at that path, so the
 * link has to stay. While the writer is blocked, the comparison is still valid. */
static bool writer_may_use_link(const struct one_act *act)
{
	return act->result->outcome == ACT_KEPT_BUSY &&
	       held_blocks_writer(&act->kept->held, act->verified_ns) &&
	       held_is_unbroken(&act->copy.held);
}

/* Does the last check of a hard link. The link has the bytes of the kept file, even if the name of
 * the kept file was removed. */
static bool hard_link_is_valid(struct one_act *act)
{
	return held_is_unbroken(&act->copy.held);
}

/* Does the last check of a symbolic link. If the check fails, removes the link, so that the copy
 * can be restored. */
static bool symlink_is_valid(struct one_act *act)
{
	const struct place *place = &act->copy.place;

	if (!link_leads_to_kept(act))
		(void)one_act_refuse(act, ACT_KEPT_MISSING);
	else if (one_act_still_holds(act) || writer_may_use_link(act))
		return true;
	if (is_our_link(act, place->name))
		(void)unlinkat(place->directory, place->name, 0);
	return false;
}

static void remove_copy(struct one_act *act)
{
	int r = one_act_remove_other(act, act->settings->kind == ACT_SYMLINK ? symlink_is_valid
									     : hard_link_is_valid);

	if (r == 0)
		return;
	(void)one_act_fail(act, r);
	exchange_back(act);
}

void act_replace(struct one_act *act)
{
	const struct place *place = &act->copy.place;
	int r;

	if (!act_may_replace(act) || !one_act_verify(act))
		return;
	r = make_link(act);
	if (r == -ENOENT)
		act->result->outcome = ACT_KEPT_MISSING;
	else if (act->settings->kind == ACT_LINK && is_link_unsupported(act, r))
		act->result->outcome = ACT_NO_LINKS;
	else if (r < 0)
		(void)one_act_fail(act, r);
	if (r < 0)
		return;
	r = place_exchange(place, act->other, act->leftover);
	if (r < 0) {
		(void)one_act_fail(act, r);
		if (r == -ENOENT)
			act->result->outcome = ACT_MISSING;
		remove_link(act);
	} else if (!is_what_was_verified(act) && !writer_may_use_link(act)) {
		exchange_back(act);
	} else {
		remove_copy(act);
	}
}

/* ---- dedupe --------------------------------------------------------------------------- */

/* ACT_DEDUPE, with FIDEDUPERANGE (ioctl_fideduperange(2)).
 *
 *	comparison	The kernel locks both files and compares the bytes before the copy shares
 *			the blocks of the kept file.
 *
 * No name and no time stamp changes, so there is no journal and no undo. After an interrupted act
 * the copy has the same bytes and shares a part of its blocks. */

/* Bytes per call: the limit of btrfs. */
#define RANGE_BYTES (UINT64_C(16) << 20)

/* Sets a range at one offset of both files. */
static struct dedupe_range range_at(const struct one_act *act, uint64_t offset, uint64_t length)
{
	return (struct dedupe_range){.source = act->kept->held.fd,
				     .destination = act->copy.held.fd,
				     .source_offset = offset,
				     .destination_offset = offset,
				     .length = length};
}

bool act_may_dedupe(struct one_act *act)
{
	const struct held *kept = &act->kept->held, *copy = &act->copy.held;
	const struct dedupe_range none = range_at(act, 0, 0);
	int64_t shared;

	if (is_same_inode(&kept->status, &copy->status))
		return one_act_refuse(act, ACT_NEEDLESS);
	/* An empty range only checks whether sharing is possible. extents_cover() compares block
	 * numbers, which can be equal on two file systems. */
	shared = dedupe_range(&none);
	if (shared == -EXDEV)
		return one_act_refuse(act, ACT_OTHER_FILE_SYSTEM);
	if (dedupe_range_is_unsupported(copy->fd, shared))
		return one_act_refuse(act, ACT_CANNOT_SHARE);
	if (shared == -EPERM || shared == -EACCES || shared == -EROFS)
		return one_act_fail(act, (int)shared);
	if (extents_cover(kept->fd, copy->fd))
		return one_act_refuse(act, ACT_NEEDLESS);
	return copy->status.st_size == kept->status.st_size || one_act_refuse(act, ACT_DIFFERS);
}

void act_dedupe(struct one_act *act)
{
	const struct held *copy = &act->copy.held;
	uint64_t size = (uint64_t)act->kept->held.status.st_size, own_bytes;
	int64_t shared;

	if (!act_may_dedupe(act))
		return;
	act->result->outcome = ACT_DIFFERS;
	own_bytes = extents_own_bytes(copy->fd);
	for (uint64_t at = 0; at < size; at += (uint64_t)shared) {
		struct dedupe_range range =
			range_at(act, at, size - at < RANGE_BYTES ? size - at : RANGE_BYTES);

		at += dedupe_range_skip_hole(&range);
		shared = range.length > 0 ? dedupe_range(&range) : 0;
		if (shared == 0 && range.length > 0)
			return;
		if (shared < 0) {
			(void)one_act_fail(act, (int)shared);
			return;
		}
	}
	act->result->freed_bytes = size_subtract(own_bytes, extents_own_bytes(copy->fd));
	/* inline extents in the metadata of btrfs have no blocks to share */
	act->result->outcome =
		own_bytes > 0 && act->result->freed_bytes == 0 ? ACT_NEEDLESS : ACT_DONE;
}
