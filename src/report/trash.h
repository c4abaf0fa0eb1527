/* SPDX-License-Identifier: MIT */
#ifndef REPORT_TRASH_H
#define REPORT_TRASH_H

/* What somebody has thrown away, and may soon be gone for good. Any thread. */

#include <stdbool.h>

/* Whether a file lies in a trash: of a desktop (https://specifications.freedesktop.org/trash-spec/:
 * Trash/files in a home, .Trash/UID/files and .Trash-UID/files on other disks), or one that macOS
 * or Windows has left on a disk (.Trashes, $RECYCLE.BIN).
 *
 * source	absolute path of its source, which may be in a trash itself
 * path		of the file, relative to that */
bool lies_in_trash(const char *source, const char *path);

#endif
