/* SPDX-License-Identifier: MIT */
#include "base/file_sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/memory.h"

/* Bytes of a read. */
#define READ_BYTES ((size_t)256 << 10)

static const uint8_t zeros[64 << 10];

int file_sha256_init(struct file_sha256 *reader)
{
	*reader = (struct file_sha256){.state = sha256_new(), .buffer = memory_pages(READ_BYTES)};
	return reader->state && reader->buffer ? 0 : -ENOMEM;
}

void file_sha256_deinit(struct file_sha256 *reader)
{
	sha256_free(reader->state);
	free(reader->buffer);
}

static int report_progress(const struct file_sha256 *reader, uint64_t bytes)
{
	return reader->progress ? reader->progress(reader->context, bytes) : 0;
}

static int read_data(const struct file_sha256 *reader, int fd, uint64_t from, uint64_t to)
{
	while (from < to) {
		size_t wanted = to - from < READ_BYTES ? (size_t)(to - from) : READ_BYTES;
		long got = read_fully_at(fd, reader->buffer, wanted, (off_t)from);
		int r;

		if (got < 0)
			return (int)got;
		if ((size_t)got < wanted)
			return FILE_SHA256_CHANGED;
		r = sha256_update(reader->state, reader->buffer, wanted);
		if (r == 0)
			r = report_progress(reader, wanted);
		if (r < 0)
			return r;
		from += wanted;
	}
	return 0;
}

static int add_hole(const struct file_sha256 *reader, uint64_t from, uint64_t to)
{
	while (from < to) {
		size_t count = to - from < sizeof(zeros) ? (size_t)(to - from) : sizeof(zeros);
		int r = sha256_update(reader->state, zeros, count);

		if (r == 0)
			r = report_progress(reader, count);
		if (r < 0)
			return r;
		from += count;
	}
	return 0;
}

/* Sets the next range with data, from *from on. Without support for holes, all bytes are data. If
 * only a hole follows, the range is empty and at the end. */
static int find_data(int fd, uint64_t size, uint64_t *from, uint64_t *to)
{
	off_t data = lseek(fd, (off_t)*from, SEEK_DATA);
	off_t hole;

	if (data < 0 && errno == ENXIO) {
		*from = *to = size;
		return 0;
	}
	if (data < 0 && errno != EINVAL)
		return -errno;
	if (data > (off_t)*from)
		*from = (uint64_t)data;
	hole = data < 0 ? -1 : lseek(fd, data, SEEK_HOLE);
	*to = hole <= data || (uint64_t)hole > size ? size : (uint64_t)hole;
	if (*from > size)
		*from = size;
	return 0;
}

static int read_ranges(const struct file_sha256 *reader, int fd, uint64_t size, bool has_holes)
{
	uint64_t at = 0, from, to;
	int r = 0;

	while (r == 0 && at < size) {
		from = at;
		to = size;
		if (has_holes)
			r = find_data(fd, size, &from, &to);
		if (r == 0)
			r = add_hole(reader, at, from);
		if (r == 0)
			r = read_data(reader, fd, from, to);
		at = to;
	}
	return r;
}

int file_sha256_read(struct file_sha256 *reader, int fd, uint64_t size, bool has_holes,
		     uint8_t digest[SHA256_BYTES])
{
	int r = sha256_reset(reader->state);

	if (size > READ_BYTES)
		(void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	if (r == 0)
		r = read_ranges(reader, fd, size, has_holes);
	return r == 0 ? sha256_end(reader->state, digest) : r;
}
