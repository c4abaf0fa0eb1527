/* SPDX-License-Identifier: MIT */
#ifndef PARTIAL_OPEN_FILES_H
#define PARTIAL_OPEN_FILES_H

/* Keeps the last used files of the table open for reading. Each thread has its own. */

#include <stdint.h>

#include "base/attributes.h"

struct partial;

/* Highest number of open files of a thread. */
#define OPEN_FILES_MAX 32U

struct open_files {
	const struct partial *partial; /* borrowed */
	struct {
		int fd; /* -1: free */
		uint32_t file; /* index in the table */
		uint64_t used; /* number of the last use */
	} slots[OPEN_FILES_MAX];
	uint64_t uses;
};

void open_files_init(struct open_files *files, const struct partial *partial);
void open_files_deinit(struct open_files *files);

/* Opens a file, if it still has the signature of the index. The descriptor is valid until
 * OPEN_FILES_MAX - 1 other files were opened. The thread must have no reader. Returns a descriptor,
 * -ESTALE if the file has changed, or another -errno. */
MUST_CHECK int open_files_get(struct open_files *files, uint32_t file);

/* Works like open_files_get(), but also checks a file that is open: closes it, and opens it again.
 */
MUST_CHECK int open_files_get_again(struct open_files *files, uint32_t file);

#endif
