/* SPDX-License-Identifier: MIT */
#ifndef BASE_IN_TRASH_H
#define BASE_IN_TRASH_H

/* Recognizes files in a trash. The user will probably delete such files soon. Any thread. */

#include <stdbool.h>
#include <stddef.h>

/* Returns whether a file is in a trash. A desktop has Trash/files in a home, and .Trash/UID/files
 * and .Trash-UID/files on other disks (https://specifications.freedesktop.org/trash-spec/). macOS
 * and Windows have .Trashes and $RECYCLE.BIN.
 *
 * source	absolute path of the source, which can be in a trash itself
 * path		path of the file, relative to source, of length bytes */
bool is_in_trash(const char *source, const char *path, size_t length);

#endif
