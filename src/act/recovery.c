/* SPDX-License-Identifier: MIT */
#include "act/recovery.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "act/act_log.h"
#include "act/file_copy.h"
#include "act/folder_check.h"
#include "act/held.h"
#include "act/journal.h"
#include "act/place.h"
#include "act/trash.h"
#include "base/attributes.h"
#include "base/descriptor.h"
#include "base/extents.h"
#include "base/log.h"

/* ---- rescue --------------------------------------------------------------------------------- */

/* The bytes of a copy that an act saved in a rescue folder (act/one_act.c). One thread. */

/* Outcomes if the directory or saved bytes of a copy are missing. */
enum {
	FOLDER_IS_MISSING = 1, /* the directory was removed or moved */
	BYTES_ARE_ELSEWHERE = 2, /* the directory is missing, but a rescue folder has the bytes */
	BYTES_ARE_MISSING = 3, /* the rescue folder does not have the bytes */
	KEPT_IS_ABSENT = 4, /* the kept folder of one that is being emptied is not at its path */
	BYTES_ARE_ABSENT = 5, /* the disk of the rescue folder is not mounted */
};

/* Returns whether the rescue folder possibly has the bytes: also if it cannot be examined, or its
 * disk is not mounted. */
static bool rescue_has_bytes(const struct intent *intent)
{
	struct stat status;

	if (!intent->saved)
		return false;
	if (lstat(intent->saved, &status) == 0)
		return S_ISREG(status.st_mode);
	return errno != ENOENT || !place_is_mounted(&intent->saved_mount);
}

/* Removes the leftover of an interrupted file_copy_save() with this name. */
static void rescue_forget_part(int directory, const char *name)
{
	AUTO_FREE char *part = NULL;

	if (asprintf(&part, "%s" FILE_COPY_PART, name) < 0)
		part = NULL;
	else
		(void)unlinkat(directory, part, 0);
}

/* Removes the bytes in a rescue folder, and the private folder if one was made for them. */
static void rescue_forget(const struct intent *intent)
{
	const char *slash = strrchr(intent->saved, '/');
	AUTO_FREE char *folder =
		slash ? strndup(intent->saved, (size_t)(slash - intent->saved)) : NULL;
	const char *name = folder ? strrchr(folder, '/') : NULL;

	(void)unlink(intent->saved);
	rescue_forget_part(AT_FDCWD, intent->saved);
	if (name && strcmp(name + 1, intent->other) == 0)
		(void)rmdir(folder);
}

/* Handles a rescue folder without the bytes. */
static int miss(const struct intent *intent, const struct place *place)
{
	struct stat status;

	if (!place_is_mounted(&intent->saved_mount))
		return BYTES_ARE_ABSENT;
	if (fstatat(place->directory, place->name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? BYTES_ARE_MISSING : -errno;
	rescue_forget(intent);
	return 0;
}

/* Restores the copy from the rescue folder, syncs it, and removes the bytes in the rescue folder.
 * If they are missing and a file has the name of the copy, there is nothing to restore.
 *
 * leftover	see place_restore()
 * restored	set to whether the copy was restored
 *
 * Returns 0, an outcome or -errno. */
static int rescue_restore(const struct intent *intent, const struct place *place,
			  struct bytes *leftover, bool *restored)
{
	AUTO_CLOSE int saved = open(intent->saved, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat status;
	int r;

	*restored = false;
	if (saved < 0)
		return errno == ENOENT || errno == ENOTDIR ? miss(intent, place) : -errno;
	if (fstat(saved, &status) < 0 || !S_ISREG(status.st_mode))
		return -EINVAL;
	r = file_copy_save(saved, place->directory, intent->other);
	if (r == 0)
		r = place_restore(place, intent->other, leftover);
	if (r == 0)
		r = sync_directory(place->directory);
	if (r < 0)
		return r;
	rescue_forget(intent);
	*restored = true;
	return 0;
}

/* ---- examine -------------------------------------------------------------------------------- */

/* Finds on the disk how far an interrupted act went. Any thread. */

/* The file that examine_name() finds. */
enum found {
	FOUND_NOTHING,
	FOUND_COPY, /* the file of the act */
	FOUND_LINK, /* the link of the act */
	FOUND_OTHER, /* another file */
};

/* Whether an act was done. */
enum deed {
	DEED_NONE,
	DEED_DONE,
	DEED_UNCERTAIN, /* the copy has no name where the act could have left one */
};

/* Returns whether the name is the link of the act. A hard link that is the only name of its file
 * does not count, as removing it would lose the bytes. Some file systems do not show the target of
 * a symlink, but no other program knows the quarantine name. */
static bool is_the_link(const struct place *place, const char *name, const struct intent *intent,
			const struct statx *status)
{
	if (intent->kind == INTENT_LINK)
		return S_ISREG(status->stx_mode) && status->stx_ino == intent->kept_inode &&
		       status->stx_nlink > 1;
	return intent->kind == INTENT_SYMLINK && intent->target && S_ISLNK(status->stx_mode) &&
	       (strcmp(name, intent->other) == 0 ||
		place_is_symlink_to(place, name, intent->target));
}

/* Sets *found to which file has the name. Returns 0 or -errno. */
static int examine_name(const struct place *place, const char *name, const struct intent *intent,
			enum found *found)
{
	struct statx status;

	*found = FOUND_NOTHING;
	if (statx(place->directory, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
		  STATX_BASIC_STATS | STATX_BTIME, &status) < 0)
		return errno == ENOENT ? 0 : -errno;
	*found = FOUND_OTHER;
	if (place_is_inode(&status, intent->inode, intent->born_ns))
		*found = FOUND_COPY;
	else if (is_the_link(place, name, intent, &status))
		*found = FOUND_LINK;
	return 0;
}

static bool is_at(const char *path, uint64_t inode, int64_t born_ns)
{
	return path && inode && place_has_inode(AT_FDCWD, path, inode, born_ns);
}

/* Returns whether the copy shares all blocks of the kept file. */
static bool is_shared(const struct place *place, const struct record *record)
{
	AUTO_CLOSE int copy = open_beneath_for_reading(place->directory, place->name, 0, false);
	AUTO_CLOSE int kept =
		record->kept ? open(record->kept, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
			     : -1;

	return copy >= 0 && kept >= 0 && extents_all_shared(copy, kept);
}

/* Returns whether the act of an intent was done. The quarantine name must be resolved before.
 *
 * place	the copy's name; directory -1: the folder is missing
 * record	record of the act
 */
static enum deed examine_deed(const struct place *place, const struct intent *intent,
			      const struct record *record)
{
	enum found found = FOUND_NOTHING;

	if (place->directory < 0)
		return intent->did ? DEED_DONE : DEED_UNCERTAIN;
	if (intent->kind == INTENT_SHARE)
		return intent->did || is_shared(place, record) ? DEED_DONE : DEED_NONE;
	if (examine_name(place, place->name, intent, &found) == 0 && found == FOUND_COPY)
		return DEED_NONE;
	if (intent->did || intent->is_emptied || found == FOUND_LINK ||
	    is_at(record->to, intent->inode, intent->born_ns) ||
	    is_at(record->to, intent->made_inode, intent->made_born_ns))
		return DEED_DONE;
	return DEED_UNCERTAIN;
}

/* Returns whether the act gave the copy its name at the destination or in the trash, by a hard link
 * besides the quarantine name (act/place.h), and syncs the directory of that name. The user
 * can have made such a link before the act, so the copy must have more names than then.
 *
 * other	the quarantine name
 */
static bool examine_second_name(const struct place *other, const struct record *record)
{
	struct stat status;
	struct place there;
	bool has;

	if (!record || !record->to ||
	    fstatat(other->directory, other->name, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
	    status.st_nlink <= record->links || place_open_parent(&there, record->to) < 0)
		return false;
	has = place_are_one_file(other, &there) && sync_directory(there.directory) == 0;
	place_close(&there);
	return has;
}

/* ---- one intent ---------------------------------------------------------------------- */

static int remove_other(const struct place *place, const char *other)
{
	return unlinkat(place->directory, other, 0) < 0 ? -errno : 0;
}

struct undoing {
	const struct recovery_wish *wish;
	struct recovery *undone;
	struct act_log *log;
	struct bytes leftover;
	bool is_completed; /* the move was completed */
	bool is_edited; /* the link stays, as a program wrote to the linked file since the act */
	bool is_partial; /* the folder has its name back, but not all names in it */
	struct bytes reported; /* mount points in log messages, each with its NUL */
	char returned[ACT_ID_SIZE]; /* the act that got its record of RECORD_RETURNED */
	/* of the current intent */
	struct bytes path; /* absolute path of the copy */
	struct decoded_record decoded;
	struct record *record; /* in decoded; NULL: none */
};

/* Outcome of compare_link(): the bytes are no longer equal. */
enum {
	LINK_IS_EDITED = 1,
};

/* Compares the file that the link leads to with the copy. Holds that file in *linked. Returns 0 if
 * the bytes are equal or the link leads to no file, LINK_IS_EDITED, -EBUSY if a program has one of
 * the files open for writing, or another -errno. */
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

/* Exchanges the names of link and copy. If a program opens the linked file for writing meanwhile,
 * exchanges the names once more: the writes must be found at the path that the program opened. */
static int exchange_back(const struct place *place, const char *other, const struct held *linked,
			 struct bytes *leftover)
{
	int r = place_exchange(place, other, leftover);

	if (r < 0 || linked->fd < 0 || held_is_unbroken(linked))
		return r;
	r = place_exchange(place, other, leftover);
	return r < 0 ? r : -EBUSY;
}

/* Removes the link, which has the quarantine name after the exchange. */
static int remove_link(const struct place *place, const struct intent *intent,
		       struct bytes *leftover)
{
	enum found found;
	int r = examine_name(place, intent->other, intent, &found);

	if (r == 0 && found == FOUND_LINK)
		return remove_other(place, intent->other);
	/* a file of another program has the quarantine name: both files stay */
	return r == 0 && found != FOUND_NOTHING ? place_restore(place, intent->other, leftover) : r;
}

/* Undoes a link. The copy has the quarantine name, and the link usually has the copy's name. If
 * another file has the copy's name, that file keeps the name, as an old file must not replace a new
 * one. A link to a file that was written to since the act stays. */
int recovery_part(const struct place *place, const struct intent *intent, bool *is_edited,
		  struct bytes *leftover)
{
	struct held linked = {.fd = -1};
	enum found found;
	int r = examine_name(place, place->name, intent, &found);

	*is_edited = false;
	if (r == 0 && found != FOUND_LINK)
		return place_restore(place, intent->other, leftover);
	if (r == 0)
		r = compare_link(place, intent->other, &linked);
	*is_edited = r == LINK_IS_EDITED;
	if (r == 0)
		r = exchange_back(place, intent->other, &linked, leftover);
	held_close(&linked);
	if (r == -ENOENT || *is_edited) /* ENOENT: the link was removed */
		return place_restore(place, intent->other, leftover);
	return r == 0 ? remove_link(place, intent, leftover) : r;
}

/* Returns whether the file at the destination is the one that the act made. */
static bool is_made(const struct held *arrived, const struct intent *intent)
{
	struct statx now;

	return intent->made_inode &&
	       statx(arrived->fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &now) == 0 &&
	       now.stx_ino == intent->made_inode &&
	       (!intent->made_born_ns || intent->made_born_ns == place_born_ns(&now));
}

/* Returns whether a move lacks only the removal of the copy: the file at the destination must be
 * the one in the journal and have the same bytes. Syncs that file and its name.
 *
 * copy		held
 */
static bool has_arrived(const struct held *copy, const struct intent *intent)
{
	struct place there;
	struct held arrived = {.fd = -1};
	bool is_there =
		place_is_mounted(&intent->to_mount) && place_open_parent(&there, intent->to) == 0;

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

int recovery_remove(const struct place *place, const char *other, struct held *held,
		    struct bytes *leftover, bool *is_gone)
{
	int r = remove_other(place, other);

	*is_gone = r == 0 && held_is_unbroken(held);
	if (r < 0 || *is_gone)
		return r;
	held_wait_for_writer(held);
	r = file_copy_save(held->fd, place->directory, other);
	return r < 0 ? r : place_restore(place, other, leftover);
}

/* Completes a move if the file has arrived and no program writes to the copy. If not, gives the
 * copy its own name back. */
static int undo_away(struct undoing *undoing, const struct place *place,
		     const struct intent *intent)
{
	const struct place other = {.directory = place->directory, .name = intent->other};
	struct held copy = {.fd = -1};
	bool is_held;
	int r;

	if (examine_second_name(&other, undoing->record)) {
		r = remove_other(place, intent->other);
		undoing->is_completed = r == 0;
		return r;
	}
	is_held = intent->to && held_open_any(&copy, &other) == 0;
	r = is_held && has_arrived(&copy, intent) && held_is_unbroken(&copy)
		    ? recovery_remove(place, intent->other, &copy, &undoing->leftover,
				      &undoing->is_completed)
		    : place_restore(place, intent->other, &undoing->leftover);

	held_close(&copy);
	return r;
}

/* Removes what a move made at the destination: a partial file, which has the quarantine name, and
 * empty folders. If the destination is the directory of the copy by another path, the file is the
 * copy and stays. If the directory of the copy is missing, only the inode number is compared. */
static void remove_partial(const struct place *place, const struct intent *intent)
{
	struct place there;
	struct stat status, own;

	if (place_open_parent(&there, intent->to) == 0 &&
	    fstatat(there.directory, intent->other, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
	    (status.st_ino != intent->inode ||
	     (fstat(place->directory, &own) == 0 && status.st_dev != own.st_dev)))
		(void)unlinkat(there.directory, intent->other, 0);
	place_close(&there);
	place_remove_folders(intent->to, intent->new_folders);
}

static void report(struct undoing *undoing, const struct intent *intent, int result)
{
	const char *path = quote_path(bytes_text(&undoing->path));

	if (undoing->wish->is_quiet && result != 0 && result != FOLDER_IS_MISSING)
		return;
	if (result == FOLDER_IS_MISSING)
		log_warning("cannot undo an interrupted act on %s: its folder no longer exists; if "
			    "the folder was moved and contains a file %s, rename that file",
			    path, quote_path(intent->other));
	else if (result == BYTES_ARE_ELSEWHERE)
		log_warning("cannot restore %s: its folder no longer exists; create the folder and "
			    "run 'twinfs recover', or move its bytes from %s",
			    path, quote_path(intent->saved));
	else if (result == BYTES_ARE_MISSING)
		log_warning("cannot restore %s: its saved bytes in %s are missing; move them back "
			    "there and run 'twinfs recover', or 'twinfs recover --give-up'",
			    path, quote_path(intent->saved));
	else if (result == BYTES_ARE_ABSENT)
		log_warning("cannot restore %s: its bytes are in %s, and the disk of this folder "
			    "is not mounted at %s; mount it and run 'twinfs recover'",
			    path, quote_path(intent->saved), quote_path(intent->saved_mount.path));
	else if (result == KEPT_IS_ABSENT)
		log_warning("cannot complete the interrupted removal of folder %s: the kept folder "
			    "is not at its path; if its disk is not mounted, mount it and run "
			    "'twinfs recover'; if it was moved, move it back, or rename the "
			    "folder %s, which has the rest",
			    path, quote_path(intent->other));
	else if (result < 0)
		log_warning("cannot undo an interrupted act on %s: %s; run 'twinfs recover' later",
			    path, error_text(result));
	else if (undoing->is_partial)
		log_warning("cannot complete the interrupted removal of folder %s: it or the kept "
			    "folder changed; its remaining files are in %s; 'twinfs log' lists the "
			    "act, and 'twinfs undo' copies the removed files from the kept folder",
			    path,
			    undoing->leftover.length > 0
				    ? quote_path(bytes_text(&undoing->leftover))
				    : "it");
	else if (undoing->is_completed)
		log_info("%s: interrupted %s completed", path,
			 intent->kind == INTENT_FOLDER ? "removal" : "move");
	else if (undoing->is_edited)
		log_warning(
			"cannot undo an interrupted link at %s: a program wrote to the linked file "
			"since; the earlier content is %s in the same folder",
			path, quote_path(bytes_text(&undoing->leftover)));
	else if (undoing->leftover.length > 0)
		log_warning("cannot restore the name %s after an interrupted act: another file has "
			    "this name; the copy is %s in the same folder",
			    path, quote_path(bytes_text(&undoing->leftover)));
	else if (intent->to && faccessat(AT_FDCWD, intent->to, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		log_info("%s: interrupted act undone; %s is possibly another name of this file",
			 path, quote_path(intent->to));
	else
		log_info("%s: interrupted act undone", path);
}

/* Restores a copy whose bytes are in a rescue folder. Returns 0, an outcome or -errno. */
static int restore_saved(struct undoing *undoing, const struct place *place,
			 const struct intent *intent)
{
	bool restored;
	int r = rescue_restore(intent, place, &undoing->leftover, &restored);

	undoing->undone->files += restored;
	return r;
}

/* Completes the removal of a folder that was being emptied, or gives a folder its own name back. */
static int undo_folder(struct undoing *undoing, const struct place *place,
		       const struct intent *intent)
{
	struct act_result result = {.outcome = ACT_FAILED};
	int r = FOLDER_REFUSED;

	if (intent->is_emptied && undoing->record)
		r = folder_restore_names(place, intent, undoing->record, undoing->log);
	if (r == 0)
		r = folder_complete(place, intent, undoing->record, &result);
	undoing->is_completed = r == 0;
	if (r == FOLDER_KEPT_ABSENT)
		return KEPT_IS_ABSENT;
	if (r == 0 || r == -ENOMEM || r == -EINTR)
		return r;
	undoing->is_partial = intent->is_emptied;
	return place_restore(place, intent->other, &undoing->leftover);
}

/* Notes whether a folder that was being emptied has its own name again. Then the act was
 * interrupted while it copied the removed files back. */
static int examine_returned(struct undoing *undoing, const struct place *place,
			    const struct intent *intent)
{
	enum found found;
	int r = examine_name(place, place->name, intent, &found);

	undoing->is_partial = r == 0 && found == FOUND_COPY;
	undoing->undone->files += undoing->is_partial;
	return r;
}

/* Ends the exchange of link and copy that the act did in several steps. */
static int end_exchange(struct undoing *undoing, const struct place *place,
			const struct intent *intent)
{
	int r = intent->kind == INTENT_LINK || intent->kind == INTENT_SYMLINK
			? place_end_exchange(place, intent->other, &undoing->leftover)
			: 0;

	undoing->undone->files += r == PLACE_RESTORED;
	return r < 0 ? r : 0;
}

static int undo_one(struct undoing *undoing, const struct place *place, const struct intent *intent)
{
	enum found found;
	int r = end_exchange(undoing, place, intent);

	r = r < 0 ? r : examine_name(place, intent->other, intent, &found);
	if (r < 0)
		return r;
	if (found == FOUND_NOTHING && intent->saved)
		return restore_saved(undoing, place, intent);
	if (found == FOUND_NOTHING && intent->is_emptied)
		return examine_returned(undoing, place, intent);
	if (found == FOUND_NOTHING)
		return 0;
	if (found == FOUND_LINK)
		return remove_other(place, intent->other);
	if (intent->kind == INTENT_FOLDER)
		r = undo_folder(undoing, place, intent);
	else if (intent->kind != INTENT_AWAY)
		r = recovery_part(place, intent, &undoing->is_edited, &undoing->leftover);
	else if (found == FOUND_COPY)
		r = undo_away(undoing, place, intent);
	else
		r = place_restore(place, intent->other, &undoing->leftover);
	undoing->undone->completed += undoing->is_completed;
	undoing->undone->files += r == 0 && !undoing->is_completed;
	return r;
}

/* Returns whether a mount point was reported already. */
static bool is_reported(const struct undoing *undoing, const char *mount)
{
	const char *text = (const char *)undoing->reported.data;

	for (size_t at = 0; at < undoing->reported.length; at += strlen(text + at) + 1) {
		if (strcmp(text + at, mount) == 0)
			return true;
	}
	return false;
}

/* Logs that a source or mount point is absent, once for all intents that need it. */
static void report_absent(struct undoing *undoing, const char *mount)
{
	if (undoing->wish->is_quiet || is_reported(undoing, mount) ||
	    bytes_append(&undoing->reported, mount, strlen(mount) + 1) < 0)
		return;
	log_warning("cannot undo an interrupted act on %s completely: %s is not mounted or is "
		    "another folder; mount it, then run 'twinfs recover', or 'twinfs recover "
		    "--give-up' if it will not return",
		    quote_path(bytes_text(&undoing->path)), quote_path(mount));
}

/* Adds the record to the log with this state. A record that is in the log already was written
 * before the interruption. */
static int add_record(const struct undoing *undoing, enum record_state state)
{
	struct record *record = undoing->record;
	int r = act_log_contains(undoing->log, record->act, record->file);

	record->state = state;
	return r == 0 ? act_log_add(undoing->log, record) : r < 0 ? r : 0;
}

/* Notes that an act was interrupted, with its first file that is as it was before. If that is a
 * folder, notes the names in it as brought back, of which the log possibly has records already. */
static int add_returned(struct undoing *undoing, const struct intent *intent)
{
	const struct record *record = undoing->record;
	int r = S_ISDIR(record->type) ? undone_add_names(undoing->log, record, intent->is_emptied)
				      : 0;

	if (r < 0 || undoing->wish->is_ending || strcmp(undoing->returned, record->act) == 0)
		return r;
	(void)snprintf(undoing->returned, sizeof(undoing->returned), "%s", record->act);
	return add_record(undoing, RECORD_RETURNED);
}

/* Adds the record of an interrupted act to the log. is_undone: the file has its name again. */
static int record_deed(struct undoing *undoing, const struct place *place,
		       const struct intent *intent, bool is_undone)
{
	enum deed deed = is_undone               ? DEED_NONE
			 : undoing->is_completed ? DEED_DONE
						 : examine_deed(place, intent, undoing->record);

	if (deed == DEED_NONE)
		return add_returned(undoing, intent);
	return add_record(undoing, deed == DEED_DONE ? RECORD_DONE : RECORD_INTERRUPTED);
}

/* Names the file that an undo was making at its path, if it is there. */
static void report_incomplete(struct undoing *undoing, const struct place *place,
			      const struct intent *intent)
{
	if (!intent->is_direct ||
	    faccessat(place->directory, place->name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	undoing->undone->incomplete++;
	if (undoing->wish->is_quiet)
		return;
	log_warning("%s is possibly incomplete: an undo was interrupted when it made this file; "
		    "check it, and if it is incomplete remove it and run 'twinfs undo' again",
		    quote_path(bytes_text(&undoing->path)));
}

/* Undoes an act in the directory of the copy, and removes its leftovers elsewhere. */
static int undo_there(struct undoing *undoing, const struct intent *intent, int root)
{
	struct place place;
	uint64_t before = undoing->undone->files;
	int r = place_open_below(&place, root, intent->path, true);

	undoing->leftover.length = 0;
	undoing->is_edited = undoing->is_completed = undoing->is_partial = false;
	if (r == -ENOENT) {
		r = rescue_has_bytes(intent) ? BYTES_ARE_ELSEWHERE : 0;
		if (r == 0)
			report(undoing, intent, FOLDER_IS_MISSING);
		if (r == 0 && intent->saved)
			rescue_forget(intent);
	} else if (r == 0) {
		r = undo_one(undoing, &place, intent);
		if (r == 0)
			rescue_forget_part(place.directory, intent->other);
		if (r == 0)
			report_incomplete(undoing, &place, intent);
	}
	if (r == 0 && place.directory >= 0)
		r = sync_directory(place.directory);
	if (r == 0 && place_is_mounted(&intent->to_mount))
		remove_partial(&place, intent);
	/* the info file of a copy that did not arrive in the trash */
	if (r == 0 && intent->info)
		trash_entry_forget(intent->info, intent->other, bytes_text(&undoing->path));
	if (r == 0 && undoing->record)
		r = record_deed(undoing, &place, intent, undoing->undone->files > before);
	place_close(&place);
	if (r != 0 || undoing->is_completed || undoing->undone->files > before)
		report(undoing, intent, r);
	return r;
}

/* Returns whether a folder is missing or another one is at its path. */
static bool is_absent(int result)
{
	return result == -ENOENT || result == -ENOTDIR || result == -ENODEV || result == -ELOOP;
}

/* Ends an intent that cannot be undone, as of an interrupted act. If the copy possibly has its
 * quarantine name, notes that name in the record: there the undo of the act looks first. */
static int record_given_up(const struct undoing *undoing, const struct intent *intent)
{
	struct record *record = undoing->record;
	AUTO_FREE char *other = NULL;

	if (!record)
		return 0;
	if (!record->to && intent->kind != INTENT_SHARE) {
		other = recovery_other_path(intent);
		if (!other)
			return -ENOMEM;
		record->to = other;
	}
	return add_record(undoing, intent->did ? RECORD_DONE : RECORD_INTERRUPTED);
}

char *recovery_other_path(const struct intent *intent)
{
	const char *slash = strrchr(intent->path, '/');
	char *path;

	if (asprintf(&path, "%s%s%.*s%s", intent->source, intent->source[1] ? "/" : "",
		     slash ? (int)(slash + 1 - intent->path) : 0, intent->path, intent->other) < 0)
		return NULL;
	return path;
}

/* Handles an intent that cannot be undone now. A dedupe changed no name and no content, so it need
 * not wait. Returns whether the intent ends. */
static bool leave(struct undoing *undoing, const struct intent *intent)
{
	const struct recovery_wish *wish = undoing->wish;
	bool ends = intent->kind == INTENT_SHARE;

	if (!ends && wish->give_up && wish->give_up(wish->context, intent)) {
		undoing->undone->given_up++;
		ends = true;
	}
	if (ends && record_given_up(undoing, intent) == 0)
		return true;
	undoing->undone->left++;
	return false;
}

/* Sets the path and the record of the current intent. Returns 0 or -ENOMEM. */
static int take_intent(struct undoing *undoing, const struct intent *intent)
{
	int r;

	undoing->record = NULL;
	undoing->path.length = 0;
	if (bytes_format(&undoing->path, "%s/%s", intent->source, intent->path) < 0 ||
	    !bytes_text(&undoing->path))
		return -ENOMEM;
	r = intent->record
		    ? record_decode(intent->record, strlen(intent->record), &undoing->decoded)
		    : -EPROTO;
	if (r == 0)
		undoing->record = &undoing->decoded.record;
	return r == -ENOMEM ? r : 0;
}

static bool undo_intent(void *context, const struct intent *intent)
{
	struct undoing *undoing = context;
	AUTO_CLOSE int root = place_open_root(intent->source, &intent->root);
	const char *absent = NULL;
	int r = take_intent(undoing, intent);

	if (r < 0) {
		undoing->undone->left++;
		return false;
	}
	if (is_absent(root))
		absent = intent->source;
	else if (!place_is_mounted(&intent->mount))
		absent = intent->mount.path;
	else if (root >= 0)
		r = undo_there(undoing, intent, root);
	else
		report(undoing, intent, root);
	/* the copy has its name, but a partial file at the destination could not be removed */
	if (r == 0 && !absent && root >= 0 && !place_is_mounted(&intent->to_mount))
		absent = intent->to_mount.path;
	if (absent && intent->kind != INTENT_SHARE)
		report_absent(undoing, absent);
	return absent || root < 0 || r != 0 ? leave(undoing, intent) : true;
}

int recovery_run(struct journal *journal, const struct recovery_wish *wish, struct recovery *undone)
{
	static const struct recovery_wish none = {.is_quiet = false};
	struct undoing undoing = {.wish = wish ? wish : &none,
				  .undone = undone,
				  .log = journal_log(journal)};
	int r;

	*undone = (struct recovery){0};
	r = journal_resolve(journal, undo_intent, &undoing);
	bytes_free(&undoing.leftover);
	bytes_free(&undoing.reported);
	bytes_free(&undoing.path);
	decoded_record_free(&undoing.decoded);
	return r;
}

int recovery_run_of(const char *folder, const struct recovery_wish *wish, struct recovery *undone)
{
	struct journal *journal;
	int r;

	*undone = (struct recovery){0};
	r = journal_has_intents(folder);
	if (r <= 0)
		return r;
	r = journal_open(&journal, folder);
	if (r < 0)
		return r;
	r = recovery_run(journal, wish, undone);
	undone->had_intents = true;
	journal_close(journal);
	return r;
}
