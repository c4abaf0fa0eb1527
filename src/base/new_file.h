/* SPDX-License-Identifier: MIT */
#ifndef BASE_NEW_FILE_H
#define BASE_NEW_FILE_H

/* A file that is written under a temporary name and replaces another when it is complete and on the
 * disk. If the process or the machine stops, the other file is as it was, or replaced. Mode 0600.
 * For one thread. Blocks on the disk. Logs nothing. */

#include <stddef.h>

#include "base/attributes.h"
#include "base/bytes.h"

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

/* Syncs the file, gives it its name, and syncs the directory, as btrfs can lose the name without
 * that. Returns 0 or -errno. If the file has its name, file->temporary is NULL, also if the last
 * step failed. */
MUST_CHECK int new_file_commit(struct new_file *file, const char *name);

void new_file_deinit(struct new_file *file); /* removes a file that was not committed */
#define CLEANUP_NEW_FILE CLEANUP(new_file_deinit)

/* Makes the whole file from these bytes. Returns 0 or -errno. */
MUST_CHECK int new_file_write(int directory, const char *temporary, const char *name,
			      const struct bytes *content);

#endif
