/* SPDX-License-Identifier: MIT */
#ifndef VIEW_FUSE_WATCHED_FILES_H
#define VIEW_FUSE_WATCHED_FILES_H

/* The files of the view that programs watch themselves, not through a folder. A watch is on one
 * version of a file, as each has an inode of its own. Nothing is stored of the folder of a file, so
 * a file takes 32 bytes and no share of any limit. Pure code. The owner's lock protects the list
 * and the field changed; other fields belong to the watcher thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"

struct watched_file {
	uint64_t node;
	/* Last known, as the kernel must not lose pages of a file that is gone and open. Valid if
	 * known is set. */
	off_t size;
	mode_t mode;
	uint32_t generation; /* of the inode */
	bool known;
	bool changed; /* since the last watched_files_take */
	bool due; /* the change is to be reported */
	bool ended; /* the end of the watch was reported */
};

/* All zero: empty. */
struct watched_files {
	struct watched_file *list; /* by inode and node */
	size_t count;
};

void watched_files_free(struct watched_files *files);

/* Moves the nodes of files from a sorted list of watched nodes to the files. all: the list has all
 * watches, so other files are removed. Sets *count to the number of nodes that are left. Returns 0,
 * or -ENOMEM and leaves both lists as they are. */
MUST_CHECK int watched_files_update(struct watched_files *files, uint64_t *nodes, size_t *count,
				    bool all);

/* Records that a file changed: all its versions. */
void watched_files_note(struct watched_files *files, uint64_t inode);

/* Makes the changes that were recorded until now due. */
void watched_files_take(struct watched_files *files);

/* Returns the file with this node, or NULL. */
struct watched_file *watched_files_find(const struct watched_files *files, uint64_t node);

/* Returns the number of files whose watches have not ended. */
size_t watched_files_count(const struct watched_files *files);

#endif
