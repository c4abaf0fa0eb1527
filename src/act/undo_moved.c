/* SPDX-License-Identifier: MIT */

/* Returns moved and trashed files.
 *
 * On one file system, the file is renamed back. From another one it is copied back. Then the moved
 * file is quarantined and removed as an act removes a copy (act/one_act.h): it gets a private name,
 * which is in the journal, and must be the compared file under that name. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "act/recovery.h"
#include "act/trash_entry.h"
#include "act/undo_file.h"
#include "act/undo_place.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/log.h"
#include "base/quote.h"
#include "base/xattrs.h"
#include "catalog/filesystem.h"

/* Returns whether a directory is on a certain file system, as far as both are known. */
static bool is_filesystem(int directory, uint64_t identity)
{
	uint64_t now = identity ? filesystem_lasting_identity(directory) : 0;

	return !now || now == identity;
}

/* Returns whether a file is the one that the act moved. */
static bool is_moved_file(const struct bringing *bringing, const struct place *there,
			  const struct held *held)
{
	const struct record *record = bringing->record;
	struct stat here, folder;

	if (fstat(bringing->place.directory, &here) < 0 || fstat(there->directory, &folder) < 0)
		return false;
	if (here.st_dev == folder.st_dev && undo_is_inode(held->fd, record->inode, record->born_ns))
		return true;
	return record->made_inode &&
	       undo_is_inode(held->fd, record->made_inode, record->made_born_ns) &&
	       is_filesystem(there->directory, record->made_filesystem);
}

/* Opens and holds the moved file, if it is where the act moved it and has the same content. Names
 * another file with that content: a move by a hard link gives the file another inode number on some
 * file systems. Returns 0, UNDO_DIFFERS, or -errno. */
static int hold_moved(struct held *held, struct place *there, const struct bringing *bringing)
{
	int r = undo_place_open_path(there, bringing->record->to);

	if (r < 0)
		return r;
	r = undo_hold(held, there, bringing->record);
	if (r == 0 && !is_moved_file(bringing, there, held)) {
		log_warning("%s stays: it is not certain that it is the moved file",
			    quote_path(bringing->record->to));
		held_close(held);
		r = UNDO_DIFFERS;
	}
	if (r != 0)
		place_close(there);
	return r;
}

/* Returns whether both files have the same metadata, as far as it can be restored. */
static bool has_same_metadata(const struct held *a, const struct held *b)
{
	CLEANUP_XATTRS struct xattrs of_a = {0}, of_b = {0};
	const struct stat *x = &a->status, *y = &b->status;

	return x->st_mode == y->st_mode && x->st_uid == y->st_uid && x->st_gid == y->st_gid &&
	       clock_equal(x->st_mtim, y->st_mtim) && xattrs_read(&of_a, a->fd) == 0 &&
	       xattrs_read(&of_b, b->fd) == 0 && xattrs_equal(&of_a, &of_b);
}

/* Returns whether the file that is back stands for the moved one in every respect. */
static bool can_replace_moved(const struct bringing *bringing, const struct held *back,
			      const struct held *moved)
{
	return undo_place_is_certain(&bringing->place, bringing->record) && back->leased &&
	       moved->leased && back->status.st_ino != bringing->record->kept_inode &&
	       !is_same_inode(&back->status, &moved->status) && has_same_metadata(back, moved) &&
	       held_same_bytes(back, moved) == 1;
}

/* Returns an intent to take the moved file away. Recovery gives it its name back. */
static struct intent make_intent(const struct place *there, const char *folder,
				 const struct held *moved, const char *other)
{
	return (struct intent){
		.kind = INTENT_AWAY,
		.source = folder,
		.path = there->name,
		.other = other,
		.inode = moved->status.st_ino,
		.root = place_identify_root(there->directory),
	};
}

/* Returns whether both files are the compared ones still, with no program that writes to them. */
static bool still_holds(const struct bringing *bringing, const struct held *back,
			const struct place *there, const char *name, const struct held *moved)
{
	return place_leads_to(there, name, &moved->status) && held_is_unbroken(moved) &&
	       place_leads_to(&bringing->place, bringing->place.name, &back->status) &&
	       held_is_unbroken(back);
}

/* Quarantines the moved file, checks it once more, and removes it. Returns whether it is gone. */
static bool take_away(const struct bringing *bringing, const struct held *back,
		      const struct place *there, struct held *moved)
{
	const char *to = bringing->record->to;
	AUTO_FREE char *folder = strndup(to, (size_t)(strrchr(to, '/') - to));
	CLEANUP_BYTES struct bytes leftover = {0};
	struct journal *journal = bringing->undo->journal;
	char other[OTHER_NAME_SIZE];
	struct intent intent;
	bool is_gone = false;
	int r;

	journal_other_name(other);
	if (!folder)
		return false;
	intent = make_intent(there, *folder ? folder : "/", moved, other);
	if (journal_intend(journal, &intent) < 0 || journal_sync(journal) < 0 ||
	    place_hide(there, other, PLACE_STAYS) < 0)
		return false;
	r = still_holds(bringing, back, there, other, moved)
		    ? recovery_remove(there, other, moved, &leftover, &is_gone)
		    : -EBUSY;
	if (r < 0)
		r = place_restore(there, other, &leftover);
	if (r == 0)
		r = journal_note_done(journal, intent.number);
	if (r < 0)
		log_debug("recovery resolves the intent of %s: %s", quote_path(to), error_text(r));
	durable_note_directory(&bringing->undo->durable, there->directory, moved->status.st_dev);
	if (leftover.length > 0 && bytes_text(&leftover))
		log_warning("another file is at %s now; the moved file is %s in the same folder",
			    quote_path(to), quote_path(bytes_text(&leftover)));
	return is_gone;
}

/* Removes the moved file on another file system after it was copied back. If the copy lacks
 * anything of it, or that is not certain, the moved file stays. */
static void remove_moved(const struct bringing *bringing, const struct place *there,
			 struct held *moved)
{
	struct held back = {.fd = -1};

	if (held_open_any(&back, &bringing->place) != 0)
		return;
	if (!can_replace_moved(bringing, &back, moved) || fsync(back.fd) < 0 ||
	    sync_directory(bringing->place.directory) < 0 ||
	    !still_holds(bringing, &back, there, there->name, moved) ||
	    !take_away(bringing, &back, there, moved))
		log_warning("%s stays, too: it is not certain that %s has all of it",
			    quote_path(bringing->record->to), quote_path(bringing->record->path));
	held_close(&back);
}

/* Copies a moved file back from another file system, and removes it there. */
static int copy_back(struct bringing *bringing, const struct place *there, struct held *moved)
{
	int r = undo_join(bringing, bringing->place.name);

	if (r == -ENOENT)
		r = undo_make(bringing, moved);
	if (r == 0)
		remove_moved(bringing, there, moved);
	return r == UNDO_DIFFERS ? -EBUSY : r;
}

static void forget_trash_info(const struct record *record)
{
	if (record->info)
		trash_entry_forget(record->info, "", record->path);
}

/* Checks that the renamed file is the one that was examined, and renames another one back. */
static int check_returned(struct bringing *bringing, const struct place *there,
			  const struct held *held)
{
	const struct place *place = &bringing->place;

	if (!place_leads_to(place, place->name, &held->status)) {
		return place_move(place, there) < 0 ? -EEXIST : -EBUSY;
	}
	durable_note_directory(&bringing->undo->durable, there->directory, held->status.st_dev);
	return 0;
}

bool undo_return_moved(struct bringing *bringing)
{
	const struct record *record = bringing->record;
	const struct place *place = &bringing->place;
	struct held held = {.fd = -1};
	struct place there;
	int r = record->to ? hold_moved(&held, &there, bringing) : -ENOENT;

	if (r == -EBUSY)
		undo_fail(bringing, r);
	if (r != 0)
		return r == -EBUSY;
	r = place_move(&there, place);
	if (r == -EXDEV)
		r = copy_back(bringing, &there, &held);
	else if (r == 0)
		r = check_returned(bringing, &there, &held);
	held_close(&held);
	place_close(&there);
	if (r == 0) {
		forget_trash_info(record);
		undo_end(bringing, UNDO_DONE);
	} else if (r == UNDO_FORGEABLE) {
		undo_end(bringing, UNDO_UNCERTAIN);
	} else {
		undo_fail(bringing, r);
	}
	return true;
}

void undo_complete_move(struct bringing *bringing)
{
	const struct record *record = bringing->record;
	struct held held = {.fd = -1};
	struct place there;

	if (record->command == RECORD_MOVE && record->to &&
	    hold_moved(&held, &there, bringing) == 0) {
		remove_moved(bringing, &there, &held);
		held_close(&held);
		place_close(&there);
	}
	forget_trash_info(record);
}
