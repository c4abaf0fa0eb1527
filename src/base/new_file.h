/* SPDX-License-Identifier: MIT */
#ifndef BASE_NEW_FILE_H
#define BASE_NEW_FILE_H

/* Files that are written under a temporary name and replace another when they are complete and on
 * the disk. If the process or the machine stops, the other file is as it was, or replaced. For one
 * thread. Blocks on the disk. Logs nothing. */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/attributes.h"
#include "base/bytes.h"

/* A file of twinfs in an open directory, with mode 0600. */
struct new_file {
	int directory; /* borrowed */
	const char *temporary; /* borrowed name; NULL: the file has not begun, or was committed */
	int fd;
	struct bytes waiting; /* not written yet */
};

/* Begins the file. Replaces a file that has the temporary name, and follows no symlink. Returns 0
 * or -errno. The caller must call new_file_deinit() in all cases. */
MUST_CHECK int new_file_begin(struct new_file *file, int directory, const char *temporary);

/* Appends bytes. Returns 0 or -errno. */
MUST_CHECK int new_file_append(struct new_file *file, const void *data, size_t length);

/* Syncs the file and gives it its name. After a power cut, the name can still lead to the file that
 * it replaces. Returns 0 or -errno. If the file has its name, file->temporary is NULL. */
MUST_CHECK int new_file_place(struct new_file *file, const char *name);

/* As new_file_place(), and syncs the directory, as btrfs can lose the name without that. If the
 * file has its name, file->temporary is NULL, also if the last step failed. */
MUST_CHECK int new_file_commit(struct new_file *file, const char *name);

void new_file_deinit(struct new_file *file); /* removes a file that was not committed */
#define CLEANUP_NEW_FILE CLEANUP(new_file_deinit)

/* Makes the whole file from these bytes, by new_file_commit() if it is durable, else by
 * new_file_place(). Returns 0 or -errno. */
MUST_CHECK int new_file_write(int directory, const char *temporary, const char *name,
			      const struct bytes *content, bool durable);

/* A file at a path that the user gave. It has no name of its own yet. All zero is none. */
struct replaced_file {
	int fd; /* for writing, while temporary is set */
	char *target; /* the path, without a symlink at its end */
	char *temporary; /* path of the temporary file; NULL: none */
	struct stat replaced; /* st_nlink 0: the target does not exist */
};

/* Makes a temporary file in the same folder, private to the user. Returns 0; -EINVAL if path is no
 * regular file; -ENOENT for a dangling symlink; or another -errno. The caller must call
 * replaced_file_deinit() in all cases. */
MUST_CHECK int replaced_file_begin(struct replaced_file *file, const char *path);

/* Renames the file to its path. An existing file keeps its permissions and, if root replaces it,
 * its owner and group. A symlink to the file is kept. Blocks until the content is on the disk.
 * Returns 0 or -errno. */
MUST_CHECK int replaced_file_commit(struct replaced_file *file);

/* Removes the temporary file, unless it was renamed, and frees everything. */
void replaced_file_deinit(struct replaced_file *file);
#define CLEANUP_REPLACED_FILE CLEANUP(replaced_file_deinit)

/* Replaces a file by these bytes. The results are those of the functions above. */
MUST_CHECK int replaced_file_write(const char *path, const struct bytes *content);

/* ---- files without a name ---------------------------------------------------------- */

/* An unnamed file for data that is written out later. One thread at a time. */

/* Makes a file in $TMPDIR or /tmp. Returns a descriptor that the caller closes; -EXDEV (logged) if
 * no file can be made in that folder; or -ENOMEM. */
MUST_CHECK int spool_open(void);

/* Makes a file like spool_open(), and opens a stream on it for writing and reading, which the
 * caller closes. Returns 0, -EXDEV (logged) or -ENOMEM.
 */
MUST_CHECK int spool_open_stream(FILE **stream);

/* Copies the whole file to another descriptor. A write to that descriptor can block. Returns 0 or
 * -errno. */
MUST_CHECK int spool_copy(int spool, int to);

#endif
