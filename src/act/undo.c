/* SPDX-License-Identifier: MIT */
#include "act/undo.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "act/file_copy.h"
#include "act/held.h"
#include "act/trash_entry.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/log.h"
#include "base/quote.h"

/* Names beside the own one that are tried. */
#define STRAY_MAX 1000

/* <name>.kept-<n>, cut so that it is a name. */
static int stray_name(struct bytes *stray, const char *name, int number)
{
	size_t length = strlen(name);

	stray->length = 0;
	if (length > NAME_BYTES_MAX - sizeof(".kept-1000"))
		length = NAME_BYTES_MAX - sizeof(".kept-1000");
	return bytes_format(stray, "%.*s.kept-%d", (int)length, name, number);
}

int undo_rename(const struct place *place, const char *other, struct bytes *stray)
{
	int r = place_rename(place, other, place->name, RENAME_NOREPLACE);

	stray->length = 0;
	for (int i = 1; r == -EEXIST && i <= STRAY_MAX; i++) {
		r = stray_name(stray, place->name, i);
		if (r == 0)
			r = bytes_text(stray) ? place_rename(place, other, bytes_text(stray),
							     RENAME_NOREPLACE)
					      : -ENOMEM;
	}
	return r;
}

/* ---- one intent ---------------------------------------------------------------------- */

/* What stands under a name. */
enum what {
	WHAT_NOTHING,
	WHAT_COPY, /* the file that was acted upon */
	WHAT_LINK, /* what was to take its place */
	WHAT_STRANGE,
};

/* Is it the link that was made? One that has become the only name of its file is no link any more. */
static bool is_the_link(const struct place *place, const char *name, const struct intent *intent,
			const struct statx *status)
{
	if (intent->kind == INTENT_LINK)
		return S_ISREG(status->stx_mode) && status->stx_ino == intent->kept_inode &&
		       status->stx_nlink > 1;
	return intent->kind == INTENT_SYMLINK && intent->target &&
	       place_is_symlink_to(place, name, intent->target);
}

static int examine(const struct place *place, const char *name, const struct intent *intent,
		   enum what *what)
{
	struct statx status;

	*what = WHAT_NOTHING;
	if (statx(place->directory, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
		  STATX_BASIC_STATS | STATX_BTIME, &status) < 0)
		return errno == ENOENT ? 0 : -errno;
	*what = WHAT_STRANGE;
	if (status.stx_ino == intent->inode && (!intent->born_ns || !place_born_ns(&status) ||
						intent->born_ns == place_born_ns(&status)))
		*what = WHAT_COPY;
	else if (is_the_link(place, name, intent, &status))
		*what = WHAT_LINK;
	return 0;
}

static int remove_other(const struct place *place, const char *other)
{
	return unlinkat(place->directory, other, 0) < 0 ? -errno : 0;
}

struct undoing {
	struct undone *undone;
	struct bytes stray;
	bool is_completed; /* the move was */
	bool is_edited; /* the link stays, as its file was written to since the act */
	struct bytes said; /* places that were named, each with its NUL */
};

/* Outcome of comparing a link with the copy: the bytes are not the same any more. */
enum {
	LINK_IS_EDITED = 1,
};

/* Holds the file that the link leads to, and the copy, and compares them. A link that leads to no
 * file holds none. Returns 0, LINK_IS_EDITED, -EBUSY if a program can write to the file, or another
 * -errno. */
static int compare_link(const struct place *place, const char *other, struct held *linked)
{
	const struct place copy = {.directory = place->directory, .name = other};
	struct held before = {.fd = -1};
	int r = held_open_linked(linked, place);

	if (r == -ENOENT || r == -ENOTDIR || r == -ELOOP || r == HELD_CHANGED)
		return 0;
	if (r == 0)
		r = held_open_any(&before, &copy);
	if (r == 0) {
		r = held_same_bytes(linked, &before);
		r = r < 0 ? r : r == 0 ? LINK_IS_EDITED : 0;
	} else if (r > 0) {
		r = r == HELD_BUSY ? -EBUSY : LINK_IS_EDITED;
	}
	held_close(&before);
	return r;
}

/* Changes the names of the link and the copy, unless a program wants to write to the file that the
 * link leads to: what it writes must be found at the path that it opened. */
static int change_back(const struct place *place, const char *other, const struct held *linked)
{
	int r = place_rename(place, other, place->name, RENAME_EXCHANGE);

	if (r < 0 || linked->fd < 0 || held_is_unbroken(linked))
		return r;
	r = place_rename(place, other, place->name, RENAME_EXCHANGE);
	return r < 0 ? r : -EBUSY;
}

/* The link stands under the other name by now. */
static int remove_link(const struct place *place, const struct intent *intent, struct bytes *stray)
{
	enum what what;
	int r = examine(place, intent->other, intent, &what);

	if (r == 0 && what == WHAT_LINK)
		return remove_other(place, intent->other);
	/* somebody else's file had taken a name of ours: both stay */
	return r == 0 && what != WHAT_NOTHING ? undo_rename(place, intent->other, stray) : r;
}

/* The copy stands under the other name, its link perhaps under its own: or something new, which
 * stays there, as nobody must find an old file where he put a new one. So does a link to a file that
 * was written to since. */
static int undo_replace(struct undoing *undoing, const struct place *place,
			const struct intent *intent)
{
	struct held linked = {.fd = -1};
	enum what what;
	int r = examine(place, place->name, intent, &what);

	if (r == 0 && what != WHAT_LINK)
		return undo_rename(place, intent->other, &undoing->stray);
	if (r == 0)
		r = compare_link(place, intent->other, &linked);
	undoing->is_edited = r == LINK_IS_EDITED;
	if (r == 0)
		r = change_back(place, intent->other, &linked);
	held_close(&linked);
	if (r == -ENOENT || undoing->is_edited) /* or its name was taken away */
		return undo_rename(place, intent->other, &undoing->stray);
	return r == 0 ? remove_link(place, intent, &undoing->stray) : r;
}

/* Opens the place that the copy moves to. */
static int open_destination(struct place *there, const struct intent *intent)
{
	const char *slash = intent->to ? strrchr(intent->to, '/') : NULL;
	AUTO_FREE char *folder = slash ? strndup(intent->to, (size_t)(slash - intent->to)) : NULL;

	*there = (struct place){.directory = -1, .name = slash ? slash + 1 : ""};
	if (!folder)
		return slash ? -ENOMEM : -ENOENT;
	there->directory = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return there->directory < 0 ? -errno : 0;
}

/* Is it the file that the act made there? */
static bool is_made(const struct held *arrived, const struct intent *intent)
{
	struct statx now;

	return intent->made_inode &&
	       statx(arrived->fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &now) == 0 &&
	       now.stx_ino == intent->made_inode &&
	       (!intent->made_born_ns || intent->made_born_ns == place_born_ns(&now));
}

/* Has the move come to its end but for the name that is to go? Then what was moved, and its name, are
 * on the disk: only then may the copy go.
 *
 * copy		held */
static bool has_arrived(const struct held *copy, const struct intent *intent)
{
	struct place there;
	struct held arrived = {.fd = -1};
	bool is_there =
		place_is_mounted(&intent->to_mount) && open_destination(&there, intent) == 0;

	if (!is_there)
		return false;
	is_there = held_open_any(&arrived, &there) == 0 && is_made(&arrived, intent) &&
		   !is_same_inode(&arrived.status, &copy->status) &&
		   held_same_bytes(&arrived, copy) == 1 && fsync(arrived.fd) == 0 &&
		   sync_directory(there.directory) == 0 && held_is_unbroken(&arrived);
	held_close(&arrived);
	place_close(&there);
	return is_there;
}

/* Removes the copy. If a program has opened it for writing in the last moment, what it writes is
 * saved. */
static int complete_move(struct undoing *undoing, const struct place *place,
			 const struct intent *intent, struct held *copy)
{
	int r = remove_other(place, intent->other);

	undoing->is_completed = r == 0 && held_is_unbroken(copy);
	if (r < 0 || undoing->is_completed)
		return r;
	held_wait_for_writer(copy);
	r = file_copy_save(copy->fd, place->directory, intent->other);
	return r < 0 ? r : undo_rename(place, intent->other, &undoing->stray);
}

/* Completes the move if all holds that the act itself needs, else gives the copy its name back. */
static int undo_away(struct undoing *undoing, const struct place *place,
		     const struct intent *intent)
{
	const struct place other = {.directory = place->directory, .name = intent->other};
	struct held copy = {.fd = -1};
	bool is_held = intent->to && held_open_any(&copy, &other) == 0;
	int r = is_held && has_arrived(&copy, intent) && held_is_unbroken(&copy)
			? complete_move(undoing, place, intent, &copy)
			: undo_rename(place, intent->other, &undoing->stray);

	held_close(&copy);
	return r;
}

/* What was written to another file system and did not get its name yet. Where the directory turns
 * out to be that of the copy itself, seen by another path, nothing is removed. If the directory of
 * the copy is gone, the inode number alone tells. */
static void remove_partial(const struct place *place, const struct intent *intent)
{
	struct place there;
	struct stat status, own;

	if (open_destination(&there, intent) == 0 &&
	    fstatat(there.directory, intent->other, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
	    (status.st_ino != intent->inode ||
	     (fstat(place->directory, &own) == 0 && status.st_dev != own.st_dev)))
		(void)unlinkat(there.directory, intent->other, 0);
	place_close(&there);
}

/* The info file of a copy that did not come into the trash. */
static void forget_info(const struct intent *intent)
{
	CLEANUP_BYTES struct bytes original = {0};

	if (intent->info && bytes_format(&original, "%s/%s", intent->source, intent->path) == 0 &&
	    bytes_text(&original))
		trash_entry_forget(intent->info, intent->other, bytes_text(&original));
}

/* Outcomes where something is not there any more. */
enum {
	FOLDER_IS_GONE = 1, /* the directory, with the file or with another name */
	BYTES_ARE_ELSEWHERE = 2, /* its bytes were saved: they wait for the directory */
	BYTES_ARE_MISSING = 3, /* those that were saved, or were to be */
};

/* Where nobody can tell, they may be. */
static bool has_saved_bytes(const struct intent *intent)
{
	struct stat status;

	if (!intent->saved)
		return false;
	return lstat(intent->saved, &status) < 0 ? errno != ENOENT : S_ISREG(status.st_mode);
}

static void say(struct undoing *undoing, const struct intent *intent, int result)
{
	CLEANUP_BYTES struct bytes path = {0};

	if (bytes_format(&path, "%s/%s", intent->source, intent->path) < 0 || !bytes_text(&path))
		return;
	if (result == FOLDER_IS_GONE)
		log_warning("%s: an act upon it was cut off, and its folder is not there any more; "
			    "if that was moved, and has a file %s in it, that is this one: rename "
			    "it",
			    quote_path(bytes_text(&path)), quote_path(intent->other));
	else if (result == BYTES_ARE_ELSEWHERE)
		log_warning(
			"%s: its folder is not there any more, and its bytes are in %s; make the "
			"folder, then 'twinfs recover' puts them back, or move them",
			quote_path(bytes_text(&path)), quote_path(intent->saved));
	else if (result == BYTES_ARE_MISSING)
		log_warning(
			"%s: its bytes, which were to be saved in %s, are not there; if that is "
			"on a disk that is not mounted, mount it, and move them back",
			quote_path(bytes_text(&path)), quote_path(intent->saved));
	else if (result < 0)
		log_warning("%s: an act upon it was cut off, and cannot be undone now: %s; "
			    "'twinfs recover' tries again",
			    quote_path(bytes_text(&path)), error_text(result));
	else if (undoing->is_completed)
		log_info("%s: moving it was cut off and is completed",
			 quote_path(bytes_text(&path)));
	else if (undoing->is_edited)
		log_warning("%s: linking it was cut off, and it was written to since; what it was "
			    "before is called %s beside it, and the kept file has the change, too",
			    quote_path(bytes_text(&path)), quote_path(bytes_text(&undoing->stray)));
	else if (undoing->stray.length > 0)
		log_warning("%s: an act upon it was cut off; there is another file by now, so it "
			    "is called %s beside that",
			    quote_path(bytes_text(&path)), quote_path(bytes_text(&undoing->stray)));
	else
		log_info("%s: an act upon it was cut off and is undone",
			 quote_path(bytes_text(&path)));
}

/* Removes what was to become a file of this name, and was cut off. */
static void forget_part(int directory, const char *name)
{
	AUTO_FREE char *part = NULL;

	if (asprintf(&part, "%s" FILE_COPY_PART, name) < 0)
		part = NULL;
	else
		(void)unlinkat(directory, part, 0);
}

/* Removes what was saved elsewhere, and the folder that was made for it. */
static void forget_saved(const struct intent *intent)
{
	const char *slash = strrchr(intent->saved, '/');
	AUTO_FREE char *folder =
		slash ? strndup(intent->saved, (size_t)(slash - intent->saved)) : NULL;
	const char *name = folder ? strrchr(folder, '/') : NULL;

	(void)unlink(intent->saved);
	forget_part(AT_FDCWD, intent->saved);
	if (name && strcmp(name + 1, intent->other) == 0)
		(void)rmdir(folder);
}

/* Gives the copy the bytes that were saved elsewhere, durably. What was only begun there has no
 * bytes that are needed. */
static int undo_saved(struct undoing *undoing, const struct place *place,
		      const struct intent *intent)
{
	AUTO_CLOSE int saved = open(intent->saved, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat status;
	int r;

	if (saved < 0 && errno != ENOENT)
		return -errno;
	if (saved < 0) {
		if (fstatat(place->directory, place->name, &status, AT_SYMLINK_NOFOLLOW) < 0)
			say(undoing, intent, BYTES_ARE_MISSING);
		forget_saved(intent);
		return 0;
	}
	if (fstat(saved, &status) < 0 || !S_ISREG(status.st_mode))
		return -EINVAL;
	r = file_copy_save(saved, place->directory, intent->other);
	if (r == 0)
		r = undo_rename(place, intent->other, &undoing->stray);
	if (r == 0)
		r = sync_directory(place->directory);
	if (r < 0)
		return r;
	forget_saved(intent);
	undoing->undone->files++;
	return 0;
}

static int undo_one(struct undoing *undoing, const struct place *place, const struct intent *intent)
{
	enum what what;
	int r = examine(place, intent->other, intent, &what);

	if (r == 0 && what == WHAT_NOTHING && intent->saved)
		return undo_saved(undoing, place, intent);
	if (r < 0 || what == WHAT_NOTHING)
		return r;
	if (what == WHAT_LINK)
		return remove_other(place, intent->other);
	if (intent->kind != INTENT_AWAY)
		r = undo_replace(undoing, place, intent);
	else if (what == WHAT_COPY)
		r = undo_away(undoing, place, intent);
	else
		r = undo_rename(place, intent->other, &undoing->stray);
	undoing->undone->completed += undoing->is_completed;
	undoing->undone->files += r == 0 && !undoing->is_completed;
	return r;
}

/* Was a mount point named already? */
static bool is_said(const struct undoing *undoing, const char *mount)
{
	const char *text = (const char *)undoing->said.data;

	for (size_t at = 0; at < undoing->said.length; at += strlen(text + at) + 1) {
		if (strcmp(text + at, mount) == 0)
			return true;
	}
	return false;
}

/* Names a place that cannot be reached, once for all intents that need it. */
static void say_absent(struct undoing *undoing, const struct intent *intent, const char *mount)
{
	CLEANUP_BYTES struct bytes path = {0};

	if (is_said(undoing, mount) || bytes_append(&undoing->said, mount, strlen(mount) + 1) < 0 ||
	    bytes_format(&path, "%s/%s", intent->source, intent->path) < 0 || !bytes_text(&path))
		return;
	log_warning("%s is not mounted or is another folder now: an act that was cut off, upon %s, "
		    "cannot be undone completely; mount it, then run 'twinfs recover'",
		    quote_path(mount), quote_path(bytes_text(&path)));
}

/* Undoes what can be undone in the directory of the copy. */
static int undo_there(struct undoing *undoing, const struct intent *intent, int root)
{
	struct place place;
	uint64_t before = undoing->undone->files;
	int r = place_open_below(&place, root, intent->path, true);

	undoing->stray.length = 0;
	undoing->is_edited = undoing->is_completed = false;
	if (r == -ENOENT) {
		r = has_saved_bytes(intent) ? BYTES_ARE_ELSEWHERE : 0;
		say(undoing, intent, r ? r : FOLDER_IS_GONE);
		if (r == 0 && intent->saved)
			forget_saved(intent);
	} else if (r == 0) {
		r = undo_one(undoing, &place, intent);
		if (r == 0)
			forget_part(place.directory, intent->other);
	}
	if (r == 0 && place.directory >= 0)
		r = sync_directory(place.directory);
	if (r == 0 && place_is_mounted(&intent->to_mount))
		remove_partial(&place, intent);
	if (r == 0)
		forget_info(intent);
	place_close(&place);
	if (r < 0 || undoing->is_completed || undoing->undone->files > before)
		say(undoing, intent, r);
	return r;
}

/* Is there nothing, or something else, where a folder was? */
static bool is_absent(int result)
{
	return result == -ENOENT || result == -ENOTDIR || result == -ENODEV || result == -ELOOP;
}

static bool undo_intent(void *context, const struct intent *intent)
{
	struct undoing *undoing = context;
	AUTO_CLOSE int root = place_open_root(intent->source, &intent->root);
	const char *absent = NULL;
	int r = root < 0 ? root : 0;

	if (is_absent(root))
		absent = intent->source;
	else if (!place_is_mounted(&intent->mount))
		absent = intent->mount.path;
	else if (r == 0)
		r = undo_there(undoing, intent, root);
	else
		say(undoing, intent, r);
	/* the copy has its name, but what was made elsewhere has not been removed */
	if (r == 0 && !absent && !place_is_mounted(&intent->to_mount))
		absent = intent->to_mount.path;
	if (absent)
		say_absent(undoing, intent, absent);
	undoing->undone->left += absent || r != 0;
	return !absent && r == 0;
}

int undo_acts(struct journal *journal, struct undone *undone)
{
	struct undoing undoing = {.undone = undone};
	int r;

	*undone = (struct undone){0};
	r = journal_settle(journal, undo_intent, &undoing);
	bytes_free(&undoing.stray);
	bytes_free(&undoing.said);
	return r;
}

int undo_acts_of(const char *folder, struct undone *undone)
{
	struct journal *journal;
	int r;

	*undone = (struct undone){0};
	r = journal_has_intents(folder);
	if (r <= 0)
		return r;
	r = journal_open(&journal, folder);
	if (r < 0)
		return r;
	r = undo_acts(journal, undone);
	journal_close(journal);
	return r;
}
