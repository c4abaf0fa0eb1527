/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_COMMIT_DELTA_H
#define CATALOG_COMMIT_DELTA_H

/* The changes that a commit made. Observers use them to update what depends on the index: caches of
 * the kernel, a list of files to compare, programs that follow events.
 *
 * A commit delta refers to records by id. Observers read the present state of the records from a
 * snapshot. If the snapshot is of a later commit, the delta of that commit follows. All pointers
 * are borrowed and valid during the call.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "catalog/catalog.h"

/* A name was added to a directory, was removed from a directory, or now refers to another child. */
struct delta_name {
	uint64_t dir;
	uint32_t offset, length; /* in commit_delta.text */
};

/* The record of a directory changed (attributes or path), or was removed. */
struct delta_dir {
	uint64_t dir;
	bool gone;
	/* all paths below the directory changed; the delta has only the directory itself */
	bool moved;
};

enum delta_file_what {
	DELTA_FILE_ATTRIBUTES = 1, /* an attribute that stat(2) shows changed */
	DELTA_FILE_UNREAD = 2, /* new, or its content is no longer known: it has to be compared */
	DELTA_FILE_GONE = 4, /* it lost its last name */
	DELTA_FILE_BACK = 8, /* it has a name again, and its content is still known */
	DELTA_FILE_NAMES = 16, /* it got or lost a name besides its other names */
	DELTA_FILE_FEWER = 32, /* with DELTA_FILE_NAMES: it lost one */
};

struct delta_file {
	uint64_t file;
	uint64_t size;
	uint32_t what; /* enum delta_file_what, or-ed; a file can occur more than once */
};

/* The state of a changed group before and after the commit; inodes is 0 if it did not exist. */
struct delta_group {
	struct group_record before, now;
};

/* A file became redundant or unique. Sorted by file, each once. */
struct delta_flip {
	uint64_t file;
	size_t group; /* in commit_delta.groups: the group in which the file is or was redundant */
	bool redundant; /* the state after the commit; before, the file had the opposite state */
};

/* An error was recorded (errno) or removed (0). */
struct delta_error {
	enum error_kind kind;
	uint64_t id;
	int error;
};

struct commit_delta {
	uint64_t generation; /* of the commit */
	const char *text;
	const struct delta_name *names;
	size_t name_count;
	const struct delta_dir *dirs;
	size_t dir_count;
	const struct delta_file *files;
	size_t file_count;
	const struct delta_group *groups;
	size_t group_count;
	const struct delta_flip *redundancy;
	size_t redundancy_count;
	/* Directories whose tree now has redundant copies and had none before, or the reverse. A
	 * directory can occur more than once. Removed directories are not listed. */
	const uint64_t *holders;
	size_t holder_count;
	const struct delta_error *errors;
	size_t error_count;
};

/* Observer that is called after each commit that changed something, in the committing thread and in
 * the order of commits. The observer must not write to the catalog. It must end its readers before
 * it returns. */
typedef void commit_delta_fn(const struct commit_delta *delta, void *context);

/* Sets the function that receives commit deltas; NULL: none, and no delta is built. Must not be
 * called while a write runs. */
void catalog_observe(struct catalog *catalog, commit_delta_fn *observer, void *context);

#endif
