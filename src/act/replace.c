/* SPDX-License-Identifier: MIT */

/* ACT_LINK and ACT_SYMLINK: a link to the kept file replaces the copy.
 *
 *	comparison	one_act_verify() compares all bytes.
 *	link		The link is made under the quarantine name, beside the copy.
 *	exchange	Link and copy exchange their names in one system call (RENAME_EXCHANGE), so
 *			the path leads to the same bytes at every moment. Where the file system does
 *			not know that call, act/place_move.c does it in three steps.
 *	check		The link must lead to the kept file. Owner, mode and xattrs must still be
 *			equal. Inode, folder and leases of the copy are checked under the
 *			quarantine name.
 *	removal		one_act_remove_other() removes the quarantine name, and checks once more.
 *	undo		If a check fails, the names are exchanged again and the link is removed.
 */

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "act/one_act.h"
#include "act/reach.h"
#include "base/descriptor.h"
#include "base/xattrs.h"

/* Compares owner, mode and extended attributes of copy and kept file, as a link of either kind
 * shows those of the kept file. Times are not compared. */
static bool has_same_metadata(struct one_act *act)
{
	CLEANUP_XATTRS struct xattrs kept = {0}, copy = {0};
	struct stat a, b;
	int r;

	if (fstat(act->kept->held.fd, &a) < 0 || fstat(act->copy.held.fd, &b) < 0)
		return one_act_fail(act, -errno);
	if (a.st_mode != b.st_mode || a.st_uid != b.st_uid || a.st_gid != b.st_gid)
		return one_act_refuse(act, ACT_OTHER_METADATA);
	r = xattrs_read(&kept, act->kept->held.fd);
	if (r == 0)
		r = xattrs_read(&copy, act->copy.held.fd);
	if (r < 0)
		return one_act_fail(act, r);
	return xattrs_equal(&kept, &copy) || one_act_refuse(act, ACT_OTHER_METADATA);
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

	if (symlinkat(act->target, copy->directory, act->other) < 0)
		return -errno;
	if (place_is_symlink_to(copy, act->other, act->target))
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
	return place_is_symlink_to(&act->copy.place, name, act->target);
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
