/* SPDX-License-Identifier: MIT */
#ifndef BASE_FILE_SHA256_H
#define BASE_FILE_SHA256_H

/* Computes the SHA-256 of open files. Holes are not read, and count as zeros. Blocks on the disk;
 * one thread at a time for each reader. */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/sha256.h"

/* Outcome: the file has fewer bytes than were expected. */
enum {
	FILE_SHA256_CHANGED = 1
};

struct file_sha256 {
	struct sha256 *state;
	uint8_t *buffer;
	/* Called regularly, with the number of bytes since the last call; holes count. NULL: not
	 * called. Returns 0, or -errno to stop. */
	int (*progress)(void *context, uint64_t bytes);
	void *context;
};

/* Allocates. Returns 0 or -ENOMEM; the caller must call file_sha256_deinit(). */
MUST_CHECK int file_sha256_init(struct file_sha256 *reader);
void file_sha256_deinit(struct file_sha256 *reader);

/* Reads size bytes of an open file.
 *
 * has_holes	whether it can have holes
 *
 * Returns 0, FILE_SHA256_CHANGED, the failure of progress(), or another -errno. */
MUST_CHECK int file_sha256_read(struct file_sha256 *reader, int fd, uint64_t size, bool has_holes,
				uint8_t digest[SHA256_BYTES]);

#endif
