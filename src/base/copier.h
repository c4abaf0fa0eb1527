/* SPDX-License-Identifier: MIT */
#ifndef BASE_COPIER_H
#define BASE_COPIER_H

/* Copies or hashes the bytes of files. One thread at a time; blocks on the disk. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/attributes.h"
#include "base/hash.h"

/* Outcomes that the caller must handle; failures are -errno. */
enum {
	COPY_CHANGED = 1, /* the signature of the file changed while it was read */
	COPY_UNREADABLE = 2, /* the read failed; copier->read_error has the error */
};

struct copier {
	void *block;
	struct hash_state *hash;
	struct verified *verified; /* recent hashes, by inode */
	int read_error; /* -errno */
	bool to_the_end; /* ignore stop_requested(), as the bytes exist nowhere else */
	/* Called regularly with the number of bytes since the last call. May be NULL. */
	void (*progress)(void *context, uint64_t bytes);
	void *context;
};

/* Returns 0 or -ENOMEM. copier_deinit() also frees a partly initialized copier. */
MUST_CHECK int copier_init(struct copier *copier);
void copier_deinit(struct copier *copier);

/* Copies all bytes of a file to an empty file, and keeps holes.
 *
 * hash	set to the hash of the copied bytes, holes as zeros; may be NULL
 *
 * Returns 0, an outcome, -EINTR if stop_requested() and not to_the_end, or -errno of the file that
 * is written. */
MUST_CHECK int copy_bytes(struct copier *copier, int from, int to, struct hash128 *hash);

/* Hashes a file. A file that was read recently and has the same signature is not read again.
 * Returns 0, an outcome, or -EINTR. */
MUST_CHECK int copy_hash(struct copier *copier, int fd, struct hash128 *hash);

/* Hashes a file like copy_hash(), but always reads it. */
MUST_CHECK int copy_hash_anew(struct copier *copier, int fd, struct hash128 *hash);

/* Keeps the remembered hash of a file valid after the caller gave the file another name. The new
 * name changes the ctime, but not the bytes. */
void copy_hash_linked(const struct copier *copier, int fd);

/* Returns whether both have the same signature: inode, size, mtime and ctime. */
bool copy_same_signature(const struct stat *a, const struct stat *b);

#endif
