/* SPDX-License-Identifier: MIT */

/* A copy that goes: for good, or to another folder. It is renamed within its directory first, so
 * that nobody finds it by its path any more, and what is found there is dealt with only if it is
 * what was compared. */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "act/file_copy.h"
#include "act/internal.h"
#include "act/undo.h"
#include "base/copier.h"
#include "base/descriptor.h"
#include "base/metadata.h"
#include "base/xattrs.h"
#include "source/source.h"

/* A copy that moves is needed for itself, and only its own bytes must not have changed. */
static bool copy_was_unbroken(struct one_act *act)
{
	return held_is_unbroken(&act->copy.held);
}

/* false: it has its name back. Where a copy could not be saved, what arrived elsewhere is needed. */
static bool remove_other(struct one_act *act)
{
	int r = one_act_remove_other(act, act->settings->kind == ACT_MOVE ? copy_was_unbroken
									  : one_act_still_holds);

	if (r == 0)
		return act->result->outcome == ACT_DONE || act->result->outcome == ACT_FAILED ||
		       act->result->outcome == ACT_STRAY;
	one_act_fail(act, r);
	one_act_put_back(act);
	return false;
}

/* ---- to another folder --------------------------------------------------------------- */

/* Outcome of copying: somebody came in between, as the result says. */
enum {
	COPY_NOT_WANTED = 1,
};

/* Opens what the source has at a path below the destination: a directory that the copy is in. */
static int open_original(const struct one_act *act, const char *path)
{
	const struct sources *sources = act->settings->sources;
	const struct source *source = &sources->list[act->copy.file->source];
	size_t tree = strlen(source->tree);

	path += tree;
	return open_beneath(source->fd, tree > 0 && *path == '/' ? path + 1 : path,
			    O_PATH | O_DIRECTORY, sources->cross_mounts);
}

/* Gives a new directory owner, mode and ACLs of another one. */
static int let_in_whom(int original, int fd)
{
	CLEANUP_XATTRS struct xattrs acls = {0};
	struct metadata_refused refused = {0};
	struct metadata metadata;
	struct stat status;
	int r;

	if (fstat(original, &status) < 0)
		return -errno;
	/* a caller who may not set the owner keeps the directory private */
	if (fchown(fd, status.st_uid, status.st_gid) < 0)
		return xattrs_write(&acls, fd, &refused.xattrs);
	r = xattrs_read_acls(&acls, original);
	metadata = metadata_of(&status, &acls);
	return r == 0 ? metadata_apply(&metadata, fd, &refused) : r;
}

/* Makes a directory that lets in whom the one in the source does, unless it is there. */
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
	r = let_in_whom(original, fd);
	return r == 0 ? sync_directory(made->directory) : r;
}

/* Makes the directories on the way to a path below the destination and opens the last one. */
static int open_parent(const struct one_act *act, struct place *parent)
{
	const char *path = act->to + strlen(act->settings->destination) + 1, *slash;
	AUTO_FREE char *part = NULL;

	for (slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		struct place made;
		int r;

		free(part);
		part = strndup(path, (size_t)(slash - path));
		if (!part)
			return -ENOMEM;
		r = place_open_below(&made, act->destination, part, true);
		if (r < 0)
			return r;
		r = make_directory(act, &made, part);
		place_close(&made);
		if (r < 0)
			return r;
	}
	return place_open_below(parent, act->destination, path, true);
}

/* What arrived goes again, unless somebody has done something with it: the copy is where it was. */
static void take_back(const struct place *parent, const struct stat *arrived)
{
	struct stat now;

	if (fstatat(parent->directory, parent->name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
	    copy_same_signature(&now, arrived))
		(void)unlinkat(parent->directory, parent->name, 0);
}

/* Makes sure of what has just got its name there. */
static int note_arrived(const struct place *parent, struct stat *arrived)
{
	int r;

	if (fstatat(parent->directory, parent->name, arrived, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	r = sync_directory(parent->directory);
	if (r < 0)
		take_back(parent, arrived);
	return r;
}

/* Writes to the journal which file the copy becomes. If the act is cut off, the copy goes for that
 * file only: an equal one that somebody else put there has not the same owner, mode, attributes. */
static int note_made(struct one_act *act, int directory, const char *name)
{
	struct intent intent = *act->intent;
	struct statx status;

	if (statx(directory, name, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH, STATX_INO | STATX_BTIME,
		  &status) < 0)
		return -errno;
	intent.made_inode = status.stx_ino;
	intent.made_born_ns = place_born_ns(&status);
	return journal_amend(act->journal, &intent);
}

/* To another file system: bytes and name are there, durably, before the copy goes. Where the folder
 * is that of the copy, by another mount, the copy itself stands under the other name: that is
 * left. */
static int copy_to(struct one_act *act, const struct place *parent, struct stat *arrived)
{
	int r = place_keeps_names(parent, geteuid())
			? -EPERM
			: file_copy(act->copy.held.fd, parent->directory, act->other);

	if (r < 0)
		return r;
	r = note_made(act, parent->directory, act->other);
	if (r == 0)
		r = one_act_still_holds(act)
			    ? place_rename(parent, act->other, parent->name, RENAME_NOREPLACE)
			    : COPY_NOT_WANTED;
	if (r == 0)
		return note_arrived(parent, arrived);
	(void)unlinkat(parent->directory, act->other, 0);
	return r;
}

/* By a hard link of what another name of the copy became, on the disk with its name. */
static int link_to(struct one_act *act, const struct place *parent, struct stat *arrived)
{
	const struct arrived *known = act->arrived;
	int r = place_keeps_names(parent, geteuid()) ? -EPERM : 0;

	if (r == 0 && known->is_known && known->file.fd >= 0)
		r = note_made(act, known->file.fd, "");
	if (r == 0)
		r = arrived_link(act->arrived, &act->copy.held, parent);
	return r == 0 ? note_arrived(parent, arrived) : r;
}

/* To another file system. 0: the name is there, or the outcome says why not. */
static int move_across(struct one_act *act, const struct place *parent)
{
	struct stat arrived = {0};
	int r = one_act_still_holds(act) ? link_to(act, parent, &arrived) : COPY_NOT_WANTED;
	bool is_link = r == 0;

	if (r == ARRIVED_APART)
		r = copy_to(act, parent, &arrived);
	if (r != 0)
		return r;
	if (!remove_other(act))
		take_back(parent, &arrived);
	else if (is_link)
		arrived_note_link(act->arrived, &act->copy.held);
	else
		arrived_note(act->arrived, &act->copy.held, parent, &arrived);
	return 0;
}

static void move_other(struct one_act *act)
{
	struct place parent = {.directory = -1, .name = ""};
	int r = open_parent(act, &parent);

	if (r == 0 && renameat2(act->copy.place.directory, act->other, parent.directory,
				parent.name, RENAME_NOREPLACE) < 0)
		r = -errno;
	if (r == 0)
		act->result->outcome = ACT_DONE;
	if (r == -EXDEV)
		r = move_across(act, &parent);
	place_close(&parent);
	if (r == 0)
		return;
	if (r == -EEXIST)
		act->result->outcome = ACT_EXISTS;
	else if (r < 0)
		one_act_fail(act, r);
	one_act_put_back(act);
}

/* ---- both ---------------------------------------------------------------------------- */

bool one_act_set_aside(struct one_act *act)
{
	const struct place *place = &act->copy.place;
	int r = place_rename(place, place->name, act->other, RENAME_NOREPLACE);

	if (r == -ENOENT)
		return one_act_refuse(act, ACT_GONE);
	if (r < 0) {
		one_act_fail(act, r);
		return false;
	}
	if (one_act_is_still_verified(act))
		return true;
	one_act_put_back(act);
	return false;
}

void act_remove_or_move(struct one_act *act)
{
	if (!one_act_verify(act) || !one_act_set_aside(act))
		return;
	if (act->settings->kind == ACT_MOVE)
		move_other(act);
	else
		(void)remove_other(act);
}
