/* SPDX-License-Identifier: MIT */
#ifndef BASE_REPLACED_FILE_H
#define BASE_REPLACED_FILE_H

/* A file that is either what it was or all that was to be in it, whatever happens meanwhile. Any
 * thread. */

#include "base/attributes.h"
#include "base/bytes.h"

/* Writes a file beside it and lets that take its name. One that is there keeps its permissions
 * and, where root replaces it, its owner; a symlink to it stays. Blocks until it is on the disk.
 * -EINVAL: there is something that is no regular file; -ENOENT: a symlink that leads nowhere; or
 * another -errno. */
MUST_CHECK int replaced_file_write(const char *path, const struct bytes *content);

#endif
