/* SPDX-License-Identifier: MIT */
#include "act/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/hash.h"
#include "base/metadata.h"
#include "catalog/filesystem.h"

void recording_begin(struct recording *recording, enum act_kind kind)
{
	*recording = (struct recording){.kind = kind};
	record_make_id(recording->id);
}

void recording_deinit(struct recording *recording)
{
	bytes_free(&recording->mount_path);
}

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
		   const struct act_file *copy, struct xattrs *xattrs)
{
	AUTO_CLOSE int fd = place->directory < 0
				    ? -1
				    : open_beneath(place->directory, place->name, O_PATH, false);

	record->act = recording->id;
	record->file = ++recording->files;
	record->command = (enum record_command)recording->kind;
	record->time = clock_now();
	record->order = recording->order;
	record->hash = copy->hash;
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

int recording_update(struct record *record, struct xattrs *xattrs, const struct held *copy,
		     const struct held *kept, const struct attributes *planned[2])
{
	CLEANUP_XATTRS struct xattrs found = {0};
	const struct xattrs planned_xattrs = *xattrs;
	struct record now = *record;
	int r = read_metadata(&now, &found, copy->fd);
	bool is_known;

	if (kept)
		now.kept_changed_ns = clock_ns(kept->status.st_ctim);
	/* the act goes on only if the bytes of both files are equal */
	is_known = !hash128_is_zero(now.hash) &&
		   (is_as_planned(copy, planned[0]) || (kept && is_as_planned(kept, planned[1])));
	if (r == 0 && !is_known)
		r = file_hash(copy->fd, NULL, &now.hash);
	if (r < 0 || (record->xattrs && is_same(record, &now)))
		return r;
	*xattrs = found;
	found = planned_xattrs;
	*record = now;
	record->xattrs = xattrs;
	return RECORDING_CHANGED;
}
