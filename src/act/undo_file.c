/* SPDX-License-Identifier: MIT */
#include "act/undo_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "act/file_copy.h"
#include "act/held.h"
#include "act/recovery.h"
#include "act/trash_entry.h"
#include "act/undo_place.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/file_hash.h"
#include "base/log.h"
#include "base/path.h"
#include "base/quote.h"
#include "base/xattrs.h"
#include "catalog/filesystem.h"

/* One file that is being brought back. */
struct bringing {
	struct undo *undo;
	const struct record *record;
	struct place place; /* of the path */
	struct undo_result *result;
	bool is_busy; /* a file that possibly has the content is open for writing */
};

static void end(struct bringing *bringing, enum undo_outcome outcome)
{
	bringing->result->outcome = outcome;
}

static void fail(struct bringing *bringing, int error)
{
	bringing->result->error = -error;
	end(bringing, error == -EEXIST   ? UNDO_EXISTS
		      : error == -ENODEV ? UNDO_ABSENT
		      : error == -EBUSY  ? UNDO_BUSY
					 : UNDO_FAILED);
}

/* ---- hard links of one copy -------------------------------------------------------------- */

void undo_forget_last(struct undo *undo)
{
	if (undo->last.inode)
		close(undo->last.fd);
	undo->last = (struct brought_back){.inode = 0};
}

/* Remembers the file at the path, if the copy had further names. */
static void remember(const struct bringing *bringing)
{
	const struct record *record = bringing->record;
	const struct place *place = &bringing->place;
	int fd =
		record->links < 2 ? -1 : open_beneath(place->directory, place->name, O_PATH, false);

	if (fd < 0)
		return;
	undo_forget_last(bringing->undo);
	bringing->undo->last = (struct brought_back){record->inode, record->born_ns,
						     record->filesystem, record->hash, fd};
}

/* Makes a hard link to the file that was brought back last, if that was another name of the same
 * copy. Returns 0, -ENOENT if it was not, or another -errno. */
static int link_to_last(const struct bringing *bringing, const char *name)
{
	const struct record *record = bringing->record;
	const struct brought_back *last = &bringing->undo->last;

	if (!last->inode || last->inode != record->inode || last->born_ns != record->born_ns ||
	    last->filesystem != record->filesystem || !hash128_equal(last->hash, record->hash))
		return -ENOENT;
	if (linkat(AT_FDCWD, fd_path(last->fd).text, bringing->place.directory, name,
		   AT_SYMLINK_FOLLOW) == 0)
		return 0;
	return errno == EEXIST ? -EEXIST : -ENOENT;
}

/* ---- content ----------------------------------------------------------------------------- */

/* Outcome of the functions below: the file has another content. */
enum {
	CONTENT_DIFFERS = 1,
};

/* Compares the content of a held file with that of the record. Returns 0, CONTENT_DIFFERS, -EBUSY
 * or another -errno. */
static int check_content(const struct held *held, const struct record *record)
{
	struct hash128 hash = {0};
	int r;

	if ((uint64_t)held->status.st_size != record->size)
		return CONTENT_DIFFERS;
	r = file_hash(held->fd, NULL, &hash);
	if (r < 0)
		return r;
	if (!hash128_equal(hash, record->hash))
		return CONTENT_DIFFERS;
	return held_is_unbroken(held) ? 0 : -EBUSY;
}

/* Holds a file that must have the content of the record. Returns 0, CONTENT_DIFFERS, -EBUSY, or
 * another -errno. */
static int hold(struct held *held, const struct place *place, const struct record *record)
{
	int r = held_open_any(held, place);

	if (r > 0)
		return r == HELD_BUSY ? -EBUSY : CONTENT_DIFFERS;
	if (r == 0)
		r = check_content(held, record);
	if (r != 0)
		held_close(held);
	return r;
}

static struct intent make_intent(const struct record *record, char other[static OTHER_NAME_SIZE])
{
	AUTO_CLOSE int root = open(record->source, O_PATH | O_DIRECTORY | O_CLOEXEC);

	journal_other_name(other);
	return (struct intent){
		.kind = record->command == RECORD_LINK      ? INTENT_LINK
			: record->command == RECORD_SYMLINK ? INTENT_SYMLINK
							    : INTENT_AWAY,
		.source = record->source,
		.path = path_below(record->path, record->source),
		.other = other,
		.kept_inode = record->kept_inode,
		.target = record->target,
		.root = place_identify_root(root),
	};
}

/* Makes the file from an open file. If its name must be a private one for a moment, the name is in
 * the journal. Returns the results of file_copy_restore(). */
static int make_file(struct bringing *bringing, int from, const char *name, const char *part)
{
	const struct record *record = bringing->record;
	struct file_copy_wish wish = {.metadata = {.mode = record->mode,
						   .uid = record->uid,
						   .gid = record->gid,
						   .mtime = record->mtime,
						   .xattrs = record->xattrs},
				      .hash = record->hash};
	int r = file_copy_restore(from, bringing->place.directory, name, part, &wish);

	bringing->result->other_owner = r == 0 && wish.refused.owners > 0;
	bringing->result->fewer_xattrs = r == 0 && wish.refused.xattrs > 0;
	return r;
}

static int make_file_journalled(struct bringing *bringing, int from)
{
	char other[OTHER_NAME_SIZE], part[OTHER_NAME_SIZE + sizeof(FILE_COPY_PART)];
	struct intent intent = make_intent(bringing->record, other);
	struct journal *journal = bringing->undo->journal;
	int r;

	intent.kind = INTENT_AWAY;
	(void)snprintf(part, sizeof(part), "%s" FILE_COPY_PART, other);
	r = journal_intend(journal, &intent);
	if (r == 0)
		r = journal_sync(journal);
	if (r == 0)
		r = make_file(bringing, from, bringing->place.name, part);
	return r < 0 || journal_note_done(journal, intent.number) == 0 ? r : -ENOMEM;
}

/* Outcome of try_path(): the file was made. */
enum {
	FILE_MADE = 1,
};

/* Tries to make the file with the content of the file at a path. Returns FILE_MADE, 0 if that file
 * does not have the content, or -errno of the new file. */
static int try_path(void *context, const char *path)
{
	struct bringing *bringing = context;
	struct held held = {.fd = -1};
	struct place place;
	int r = undo_place_open_path(&place, path);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	r = hold(&held, &place, bringing->record);
	place_close(&place);
	bringing->is_busy |= r == -EBUSY;
	if (r != 0)
		return r == -ENOMEM || r == -EINTR ? r : 0;
	r = make_file(bringing, held.fd, bringing->place.name, NULL);
	if (r == -EOPNOTSUPP)
		r = make_file_journalled(bringing, held.fd);
	held_close(&held);
	return r < 0 ? r : r == 0 ? FILE_MADE : 0;
}

/* Makes a missing file anew, from a file that has its content. */
static void make_anew(struct bringing *bringing)
{
	const struct undo_settings *settings = bringing->undo->settings;
	const struct record *record = bringing->record;
	int r = link_to_last(bringing, bringing->place.name);

	if (r == 0 || r == -EEXIST) {
		end(bringing, r == 0 ? UNDO_DONE : UNDO_EXISTS);
		return;
	}
	r = record->kept ? try_path(bringing, record->kept) : 0;
	if (r == 0)
		r = settings->find(settings->context, record, try_path, bringing);
	if (r < 0)
		fail(bringing, r);
	else if (r == FILE_MADE)
		end(bringing, UNDO_DONE);
	else
		end(bringing, bringing->is_busy ? UNDO_BUSY : UNDO_NO_CONTENT);
}

/* Returns whether an open file, which may be O_PATH, is a certain inode. An unknown time of birth
 * is not compared. */
static bool is_inode(int fd, uint64_t inode, int64_t born_ns)
{
	struct statx now;
	int64_t born_now_ns;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &now) < 0)
		return false;
	born_now_ns = place_born_ns(&now);
	return now.stx_ino == inode && (!born_ns || !born_now_ns || born_ns == born_now_ns);
}

/* Returns whether a directory is on a certain file system, as far as both are known. */
static bool is_filesystem(int directory, uint64_t identity)
{
	uint64_t now = identity ? filesystem_lasting_identity(directory) : 0;

	return !now || now == identity;
}

/* ---- a moved or trashed file ------------------------------------------------------------- */

/* Returns whether a file is the one that the act moved. */
static bool is_moved_file(const struct bringing *bringing, const struct place *there,
			  const struct held *held)
{
	const struct record *record = bringing->record;
	struct stat here, folder;

	if (fstat(bringing->place.directory, &here) < 0 || fstat(there->directory, &folder) < 0)
		return false;
	if (here.st_dev == folder.st_dev && is_inode(held->fd, record->inode, record->born_ns))
		return true;
	return record->made_inode && is_inode(held->fd, record->made_inode, record->made_born_ns) &&
	       is_filesystem(there->directory, record->made_filesystem);
}

/* Opens and holds the moved file, if it is where the act moved it and has the same content. Returns
 * 0, CONTENT_DIFFERS, or -errno. */
static int hold_moved(struct held *held, struct place *there, const struct bringing *bringing)
{
	int r = undo_place_open_path(there, bringing->record->to);

	if (r < 0)
		return r;
	r = hold(held, there, bringing->record);
	if (r == 0 && !is_moved_file(bringing, there, held)) {
		held_close(held);
		r = CONTENT_DIFFERS;
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

/* Removes the moved file on another file system after it was copied back. If the copy lacks
 * anything of it, or that is not certain, the moved file stays. */
static void remove_moved(struct bringing *bringing, const struct place *there,
			 const struct held *moved)
{
	struct held back = {.fd = -1};
	bool removed;

	if (held_open_any(&back, &bringing->place) != 0)
		return;
	removed = can_replace_moved(bringing, &back, moved) && fsync(back.fd) == 0 &&
		  sync_directory(bringing->place.directory) == 0 && held_is_unbroken(moved) &&
		  held_is_unbroken(&back) && place_leads_to(there, there->name, &moved->status) &&
		  unlinkat(there->directory, there->name, 0) == 0;
	if (removed)
		durable_note_directory(&bringing->undo->durable, there->directory,
				       moved->status.st_dev);
	else
		log_warning("%s stays, too: it is not certain that %s has all of it",
			    quote_path(bringing->record->to), quote_path(bringing->record->path));
	held_close(&back);
}

/* Copies a moved file back from another file system, and removes it there. */
static int copy_back(struct bringing *bringing, const struct place *there, struct held *moved)
{
	int r = link_to_last(bringing, bringing->place.name);

	if (r == -ENOENT)
		r = make_file(bringing, moved->fd, bringing->place.name, NULL);
	if (r == -EOPNOTSUPP)
		r = make_file_journalled(bringing, moved->fd);
	if (r == 0)
		remove_moved(bringing, there, moved);
	return r > 0 ? -EBUSY : r;
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
		(void)renameat2(place->directory, place->name, there->directory, there->name,
				RENAME_NOREPLACE);
		return -EBUSY;
	}
	durable_note_directory(&bringing->undo->durable, there->directory, held->status.st_dev);
	return 0;
}

/* Brings back the moved or trashed file itself. Returns whether the outcome is filled in. */
static bool return_moved(struct bringing *bringing)
{
	const struct record *record = bringing->record;
	const struct place *place = &bringing->place;
	struct held held = {.fd = -1};
	struct place there;
	int r = record->to ? hold_moved(&held, &there, bringing) : -ENOENT;

	if (r == -EBUSY)
		fail(bringing, r);
	if (r != 0)
		return r == -EBUSY;
	r = renameat2(there.directory, there.name, place->directory, place->name,
		      RENAME_NOREPLACE) < 0
		    ? -errno
		    : 0;
	if (r == -EXDEV)
		r = copy_back(bringing, &there, &held);
	else if (r == 0)
		r = check_returned(bringing, &there, &held);
	held_close(&held);
	place_close(&there);
	if (r == 0) {
		forget_trash_info(record);
		end(bringing, UNDO_DONE);
	} else {
		fail(bringing, r);
	}
	return true;
}

/* ---- a link ------------------------------------------------------------------------------ */

/* Returns whether the path is a hard link to the kept file. */
static bool is_hard_link(const struct bringing *bringing)
{
	const struct record *record = bringing->record;
	AUTO_CLOSE int fd =
		open_beneath(bringing->place.directory, bringing->place.name, O_PATH, false);

	return fd >= 0 && record->kept_inode != record->inode &&
	       is_inode(fd, record->kept_inode, record->kept_born_ns);
}

/* Returns whether the path is the link that the act made. */
static bool is_the_link(const struct bringing *bringing, const struct stat *status)
{
	const struct record *record = bringing->record;

	if (record->command == RECORD_SYMLINK)
		return S_ISLNK(status->st_mode) && record->target &&
		       place_is_symlink_to(&bringing->place, bringing->place.name, record->target);
	return record->command == RECORD_LINK && S_ISREG(status->st_mode) && is_hard_link(bringing);
}

/* Gives the file its former metadata, as it has no other name. */
static void restore_metadata(struct bringing *bringing, const struct held *held)
{
	const struct record *record = bringing->record;
	const struct metadata metadata = {.mode = record->mode,
					  .uid = record->uid,
					  .gid = record->gid,
					  .mtime = record->mtime,
					  .xattrs = record->xattrs};
	struct metadata_refused refused = {0};
	int r = metadata_apply(&metadata, held->fd, &refused);

	if (r == 0 && fsync(held->fd) < 0)
		r = -errno;
	bringing->result->other_owner = refused.owners > 0;
	bringing->result->fewer_xattrs = refused.xattrs > 0;
	if (r < 0)
		fail(bringing, r);
	else
		end(bringing, UNDO_DONE);
}

/* Explains where a file is that could not replace the link, as the link changed meanwhile. */
static void explain_leftover(const struct bringing *bringing, struct bytes *leftover)
{
	if (leftover->length > 0 && bytes_text(leftover))
		log_warning("%s changed meanwhile; the earlier content is %s in the same folder",
			    quote_path(bringing->record->path), quote_path(bytes_text(leftover)));
}

/* Makes the file under a private name, and exchanges its name with the link. */
static int part_from(struct bringing *bringing, int from)
{
	char other[OTHER_NAME_SIZE], part[OTHER_NAME_SIZE + sizeof(FILE_COPY_PART)];
	struct intent intent = make_intent(bringing->record, other);
	struct journal *journal = bringing->undo->journal;
	CLEANUP_BYTES struct bytes leftover = {0};
	bool is_edited = false;
	int r = journal_intend(journal, &intent);

	(void)snprintf(part, sizeof(part), "%s" FILE_COPY_PART, other);
	if (r == 0)
		r = journal_sync(journal);
	if (r == 0)
		r = link_to_last(bringing, other);
	if (r == -ENOENT)
		r = make_file(bringing, from, other, part);
	if (r == 0)
		r = recovery_part(&bringing->place, &intent, &is_edited, &leftover);
	explain_leftover(bringing, &leftover);
	if (r < 0)
		return r; /* recovery resolves the intent */
	end(bringing, r == 0 && !is_edited && leftover.length == 0 ? UNDO_DONE : UNDO_EDITED);
	return journal_note_done(journal, intent.number);
}

/* Parts a link from the kept file. */
static void part(struct bringing *bringing)
{
	const struct place *place = &bringing->place;
	struct held held = {.fd = -1};
	int r = held_open_linked(&held, place);

	if (r == HELD_BUSY)
		r = -EBUSY;
	else if (r == 0)
		r = check_content(&held, bringing->record);
	if (r > 0)
		end(bringing, UNDO_EDITED);
	else if (r == -ENOENT)
		end(bringing, UNDO_NO_CONTENT);
	else if (r == 0 && bringing->record->command == RECORD_LINK && held.status.st_nlink == 1)
		restore_metadata(bringing, &held);
	else if (r == 0)
		r = part_from(bringing, held.fd);
	held_close(&held);
	if (r < 0 && r != -ENOENT)
		fail(bringing, r);
}

/* ---- one file ---------------------------------------------------------------------------- */

/* Completes the undo of a move that was interrupted after the file was copied back. */
static void complete_move(struct bringing *bringing)
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

/* Examines the file that has the path already. */
static void examine_existing(struct bringing *bringing)
{
	struct held held = {.fd = -1};
	int r = hold(&held, &bringing->place, bringing->record);

	held_close(&held);
	if (r == CONTENT_DIFFERS || r == -EBUSY || r == -ELOOP || r == -ENXIO || r == -EISDIR) {
		end(bringing, UNDO_EXISTS);
	} else if (r < 0) {
		fail(bringing, r);
	} else {
		end(bringing, UNDO_ALREADY);
		complete_move(bringing);
	}
}

static void bring(struct bringing *bringing)
{
	const struct place *place = &bringing->place;
	struct stat status;

	if (fstatat(place->directory, place->name, &status, AT_SYMLINK_NOFOLLOW) == 0) {
		if (is_the_link(bringing, &status))
			part(bringing);
		else
			examine_existing(bringing);
	} else if (errno != ENOENT) {
		fail(bringing, -errno);
	} else if (!return_moved(bringing)) {
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
	r = undo_place_open(&bringing.place, record, &result->absent);
	if (r < 0) {
		fail(&bringing, r);
		return;
	}
	bring(&bringing);
	if (result->outcome == UNDO_DONE || result->outcome == UNDO_ALREADY) {
		if (fstat(bringing.place.directory, &status) == 0)
			durable_note_directory(&undo->durable, bringing.place.directory,
					       status.st_dev);
		remember(&bringing);
	}
	place_close(&bringing.place);
}
