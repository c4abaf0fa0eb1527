/* SPDX-License-Identifier: MIT */
#include "partial/block_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/hash.h"
#include "base/stop.h"
#include "partial/block_table.h"

/* Bytes of a read, unless a block is larger. */
#define READ_BYTES ((size_t)1 << 20)

int block_reader_init(struct block_reader *reader, unsigned int block_bits)
{
	size_t block_bytes = (size_t)1 << block_bits;

	*reader = (struct block_reader){.block_bits = block_bits};
	reader->buffer_bytes = block_bytes > READ_BYTES ? block_bytes : READ_BYTES;
	reader->buffer = malloc(reader->buffer_bytes);
	reader->hashes = calloc(BLOCK_BATCH, sizeof(*reader->hashes));
	return reader->buffer && reader->hashes ? 0 : -ENOMEM;
}

void block_reader_deinit(struct block_reader *reader)
{
	free(reader->buffer);
	free(reader->hashes);
}

int block_reader_flush(struct block_reader *reader)
{
	int r = reader->count > 0 ? reader->take(reader->context, reader->first, reader->hashes,
						 reader->count)
				  : 0;

	memset(reader->hashes, 0, reader->count * sizeof(*reader->hashes));
	reader->count = 0;
	return r;
}

int block_reader_add(struct block_reader *reader, uint64_t block, uint64_t hash)
{
	uint64_t first = block - block % BLOCK_BATCH;
	int r = 0;

	if (hash == 0)
		return 0;
	if (reader->count > 0 && first != reader->first)
		r = block_reader_flush(reader);
	reader->first = first;
	reader->hashes[block - first] = hash;
	reader->count = (uint32_t)(block - first) + 1;
	return r;
}

static bool is_zero(const uint8_t *bytes, size_t length)
{
	return bytes[0] == 0 && memcmp(bytes, bytes + 1, length - 1) == 0;
}

/* Returns the hash of a block; 0 only for zeros. */
static uint64_t hash_block(const uint8_t *bytes, size_t length)
{
	uint64_t hash;

	if (is_zero(bytes, length))
		return 0;
	hash = hash64(bytes, length, 0);
	return hash ? hash : 1;
}

static int hash_bytes(struct block_reader *reader, uint64_t offset, size_t length)
{
	size_t block_bytes = (size_t)1 << reader->block_bits;
	int r = 0;

	for (size_t at = 0; r == 0 && at < length; at += block_bytes) {
		size_t rest = length - at < block_bytes ? length - at : block_bytes;

		r = block_reader_add(reader, (offset + at) >> reader->block_bits,
				     hash_block(reader->buffer + at, rest));
	}
	return r;
}

/* Reads a range that begins with a block, and ends with one or at the end of the file. */
static int read_range(struct block_reader *reader, int fd, uint64_t from, uint64_t to)
{
	int r = 0;

	for (uint64_t at = from; r == 0 && at < to;) {
		size_t wanted = reader->buffer_bytes;
		long got;

		if (wanted > to - at)
			wanted = (size_t)(to - at);
		got = read_fully_at(fd, reader->buffer, wanted, (off_t)at);
		if (got < 0)
			return (int)got;
		if ((size_t)got < wanted)
			return BLOCK_READER_CHANGED;
		r = hash_bytes(reader, at, wanted);
		at += wanted;
		reader->progress(reader->context, wanted);
		if (r == 0 && stop_requested())
			r = -EINTR;
	}
	return r;
}

/* Sets the next range with data, in whole blocks. Without support for holes, all bytes are data.
 * Returns false if only a hole follows. */
static bool find_data(const struct block_reader *reader, int fd, uint64_t size, uint64_t *from,
		      uint64_t *to)
{
	uint64_t block_bytes = UINT64_C(1) << reader->block_bits;
	off_t data = lseek(fd, (off_t)*from, SEEK_DATA);
	off_t hole;

	if (data < 0 && errno == ENXIO)
		return false;
	if (data > (off_t)*from)
		*from = (uint64_t)data / block_bytes * block_bytes;
	hole = data < 0 ? -1 : lseek(fd, data, SEEK_HOLE);
	*to = hole < 0 ? size : ((uint64_t)hole + block_bytes - 1) / block_bytes * block_bytes;
	if (*to > size)
		*to = size;
	return *from < size;
}

int block_reader_read(struct block_reader *reader, int fd, uint64_t size)
{
	uint64_t at = 0, from = 0, to;
	int r = 0;

	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	while (r == 0 && at < size) {
		from = at;
		if (!find_data(reader, fd, size, &from, &to)) {
			reader->progress(reader->context, size - at);
			break;
		}
		reader->progress(reader->context, from - at);
		r = read_range(reader, fd, from, to);
		at = to;
	}
	if (r != 0) {
		memset(reader->hashes, 0, reader->count * sizeof(*reader->hashes));
		reader->count = 0;
		return r;
	}
	return block_reader_flush(reader);
}
