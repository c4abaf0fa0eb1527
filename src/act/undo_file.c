/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "act/file_copy.h"
#include "act/held.h"
#include "act/recovery.h"
#include "act/trash.h"
#include "act/undo_make.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/log.h"
#include "base/metadata.h"
#include "index/filesystem.h"

/* ---- moved and trashed files ---------------------------------------------------------- */

/* On one file system, the file is renamed back. From another one it is copied back. Then the moved
 * file is quarantined and removed as an act removes a copy (act/one_act.h): it gets a private name,
 * which is in the journal, and must be the compared file under that name. */

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
	if (here.st_dev == folder.st_dev &&
	    place_has_inode(held->fd, "", record->inode, record->born_ns))
		return true;
	return record->made_inode &&
	       place_has_inode(held->fd, "", record->made_inode, record->made_born_ns) &&
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
	const struct stat *x = &a->status, *y = &b->status;

	return x->st_mode == y->st_mode && x->st_uid == y->st_uid && x->st_gid == y->st_gid &&
	       clock_equal(x->st_mtim, y->st_mtim) && xattrs_are_same(a->fd, b->fd) == 1;
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

/* Removes the info file of a file or folder that is no longer in the trash. */
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

/* Brings back the moved or trashed file itself. Returns whether the outcome is filled in. */
static bool undo_return_moved(struct bringing *bringing)
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

/* Completes the undo of a move that was interrupted after the file was copied back. */
static void undo_complete_move(struct bringing *bringing)
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

/* ---- a folder that was moved as a whole -------------------------------------------------- */

/* Returns whether the name is the folder of the record. */
static bool is_the_folder(const struct place *place, const struct record *record)
{
	AUTO_CLOSE int fd = open_beneath(place->directory, place->name, O_PATH, false);
	struct stat status;

	return fd >= 0 && fstat(fd, &status) == 0 && S_ISDIR(status.st_mode) &&
	       place_has_inode(fd, "", record->inode, record->born_ns);
}

/* Renames the folder back. Returns 0 or -errno; -ENOENT if it is not where the act moved it. */
static int rename_back(struct bringing *bringing)
{
	const struct record *record = bringing->record;
	const struct place *place = &bringing->place;
	struct place there;
	struct stat status;
	int r = undo_place_open_path(&there, record->to);

	if (r < 0)
		return r == -ENOTDIR ? -ENOENT : r;
	if (!is_the_folder(&there, record))
		r = -ENOENT;
	else
		r = place_move(&there, place);
	if (r == 0 && fstat(there.directory, &status) == 0)
		durable_note_directory(&bringing->undo->durable, there.directory, status.st_dev);
	place_close(&there);
	return r;
}

static void return_folder(struct bringing *bringing)
{
	int r = rename_back(bringing);

	if (r == -ENOENT) {
		undo_end(bringing, UNDO_FOLDER_GONE);
	} else if (r < 0) {
		undo_fail(bringing, r);
	} else {
		forget_trash_info(bringing->record);
		undo_end(bringing, UNDO_DONE);
	}
}

/* ---- a name that was removed ------------------------------------------------------------- */

/* Modes of a new folder, and of another new name except a symlink, until they get the former one.
 * No private name of the user has the sticky bit. */
#define FOLDER_MODE (S_ISVTX | 0700)
#define OTHER_MODE (S_ISVTX | 0600)

static int make_name(const struct record *record, const struct place *place)
{
	int r;

	if (record->type == S_IFDIR)
		r = mkdirat(place->directory, place->name, FOLDER_MODE);
	else if (record->type == S_IFLNK)
		r = symlinkat(record->target ? record->target : "", place->directory, place->name);
	else
		r = mknodat(place->directory, place->name, record->type | OTHER_MODE,
			    (dev_t)record->device);
	return r < 0 ? -errno : 0;
}

/* Gives an open file its former metadata, and notes what could not be set. */
static int apply_metadata(struct bringing *bringing, int fd)
{
	const struct record *record = bringing->record;
	const struct metadata metadata = undo_metadata_of(record);
	struct metadata_refused refused = {0};
	int r = metadata_apply(&metadata, fd, &refused);

	if (r < 0)
		return r;
	undo_note_refused(bringing, &refused);
	bringing->result->fewer_flags =
		record->has_flags && !inode_flag_bits_set(fd, record->flags);
	return 0;
}

/* Gives a name that an undo made its former metadata. fd can be the -errno of making it. */
static void finish(struct bringing *bringing, int fd)
{
	int r = fd < 0 ? fd : apply_metadata(bringing, fd);

	if (r < 0)
		undo_fail(bringing, r);
	else
		undo_end(bringing, UNDO_DONE);
}

static void make_special(struct bringing *bringing)
{
	const struct place *place = &bringing->place;
	int r = make_name(bringing->record, place);
	AUTO_CLOSE int fd = r < 0 ? r : open_beneath(place->directory, place->name, O_PATH, false);

	finish(bringing, fd);
}

/* ---- a name that a killed undo made ------------------------------------------------------ */

static bool has_no_names(int fd)
{
	AUTO_CLOSE int folder = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return folder >= 0 && directory_check_empty(folder, NULL) == 0;
}

/* Returns whether all attributes are those of a new name of this undo, or already the former ones,
 * so that a killed undo made it, and nothing has changed it since. */
static bool is_half_made(const struct record *record, int fd)
{
	CLEANUP_XATTRS struct xattrs found = {0};
	struct statx status;
	struct stat now;
	mode_t fresh = record->type == S_IFDIR ? FOLDER_MODE : OTHER_MODE;
	bool is_owned, is_new;
	int64_t born_ns;

	if (fd < 0 || fstat(fd, &now) < 0 || statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &status) < 0)
		return false;
	/* the owner is set before the mode, and a new folder can inherit the set-group-ID bit */
	is_owned = now.st_uid == record->uid && now.st_gid == record->gid;
	is_new = now.st_uid == geteuid() || is_owned;
	if (record->type != S_IFLNK)
		is_new = (is_new && (now.st_mode & ALLPERMS & ~S_ISGID) == fresh) ||
			 (is_owned && (now.st_mode & ALLPERMS) == record->mode);
	born_ns = place_born_ns(&status);
	return is_new && born_ns > clock_ns(record->time) &&
	       (clock_ns(now.st_mtim) == born_ns || stored_time_equals(record->mtime, &now)) &&
	       xattrs_read(&found, fd) == 0 &&
	       (found.count == 0 || (record->xattrs && xattrs_equal(&found, record->xattrs))) &&
	       (record->type != S_IFDIR || has_no_names(fd));
}

/* Returns whether the existing name is what the record describes. */
static bool is_back(const struct bringing *bringing, const struct stat *status)
{
	const struct record *record = bringing->record;
	const struct place *place = &bringing->place;

	if ((status->st_mode & S_IFMT) != record->type)
		return false;
	if (record->type == S_IFLNK)
		return record->target && place_is_symlink_to(place, place->name, record->target);
	if (record->type == S_IFDIR && record->command != RECORD_REMOVE)
		return is_the_folder(place, record);
	return record->type == S_IFDIR || status->st_rdev == record->device;
}

/* Returns whether an existing name has another owner or mode than the removed one. The time of a
 * folder is set later. */
static bool is_altered(const struct stat *status, const struct record *record)
{
	return status->st_uid != record->uid || status->st_gid != record->gid ||
	       (record->type != S_IFLNK && (status->st_mode & ALLPERMS) != record->mode) ||
	       (record->type != S_IFDIR && !stored_time_equals(record->mtime, status));
}

static void examine_special(struct bringing *bringing, const struct stat *status)
{
	const struct place *place = &bringing->place;
	AUTO_CLOSE int fd = -1;

	if (!is_back(bringing, status)) {
		undo_end(bringing, UNDO_EXISTS);
		return;
	}
	undo_end(bringing, UNDO_ALREADY);
	forget_trash_info(bringing->record);
	if (bringing->record->to || !is_altered(status, bringing->record))
		return;
	fd = open_beneath(place->directory, place->name, O_PATH, false);
	if (is_half_made(bringing->record, fd))
		finish(bringing, fd);
	else
		bringing->result->other_metadata = true;
}

/* Brings back what a record that is not of a regular file describes, at bringing->place, and fills
 * in the outcome: a folder, symlink, FIFO, socket or device. The metadata of a new folder change
 * again when names are made in it, see undo_restore_time(). */
static void undo_special(struct bringing *bringing)
{
	const struct record *record = bringing->record;
	const struct place *place = &bringing->place;
	struct stat status;

	if (fstatat(place->directory, place->name, &status, AT_SYMLINK_NOFOLLOW) == 0)
		examine_special(bringing, &status);
	else if (errno != ENOENT)
		undo_fail(bringing, -errno);
	else if (record->to)
		return_folder(bringing);
	else
		make_special(bringing);
}

void undo_restore_time(const struct record *record)
{
	struct place place;
	struct stat now;

	if (undo_place_open_path(&place, record->path) < 0)
		return;
	(void)!stored_time_set(place.directory, place.name, AT_SYMLINK_NOFOLLOW, record->mtime,
			       &now);
	place_close(&place);
}

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
	struct searching searching = {bringing, make};
	int r = undo_search(bringing, try_path, &searching);

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
	       (place_has_inode(fd, "", record->kept_inode, record->kept_born_ns) ||
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
	int r;

	if (!undo_is_certain(held, bringing->record))
		return UNDO_FORGEABLE;
	r = apply_metadata(bringing, held->fd);
	return r == 0 && fsync(held->fd) < 0 ? -errno : r;
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
	CLEANUP_BYTES struct bytes leftover = {0};
	enum intent_kind kind =
		bringing->record->command == RECORD_LINK ? INTENT_LINK : INTENT_SYMLINK;
	struct undo_private names;
	bool is_edited = false;
	int r = undo_intend(bringing, kind, bringing->link_inode, &names), noted;

	if (r == 0)
		r = undo_join(bringing, names.other);
	if (r == -ENOENT)
		r = undo_make_as(bringing, from, names.other, names.part);
	if (r == -EOPNOTSUPP) /* no other program uses the private name */
		r = undo_make_as(bringing, from, names.other, names.other);
	if (r == 0)
		r = recovery_part(&bringing->place, &names.intent, &is_edited, &leftover);
	explain_leftover(bringing, &leftover);
	if (r < 0)
		return r; /* recovery resolves the intent */
	noted = journal_note_done(bringing->undo->journal, names.intent.number);
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
		if (S_ISREG(record->type))
			undo_remember(&bringing);
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
	if (undo_hold(&held, &bringing.place, record) == 0)
		undo_remember(&bringing);
	held_close(&held);
	place_close(&bringing.place);
}
