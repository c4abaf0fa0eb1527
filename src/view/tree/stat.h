/* SPDX-License-Identifier: MIT */
#ifndef VIEW_TREE_STAT_H
#define VIEW_TREE_STAT_H

/* Attributes of nodes, as for stat(2). Pure code, any thread. */

#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

#include "index/record.h"

/* Sets the attributes of a directory or file of a source. A directory always has one link. From a
 * larger number, find(1) would compute the number of subdirectories, but the view can omit some
 * subdirectories. */
void stat_set_record(struct stat *stat, uint64_t node, const struct attributes *attributes);

/* Sets the attributes of a file of a source. st_dev is the version of its content. */
void stat_set_file_record(struct stat *stat, const struct file_record *file);

/* Set the attributes of a directory, file or symlink that only the view has. Such an object belongs
 * to the user of this process and is read-only. */
void stat_set_directory(struct stat *stat, uint64_t node, struct timespec changed);
void stat_set_file(struct stat *stat, uint64_t node, struct timespec changed);
void stat_set_symlink(struct stat *stat, uint64_t node, size_t target_length,
		      struct timespec changed);

#endif
