/* SPDX-License-Identifier: MIT */
#include "act/undo_make.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/file_copy.h"
#include "base/file_hash.h"
#include "base/filesystem_kind.h"
#include "base/path.h"

void undo_end(struct bringing *bringing, enum undo_outcome outcome)
{
	bringing->result->outcome = outcome;
}

void undo_fail(struct bringing *bringing, int error)
{
	bringing->result->error = -error;
	undo_end(bringing, error == -EEXIST   ? UNDO_EXISTS
			   : error == -ENODEV ? UNDO_ABSENT
			   : error == -EBUSY  ? UNDO_BUSY
					      : UNDO_FAILED);
}

bool undo_is_inode(int fd, uint64_t inode, int64_t born_ns)
{
	struct statx now;
	int64_t born_now_ns;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &now) < 0)
		return false;
	born_now_ns = place_born_ns(&now);
	return now.stx_ino == inode && (!born_ns || !born_now_ns || born_ns == born_now_ns);
}

/* ---- hard links of one copy -------------------------------------------------------------- */

void undo_forget_last(struct undo *undo)
{
	if (undo->last.inode)
		close(undo->last.fd);
	undo->last = (struct brought_back){.inode = 0};
}

bool undo_is_brought_back(const struct stat *file, const struct record *record)
{
	return (file->st_mode & ALLPERMS) == record->mode &&
	       clock_equal(file->st_mtim, record->mtime);
}

void undo_remember(const struct bringing *bringing)
{
	const struct record *record = bringing->record;
	const struct place *place = &bringing->place;
	struct stat status;
	int fd =
		record->links < 2 ? -1 : open_beneath(place->directory, place->name, O_PATH, false);

	if (fd < 0 || fstat(fd, &status) < 0 ||
	    (status.st_uid != record->uid && status.st_uid != geteuid()) ||
	    (bringing->result->outcome == UNDO_ALREADY && !undo_is_brought_back(&status, record))) {
		cleanup_close(&fd);
		return;
	}
	undo_forget_last(bringing->undo);
	bringing->undo->last = (struct brought_back){record->inode, record->born_ns,
						     record->filesystem, record->hash, fd};
}

int undo_link_to_last(const struct bringing *bringing, const char *name)
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

int undo_check_content(const struct held *held, const struct record *record)
{
	struct hash128 hash = {0};
	int r;

	if ((uint64_t)held->status.st_size != record->size)
		return UNDO_DIFFERS;
	r = file_hash(held->fd, NULL, &hash);
	if (r < 0)
		return r;
	if (!hash128_equal(hash, record->hash))
		return UNDO_DIFFERS;
	return held_is_unbroken(held) ? 0 : -EBUSY;
}

int undo_hold(struct held *held, const struct place *place, const struct record *record)
{
	int r = held_open_any(held, place);

	if (r > 0)
		return r == HELD_BUSY ? -EBUSY : UNDO_DIFFERS;
	if (r == 0)
		r = undo_check_content(held, record);
	if (r != 0)
		held_close(held);
	return r;
}

static bool has_capabilities(const struct record *record)
{
	for (size_t i = 0; record->xattrs && i < record->xattrs->count; i++) {
		if (strcmp(record->xattrs->list[i].name, "security.capability") == 0)
			return true;
	}
	return false;
}

/* Returns whether the owner of a file could choose its content without gaining a right by that. */
static bool is_of_trusted_owner(const struct stat *file, const struct record *record)
{
	bool gives_rights = (record->mode & (S_ISUID | S_ISGID)) || has_capabilities(record);
	bool gives_own = !(record->mode & S_ISGID) && !has_capabilities(record);

	if (!gives_rights)
		return file->st_uid == 0 || file->st_uid == record->uid ||
		       file->st_uid == geteuid();
	return (file->st_mode & (S_IWGRP | S_IWOTH)) == 0 &&
	       (file->st_uid == 0 || (gives_own && file->st_uid == record->uid));
}

/* Returns whether this is the kept file as the act compared it. */
static bool is_compared_file(const struct held *held, const struct record *record)
{
	return record->kept_born_ns && record->kept_changed_ns &&
	       undo_is_inode(held->fd, record->kept_inode, record->kept_born_ns) &&
	       clock_ns(held->status.st_ctim) == record->kept_changed_ns &&
	       filesystem_times_are_reliable(filesystem_type_at(held->fd));
}

bool undo_is_certain(const struct held *held, const struct record *record)
{
	return is_of_trusted_owner(&held->status, record) || is_compared_file(held, record);
}

struct intent undo_make_intent(const struct record *record, char other[static OTHER_NAME_SIZE])
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

/* The file that is copied. */
struct making {
	const struct held *from;
	const struct record *record;
};

/* Checks the copied file once more. Its owner possibly wrote to it since. */
static bool is_still_certain(void *context)
{
	const struct making *making = context;
	struct held now = *making->from;

	return held_is_unbroken(making->from) && fstat(now.fd, &now.status) == 0 &&
	       undo_is_certain(&now, making->record);
}

struct metadata undo_metadata_of(const struct record *record)
{
	return (struct metadata){.mode = record->mode,
				 .uid = record->uid,
				 .gid = record->gid,
				 .mtime = record->mtime,
				 .xattrs = record->xattrs};
}

int undo_make_as(struct bringing *bringing, const struct held *from, const char *name,
		 const char *part)
{
	const struct record *record = bringing->record;
	struct making making = {from, record};
	struct file_copy_wish wish = {.metadata = undo_metadata_of(record),
				      .hash = record->hash,
				      .is_valid = is_still_certain,
				      .context = &making};
	int r;

	if (!undo_is_certain(from, record))
		return UNDO_FORGEABLE;
	r = file_copy_restore(from->fd, bringing->place.directory, name, part, &wish);
	bringing->result->other_owner = r == 0 && wish.refused.owners > 0;
	bringing->result->fewer_xattrs = r == 0 && wish.refused.xattrs > 0;
	bringing->result->other_time = r == 0 && wish.refused.times > 0;
	return r;
}

static int make_journalled(struct bringing *bringing, const struct held *from)
{
	char other[OTHER_NAME_SIZE], part[OTHER_NAME_SIZE + sizeof(FILE_COPY_PART)];
	struct intent intent = undo_make_intent(bringing->record, other);
	struct journal *journal = bringing->undo->journal;
	int r;

	intent.kind = INTENT_AWAY;
	(void)snprintf(part, sizeof(part), "%s" FILE_COPY_PART, other);
	r = journal_intend(journal, &intent);
	if (r == 0)
		r = journal_sync(journal);
	if (r == 0)
		r = undo_make_as(bringing, from, bringing->place.name, part);
	return r < 0 || journal_note_done(journal, intent.number) == 0 ? r : -ENOMEM;
}

int undo_make(struct bringing *bringing, const struct held *from)
{
	int r = undo_make_as(bringing, from, bringing->place.name, NULL);

	return r == -EOPNOTSUPP ? make_journalled(bringing, from) : r;
}
