/* SPDX-License-Identifier: MIT */
#ifndef REPORT_TRASH_H
#define REPORT_TRASH_H

/* Recognizes files in a trash, which the user may soon delete for good. Any thread. */

#include <stdbool.h>

/* Whether a file is in a trash: one of a desktop
 * (https://specifications.freedesktop.org/trash-spec/: Trash/files in a home, .Trash/UID/files and
 * .Trash-UID/files on other disks), or one of macOS or Windows (.Trashes, $RECYCLE.BIN).
 *
 * source	absolute path of the source, which may be in a trash itself
 * path		path of the file, relative to source */
bool is_in_trash(const char *source, const char *path);

#endif
