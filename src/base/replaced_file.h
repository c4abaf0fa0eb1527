/* SPDX-License-Identifier: MIT */
#ifndef BASE_REPLACED_FILE_H
#define BASE_REPLACED_FILE_H

/* Replaces a file atomically: after a crash it has either its old or its new content. Any
 * thread. */

#include <sys/stat.h>

#include "base/attributes.h"
#include "base/bytes.h"

/* A file that is being written and has no name of its own yet. All zero is none. */
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

#endif
