/* SPDX-License-Identifier: MIT */
#include "index/store/index_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/filesystem.h"
#include "base/new_file.h"
#include "twinfs/format.h"

/* The files of an index except TWINFS_INDEX_LOG, which outlives it. */
static const char *const file_names[] = {
	TWINFS_INDEX_DATA,    TWINFS_INDEX_READERS, TWINFS_INDEX_LOCK, TWINFS_INDEX_SEAL,
	TWINFS_INDEX_IDS,     TWINFS_INDEX_BOOT,    TWINFS_INDEX_ACTS, TWINFS_INDEX_DAMAGED,
	TWINFS_INDEX_SCANNED, TWINFS_INDEX_SOURCES, TWINFS_INDEX_COPY, TWINFS_INDEX_PARTS,
};

/* The other files that twinfs makes in folders of its own. */
static const char *const further_names[] = {TWINFS_INDEX_LOG, TWINFS_OWN_MARK, "promises",
					    TWINFS_INDEX_PROMISED, TWINFS_ACT_ORDER};

/* Suffix of the new version of a file, until it replaces the file. */
#define NEW_SUFFIX ".new"

#define PRIVATE_FILE_MODE (S_IRUSR | S_IWUSR)

/* Room for the text of a mark. */
#define MARK_TEXT_BYTES 80

enum {
	FOUND_OTHER = 1, /* outcome that ends the visit of a folder */
};

static bool is_own(const struct stat *status)
{
	return status->st_uid == geteuid() && !S_ISLNK(status->st_mode);
}

static bool is_private(const struct stat *status)
{
	return is_own(status) && !(status->st_mode & (S_IWGRP | S_IWOTH));
}

static int examine_file(int folder_fd, const char *name, bool (*is_fit)(const struct stat *))
{
	struct stat status;

	if (fstatat(folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	return is_fit(&status) ? 0 : -EPERM;
}

static int examine_files(int folder_fd, bool (*is_fit)(const struct stat *))
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(file_names); i++)
		r = examine_file(folder_fd, file_names[i], is_fit);
	return r;
}

/* Removes write permission for the group and for others. On a read-only file system this can fail:
 * no user can write there, whatever the mode. */
static int make_unwritable(int folder_fd, const struct stat *status)
{
	if (!(status->st_mode & (S_IWGRP | S_IWOTH)))
		return 0;
	if (fchmod(folder_fd, status->st_mode & 07777 & ~(mode_t)(S_IWGRP | S_IWOTH)) < 0)
		return errno == EROFS ? 0 : -errno;
	return 0;
}

static int examine_folder(int folder_fd)
{
	struct stat status;
	int r;

	if (fstat(folder_fd, &status) < 0)
		return -errno;
	if (!is_own(&status))
		return -EPERM;
	r = make_unwritable(folder_fd, &status);
	if (r == 0)
		r = examine_file(folder_fd, TWINFS_INDEX_LOG, is_own);
	return r < 0 ? r : examine_files(folder_fd, is_own);
}

/* Creates one folder with mode 0700, whatever the umask, if it is missing. */
static int make_one_folder(const char *path)
{
	struct stat status;

	/* mkdir(2) of an existing folder can fail with EACCES or EROFS, e.g. of an automount that
	 * only stat(2) mounts */
	if (stat(path, &status) == 0)
		return 0;
	if (mkdir(path, 0700) < 0)
		return errno == EEXIST ? 0 : -errno;
	return chmod(path, 0700) < 0 ? -errno : 0;
}

/* Returns f_fsid of statfs(2) if that stays the same after a remount, else 0. It differs between a
 * btrfs subvolume and its snapshot, in which inode numbers and birth times are the same. */
static uint64_t lasting_fsid(int fd)
{
	struct statfs fs;
	uint64_t id;

	_Static_assert(sizeof(id) == sizeof(fs.f_fsid), "f_fsid has 64 bits");
	if (fstatfs(fd, &fs) < 0 ||
	    (fs.f_type != EXT4_SUPER_MAGIC && (uint32_t)fs.f_type != BTRFS_SUPER_MAGIC))
		return 0;
	memcpy(&id, &fs.f_fsid, sizeof(id));
	return id;
}

/* Makes the text of the mark that the folder must have. Returns 0 or -errno. */
static int make_mark(int folder_fd, char text[static MARK_TEXT_BYTES])
{
	struct statx folder;

	if (statx(folder_fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &folder) < 0)
		return -errno;
	if (!(folder.stx_mask & STATX_BTIME))
		folder.stx_btime = (struct statx_timestamp){.tv_sec = 0};
	(void)snprintf(text, MARK_TEXT_BYTES, "%llu %lld.%09u %016llx\n",
		       (unsigned long long)folder.stx_ino, (long long)folder.stx_btime.tv_sec,
		       folder.stx_btime.tv_nsec, (unsigned long long)lasting_fsid(folder_fd));
	return 0;
}

bool index_folder_is_live(int folder_fd)
{
	char text[MARK_TEXT_BYTES], found[MARK_TEXT_BYTES];
	struct stat folder, mark;

	return fstatat(folder_fd, TWINFS_OWN_MARK, &mark, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(mark.st_mode) && fstat(folder_fd, &folder) == 0 &&
	       mark.st_uid == folder.st_uid && !(folder.st_mode & (S_IWGRP | S_IWOTH)) &&
	       index_file_read(folder_fd, TWINFS_OWN_MARK, found, sizeof(found)) == 0 &&
	       make_mark(folder_fd, text) == 0 && strcmp(found, text) == 0;
}

bool index_folder_is_copy(int folder_fd)
{
	const struct filesystem_facts *facts =
		filesystem_facts_of(filesystem_type_at(folder_fd), NULL);
	char found[MARK_TEXT_BYTES];

	/* the mark is not synced, so a power failure can leave an empty one */
	return (facts->keeps & PROMISE_INODES) &&
	       index_file_read(folder_fd, TWINFS_OWN_MARK, found, sizeof(found)) == 0 &&
	       strchr(found, '\n') && !index_folder_is_live(folder_fd);
}

void index_folder_mark(int folder_fd)
{
	char text[MARK_TEXT_BYTES];

	if (!index_folder_is_live(folder_fd) && make_mark(folder_fd, text) == 0)
		(void)!index_file_write(folder_fd, TWINFS_OWN_MARK, text);
}

int index_folder_make(const char *folder)
{
	AUTO_FREE char *path = strdup(folder);
	int r = path ? 0 : -ENOMEM;

	for (char *slash = path; r == 0 && (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		r = make_one_folder(path);
		*slash = '/';
	}
	return r == 0 ? make_one_folder(path) : r;
}

static bool has_name(const char *const *names, size_t count, const char *name, size_t length)
{
	for (size_t i = 0; i < count; i++) {
		if (names[i][0] == name[0] && strlen(names[i]) == length &&
		    memcmp(names[i], name, length) == 0)
			return true;
	}
	return false;
}

bool index_file_is_own(const char *name, size_t length)
{
	size_t suffix = strlen(NEW_SUFFIX);

	if (length > suffix && memcmp(name + length - suffix, NEW_SUFFIX, suffix) == 0)
		length -= suffix;
	return has_name(file_names, ARRAY_SIZE(file_names), name, length) ||
	       has_name(further_names, ARRAY_SIZE(further_names), name, length);
}

int index_folder_open_any(const char *folder, int *fd)
{
	int r;

	*fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (*fd >= 0)
		return 0;
	r = -errno;
	/* Linux reports a symbolic link as ENOTDIR here, like a file */
	return (r == -ENOTDIR || r == -ELOOP) && is_symlink(AT_FDCWD, folder) ? -EPERM : r;
}

int index_folder_open(const char *folder, int *fd)
{
	int opened, r = index_folder_open_any(folder, &opened);

	*fd = -1;
	if (r < 0)
		return r;
	r = examine_folder(opened);
	if (r < 0)
		(void)close(opened);
	else
		*fd = opened;
	return r;
}

static int take_other_name(void *context, int directory, const struct dirent *entry)
{
	char **other = context;

	(void)directory;
	if (strcmp(entry->d_name, "lost+found") == 0 ||
	    strcmp(entry->d_name, TWINFS_INDEX_LOG) == 0 ||
	    strcmp(entry->d_name, TWINFS_INDEX_PROMISED) == 0 ||
	    strcmp(entry->d_name, TWINFS_ACT_ORDER) == 0 ||
	    strcmp(entry->d_name, TWINFS_OWN_MARK) == 0)
		return 0;
	*other = strdup(entry->d_name);
	return *other ? FOUND_OTHER : -ENOMEM;
}

int index_folder_examine(const char *folder, bool *is_index, char **other)
{
	AUTO_CLOSE int fd = -1;
	int r = index_folder_open_any(folder, &fd);

	*is_index = false;
	*other = NULL;
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	for (size_t i = 0; i < ARRAY_SIZE(file_names); i++)
		*is_index |= name_exists(fd, file_names[i]);
	if (*is_index)
		return 0;
	r = directory_visit(fd, take_other_name, other);
	return r == FOUND_OTHER ? 0 : r;
}

static int remove_file(int folder_fd, const char *name)
{
	char temporary[64];

	(void)snprintf(temporary, sizeof(temporary), "%s" NEW_SUFFIX, name);
	(void)unlinkat(folder_fd, temporary, 0);
	return unlinkat(folder_fd, name, 0) < 0 && errno != ENOENT ? -errno : 0;
}

int index_files_remove(int folder_fd)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(file_names); i++) {
		if (strcmp(file_names[i], TWINFS_INDEX_LOCK) != 0)
			r = remove_file(folder_fd, file_names[i]);
	}
	if (r == 0 && !name_exists(folder_fd, TWINFS_INDEX_LOG) &&
	    !name_exists(folder_fd, TWINFS_INDEX_PROMISED))
		r = remove_file(folder_fd, TWINFS_OWN_MARK);
	return r < 0 ? r : remove_file(folder_fd, TWINFS_INDEX_LOCK);
}

int index_folder_open_private(const char *folder, int *fd)
{
	struct stat status;
	int opened, r = index_folder_open_any(folder, &opened);

	*fd = -1;
	if (r < 0)
		return r;
	if (fstat(opened, &status) < 0)
		r = -errno;
	else if (!is_private(&status))
		r = -EPERM;
	if (r == 0)
		r = examine_files(opened, is_private);
	if (r < 0)
		(void)close(opened);
	else
		*fd = opened;
	return r;
}

bool index_is_empty(int folder_fd)
{
	struct stat st;

	return fstatat(folder_fd, TWINFS_INDEX_DATA, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	       st.st_size == 0;
}

int index_file_replace(int folder_fd, const char *name, const char *text, bool durable)
{
	const struct bytes content = {.data = (uint8_t *)text, .length = strlen(text)};
	char temporary[64];

	snprintf(temporary, sizeof(temporary), "%s" NEW_SUFFIX, name);
	return new_file_write(folder_fd, temporary, name, &content, durable);
}

int make_private(int folder_fd, const char *name)
{
	struct stat status;

	if (fstatat(folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if ((status.st_mode & ALLPERMS) == PRIVATE_FILE_MODE)
		return 0;
	return fchmodat(folder_fd, name, PRIVATE_FILE_MODE, 0) < 0 ? -errno : 0;
}

int index_file_write(int folder_fd, const char *name, const char *text)
{
	AUTO_CLOSE int fd = openat(folder_fd, name,
				   O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	int r;

	if (fd < 0)
		return -errno;
	r = make_private(folder_fd, name);
	return r < 0 ? r : write_fully(fd, text, strlen(text));
}

int index_file_read(int folder_fd, const char *name, char *text, size_t size)
{
	/* another user can have made a FIFO of this name */
	AUTO_CLOSE int fd = openat(folder_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	long length;

	if (fd < 0)
		return -errno;
	length = read_fully_at(fd, text, size - 1, 0);
	if (length < 0)
		return (int)length;
	text[length] = '\0';
	return 0;
}

/* ---- ids ------------------------------------------------------------------------------------ */

#define ID_TEXT_BYTES 32

/* If the file of ids is missing although the index had ids, the first id depends on the time: 2^18
 * ids for each second since 2023-11-14. This id is above all used ids, because an index assigns
 * fewer ids in a second on average. */
#define LOST_IDS_EPOCH 1700000000
#define LOST_IDS_SHIFT 18

uint64_t index_reserved_ids(int folder_fd)
{
	char text[ID_TEXT_BYTES], *end;
	uint64_t number;
	time_t now = clock_now().tv_sec;

	if (index_file_read(folder_fd, TWINFS_INDEX_IDS, text, sizeof(text)) == 0) {
		number = strtoull(text, &end, 10);
		/* a reservation can end above TWINFS_ID_MAX; no id is left after it */
		if (*end == '\n' && number > 0 && number <= 2 * TWINFS_ID_MAX)
			return number;
	} else if (index_is_empty(folder_fd) && !name_exists(folder_fd, TWINFS_INDEX_DAMAGED)) {
		return 1;
	}
	return (now > LOST_IDS_EPOCH ? (uint64_t)(now - LOST_IDS_EPOCH) : 1) << LOST_IDS_SHIFT;
}

int index_reserve_ids(int folder_fd, uint64_t next, bool durable)
{
	char text[ID_TEXT_BYTES];

	snprintf(text, sizeof(text), "%" PRIu64 "\n", next);
	return index_file_replace(folder_fd, TWINFS_INDEX_IDS, text, durable);
}
