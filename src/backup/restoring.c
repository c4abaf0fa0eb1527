/* SPDX-License-Identifier: MIT */
#include "backup/restoring.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/log.h"
#include "base/metadata.h"
#include "base/numbers.h"
#include "base/stop.h"

/* ---- files of an interrupted restore ----------------------------------------------------- */

static int read_link(int directory, const char *name, char target[static PATH_MAX])
{
	ssize_t length = readlinkat(directory, name, target, PATH_MAX);

	if (length < 0)
		return -errno;
	if (length == PATH_MAX)
		return -ENAMETOOLONG;
	target[length] = '\0';
	return 0;
}

static int same_link(const struct target_file *file, bool *same)
{
	char wanted[PATH_MAX], found[PATH_MAX];
	int r = read_link(file->from, "", wanted);

	if (r == 0)
		r = read_link(file->directory, file->name, found);
	*same = r == 0 && strcmp(wanted, found) == 0;
	return r;
}

/* Compares the bytes of both files. If the hash is known, only the file in the target is read. */
static int same_bytes(struct restoring *restoring, const struct target_file *file, bool *same)
{
	AUTO_CLOSE int fd = open_beneath_for_reading(file->directory, file->name, 0, true);
	struct hash128 wanted;
	struct hash128 found;
	int r = fd < 0 ? fd : copy_hash(&restoring->copier, fd, &found);

	if (r != 0)
		return r;
	if (file->hash)
		wanted = *file->hash;
	else
		r = copy_hash(&restoring->copier, file->from, &wanted);
	*same = r == 0 && hash128_equal(wanted, found);
	return r;
}

/* Returns whether the file system refuses a further link of the inode in links/. If it does, the
 * existing name is rightly a separate file. */
static bool is_link_refused(const struct restoring *restoring, const struct target_file *file)
{
	const struct staging *staging = &restoring->staging;

	if (linkat(staging->links, file->key, staging->folder, STAGING_FILE, 0) < 0)
		return staging_is_without_links(errno);
	staging_drop(staging);
	return false;
}

/* If the existing file has to get further names, adds its inode to links/ (staging.h). */
static int link_again(const struct restoring *restoring, const struct target_file *file,
		      const struct stat *found)
{
	if (found->st_nlink == file->names ||
	    linkat(file->directory, file->name, restoring->staging.links, file->key, 0) == 0)
		return 0;
	if (!staging_is_without_links(errno))
		return -errno;
	restoring->result->split++;
	return 0;
}

/* Sets *same to false if the existing name is not a link of the inode in links/, although the file
 * system allows a further link. */
static int check_key(const struct restoring *restoring, const struct target_file *file,
		     const struct stat *found, bool *same)
{
	struct stat kept;

	if (fstatat(restoring->staging.links, file->key, &kept, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? link_again(restoring, file, found) : -errno;
	if (is_same_inode(&kept, found))
		return 0;
	*same = is_link_refused(restoring, file);
	if (*same)
		restoring->result->split++;
	return 0;
}

/* Sets *is to whether a found time is the wanted one as the target stores it. A new file shows what
 * the target makes of a time that it cannot store. */
static int is_time_of(struct restoring *restoring, struct timespec wanted, const struct stat *found,
		      bool *is)
{
	int folder = restoring->staging.folder;
	AUTO_CLOSE int fd = -1;
	struct stat stored = {0};
	int r = 0;

	*is = stored_time_equals(wanted, found);
	if (*is)
		return 0;
	fd = openat(folder, STAGING_FILE, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
		    S_IRUSR | S_IWUSR);
	if (fd < 0)
		return -errno;
	r = stored_time_set(AT_FDCWD, fd_path(fd).text, 0, wanted, &stored);
	staging_drop(&restoring->staging);
	*is = r == 0 && clock_equal(stored.st_mtim, found->st_mtim);
	restoring->result->refused.times += *is;
	return r;
}

/* Sets *there to whether an interrupted restore has made the file. Only complete files get their
 * name, so comparing type, size and time suffices. If the files are untrusted, the bytes are
 * compared as well. */
static int is_restored(struct restoring *restoring, const struct target_file *file, bool *there)
{
	const struct stat *wanted = file->status;
	struct stat found;
	int r = 0;

	*there = false;
	if (!restoring->staging.resumed)
		return 0;
	if (fstatat(file->directory, file->name, &found, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (file->linked) {
		*there = is_same_inode(&found, wanted);
		return 0;
	}
	*there = ((wanted->st_mode ^ found.st_mode) & S_IFMT) == 0 &&
		 wanted->st_rdev == found.st_rdev;
	if (*there)
		r = is_time_of(restoring, file->metadata->mtime, &found, there);
	if (*there && S_ISREG(found.st_mode))
		*there = wanted->st_size == found.st_size;
	if (*there && S_ISLNK(found.st_mode))
		r = same_link(file, there);
	if (r == 0 && *there && S_ISREG(found.st_mode) && !restoring->staging.trusted)
		r = same_bytes(restoring, file, there);
	if (r == 0 && *there && file->key)
		r = check_key(restoring, file, &found, there);
	return r;
}

/* ---- making files ------------------------------------------------------------------------ */

static int check_hash(struct restoring *restoring, const struct target_file *file)
{
	struct hash128 found;
	int r;

	if (!file->hash)
		return 0;
	r = copy_hash(&restoring->copier, file->from, &found);
	if (r != 0)
		return r;
	return hash128_equal(*file->hash, found) ? 0 : RESTORING_DIFFERS;
}

/* Returns whether a file is made although its bytes do not match the hash. */
static bool is_made_damaged(const struct target_file *file, int result)
{
	return result == RESTORING_DIFFERS && file->as_it_is;
}

static int make_link(struct restoring *restoring, const struct target_file *file)
{
	struct fd_path path = fd_path(file->from);
	int r = check_hash(restoring, file);

	if (r != 0 && !is_made_damaged(file, r))
		return r;
	if (linkat(AT_FDCWD, path.text, file->directory, file->name, AT_SYMLINK_FOLLOW) < 0)
		return -errno;
	copy_hash_linked(&restoring->copier, file->from);
	return r;
}

/* Checks the hash, and then clones the blocks. At the end the signature is compared, because a
 * program could write to the backup meanwhile. */
static int clone_bytes(struct restoring *restoring, const struct target_file *file, int to)
{
	struct stat now;
	int r = check_hash(restoring, file);

	if (r != 0 && !is_made_damaged(file, r))
		return r;
	if (file->status->st_size > 0 && ioctl(to, FICLONE, file->from) < 0)
		return errno == EOPNOTSUPP || errno == ENOTTY || errno == EXDEV || errno == EINVAL
			       ? RESTORING_NOT_SHARED
			       : -errno;
	if (fstat(file->from, &now) < 0)
		return -errno;
	return copy_same_signature(file->status, &now) ? r : (int)COPY_CHANGED;
}

static int write_bytes(struct restoring *restoring, const struct target_file *file, int to)
{
	struct hash128 found;
	int r;

	if (restoring->settings->way == RESTORE_REFLINK)
		return clone_bytes(restoring, file, to);
	r = copy_bytes(&restoring->copier, file->from, to, file->hash ? &found : NULL);
	if (r == 0 && file->hash && !hash128_equal(*file->hash, found))
		r = RESTORING_DIFFERS;
	if (r == 0)
		restoring->result->bytes =
			size_add(restoring->result->bytes, (uint64_t)file->status->st_size);
	return r;
}

static int make_file(struct restoring *restoring, const struct target_file *file)
{
	AUTO_CLOSE int fd =
		openat(restoring->staging.folder, STAGING_FILE,
		       O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
	int written;
	int r;

	if (fd < 0)
		return -errno;
	written = write_bytes(restoring, file, fd);
	if (written != 0 && !is_made_damaged(file, written))
		return written;
	r = metadata_apply(file->metadata, fd, &restoring->result->refused);
	return r < 0 ? r : written;
}

static int make_node(struct restoring *restoring, const struct target_file *file)
{
	mode_t mode = (file->status->st_mode & S_IFMT) | S_IRUSR | S_IWUSR;
	int folder = restoring->staging.folder;
	AUTO_CLOSE int fd = -1;
	char target[PATH_MAX];
	int r = S_ISLNK(mode) ? read_link(file->from, "", target) : 0;

	if (r < 0)
		return r;
	if (S_ISLNK(mode))
		r = symlinkat(target, folder, STAGING_FILE);
	else
		r = mknodat(folder, STAGING_FILE, mode, file->status->st_rdev);
	if (r < 0)
		return -errno;
	fd = openat(folder, STAGING_FILE, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	return metadata_apply(file->metadata, fd, &restoring->result->refused);
}

/* Counts a name that is a separate file instead of a hard link. */
static int note_split(struct restoring *restoring, int result)
{
	if (result != STAGING_SPLIT)
		return result;
	restoring->result->split++;
	return 0;
}

int restoring_make(struct restoring *restoring, const struct target_file *file)
{
	const struct staging *staging = &restoring->staging;
	bool there;
	int made;
	int r;

	if (stop_requested())
		return -EINTR;
	r = is_restored(restoring, file, &there);
	if (r != 0 || there)
		return r;
	if (file->linked)
		return make_link(restoring, file);
	if (file->key) {
		r = staging_link(staging, file->key, file->directory, file->name, file->names);
		if (r != -ENOENT)
			return note_split(restoring, r);
	}
	made = S_ISREG(file->status->st_mode) ? make_file(restoring, file)
					      : make_node(restoring, file);
	r = made;
	if (made == 0 || is_made_damaged(file, made))
		r = note_split(restoring,
			       staging_place(staging, file->key, file->directory, file->name));
	if (r != 0)
		staging_drop(staging);
	return r == 0 ? made : r;
}

/* ---- messages ---------------------------------------------------------------------------- */

const char *restoring_reason(const struct restoring *restoring, int result)
{
	switch (result) {
	case COPY_CHANGED:
		return "it changed in the backup meanwhile";
	case COPY_UNREADABLE:
		return error_text(restoring->copier.read_error);
	case RESTORING_DIFFERS:
		return "its bytes in the backup differ from the manifest";
	case RESTORING_NOT_SHARED:
		return "its blocks cannot be shared";
	case -EEXIST:
		return "another file has its name in the target";
	default:
		return error_text(result);
	}
}

bool restoring_is_fatal(int result)
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

/* Logs why the restore is aborted, and the remedy. Returns -errno. */
static int report_fatal(const struct restoring *restoring, const char *path, int result)
{
	const char *target = quote_path(restoring->settings->target);

	if (result == RESTORING_NOT_SHARED) {
		log_error("cannot restore %s by --reflink: the file system of %s cannot share "
			  "blocks with that of %s; restore without it",
			  path, target, quote_path(restoring->settings->backup));
		return -EOPNOTSUPP;
	}
	if (result != -EINTR)
		log_error("cannot restore %s: %s; remove the cause and run the same command again "
			  "to resume",
			  path, error_text(result));
	return result;
}

int restoring_fail(struct restoring *restoring, const char *path, size_t length, int result)
{
	const char *quoted = quote_bytes(path, length);

	if (restoring_is_fatal(result))
		return report_fatal(restoring, quoted, result);
	log_warning("cannot restore %s: %s", quoted, restoring_reason(restoring, result));
	restoring->result->failed++;
	return 0;
}

void restoring_note_time(struct restoring *restoring, const char *path, size_t length)
{
	uint64_t times = restoring->result->refused.times;

	if (times > restoring->times_noted)
		log_warning("restored %s with another time: the file system of the target cannot "
			    "store its time",
			    quote_bytes(path, length));
	restoring->times_noted = times;
}

int restoring_distrust(const struct restoring *restoring)
{
	int r = staging_distrust(&restoring->staging);

	if (r < 0)
		log_error("cannot write to %s in the target %s: %s", restoring->result->folder,
			  quote_path(restoring->settings->target), error_text(r));
	return r;
}

void restoring_count(struct restoring *restoring)
{
	restoring->counts.files_done++;
	progress_update(&restoring->progress, &restoring->counts);
}
