/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "act/one_act.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/metadata.h"
#include "base/path.h"
#include "index/filesystem.h"
#include "index/source.h"

/* ---- the records of an act ----------------------------------------------------------------- */

/* Returns whether the directory is on the mount that was found last. */
static bool is_last_mount(struct recording *recording, int directory)
{
	struct statx status = {0};
	uint64_t id;
	dev_t device;
	bool is_last;

	if (statx(directory, "", AT_EMPTY_PATH, STATX_MNT_ID, &status) < 0)
		return false;
	id = status.stx_mask & STATX_MNT_ID ? status.stx_mnt_id : 0;
	device = makedev(status.stx_dev_major, status.stx_dev_minor);
	is_last = id && id == recording->mount_id && device == recording->device;
	recording->mount_id = id;
	recording->device = device;
	return is_last;
}

/* Notes owner and mode of the directory, unless it has ACLs. */
static int note_folder(struct record *record, int directory)
{
	CLEANUP_XATTRS struct xattrs acls = {0};
	struct stat status;
	int r = xattrs_read_acls(&acls, directory);

	record->folder_known = r == 0 && acls.count == 0 && fstat(directory, &status) == 0;
	if (record->folder_known) {
		record->folder_mode = status.st_mode & ALLPERMS;
		record->folder_uid = status.st_uid;
		record->folder_gid = status.st_gid;
	}
	return r == -ENOMEM ? r : 0;
}

int recording_note_place(struct recording *recording, struct record *record,
			 const struct place *place)
{
	struct mount_identity *mount = &recording->mount;
	int r;

	if (place->directory < 0)
		return 0;
	if (!is_last_mount(recording, place->directory)) {
		*mount = (struct mount_identity){.path = NULL};
		recording->filesystem = filesystem_lasting_identity(place->directory);
		r = place_find_mount(place->directory, &recording->mount_path, &mount->root);
		if (r == 0)
			mount->path = bytes_text(&recording->mount_path);
		if (r == -ENOMEM || (r == 0 && !mount->path))
			return -ENOMEM;
	}
	record->filesystem = recording->filesystem;
	record->mount = *mount;
	return note_folder(record, place->directory);
}

/* Sets the metadata of an open file, which may be O_PATH. */
static int read_metadata(struct record *record, struct xattrs *xattrs, int fd)
{
	struct statx status;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &status) < 0)
		return -errno;
	record->mode = status.stx_mode & ALLPERMS;
	record->uid = status.stx_uid;
	record->gid = status.stx_gid;
	record->mtime = (struct timespec){status.stx_mtime.tv_sec, (long)status.stx_mtime.tv_nsec};
	record->size = status.stx_size;
	record->inode = status.stx_ino;
	record->born_ns = place_born_ns(&status);
	if (record->links == 0)
		record->links = status.stx_nlink;
	record->has_flags = inode_flag_bits_read(fd, &record->flags);
	record->xattrs = xattrs;
	return xattrs_read(xattrs, fd);
}

int recording_plan(struct recording *recording, struct record *record, const struct place *place,
		   struct xattrs *xattrs)
{
	AUTO_CLOSE int fd = place->directory < 0
				    ? -1
				    : open_beneath(place->directory, place->name, O_PATH, false);

	record->act = recording->id;
	record->file = ++recording->files;
	record->time = clock_now();
	record->order = recording->order;
	if (fd < 0)
		return 0; /* the act will be refused */
	return read_metadata(record, xattrs, fd);
}

/* Returns whether a held file has the signature for which the index knows the hash. */
static bool is_as_planned(const struct held *held, const struct attributes *planned)
{
	const struct stat *now = &held->status;

	return held->leased && (uint64_t)now->st_size == planned->size &&
	       clock_equal(now->st_mtim, planned->mtime) &&
	       clock_equal(now->st_ctim, planned->ctime);
}

static bool is_same(const struct record *a, const struct record *b)
{
	return a->mode == b->mode && a->uid == b->uid && a->gid == b->gid && a->size == b->size &&
	       clock_equal(a->mtime, b->mtime) && hash128_equal(a->hash, b->hash) &&
	       a->has_flags == b->has_flags && a->flags == b->flags && a->inode == b->inode &&
	       a->born_ns == b->born_ns && a->kept_changed_ns == b->kept_changed_ns &&
	       xattrs_equal(a->xattrs, b->xattrs);
}

int entry_update(struct act_entry *entry, const struct held *copy, const struct held *kept)
{
	CLEANUP_XATTRS struct xattrs found = {0};
	const struct xattrs planned = entry->xattrs;
	struct record now = entry->record;
	int r = read_metadata(&now, &found, copy->fd);
	bool is_known;

	if (kept)
		now.kept_changed_ns = clock_ns(kept->status.st_ctim);
	/* the act goes on only if the bytes of both files are equal */
	is_known = !hash128_is_zero(now.hash) &&
		   (is_as_planned(copy, entry->copy.attributes) ||
		    (kept && is_as_planned(kept, entry->kept.attributes)));
	if (r == 0 && !is_known)
		r = file_hash(copy->fd, NULL, &now.hash);
	if (r < 0 || (entry->record.xattrs && is_same(&entry->record, &now)))
		return r;
	entry->xattrs = found;
	found = planned;
	entry->record = now;
	entry->record.xattrs = &entry->xattrs;
	return ENTRY_CHANGED;
}

/* ---- the plan ------------------------------------------------------------------------------ */

/* Copies a text into the memory of the session. Returns NULL if memory is short or result is
 * negative.
 *
 * result	of making the text: 0 or -errno
 */
static const char *store(struct act_session *session, const struct bytes *text, int result)
{
	return result < 0 ? NULL : arena_copy(&session->memory, text->data, text->length);
}

static bool store_file(struct act_session *session, struct act_file *stored,
		       struct attributes *attributes, const struct act_file *file)
{
	*attributes = *file->attributes;
	*stored = (struct act_file){file->source,
				    arena_copy(&session->memory, file->path, strlen(file->path)),
				    attributes, file->hash};
	return stored->path;
}

int entry_set(struct act_session *session, struct act_entry *entry, const struct act_file *kept,
	      const struct act_attested *attested, const struct act_file *copy)
{
	journal_other_name(entry->other);
	entry->kept = (struct act_file){.path = NULL};
	if (kept && !store_file(session, &entry->kept, &entry->kept_attributes, kept))
		return -ENOMEM;
	if (attested) {
		entry->attested = *attested;
		entry->attested.hosts =
			arena_copy(&session->memory, attested->hosts, strlen(attested->hosts));
		if (!entry->attested.hosts)
			return -ENOMEM;
	}
	return store_file(session, &entry->copy, &entry->copy_attributes, copy) ? 0 : -ENOMEM;
}

int entry_set_destination(struct act_session *session, struct act_entry *entry)
{
	const struct act_settings *settings = session->settings;
	const char *tree = settings->sources->list[entry->copy.source].tree;
	CLEANUP_BYTES struct bytes path = {0};
	int r;

	entry->to = NULL;
	if (settings->kind != ACT_MOVE)
		return 0;
	r = bytes_format(&path, "%s/%s%s%s", settings->destination, tree, *tree ? "/" : "",
			 entry->copy.path);
	entry->to = store(session, &path, r);
	return entry->to ? 0 : -ENOMEM;
}

int entry_absolute_path(const struct act_session *session, const struct act_file *file,
			struct bytes *path)
{
	const char *relative = strcmp(file->path, FOLDER_ROOT) == 0 ? "" : file->path;

	return source_absolute_path(session->settings->sources, file->source, relative, path);
}

static const char *absolute_path(struct act_session *session, const struct act_file *file)
{
	CLEANUP_BYTES struct bytes path = {0};
	int r = entry_absolute_path(session, file, &path);

	return store(session, &path, r);
}

/* Makes the relative target of a symlink.
 *
 * from		absolute path of the symlink
 * to		absolute path of its target
 */
static int relative_target(struct bytes *target, const char *from, const char *to)
{
	size_t common = 0;
	int r = 0;

	for (size_t i = 0; from[i] && from[i] == to[i]; i++) {
		if (from[i] == '/')
			common = i + 1;
	}
	for (const char *rest = strchr(from + common, '/'); r == 0 && rest;
	     rest = strchr(rest + 1, '/'))
		r = bytes_append_text(target, "../");
	return r < 0 ? r : bytes_append_text(target, to + common);
}

/* Sets the target of ACT_SYMLINK in the record, which has the paths of both files. */
static int set_target(struct act_session *session, struct record *record)
{
	CLEANUP_BYTES struct bytes target = {0};
	int r;

	if (session->settings->kind != ACT_SYMLINK)
		return 0;
	record->target = record->kept;
	if (session->settings->relative) {
		r = relative_target(&target, record->path, record->kept);
		record->target = store(session, &target, r);
	}
	return record->target ? 0 : -ENOMEM;
}

/* Sets in the record which file or which hosts keep the content, and the target of a link to that
 * file. Returns 0 or -ENOMEM. */
static int set_keeper(struct act_session *session, struct act_entry *entry)
{
	const struct attributes *kept = entry->kept.attributes;
	struct record *record = &entry->record;

	if (!entry->kept.path) {
		memcpy(record->sha256, entry->attested.sha256, sizeof(record->sha256));
		record->kept_by = entry->attested.hosts;
		return 0;
	}
	record->kept_source = session->settings->sources->list[entry->kept.source].path;
	record->kept = absolute_path(session, &entry->kept);
	record->kept_inode = kept->inode;
	record->kept_born_ns = clock_ns(kept->btime);
	if (!entry->is_folder)
		record->kept_changed_ns = clock_ns(kept->ctime);
	return record->kept ? set_target(session, record) : -ENOMEM;
}

/* Sets in the record on which mount the copy is. Returns 0 or -ENOMEM. */
static int set_mount(struct act_session *session, struct record *record, const struct place *place)
{
	struct mount_identity *mount = &record->mount;
	int r = recording_note_place(&session->recording, record, place);

	if (r < 0 || !mount->path)
		return r;
	mount->path = arena_copy(&session->memory, mount->path, strlen(mount->path));
	return mount->path ? 0 : -ENOMEM;
}

static int make_record(struct act_session *session, struct act_entry *entry,
		       const struct place *place)
{
	const struct source *source = &session->settings->sources->list[entry->copy.source];
	struct record *record = &entry->record;
	int r;

	*record = (struct record){.type = entry->is_folder ? S_IFDIR : 0,
				  .command = (enum record_command)session->settings->kind,
				  .source = source->path,
				  .path = absolute_path(session, &entry->copy),
				  .hash = entry->copy.hash,
				  .root = place_identify_root(source->fd),
				  .size = entry->copy.attributes->size,
				  .to = entry->to,
				  .new_folders = entry->to ? place_count_missing(entry->to) : 0};
	r = record->path ? set_keeper(session, entry) : -ENOMEM;
	if (r == 0)
		r = set_mount(session, record, place);
	if (r == 0)
		r = recording_plan(&session->recording, record, place, &entry->xattrs);
	if (entry->is_folder)
		record->size = entry->folder_bytes;
	return r;
}

static enum intent_kind intent_kind_of(enum act_kind kind)
{
	static const enum intent_kind kinds[] = {
		[ACT_REMOVE] = INTENT_AWAY,     [ACT_MOVE] = INTENT_AWAY,
		[ACT_TRASH] = INTENT_AWAY,      [ACT_LINK] = INTENT_LINK,
		[ACT_SYMLINK] = INTENT_SYMLINK, [ACT_DEDUPE] = INTENT_SHARE,
	};

	return kinds[kind];
}

int entry_plan(struct act_session *session, struct act_entry *entry, const struct place *place)
{
	const struct attributes *copy = entry->copy.attributes;
	const struct record *record = &entry->record;
	struct intent *intent = &entry->intent;
	CLEANUP_BYTES struct bytes line = {0};
	const char *below;
	int r = make_record(session, entry, place);

	if (r == 0)
		r = record_encode(&line, record);
	if (r < 0)
		return r;
	*intent =
		(struct intent){.kind = entry->is_folder ? INTENT_FOLDER
							 : intent_kind_of(session->settings->kind),
				.source = record->source,
				.path = entry->copy.path,
				.other = entry->other,
				.to = entry->to,
				.new_folders = record->new_folders,
				.inode = copy->inode,
				.born_ns = clock_ns(copy->btime),
				.kept_inode = entry->is_folder ? 0 : record->kept_inode,
				.target = record->target,
				.record = store(session, &line, r),
				.root = record->root};
	if (entry->to)
		intent->to_mount = session->to_mount;
	/* recovery needs a mount that is below the source */
	below = record->mount.path ? path_below(record->mount.path, record->source) : NULL;
	if (below && *below)
		intent->mount = record->mount;
	return intent->record ? 0 : -ENOMEM;
}
