/* SPDX-License-Identifier: MIT */
#ifndef ACT_FILE_COPY_H
#define ACT_FILE_COPY_H

#include "base/attributes.h"

/* Makes a new file in an open directory with all that an open one has: bytes, holes, mode, owner,
 * time, extended attributes; durably. Blocks on the disk; any thread.
 *
 * 0 or -errno: -EBUSY when it was written to meanwhile, -ENOTSUP where the new one cannot have its
 * owner or attributes, -EINTR when stop_requested(). Then there is no new file. */
MUST_CHECK int file_copy(int from, int directory, const char *name);

/* The same of a file that has no name any more: its bytes are saved as they are now, whatever of
 * the rest cannot be had, and whoever writes or wants to stop. The new file gets its name when it is
 * whole. Until then it has none, or, where the file system has no files without a name (O_TMPFILE), this
 * one with FILE_COPY_PART behind it. */
MUST_CHECK int file_copy_save(int from, int directory, const char *name);

#define FILE_COPY_PART ".part"

#endif
