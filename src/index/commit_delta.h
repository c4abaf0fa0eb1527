/* SPDX-License-Identifier: MIT */
#ifndef INDEX_COMMIT_DELTA_H
#define INDEX_COMMIT_DELTA_H

/* The changes that a commit made. Observers use them to update what depends on the index: caches of
 * the kernel, a list of files to compare, programs that follow events.
 *
 * A commit delta refers to records by id. Observers read the present state of the records from a
 * snapshot. If the snapshot is of a later commit, the delta of that commit follows. The transaction
 * fills the lists, and an observer can take them over, so a change is never copied.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "index/catalog.h"

/* A name that was added to a directory, was removed from it, or now refers to another child. */
struct delta_name {
	uint64_t dir;
	uint32_t offset, length; /* in the text of the delta */
	bool directory; /* the name refers to a directory, or did */
};

/* A directory whose record changed (attributes, error or path) or was removed. */
struct delta_dir {
	uint64_t dir;
	bool gone; /* the directory was removed */
	/* The path changed, and so did all paths below it. The delta has only the directory
	 * itself. */
	bool moved;
};

enum delta_file_what {
	DELTA_FILE_ATTRIBUTES = 1, /* an attribute other than atime changed */
	/* The content is unknown, and the file is new, changed, or has a name again. */
	DELTA_FILE_UNREAD = 2,
	DELTA_FILE_GONE = 4, /* the file lost its last name */
	DELTA_FILE_BACK = 8, /* the file has a name again, and its content is still known */
	DELTA_FILE_NAMES = 16, /* the file got or lost a name, and had or has other names */
	DELTA_FILE_FEWER = 32, /* with DELTA_FILE_NAMES: the file lost a name */
};

/* A changed file. A file can occur more than once. */
struct delta_file {
	uint64_t file;
	uint64_t size; /* bytes */
	uint32_t what; /* enum delta_file_what, or-ed */
};

/* A changed group before and after the commit. inodes is 0 in a state without the group. */
struct delta_group {
	struct group_record before, now;
};

/* A file that became redundant, or stopped being redundant. */
struct delta_flip {
	uint64_t file;
	uint64_t dir; /* of its only name, if a deferred file joined the group; otherwise 0 */
	uint32_t group; /* index in DELTA_GROUPS: the file is or was redundant in this group */
	bool redundant; /* the state after the commit; before, the file had the opposite state */
};

/* A folder group that possibly changed: before and after the commit. folders is 0 in a state
 * without the group. If both states are the same, other directories can be in it. */
struct delta_folder_group {
	struct folder_group before, now;
};

/* An error that was recorded or removed. */
struct delta_error {
	enum error_kind kind;
	uint64_t id; /* of the directory or file */
	int error; /* positive errno; 0: removed */
};

/* The kinds of changes, with the type of each. Observers handle the kinds in this order. */
enum delta_kind {
	DELTA_NAMES, /* struct delta_name */
	DELTA_DIRS, /* struct delta_dir */
	DELTA_FILES, /* struct delta_file */
	DELTA_REDUNDANCY, /* struct delta_flip; sorted by file, each file once */
	/* uint64_t: ids of directories whose tree now has redundant copies and had none before, or
	 * the reverse. An id can occur more than once. Removed directories are not included. */
	DELTA_HOLDERS,
	DELTA_GROUPS, /* struct delta_group */
	DELTA_FOLDER_GROUPS, /* struct delta_folder_group; by id, each group once */
	DELTA_ERRORS, /* struct delta_error */
	DELTA_KINDS,
};

/* All zero: no changes. */
struct commit_delta {
	uint64_t generation; /* of the commit */
	struct bytes text; /* the bytes of all names */
	struct bytes lists[DELTA_KINDS];
};

void commit_delta_free(struct commit_delta *delta);

/* Adds a change of the type of its kind. Returns 0 or -ENOMEM. */
MUST_CHECK int commit_delta_add(struct commit_delta *delta, enum delta_kind kind,
				const void *change);

/* Returns the changes of a kind, and sets *count to their number. They are valid until a change is
 * added. */
const void *commit_delta_list(const struct commit_delta *delta, enum delta_kind kind,
			      size_t *count);

/* Returns one of these changes, or NULL if there are no more. */
const void *commit_delta_at(const struct commit_delta *delta, enum delta_kind kind, size_t index);

/* Observer that is called after each commit that changed something, in the committing thread and in
 * the order of commits. The observer must not write to the catalog. It must end its readers before
 * it returns. It can take the lists, and then leaves an empty delta. */
typedef void commit_delta_fn(struct commit_delta *delta, void *context);

/* Sets the function that receives commit deltas; NULL: none. Must not be called while a transaction
 * is open. */
void catalog_observe(struct catalog *catalog, commit_delta_fn *observer, void *context);

#endif
