/* SPDX-License-Identifier: MIT */
#include "backup/staging.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/descriptor.h"
#include "base/hash.h"
#include "base/kernel.h"
#include "base/new_file.h"
#include "index/own.h"

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

	return r < 0 ? r : new_file_write(staging->folder, NEW_STATE, STATE, &state);
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

void staging_drop(const struct staging *staging)
{
	(void)unlinkat(staging->folder, STAGING_FILE, 0);
}

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

bool staging_is_without_links(int error)
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
	if (staging_is_without_links(errno)) {
		r = move(staging, staging->links, key, directory, name);
		return r == 0 ? STAGING_SPLIT : r;
	}
	if (errno != EEXIST || !staging->resumed || staging->trusted)
		return -errno;
	if (linkat(staging->links, key, staging->folder, STAGING_FILE, 0) < 0)
		return -errno;
	return move(staging, staging->folder, STAGING_FILE, directory, name);
}
