/* SPDX-License-Identifier: MIT */

/* A copy that a link to the kept file takes the place of. The link is made beside it, then the two
 * change their names in one system call, so that its path leads to the content at every moment; the
 * copy goes when all is as it was. */

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "act/internal.h"
#include "act/reach.h"
#include "base/descriptor.h"
#include "base/xattrs.h"

/* What a name has besides its bytes, and would have another one of as a link of either kind: all but
 * times. */
static bool has_same_metadata(struct one_act *act)
{
	CLEANUP_XATTRS struct xattrs kept = {0}, copy = {0};
	struct stat a, b;
	int r;

	if (fstat(act->kept->held.fd, &a) < 0 || fstat(act->copy.held.fd, &b) < 0) {
		one_act_fail(act, -errno);
		return false;
	}
	if (a.st_mode != b.st_mode || a.st_uid != b.st_uid || a.st_gid != b.st_gid)
		return one_act_refuse(act, ACT_OTHER_METADATA);
	r = xattrs_read(&kept, act->kept->held.fd);
	if (r == 0)
		r = xattrs_read(&copy, act->copy.held.fd);
	if (r < 0) {
		one_act_fail(act, r);
		return false;
	}
	return xattrs_equal(&kept, &copy) ? true : one_act_refuse(act, ACT_OTHER_METADATA);
}

/* Can whoever reaches the copy reach the kept file, by the path that a symlink leads along? */
static bool is_as_reachable(struct one_act *act)
{
	int r = reach_includes(act->copy.place.directory, act->kept->place.directory);

	if (r < 0)
		one_act_fail(act, r);
	return r > 0 || (r == 0 && one_act_refuse(act, ACT_OTHER_REACH));
}

static bool may_be_linked(struct one_act *act)
{
	bool symbolic = act->settings->kind == ACT_SYMLINK;
	uid_t owner = symbolic ? geteuid() : act->kept->held.status.st_uid;

	if (place_keeps_names(&act->copy.place, owner))
		return one_act_refuse(act, ACT_IMMUTABLE);
	if (!symbolic && act->kept->held.status.st_dev != act->copy.held.status.st_dev)
		return one_act_refuse(act, ACT_OTHER_FILE_SYSTEM);
	if (act->settings->force_metadata)
		return true;
	return has_same_metadata(act) && (!symbolic || is_as_reachable(act));
}

/* Makes the link under the other name. */
static int make_link(struct one_act *act)
{
	const struct place *kept = &act->kept->place, *copy = &act->copy.place;

	if (act->settings->kind == ACT_SYMLINK)
		return symlinkat(act->target, copy->directory, act->other) < 0 ? -errno : 0;
	if (linkat(kept->directory, kept->name, copy->directory, act->other, 0) < 0)
		return -errno;
	if (place_leads_to(copy, act->other, &act->kept->held.status))
		return 0;
	/* another file has the kept one's name by now */
	(void)unlinkat(copy->directory, act->other, 0);
	return -ENOENT;
}

/* Is what stands at a name the link that was made? */
static bool is_our_link(const struct one_act *act, const char *name)
{
	if (act->settings->kind == ACT_LINK)
		return place_leads_to(&act->copy.place, name, &act->kept->held.status);
	return place_is_symlink_to(&act->copy.place, name, act->target);
}

/* Does the link lead to the kept file? A folder on the way to that may have another name by now. */
static bool link_leads_to_kept(const struct one_act *act)
{
	const struct place *place = &act->copy.place;
	struct stat there;

	return fstatat(place->directory, place->name, &there, 0) == 0 &&
	       is_same_inode(&there, &act->kept->held.status);
}

/* Removes the link again; what else stands there by now stays, under another name. */
static void take_back_link(struct one_act *act)
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

static void change_back(struct one_act *act)
{
	const struct place *place = &act->copy.place;
	int r = is_our_link(act, place->name)
			? place_rename(place, act->other, place->name, RENAME_EXCHANGE)
			: -ENOENT;

	if (r == 0)
		take_back_link(act);
	else if (r == -ENOENT)
		one_act_put_back(act);
	else
		one_act_note_undone(act, r);
}

/* Owner, mode and attributes are asked for again: they may have been set while the bytes were read. From
 * here on, nobody can set them by the path of the copy: it leads to the link. */
static bool is_what_was_verified(struct one_act *act)
{
	if (!is_our_link(act, act->copy.place.name))
		return one_act_refuse(act, ACT_CHANGED);
	if (!link_leads_to_kept(act))
		return one_act_refuse(act, ACT_KEPT_GONE);
	if (!act->settings->force_metadata && !has_same_metadata(act))
		return false;
	return one_act_is_still_verified(act);
}

/* A writer who waits for the kept file may have come by the path of the copy, which leads there now, and
 * what he writes must be found there. While he waits, what was verified is still so. */
static bool writer_may_mean_link(const struct one_act *act)
{
	return act->result->outcome == ACT_KEPT_BUSY &&
	       held_keeps_writer_waiting(&act->kept->held, act->verified_ns) &&
	       held_is_unbroken(&act->copy.held);
}

/* A hard link has the kept file's bytes, whatever became of its other name. */
static bool hard_link_was_right(struct one_act *act)
{
	return held_is_unbroken(&act->copy.held);
}

static bool symlink_was_right(struct one_act *act)
{
	const struct place *place = &act->copy.place;

	if (!link_leads_to_kept(act))
		(void)one_act_refuse(act, ACT_KEPT_GONE);
	else if (one_act_still_holds(act) || writer_may_mean_link(act))
		return true;
	if (is_our_link(act, place->name))
		(void)unlinkat(place->directory, place->name, 0);
	return false;
}

static void remove_copy(struct one_act *act)
{
	int r = one_act_remove_other(act, act->settings->kind == ACT_SYMLINK ? symlink_was_right
									     : hard_link_was_right);

	if (r == 0)
		return;
	one_act_fail(act, r);
	change_back(act);
}

void act_replace(struct one_act *act)
{
	const struct place *place = &act->copy.place;
	int r;

	if (!may_be_linked(act) || !one_act_verify(act))
		return;
	r = make_link(act);
	if (r == -ENOENT)
		act->result->outcome = ACT_KEPT_GONE;
	else if (r < 0)
		one_act_fail(act, r);
	if (r < 0)
		return;
	r = place_rename(place, act->other, place->name, RENAME_EXCHANGE);
	if (r < 0) {
		one_act_fail(act, r);
		if (r == -ENOENT)
			act->result->outcome = ACT_GONE;
		take_back_link(act);
	} else if (!is_what_was_verified(act) && !writer_may_mean_link(act)) {
		change_back(act);
	} else {
		remove_copy(act);
	}
}
