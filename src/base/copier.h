/* SPDX-License-Identifier: MIT */
#ifndef BASE_COPIER_H
#define BASE_COPIER_H

/* The bytes of files: copied, or only hashed. One thread at a time; blocks on the disk. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/attributes.h"
#include "base/hash.h"

/* Outcomes that the caller must handle; failures are -errno. */
enum {
	COPY_CHANGED = 1, /* somebody wrote to the file while it was read */
	COPY_UNREADABLE = 2, /* the read failed; copier->read_error says why */
};

struct copier {
	void *block;
	struct hash_state *hash;
	struct verified *verified; /* what was hashed lately, by inode */
	int read_error; /* -errno */
	bool to_the_end; /* stop_requested() or not: the bytes are nowhere else */
	/* Called as bytes go by: how many since the last time. NULL: nobody asks. */
	void (*progress)(void *context, uint64_t bytes);
	void *context;
};

/* 0 or -ENOMEM; deinit undoes a partial one. */
MUST_CHECK int copier_init(struct copier *copier);
void copier_deinit(struct copier *copier);

/* Copies all bytes of a file to an empty one, and leaves holes where it has holes.
 *
 * hash		of the bytes that were written, holes as zeros; NULL: not wanted
 *
 * 0, an outcome, -EINTR when stop_requested() unless to_the_end, or -errno of the file that is
 * written. */
MUST_CHECK int copy_bytes(struct copier *copier, int from, int to, struct hash128 *hash);

/* Reads a file and gives its hash; what was read lately and has the same signature is not read
 * again. 0, an outcome, or -EINTR. */
MUST_CHECK int copy_hash(struct copier *copier, int fd, struct hash128 *hash);

/* Says that the caller just gave the file another name, which moves its ctime and not its bytes:
 * what copy_hash() remembers of it stays known. */
void copy_hash_linked(const struct copier *copier, int fd);

/* Are these the same inode with, as far as stat(2) can tell, the same bytes? */
bool copy_same_signature(const struct stat *a, const struct stat *b);

#endif
