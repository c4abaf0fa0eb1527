/* SPDX-License-Identifier: MIT */
#include "act/undo_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "act/held.h"
#include "act/recovery.h"
#include "act/undo_place.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/file_copy.h"
#include "base/inode_flags.h"
#include "base/log.h"
#include "base/metadata.h"
#include "base/quote.h"

/* ---- content from elsewhere -------------------------------------------------------------- */

/* Outcomes besides those of undo_make.h. */
enum {
	FILE_MADE = 3,
	LINK_EDITED =
		4, /* a program wrote to the linked file meanwhile; the file has another name */
};

/* A search for a file that has the content. */
struct searching {
	struct bringing *bringing;
	/* Makes the file from a held one. Returns 0, UNDO_DIFFERS, UNDO_FORGEABLE, LINK_EDITED or
	 * -errno. */
	int (*make)(struct bringing *bringing, const struct held *from);
};

/* Notes that a file has the hash, but possibly not the content. */
static void note_uncertain(struct bringing *bringing, const char *path)
{
	log_info("%s has the hash of %s, but another user could have forged it; not used",
		 quote_path(path), quote_path(bringing->record->path));
	bringing->is_uncertain = true;
}

/* Tries to make the file with the content of the file at a path. Returns FILE_MADE, LINK_EDITED, 0
 * if that file does not have the content, or -errno of the new file. */
static int try_path(void *context, const char *path)
{
	const struct searching *searching = context;
	struct bringing *bringing = searching->bringing;
	struct held held = {.fd = -1};
	struct place place;
	int r = undo_place_open_path(&place, path);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	r = undo_hold(&held, &place, bringing->record);
	place_close(&place);
	bringing->is_busy |= r == -EBUSY;
	if (r != 0)
		return r == -ENOMEM || r == -EINTR ? r : 0;
	r = searching->make(bringing, &held);
	held_close(&held);
	if (r == UNDO_FORGEABLE)
		note_uncertain(bringing, path);
	if (r == 0)
		return FILE_MADE;
	return r == UNDO_FORGEABLE || r == UNDO_DIFFERS ? 0 : r;
}

/* Makes the file from any file that has its content, first from the kept file. */
static void search(struct bringing *bringing,
		   int (*make)(struct bringing *bringing, const struct held *from))
{
	const struct undo_settings *settings = bringing->undo->settings;
	const struct record *record = bringing->record;
	struct searching searching = {bringing, make};
	int r = record->kept ? try_path(&searching, record->kept) : 0;

	if (r == 0)
		r = settings->find(settings->context, record, try_path, &searching);
	if (r < 0)
		undo_fail(bringing, r);
	else if (r == FILE_MADE)
		undo_end(bringing, UNDO_DONE);
	else if (r == LINK_EDITED)
		undo_end(bringing, UNDO_EDITED);
	else
		undo_end(bringing, bringing->is_busy        ? UNDO_BUSY
				   : bringing->is_uncertain ? UNDO_UNCERTAIN
							    : UNDO_NO_CONTENT);
}

/* Makes a missing file anew. */
static void make_anew(struct bringing *bringing)
{
	int r = undo_join(bringing, bringing->place.name);

	if (r == 0 || r == -EEXIST)
		undo_end(bringing, r == 0 ? UNDO_DONE : UNDO_EXISTS);
	else
		search(bringing, undo_make);
}

/* ---- a link ------------------------------------------------------------------------------ */

/* Returns whether the path of the kept file leads to this file: the undo of a later act made the
 * kept file anew, and the path as a further name of it. */
static bool is_at_kept_path(const struct stat *file, const struct record *record)
{
	struct place place;
	struct stat kept;
	bool is;

	if (!record->kept || undo_place_open_path(&place, record->kept) < 0)
		return false;
	is = fstatat(place.directory, place.name, &kept, AT_SYMLINK_NOFOLLOW) == 0 &&
	     is_same_inode(&kept, file);
	place_close(&place);
	return is;
}

/* Returns whether the path is a hard link to the kept file. */
static bool is_hard_link(const struct bringing *bringing, const struct stat *status)
{
	const struct record *record = bringing->record;
	AUTO_CLOSE int fd =
		open_beneath(bringing->place.directory, bringing->place.name, O_PATH, false);

	return fd >= 0 && record->kept_inode != record->inode &&
	       (undo_is_inode(fd, record->kept_inode, record->kept_born_ns) ||
		is_at_kept_path(status, record));
}

/* Returns whether the path is the link that the act made. */
static bool is_the_link(const struct bringing *bringing, const struct stat *status)
{
	const struct record *record = bringing->record;

	if (record->command == RECORD_SYMLINK)
		return S_ISLNK(status->st_mode) && record->target &&
		       place_is_symlink_to(&bringing->place, bringing->place.name, record->target);
	return record->command == RECORD_LINK && S_ISREG(status->st_mode) &&
	       is_hard_link(bringing, status);
}

/* Gives the file its former metadata, as it has no other name. Returns 0, UNDO_FORGEABLE or
 * -errno. */
static int restore_metadata(struct bringing *bringing, const struct held *held)
{
	const struct record *record = bringing->record;
	const struct metadata metadata = undo_metadata_of(record);
	struct metadata_refused refused = {0};
	int r;

	if (!undo_is_certain(held, record))
		return UNDO_FORGEABLE;
	r = metadata_apply(&metadata, held->fd, &refused);
	if (r == 0 && fsync(held->fd) < 0)
		r = -errno;
	undo_note_refused(bringing, &refused);
	bringing->result->fewer_flags =
		record->has_flags && !inode_flag_bits_set(held->fd, record->flags);
	return r;
}

/* Explains where a file is that could not replace the link, as the link changed meanwhile. */
static void explain_leftover(const struct bringing *bringing, struct bytes *leftover)
{
	if (leftover->length > 0 && bytes_text(leftover))
		log_warning("%s changed meanwhile; the earlier content is %s in the same folder",
			    quote_path(bringing->record->path), quote_path(bytes_text(leftover)));
}

/* Makes the file under a private name, and exchanges its name with the link. */
static int part_from(struct bringing *bringing, const struct held *from)
{
	char other[OTHER_NAME_SIZE], part[OTHER_NAME_SIZE + sizeof(FILE_COPY_PART)];
	struct intent intent = undo_make_intent(bringing->record, other);
	struct journal *journal = bringing->undo->journal;
	CLEANUP_BYTES struct bytes leftover = {0};
	bool is_edited = false;
	int r, noted;

	intent.kept_inode = bringing->link_inode;
	r = journal_intend(journal, &intent);
	(void)snprintf(part, sizeof(part), "%s" FILE_COPY_PART, other);
	if (r == 0)
		r = journal_sync(journal);
	if (r == 0)
		r = undo_join(bringing, other);
	if (r == -ENOENT)
		r = undo_make_as(bringing, from, other, part);
	if (r == -EOPNOTSUPP) /* no other program uses the private name */
		r = undo_make_as(bringing, from, other, other);
	if (r == 0)
		r = recovery_part(&bringing->place, &intent, &is_edited, &leftover);
	explain_leftover(bringing, &leftover);
	if (r < 0)
		return r; /* recovery resolves the intent */
	noted = journal_note_done(journal, intent.number);
	if (noted < 0)
		return noted;
	return is_edited || leftover.length > 0 ? LINK_EDITED : r;
}

/* Returns whether a symlink leads to no file, as its target was moved or removed. */
static bool is_dangling(const struct record *record, int result)
{
	return record->command == RECORD_SYMLINK && (result == -ENOENT || result == -ENOTDIR ||
						     result == -ELOOP || result == HELD_CHANGED);
}

/* Parts a link from the kept file. */
static void part(struct bringing *bringing)
{
	const struct record *record = bringing->record;
	struct held held = {.fd = -1};
	int r = held_open_linked(&held, &bringing->place);

	if (is_dangling(record, r)) {
		search(bringing, part_from);
		return;
	}
	if (r == HELD_BUSY)
		r = -EBUSY;
	else if (r == 0)
		r = undo_check_content(&held, record);
	if (r == 0)
		r = record->command == RECORD_LINK && held.status.st_nlink == 1
			    ? restore_metadata(bringing, &held)
			    : part_from(bringing, &held);
	held_close(&held);
	bringing->is_uncertain = r == UNDO_FORGEABLE;
	if (r == UNDO_FORGEABLE)
		search(bringing, part_from);
	else if (r < 0)
		undo_fail(bringing, r);
	else
		undo_end(bringing, r == 0 ? UNDO_DONE : UNDO_EDITED);
}

/* ---- one file ---------------------------------------------------------------------------- */

/* Examines the file that has the path already. */
static void examine_existing(struct bringing *bringing)
{
	const struct record *record = bringing->record;
	struct held held = {.fd = -1};
	int r = undo_hold(&held, &bringing->place, record);
	bool other =
		r == 0 && (!undo_is_brought_back(&held.status, record) ||
			   held.status.st_uid != record->uid || held.status.st_gid != record->gid);

	held_close(&held);
	if (r == UNDO_DIFFERS || r == -EBUSY || r == -ELOOP || r == -ENXIO || r == -EISDIR) {
		undo_end(bringing, UNDO_EXISTS);
	} else if (r < 0) {
		undo_fail(bringing, r);
	} else {
		undo_end(bringing, UNDO_ALREADY);
		bringing->result->other_metadata = other;
		undo_complete_move(bringing);
	}
}

static void bring(struct bringing *bringing)
{
	const struct place *place = &bringing->place;
	struct stat status;

	if (fstatat(place->directory, place->name, &status, AT_SYMLINK_NOFOLLOW) == 0) {
		bringing->link_inode = status.st_ino;
		if (is_the_link(bringing, &status))
			part(bringing);
		else
			examine_existing(bringing);
	} else if (errno != ENOENT) {
		undo_fail(bringing, -errno);
	} else if (!undo_return_moved(bringing)) {
		make_anew(bringing);
	}
}

void undo_file(struct undo *undo, const struct record *record, struct undo_result *result)
{
	struct bringing bringing = {.undo = undo, .record = record, .result = result};
	struct stat status;
	int r;

	*result = (struct undo_result){.outcome = UNDO_NEEDLESS};
	if (record->command == RECORD_DEDUPE)
		return;
	r = undo_place_open(&bringing.place, record, undo->settings->any_filesystem,
			    &result->absent);
	if (r < 0) {
		undo_fail(&bringing, r);
		return;
	}
	result->private_folder = r == UNDO_PLACE_PRIVATE;
	if (S_ISREG(record->type))
		bring(&bringing);
	else
		undo_special(&bringing);
	if (result->outcome == UNDO_DONE || result->outcome == UNDO_ALREADY) {
		if (fstat(bringing.place.directory, &status) == 0)
			durable_note_directory(&undo->durable, bringing.place.directory,
					       status.st_dev);
		if (S_ISREG(record->type) && undo_remember(&bringing) < 0)
			log_debug("further names of %s become files of their own: %s",
				  quote_path(record->path), error_text(-ENOMEM));
	}
	place_close(&bringing.place);
}

void undo_recall(struct undo *undo, const struct record *record)
{
	struct undo_result result = {.outcome = UNDO_ALREADY};
	struct bringing bringing = {.undo = undo,
				    .record = record,
				    .result = &result,
				    .is_made = true};
	struct held held = {.fd = -1};

	if (!S_ISREG(record->type) || undo_place_open_path(&bringing.place, record->path) < 0)
		return;
	if (undo_hold(&held, &bringing.place, record) == 0 && undo_remember(&bringing) < 0)
		log_debug("further names of %s become files of their own: %s",
			  quote_path(record->path), error_text(-ENOMEM));
	held_close(&held);
	place_close(&bringing.place);
}
