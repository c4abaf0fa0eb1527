/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_COMMIT_DELTA_H
#define CATALOG_COMMIT_DELTA_H

/* The changes that a commit made. Its users cache data from the index: caches of the
 * kernel, a list of files to compare, programs that follow events.
 *
 * A commit delta names things by id. Their present state is read from a snapshot, which may be of a
 * later commit, whose own delta follows. All pointers are borrowed and valid during the call.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "catalog/catalog.h"

/* A name was added to a directory, removed from it, or means another child now. */
struct delta_name {
	uint64_t dir;
	uint32_t offset, length; /* in commit_delta.text */
};

/* The record of a directory changed (attributes or path), or was removed. */
struct delta_dir {
	uint64_t dir;
	bool gone;
	bool moved; /* it and all below it have other paths; the delta names only the directory */
};

enum delta_file_what {
	DELTA_FILE_ATTRIBUTES = 1, /* an attribute that stat(2) shows changed */
	DELTA_FILE_UNREAD = 2, /* new, or its content is no longer known: it has to be compared */
	DELTA_FILE_GONE = 4, /* it lost its last name */
	DELTA_FILE_BACK = 8, /* it has a name again, and its content is still known */
	DELTA_FILE_NAMES = 16, /* it got or lost a name, and has or had others */
	DELTA_FILE_FEWER = 32, /* with DELTA_FILE_NAMES: it lost one */
};

struct delta_file {
	uint64_t file;
	uint64_t size;
	uint32_t what; /* enum delta_file_what, or-ed; a file may occur more than once */
};

/* The state of a changed group before and after the commit; inodes is 0 if it did not exist. */
struct delta_group {
	struct group_record before, now;
};

/* A file became redundant or unique. Sorted by file, each once. */
struct delta_flip {
	uint64_t file;
	size_t group; /* in commit_delta.groups: where it is redundant now, or was before */
	bool redundant; /* its state now; before, it was the opposite */
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
	/* Directories that now have redundant copies in their tree and had none, or the reverse.
	 * One may occur more than once. Removed directories are not among them. */
	const uint64_t *holders;
	size_t holder_count;
	const struct delta_error *errors;
	size_t error_count;
};

/* Called after each commit that changed something, in the committing thread and in the order of
 * commits. It must not write to the catalog, and must not hold a reader when it returns. */
typedef void commit_delta_fn(const struct commit_delta *delta, void *context);

/* Sets the function that receives commit deltas; NULL: none, and no delta is built. Must not be
 * called while a write runs. */
void catalog_observe(struct catalog *catalog, commit_delta_fn *observer, void *context);

#endif
