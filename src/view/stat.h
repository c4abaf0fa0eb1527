/* SPDX-License-Identifier: MIT */
#ifndef VIEW_STAT_H
#define VIEW_STAT_H

/* Attributes of nodes, as for stat(2). Pure code, any thread. */

#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

#include "catalog/record.h"

/* A directory or file of a source, with its attributes in the source. A directory always has one
 * link, because find(1) would otherwise count subdirectories by it, and the view can omit some. */
void stat_set_record(struct stat *stat, uint64_t node, const struct attributes *attributes);

/* A file of a source, with the version of its content as st_dev. */
void stat_set_file_record(struct stat *stat, const struct file_record *file);

/* A directory, file or symlink that only the view has. It belongs to the user of this process and
 * is read-only. */
void stat_set_directory(struct stat *stat, uint64_t node, struct timespec changed);
void stat_set_file(struct stat *stat, uint64_t node, struct timespec changed);
void stat_set_symlink(struct stat *stat, uint64_t node, size_t target_length,
		      struct timespec changed);

#endif
