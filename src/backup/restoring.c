/* SPDX-License-Identifier: MIT */
#include "backup/restoring.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/hash.h"
#include "base/kernel.h"
#include "base/log.h"
#include "base/metadata.h"
#include "base/new_file.h"
#include "base/numbers.h"
#include "base/path.h"
#include "base/stop.h"
#include "index/own.h"

/* ---- the staging folder --------------------------------------------------------------------- */

/* ---- restore folder ------------------------------------------------------------------------- */

/* Highest number of bytes of a state file that are read. The task is shorter. */
#define STATE_START_MAX 256

static void make_name(char name[static RESTORE_FOLDER_SIZE], unsigned int place)
{
	if (place == 0)
		(void)snprintf(name, RESTORE_FOLDER_SIZE, "%s", RESTORE_FOLDER);
	else
		(void)snprintf(name, RESTORE_FOLDER_SIZE, RESTORE_FOLDER "~%u", place + 1);
}

void restore_folder_note(struct restore_folder *folder, const void *path, size_t length)
{
	const char *slash = memchr(path, '/', length);
	char name[RESTORE_FOLDER_SIZE];

	if (slash)
		length = (size_t)(slash - (const char *)path);
	if (length < strlen(RESTORE_FOLDER) ||
	    memcmp(path, RESTORE_FOLDER, strlen(RESTORE_FOLDER)) != 0)
		return;
	for (unsigned int i = 0; i < RESTORE_FOLDERS_MAX; i++) {
		make_name(name, i);
		if (length == strlen(name) && memcmp(path, name, length) == 0)
			folder->taken[i] = true;
	}
}

int restore_folder_choose(const struct restore_folder *folder, int backup,
			  char name[static RESTORE_FOLDER_SIZE])
{
	struct stat status;

	for (unsigned int i = 0; i < RESTORE_FOLDERS_MAX; i++) {
		make_name(name, i);
		if (!folder->taken[i] && fstatat(backup, name, &status, AT_SYMLINK_NOFOLLOW) < 0 &&
		    errno == ENOENT)
			return 0;
	}
	return -EEXIST;
}

static int examine_state(int backup, const char *name, const char *task)
{
	static const char any[] = "twinfs restore ";
	AUTO_CLOSE int folder = open_beneath(backup, name, O_PATH | O_DIRECTORY, false);
	AUTO_CLOSE int fd = folder < 0 ? -1 : open_beneath_for_reading(folder, "state", 0, false);
	char start[STATE_START_MAX + 1];
	struct stat status;
	long got;

	if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
		return 0;
	got = read_fully_at(fd, start, STATE_START_MAX, 0);
	if (got < 0)
		return 0;
	start[got] = '\0';
	if (strncmp(start, task, strlen(task)) == 0)
		return RESTORE_FOLDER_SAME;
	return strncmp(start, any, strlen(any)) == 0 ? RESTORE_FOLDER_OTHER : 0;
}

int restore_folder_in_backup(int backup, const char *task)
{
	char name[RESTORE_FOLDER_SIZE];
	int found = 0;

	for (unsigned int i = 0; i < RESTORE_FOLDERS_MAX && found != RESTORE_FOLDER_SAME; i++) {
		int r;

		make_name(name, i);
		r = examine_state(backup, name, task);
		if (r > 0)
			found = r;
	}
	return found;
}

/* ---- staging -------------------------------------------------------------------------------- */

#define STATE STAGING_STATE
#define NEW_STATE STAGING_NEW_STATE
#define LINKS STAGING_LINKS
#define STATE_BYTES_MAX 4096
#define SINCE "since "
#define MARK "user.twinfs.restore"

/* Removes STAGING_FILE, if it exists. */
static void staging_drop(const struct staging *staging)
{
	(void)unlinkat(staging->folder, STAGING_FILE, 0);
}

/* ---- the state --------------------------------------------------------------------------- */

/* Appends the device and mount id of the target. If the disk is disconnected, the mount id
 * changes. */
static int append_mount(struct bytes *state, int target)
{
	struct statx status = {0};

	if (statx(target, "", AT_EMPTY_PATH, STATX_MNT_ID | STATX_MNT_ID_UNIQUE, &status) < 0)
		return -errno;
	return bytes_format(state, "%" PRIx32 ":%" PRIx32 " %" PRIu64, status.stx_dev_major,
			    status.stx_dev_minor, (uint64_t)status.stx_mnt_id);
}

/* Appends the state: the task, then boot and mount. While boot and mount are the same, no written
 * data is lost. */
static int make_state(struct bytes *state, int target, const char *task)
{
	char boot[BOOT_ID_MAX];
	int r = bytes_format(state, "%s" SINCE "%s ", task, boot_id(boot));

	if (r == 0)
		r = append_mount(state, target);
	return r < 0 ? r : bytes_append(state, "\n", 1);
}

static int write_state(const struct staging *staging, const char *task)
{
	CLEANUP_BYTES struct bytes state = {0};
	int r = make_state(&state, staging->target, task);

	return r < 0 ? r : new_file_write(staging->folder, NEW_STATE, STATE, &state, true);
}

/* Compares the state with the task. */
static int check_state(struct staging *staging, const char *task)
{
	AUTO_CLOSE int fd = openat(staging->folder, STATE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	char found[STATE_BYTES_MAX + 1];
	CLEANUP_BYTES struct bytes state = {0};
	size_t length = strlen(task);
	long got;
	int r;

	if (fd < 0)
		return -errno;
	got = read_fully_at(fd, found, STATE_BYTES_MAX, 0);
	if (got < 0)
		return (int)got;
	found[got] = '\0';
	if (strncmp(found, task, length) != 0 || strncmp(found + length, SINCE, strlen(SINCE)) != 0)
		return STAGING_OTHER;
	r = make_state(&state, staging->target, task);
	if (r == 0 && !bytes_text(&state))
		r = -ENOMEM;
	staging->resumed = true;
	staging->trusted = r == 0 && strcmp(found, bytes_text(&state)) == 0;
	return r;
}

/* ---- the mark ---------------------------------------------------------------------------- */

static bool is_marked(const struct staging *staging)
{
	uint64_t task;

	return fgetxattr(staging->target, MARK, &task, sizeof(task)) == (ssize_t)sizeof(task) &&
	       task == staging->task;
}

/* Marks the target. XATTR_CREATE preserves an attribute of that name from the backup. */
static void mark(const struct staging *staging)
{
	(void)fsetxattr(staging->target, MARK, &staging->task, sizeof(staging->task), XATTR_CREATE);
}

void staging_unmark(const struct staging *staging)
{
	struct stat status;

	if (!is_marked(staging) || fremovexattr(staging->target, MARK) == 0 || errno != EACCES)
		return;
	/* the target already has its final mode, without write permission */
	if (fstat(staging->target, &status) < 0 ||
	    fchmod(staging->target, (status.st_mode & 07777) | S_IRWXU) < 0)
		return;
	(void)fremovexattr(staging->target, MARK);
	(void)fchmod(staging->target, status.st_mode & 07777);
}

/* ---- the folder -------------------------------------------------------------------------- */

/* Opens the staging folder and locks it. Returns 0, STAGING_BUSY, or -errno; -ENOENT if it is
 * missing. */
static int open_folder(struct staging *staging)
{
	staging->folder =
		open_beneath(staging->target, staging->name, O_RDONLY | O_DIRECTORY, false);
	if (staging->folder < 0)
		return staging->folder;
	if (flock(staging->folder, LOCK_EX | LOCK_NB) == 0)
		return 0;
	return errno == EWOULDBLOCK ? STAGING_BUSY : -errno;
}

static int make_folder(struct staging *staging, const char *task)
{
	int r;

	if (staging->folder < 0) {
		if (mkdirat(staging->target, staging->name, S_IRWXU) < 0)
			return -errno;
		r = open_folder(staging);
		if (r != 0)
			return r;
	}
	return write_state(staging, task);
}

/* Opens the folder of an interrupted restore, or makes a new folder. If a folder has no state, the
 * restore was interrupted right after the folder was made. If such a folder is empty but the target
 * has other entries, the restore was interrupted right before the folder was removed. */
static int take_folder(struct staging *staging, const char *task)
{
	int r = open_folder(staging);

	if (r == 0)
		r = check_state(staging, task);
	if (r != -ENOENT)
		return r;
	if (is_marked(staging))
		return STAGING_ENDING;
	r = directory_check_empty(staging->target, staging->name);
	if (r == 0)
		return make_folder(staging, task);
	if (r != -ENOTEMPTY)
		return r;
	if (staging->folder >= 0 && directory_check_empty(staging->folder, NULL) == 0)
		return STAGING_ENDED;
	return STAGING_NOT_EMPTY;
}

int staging_init(struct staging *staging, int target, const char *name, const char *task)
{
	int r;

	*staging = (struct staging){
		.target = target,
		.name = name,
		.task = hash64(task, strlen(task), 0),
		.folder = -1,
		.links = -1,
		.since = (off_t)(strlen(task) + strlen(SINCE)),
	};
	r = take_folder(staging, task);
	if (r != 0)
		return r;
	staging_drop(staging);
	if (mkdirat(staging->folder, LINKS, S_IRWXU) < 0 && errno != EEXIST)
		return -errno;
	staging->links = open_beneath(staging->folder, LINKS, O_RDONLY | O_DIRECTORY, false);
	if (staging->links < 0)
		return staging->links;
	/* an inode with untrusted bytes must not get further names */
	return staging->resumed && !staging->trusted ? directory_remove_files(staging->links) : 0;
}

int staging_distrust(const struct staging *staging)
{
	AUTO_CLOSE int fd = openat(staging->folder, STATE, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return -errno;
	/* no boot id begins with "?" */
	return pwrite(fd, "?", 1, staging->since) == 1 && fsync(fd) == 0 ? 0 : -errno;
}

void staging_deinit(struct staging *staging)
{
	cleanup_close(&staging->folder);
	cleanup_close(&staging->links);
	staging->folder = staging->links = -1;
}

static int remove_content(struct staging *staging)
{
	int r = directory_remove_files(staging->links);

	if (r < 0)
		return r;
	staging_drop(staging);
	if (unlinkat(staging->folder, LINKS, AT_REMOVEDIR) < 0 ||
	    unlinkat(staging->folder, STATE, 0) < 0)
		return -errno;
	return 0;
}

int staging_remove(struct staging *staging)
{
	int r = 0;

	/* links is closed if staging_init() returned STAGING_ENDING */
	if (staging->links >= 0) {
		mark(staging);
		r = remove_content(staging);
	}
	if (r == 0 && unlinkat(staging->target, staging->name, AT_REMOVEDIR) < 0 &&
	    (staging->links >= 0 || errno != ENOENT))
		r = -errno;
	return r;
}

/* ---- files in the folder ----------------------------------------------------------------- */

static int rename_new(int from, const char *old, int directory, const char *name)
{
	if (renameat2(from, old, directory, name, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	/* the file system does not support RENAME_NOREPLACE: an existing file is replaced */
	return renameat(from, old, directory, name) < 0 ? -errno : 0;
}

/* Renames a file to its name. Only untrusted files are replaced. If both names are links of the
 * same inode, rename(2) does nothing, so the old name is unlinked afterwards. */
static int move(const struct staging *staging, int from, const char *old, int directory,
		const char *name)
{
	int r = rename_new(from, old, directory, name);

	if (r != -EEXIST || !staging->resumed || staging->trusted)
		return r;
	if (renameat(from, old, directory, name) < 0)
		return -errno;
	return unlinkat(from, old, 0) < 0 && errno != ENOENT ? -errno : 0;
}

/* Returns whether an errno of linkat(2) means that the file system refuses a further hard link. FAT
 * refuses all hard links. Other file systems limit the links of an inode. */
static bool is_without_links(int error)
{
	return error == EPERM || error == EOPNOTSUPP || error == ENOSYS || error == EMLINK;
}

int staging_place(const struct staging *staging, const char *key, int directory, const char *name)
{
	if (!key)
		return move(staging, staging->folder, STAGING_FILE, directory, name);
	if (renameat(staging->folder, STAGING_FILE, staging->links, key) < 0)
		return -errno;
	return staging_link(staging, key, directory, name, 0);
}

int staging_link(const struct staging *staging, const char *key, int directory, const char *name,
		 unsigned long names)
{
	struct stat status;
	int r;

	if (fstatat(staging->links, key, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	/* the inode has all final names but the new one, and its name in links/. The name in links/
	 * becomes the new name */
	if (status.st_nlink == names)
		return move(staging, staging->links, key, directory, name);
	if (linkat(staging->links, key, directory, name, 0) == 0)
		return 0;
	if (is_without_links(errno)) {
		r = move(staging, staging->links, key, directory, name);
		return r == 0 ? STAGING_SPLIT : r;
	}
	if (errno != EEXIST || !staging->resumed || staging->trusted)
		return -errno;
	if (linkat(staging->links, key, staging->folder, STAGING_FILE, 0) < 0)
		return -errno;
	return move(staging, staging->folder, STAGING_FILE, directory, name);
}

/* ---- the restore ---------------------------------------------------------------------------- */

/* ---- files of an interrupted restore ----------------------------------------------------- */

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
		return is_without_links(errno);
	staging_drop(staging);
	return false;
}

/* If the existing file has to get further names, adds its inode to links/. */
static int link_again(const struct restoring *restoring, const struct target_file *file,
		      const struct stat *found)
{
	if (found->st_nlink == file->names ||
	    linkat(file->directory, file->name, restoring->staging.links, file->key, 0) == 0)
		return 0;
	if (!is_without_links(errno))
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

/* ---- selected names ------------------------------------------------------------------------- */

void restore_only_free(struct restore_only *only)
{
	text_list_free(&only->paths);
	free(only->found);
	*only = (struct restore_only){0};
}

int restore_only_add(struct restore_only *only, const char *path)
{
	size_t length = strlen(path);

	while (length > 0 && path[length - 1] == '/')
		length--;
	if (path_fault(path, length))
		return -EINVAL;
	if (array_reserve(&only->found, &only->found_capacity, only->paths.count + 1,
			  sizeof(*only->found)) < 0)
		return -ENOMEM;
	only->found[only->paths.count] = false;
	return text_list_add(&only->paths, path, length);
}

/* Returns whether the outer path is the inner path or above it. */
static bool is_at_or_above(const char *outer, size_t outer_length, const char *inner,
			   size_t inner_length)
{
	if (outer_length == 0)
		return true;
	return inner_length >= outer_length && memcmp(outer, inner, outer_length) == 0 &&
	       (inner_length == outer_length || inner[outer_length] == '/');
}

enum restore_part restore_only_part(const struct restore_only *only, const void *path,
				    size_t length)
{
	enum restore_part part = only->paths.count > 0 ? RESTORE_NOTHING : RESTORE_WHOLE;

	for (size_t i = 0; i < only->paths.count; i++) {
		const char *wanted = only->paths.items[i];

		if (is_at_or_above(wanted, strlen(wanted), path, length))
			return RESTORE_WHOLE;
		if (is_at_or_above(path, length, wanted, strlen(wanted)))
			part = RESTORE_ABOVE;
	}
	return part;
}

void restore_only_note(struct restore_only *only, const void *path, size_t length)
{
	for (size_t i = 0; i < only->paths.count; i++) {
		const char *wanted = only->paths.items[i];

		only->found[i] |= is_at_or_above(wanted, strlen(wanted), path, length);
	}
}

const char *restore_only_find_missing(const struct restore_only *only, int backup)
{
	for (size_t i = 0; i < only->paths.count; i++) {
		AUTO_CLOSE int fd = -1;

		if (only->found[i])
			continue;
		fd = open_beneath(backup, only->paths.items[i], O_PATH, true);
		if (fd < 0)
			return only->paths.items[i];
	}
	return NULL;
}
