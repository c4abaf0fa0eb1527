/* SPDX-License-Identifier: MIT */
#ifndef BASE_REPLACED_FILE_H
#define BASE_REPLACED_FILE_H

/* Replaces a file atomically: after a crash it has either its old or its new content. Any
 * thread. */

#include "base/attributes.h"
#include "base/bytes.h"

/* Writes a temporary file in the same folder and renames it to path. An existing file keeps its
 * permissions and, if root replaces it, its owner and group. A symlink to the file is kept. Blocks
 * until the content is on the disk. Returns 0; -EINVAL if path is no regular file; -ENOENT for a
 * dangling symlink; or another -errno. */
MUST_CHECK int replaced_file_write(const char *path, const struct bytes *content);

#endif
