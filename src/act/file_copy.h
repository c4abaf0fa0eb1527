/* SPDX-License-Identifier: MIT */
#ifndef ACT_FILE_COPY_H
#define ACT_FILE_COPY_H

#include "base/attributes.h"

/* Copies an open file to a new file in an open directory and syncs the new file. Copies bytes,
 * holes, mode, owner, times and extended attributes. Blocks on the disk; any thread.
 *
 * Returns 0, -EEXIST if the name exists, -EBUSY if a program wrote to the file meanwhile, -EINTR if
 * stop_requested(), -ENOTSUP if the new file cannot have the same owner or extended attributes, or
 * another -errno. After a failure there is no new file. */
MUST_CHECK int file_copy(int from, int directory, const char *name);

/* Saves an open file, whose bytes possibly exist nowhere else, in an open directory, and syncs the
 * new file. Continues even if a program writes meanwhile, if stop_requested(), or if the new file
 * cannot have the same owner or extended attributes.
 *
 * The new file gets its name when it is complete. Until then it has no name (O_TMPFILE). If that is
 * not possible, it has the name with the suffix FILE_COPY_PART, and replaces a leftover of that
 * name. Returns 0 or -errno. */
MUST_CHECK int file_copy_save(int from, int directory, const char *name);

#define FILE_COPY_PART ".part"

#endif
