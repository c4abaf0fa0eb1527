/* SPDX-License-Identifier: MIT */
#ifndef VIEW_STAT_H
#define VIEW_STAT_H

/* How things look to stat(2). Pure code, any thread. */

#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

#include "catalog/record.h"

/* A directory or file of a source: as it is there, but that a directory's links are 1, which tells
 * find(1) not to count subdirectories by them: names may be missing in the view. */
void stat_set_record(struct stat *stat, uint64_t node, const struct attributes *attributes);

/* A file of a source, with the version of its content as st_dev. */
void stat_set_file_record(struct stat *stat, const struct file_record *file);

/* A directory, file or symlink that only the view has: of the user who runs this, nobody may
 * write. */
void stat_set_directory(struct stat *stat, uint64_t node, struct timespec changed);
void stat_set_file(struct stat *stat, uint64_t node, struct timespec changed);
void stat_set_symlink(struct stat *stat, uint64_t node, size_t target_length,
		      struct timespec changed);

#endif
