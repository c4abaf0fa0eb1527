/* SPDX-License-Identifier: MIT */
#include "backup/restoring.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/log.h"
#include "base/quote.h"
#include "base/size.h"
#include "base/stop.h"

/* ---- what is there already --------------------------------------------------------------- */

/* Is it the time as a file system keeps it, rounded down: to 100 ns (NTFS), 10 ms (exFAT), a second or
 * two (FAT)? */
static bool same_mtime(struct timespec wanted, struct timespec found)
{
	for (int64_t kept_ns = 1; kept_ns <= SECOND_NS; kept_ns *= 10) {
		if (wanted.tv_sec == found.tv_sec &&
		    wanted.tv_nsec - wanted.tv_nsec % kept_ns == found.tv_nsec)
			return true;
	}
	return found.tv_nsec == 0 && found.tv_sec == (wanted.tv_sec & ~(time_t)1);
}

static int read_link(int directory, const char *name, struct bytes *text)
{
	ssize_t length;
	int r = bytes_reserve(text, PATH_MAX);

	if (r < 0)
		return r;
	length = readlinkat(directory, name, (char *)text->data, PATH_MAX);
	if (length < 0)
		return -errno;
	text->length = (size_t)length;
	return length == PATH_MAX ? -ENAMETOOLONG : 0;
}

static int same_link(const struct thing *thing, bool *same)
{
	CLEANUP_BYTES struct bytes wanted = {0};
	CLEANUP_BYTES struct bytes found = {0};
	int r = read_link(thing->from, "", &wanted);

	if (r == 0)
		r = read_link(thing->directory, thing->name, &found);
	*same = r == 0 && wanted.length == found.length &&
		memcmp(wanted.data, found.data, wanted.length) == 0;
	return r;
}

/* Reads both files, or the one in the target where the hash is known. */
static int same_bytes(struct restoring *restoring, const struct thing *thing, bool *same)
{
	AUTO_CLOSE int fd = open_beneath_for_reading(thing->directory, thing->name, 0, true);
	struct hash128 wanted;
	struct hash128 found;
	int r = fd < 0 ? fd : copy_hash(&restoring->copier, fd, &found);

	if (r != 0)
		return r;
	if (thing->hash)
		wanted = *thing->hash;
	else
		r = copy_hash(&restoring->copier, thing->from, &wanted);
	*same = r == 0 && hash128_equal(wanted, found);
	return r;
}

/* Does the target refuse to link what links/ has? Then what is there is a file of its own. */
static bool is_parted(const struct restoring *restoring, const struct thing *thing)
{
	const struct staging *staging = &restoring->staging;

	if (linkat(staging->links, thing->key, staging->folder, STAGING_FILE, 0) < 0)
		return staging_is_without_links(errno);
	staging_drop(staging);
	return false;
}

/* Puts the inode into links/ again, from where it may have got lost, for its other names. */
static int link_again(const struct restoring *restoring, const struct thing *thing,
		      const struct stat *found)
{
	if (found->st_nlink == thing->names ||
	    linkat(thing->directory, thing->name, restoring->staging.links, thing->key, 0) == 0)
		return 0;
	if (!staging_is_without_links(errno))
		return -errno;
	restoring->result->parted++;
	return 0;
}

/* The other names of its inode are linked to the one in links/. */
static int check_key(const struct restoring *restoring, const struct thing *thing,
		     const struct stat *found, bool *same)
{
	struct stat kept;

	if (fstatat(restoring->staging.links, thing->key, &kept, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? link_again(restoring, thing, found) : -errno;
	if (is_same_inode(&kept, found))
		return 0;
	*same = is_parted(restoring, thing);
	if (*same)
		restoring->result->parted++;
	return 0;
}

/* Whether an interrupted restore has made it. A name is given to what is whole, so the size and the
 * time tell, unless it is another boot or mount: then the bytes are read. */
static int is_there(struct restoring *restoring, const struct thing *thing, bool *there)
{
	const struct stat *wanted = thing->status;
	struct stat found;
	int r = 0;

	*there = false;
	if (!restoring->staging.resumed)
		return 0;
	if (fstatat(thing->directory, thing->name, &found, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (thing->linked) {
		*there = is_same_inode(&found, wanted);
		return 0;
	}
	*there = ((wanted->st_mode ^ found.st_mode) & S_IFMT) == 0 &&
		 wanted->st_rdev == found.st_rdev &&
		 same_mtime(thing->metadata->mtime, found.st_mtim);
	if (*there && S_ISREG(found.st_mode))
		*there = wanted->st_size == found.st_size;
	if (*there && S_ISLNK(found.st_mode))
		r = same_link(thing, there);
	if (r == 0 && *there && S_ISREG(found.st_mode) && !restoring->staging.trusted)
		r = same_bytes(restoring, thing, there);
	if (r == 0 && *there && thing->key)
		r = check_key(restoring, thing, &found, there);
	return r;
}

/* ---- making it --------------------------------------------------------------------------- */

static int check_hash(struct restoring *restoring, const struct thing *thing)
{
	struct hash128 found;
	int r;

	if (!thing->hash)
		return 0;
	r = copy_hash(&restoring->copier, thing->from, &found);
	if (r != 0)
		return r;
	return hash128_equal(*thing->hash, found) ? 0 : RESTORING_DIFFERS;
}

static int make_link(struct restoring *restoring, const struct thing *thing)
{
	struct fd_path path = fd_path(thing->from);
	int r = check_hash(restoring, thing);

	if (r != 0)
		return r;
	if (linkat(AT_FDCWD, path.text, thing->directory, thing->name, AT_SYMLINK_FOLLOW) < 0)
		return -errno;
	copy_hash_linked(&restoring->copier, thing->from);
	return 0;
}

/* The clone is of what was hashed, as nobody is to write to a backup; the same check as at the end
 * of a copy is made. */
static int clone_bytes(struct restoring *restoring, const struct thing *thing, int to)
{
	struct stat now;
	int r = check_hash(restoring, thing);

	if (r != 0)
		return r;
	if (thing->status->st_size > 0 && ioctl(to, FICLONE, thing->from) < 0)
		return errno == EOPNOTSUPP || errno == ENOTTY || errno == EXDEV || errno == EINVAL
			       ? RESTORING_NOT_SHARED
			       : -errno;
	if (fstat(thing->from, &now) < 0)
		return -errno;
	return copy_same_signature(thing->status, &now) ? 0 : COPY_CHANGED;
}

static int write_bytes(struct restoring *restoring, const struct thing *thing, int to)
{
	struct hash128 found;
	int r;

	if (restoring->settings->way == RESTORE_REFLINK)
		return clone_bytes(restoring, thing, to);
	r = copy_bytes(&restoring->copier, thing->from, to, thing->hash ? &found : NULL);
	if (r == 0 && thing->hash && !hash128_equal(*thing->hash, found))
		r = RESTORING_DIFFERS;
	if (r == 0)
		restoring->result->bytes =
			size_add(restoring->result->bytes, (uint64_t)thing->status->st_size);
	return r;
}

/* Both make what links/ and the target do not have yet as the staging's file. */

static int make_file(struct restoring *restoring, const struct thing *thing)
{
	AUTO_CLOSE int fd =
		openat(restoring->staging.folder, STAGING_FILE,
		       O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
	int r;

	if (fd < 0)
		return -errno;
	r = write_bytes(restoring, thing, fd);
	return r != 0 ? r : metadata_apply(thing->metadata, fd, &restoring->result->refused);
}

static int make_node(struct restoring *restoring, const struct thing *thing)
{
	mode_t mode = (thing->status->st_mode & S_IFMT) | S_IRUSR | S_IWUSR;
	int folder = restoring->staging.folder;
	CLEANUP_BYTES struct bytes text = {0};
	AUTO_CLOSE int fd = -1;
	int r = 0;

	if (S_ISLNK(mode))
		r = read_link(thing->from, "", &text);
	if (r == 0 && S_ISLNK(mode) && !bytes_text(&text))
		r = -ENOMEM;
	if (r < 0)
		return r;
	if (S_ISLNK(mode))
		r = symlinkat(bytes_text(&text), folder, STAGING_FILE);
	else
		r = mknodat(folder, STAGING_FILE, mode, thing->status->st_rdev);
	if (r < 0)
		return -errno;
	fd = openat(folder, STAGING_FILE, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	return metadata_apply(thing->metadata, fd, &restoring->result->refused);
}

/* Takes what gave a name to an inode that is to have more of them. */
static int note_parted(struct restoring *restoring, int result)
{
	if (result != STAGING_PARTED)
		return result;
	restoring->result->parted++;
	return 0;
}

int restoring_make(struct restoring *restoring, const struct thing *thing)
{
	const struct staging *staging = &restoring->staging;
	bool there;
	int r;

	if (stop_requested())
		return -EINTR;
	r = is_there(restoring, thing, &there);
	if (r != 0 || there)
		return r;
	if (thing->linked)
		return make_link(restoring, thing);
	if (thing->key) {
		r = staging_link(staging, thing->key, thing->directory, thing->name, thing->names);
		if (r != -ENOENT)
			return note_parted(restoring, r);
	}
	r = S_ISREG(thing->status->st_mode) ? make_file(restoring, thing)
					    : make_node(restoring, thing);
	if (r == 0)
		r = note_parted(restoring,
				staging_place(staging, thing->key, thing->directory, thing->name));
	if (r != 0)
		staging_drop(staging);
	return r;
}

/* ---- what is said ------------------------------------------------------------------------ */

const char *restoring_reason(const struct restoring *restoring, int result)
{
	switch (result) {
	case COPY_CHANGED:
		return "somebody wrote to it in the backup meanwhile";
	case COPY_UNREADABLE:
		return error_text(restoring->copier.read_error);
	case RESTORING_DIFFERS:
		return "the backup has other bytes than the manifest says";
	case RESTORING_NOT_SHARED:
		return "its blocks cannot be shared";
	case -EEXIST:
		return "the target has something else of that name";
	default:
		return error_text(result);
	}
}

bool restoring_is_over(int result)
{
	switch (result) {
	case RESTORING_NOT_SHARED:
	case -EINTR:
	case -ENOMEM:
	case -EMFILE:
	case -ENFILE:
	case -ENOSPC:
	case -EDQUOT:
	case -EROFS:
		return true;
	default:
		return false;
	}
}

/* Why the work ends, and what to do. */
static int say_over(const struct restoring *restoring, const char *path, int result)
{
	const char *target = quote_path(restoring->settings->target);

	if (result == RESTORING_NOT_SHARED) {
		log_error("cannot restore %s by --reflink: the file system of %s cannot share "
			  "blocks with that of %s; restore without it",
			  path, target, quote_path(restoring->settings->backup));
		return -EOPNOTSUPP;
	}
	if (result != -EINTR)
		log_error("cannot restore %s: %s; put that right and give the same command again: "
			  "it goes on from here",
			  path, error_text(result));
	return result;
}

int restoring_fail(struct restoring *restoring, const char *path, size_t length, int result)
{
	const char *quoted = quote_bytes(path, length);

	if (restoring_is_over(result))
		return say_over(restoring, quoted, result);
	log_warning("cannot restore %s: %s", quoted, restoring_reason(restoring, result));
	restoring->result->failed++;
	return 0;
}

void restoring_count(struct restoring *restoring)
{
	restoring->counts.files_done++;
	progress_update(&restoring->progress, &restoring->counts);
}
