/* SPDX-License-Identifier: MIT */
#ifndef ACT_FILE_COPY_H
#define ACT_FILE_COPY_H

#include "base/attributes.h"

/* Copies an open file to a new file in an open directory and syncs the new file. Copies bytes,
 * holes, mode, owner, times and extended attributes. Blocks on the disk; any thread.
 *
 * Returns 0, -EBUSY if a program wrote to the file meanwhile, -EINTR if stop_requested(), or
 * another -errno. Returns -ENOTSUP if the new file cannot have the same owner or extended
 * attributes. After a failure the new file does not exist. */
MUST_CHECK int file_copy(int from, int directory, const char *name);

/* Saves an open file that has no name left in a new file, and syncs the new file. The bytes are
 * copied even if a program writes meanwhile, if stop_requested(), or if the new file cannot have
 * the same owner or attributes. The new file gets its name when it is complete. Until then the new
 * file has no name (O_TMPFILE). If the file system does not support O_TMPFILE, the new file has the
 * name with the suffix FILE_COPY_PART. Returns 0 or -errno. */
MUST_CHECK int file_copy_save(int from, int directory, const char *name);

#define FILE_COPY_PART ".part"

#endif
