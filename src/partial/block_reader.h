/* SPDX-License-Identifier: MIT */
#ifndef PARTIAL_BLOCK_READER_H
#define PARTIAL_BLOCK_READER_H

/* Reads a file and hashes its blocks. Holes are not read, and blocks with zeros only are not
 * hashed. Not shared between threads. */

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

/* Outcome: the file has another size than was expected. */
enum {
	BLOCK_READER_CHANGED = 1
};

struct block_reader {
	unsigned int block_bits;
	uint8_t *buffer;
	size_t buffer_bytes;
	uint64_t *hashes; /* of the batch that is being read */
	uint32_t count;
	uint64_t first; /* number of the first block of the batch, a multiple of BLOCK_BATCH */
	/* Takes the hashes of a batch; a batch with zeros only is left out. Returns 0 or -errno. */
	int (*take)(void *context, uint64_t first, const uint64_t *hashes, uint32_t count);
	/* Called after each read, with the number of bytes since the last call; holes count. */
	void (*progress)(void *context, uint64_t bytes);
	void *context;
};

/* Allocates the buffers. Returns 0 or -ENOMEM; the caller must call block_reader_deinit(). */
MUST_CHECK int block_reader_init(struct block_reader *reader, unsigned int block_bits);
void block_reader_deinit(struct block_reader *reader);

/* Reads an open file of size bytes. Returns 0, BLOCK_READER_CHANGED, -EINTR if stop_requested(),
 * the result of take(), or another -errno. */
MUST_CHECK int block_reader_read(struct block_reader *reader, int fd, uint64_t size);

/* Adds the hash of a block, in ascending order of blocks. block_reader_flush() passes the last
 * batch to take(). block_reader_read() calls both. */
MUST_CHECK int block_reader_add(struct block_reader *reader, uint64_t block, uint64_t hash);
MUST_CHECK int block_reader_flush(struct block_reader *reader);

#endif
