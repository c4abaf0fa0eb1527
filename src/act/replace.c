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
static bool has_same_metadata(struct deed *deed)
{
	struct xattrs kept CLEANUP_XATTRS = {0}, copy CLEANUP_XATTRS = {0};
	struct stat a, b;
	int r;

	if (fstat(deed->kept->held.fd, &a) < 0 || fstat(deed->copy.held.fd, &b) < 0) {
		deed_fail(deed, -errno);
		return false;
	}
	if (a.st_mode != b.st_mode || a.st_uid != b.st_uid || a.st_gid != b.st_gid)
		return deed_refuse(deed, ACT_OTHER_METADATA);
	r = xattrs_read(&kept, deed->kept->held.fd);
	if (r == 0)
		r = xattrs_read(&copy, deed->copy.held.fd);
	if (r < 0) {
		deed_fail(deed, r);
		return false;
	}
	return xattrs_equal(&kept, &copy) ? true : deed_refuse(deed, ACT_OTHER_METADATA);
}

/* Can whoever reaches the copy reach the kept file, by the path that a symlink leads along? */
static bool is_as_reachable(struct deed *deed)
{
	int r = reach_includes(deed->copy.place.directory, deed->kept->place.directory);

	if (r < 0)
		deed_fail(deed, r);
	return r > 0 || (r == 0 && deed_refuse(deed, ACT_OTHER_REACH));
}

static bool may_be_linked(struct deed *deed)
{
	bool symbolic = deed->settings->kind == ACT_SYMLINK;
	uid_t owner = symbolic ? geteuid() : deed->kept->held.status.st_uid;

	if (place_keeps_names(&deed->copy.place, owner))
		return deed_refuse(deed, ACT_IMMUTABLE);
	if (!symbolic && deed->kept->held.status.st_dev != deed->copy.held.status.st_dev)
		return deed_refuse(deed, ACT_OTHER_FILE_SYSTEM);
	if (deed->settings->force_metadata)
		return true;
	return has_same_metadata(deed) && (!symbolic || is_as_reachable(deed));
}

/* Makes the link under the other name. */
static int make_link(struct deed *deed)
{
	const struct place *kept = &deed->kept->place, *copy = &deed->copy.place;

	if (deed->settings->kind == ACT_SYMLINK)
		return symlinkat(deed->target, copy->directory, deed->other) < 0 ? -errno : 0;
	if (linkat(kept->directory, kept->name, copy->directory, deed->other, 0) < 0)
		return -errno;
	if (place_leads_to(copy, deed->other, &deed->kept->held.status))
		return 0;
	/* another file has the kept one's name by now */
	(void)unlinkat(copy->directory, deed->other, 0);
	return -ENOENT;
}

/* Is what stands at a name the link that was made? */
static bool is_our_link(const struct deed *deed, const char *name)
{
	if (deed->settings->kind == ACT_LINK)
		return place_leads_to(&deed->copy.place, name, &deed->kept->held.status);
	return place_is_symlink_to(&deed->copy.place, name, deed->target);
}

/* Does the link lead to the kept file? A folder on the way to that may have another name by now. */
static bool link_leads_to_kept(const struct deed *deed)
{
	const struct place *place = &deed->copy.place;
	struct stat there;

	return fstatat(place->directory, place->name, &there, 0) == 0 &&
	       is_same_inode(&there, &deed->kept->held.status);
}

/* Removes the link again; what else stands there by now stays, under another name. */
static void take_back_link(struct deed *deed)
{
	struct stat status;

	if (is_our_link(deed, deed->other) &&
	    fstatat(deed->copy.place.directory, deed->other, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
	    (S_ISLNK(status.st_mode) || status.st_nlink > 1))
		deed_note_undone(deed, unlinkat(deed->copy.place.directory, deed->other, 0) < 0
					       ? -errno
					       : 0);
	else
		deed_put_back(deed);
}

static void change_back(struct deed *deed)
{
	const struct place *place = &deed->copy.place;
	int r = is_our_link(deed, place->name)
			? place_rename(place, deed->other, place->name, RENAME_EXCHANGE)
			: -ENOENT;

	if (r == 0)
		take_back_link(deed);
	else if (r == -ENOENT)
		deed_put_back(deed);
	else
		deed_note_undone(deed, r);
}

/* Owner, mode and attributes are asked for again: they may have been set while the bytes were read. From
 * here on, nobody can set them by the path of the copy: it leads to the link. */
static bool is_what_was_verified(struct deed *deed)
{
	if (!is_our_link(deed, deed->copy.place.name))
		return deed_refuse(deed, ACT_CHANGED);
	if (!link_leads_to_kept(deed))
		return deed_refuse(deed, ACT_KEPT_GONE);
	if (!deed->settings->force_metadata && !has_same_metadata(deed))
		return false;
	return deed_is_still_verified(deed);
}

/* A writer who waits for the kept file may have come by the path of the copy, which leads there now, and
 * what he writes must be found there. While he waits, what was verified is still so. */
static bool writer_may_mean_link(const struct deed *deed)
{
	return deed->result->outcome == ACT_KEPT_BUSY &&
	       held_keeps_writer_waiting(&deed->kept->held, deed->verified_ns) &&
	       held_is_unbroken(&deed->copy.held);
}

/* A hard link has the kept file's bytes, whatever became of its other name. */
static bool hard_link_was_right(struct deed *deed)
{
	return held_is_unbroken(&deed->copy.held);
}

static bool symlink_was_right(struct deed *deed)
{
	const struct place *place = &deed->copy.place;

	if (!link_leads_to_kept(deed))
		(void)deed_refuse(deed, ACT_KEPT_GONE);
	else if (deed_still_holds(deed) || writer_may_mean_link(deed))
		return true;
	if (is_our_link(deed, place->name))
		(void)unlinkat(place->directory, place->name, 0);
	return false;
}

static void remove_copy(struct deed *deed)
{
	int r = deed_remove_other(deed, deed->settings->kind == ACT_SYMLINK ? symlink_was_right
									    : hard_link_was_right);

	if (r == 0)
		return;
	deed_fail(deed, r);
	change_back(deed);
}

void deed_replace(struct deed *deed)
{
	const struct place *place = &deed->copy.place;
	int r;

	if (!may_be_linked(deed) || !deed_verify(deed))
		return;
	r = make_link(deed);
	if (r == -ENOENT)
		deed->result->outcome = ACT_KEPT_GONE;
	else if (r < 0)
		deed_fail(deed, r);
	if (r < 0)
		return;
	r = place_rename(place, deed->other, place->name, RENAME_EXCHANGE);
	if (r < 0) {
		deed_fail(deed, r);
		if (r == -ENOENT)
			deed->result->outcome = ACT_GONE;
		take_back_link(deed);
	} else if (!is_what_was_verified(deed) && !writer_may_mean_link(deed)) {
		change_back(deed);
	} else {
		remove_copy(deed);
	}
}
