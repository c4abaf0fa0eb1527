/* SPDX-License-Identifier: MIT */
#include "row/line_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/stop.h"

#ifdef ZSTD_KNOWN
#include <zstd.h>
#endif

/* Bytes of a read of a compressed file. */
#define STORED_BYTES ((size_t)64 << 10)

/* Bytes of the buffer at first. */
#define BUFFER_BYTES ((size_t)64 << 10)

int line_reader_init(struct line_reader *reader, int fd, size_t max, unsigned int flags)
{
	*reader = (struct line_reader){
		.fd = fd,
		.flags = flags,
		.max = max,
	};
	if (array_reserve(&reader->buffer, &reader->capacity, BUFFER_BYTES, 1) < 0)
		return -ENOMEM;
	if (!(flags & LINES_COMPRESSED))
		return 0;
#ifdef ZSTD_KNOWN
	reader->decompressor = ZSTD_createDCtx();
	reader->stored = malloc(STORED_BYTES);
	return reader->decompressor && reader->stored ? 0 : -ENOMEM;
#else
	return -EOPNOTSUPP;
#endif
}

void line_reader_deinit(struct line_reader *reader)
{
#ifdef ZSTD_KNOWN
	(void)ZSTD_freeDCtx(reader->decompressor);
#endif
	free(reader->stored);
	free(reader->buffer);
	*reader = (struct line_reader){.fd = -1};
}

/* Reads bytes of the file as they are stored. Returns their number, 0 at the end, or -errno. */
static long read_stored(struct line_reader *reader, char *bytes, size_t room)
{
	ssize_t got;

	do {
		if (stop_requested())
			return -EINTR;
		got = reader->flags & LINES_FROM_START
			      ? pread(reader->fd, bytes, room, reader->offset)
			      : read(reader->fd, bytes, room);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	if (got > 0 && reader->sha256 && sha256_update(reader->sha256, bytes, (size_t)got) < 0)
		return -EIO;
	reader->offset += got;
	return got;
}

static int read_plain(struct line_reader *reader)
{
	long got =
		read_stored(reader, reader->buffer + reader->end, reader->capacity - reader->end);

	if (got < 0)
		return (int)got;
	reader->end += (size_t)got;
	reader->at_end = got == 0;
	return 0;
}

#ifdef ZSTD_KNOWN

/* Reads more of the compressed file. Returns 0, LINE_TORN or -errno. */
static int read_compressed(struct line_reader *reader)
{
	long got = read_stored(reader, reader->stored, STORED_BYTES);

	if (got < 0)
		return (int)got;
	reader->stored_begin = 0;
	reader->stored_end = (size_t)got;
	reader->at_end = got == 0;
	return reader->at_end && reader->in_frame ? (int)LINE_TORN : 0;
}

/* Decompresses into the free room of the buffer. The decompressor can have output left although it
 * has taken all input. */
static int decompress(struct line_reader *reader)
{
	ZSTD_outBuffer out = {reader->buffer, reader->capacity, reader->end};
	ZSTD_inBuffer in = {reader->stored, reader->stored_end, reader->stored_begin};
	size_t left = ZSTD_decompressStream(reader->decompressor, &out, &in);

	if (ZSTD_isError(left))
		return LINE_NOT_COMPRESSED;
	/* between two frames it asks for more, too */
	if (out.pos == reader->end && in.pos == reader->stored_begin)
		return read_compressed(reader);
	reader->in_frame = left != 0;
	reader->stored_begin = in.pos;
	reader->end = out.pos;
	return 0;
}

#else

static int decompress(struct line_reader *reader)
{
	(void)reader;
	return -EOPNOTSUPP;
}

#endif

/* Reads more bytes into the buffer. Returns 0, an enum line_outcome or -errno. */
static int read_more(struct line_reader *reader)
{
	int r = 0;

	memmove(reader->buffer, reader->buffer + reader->begin, reader->end - reader->begin);
	reader->end -= reader->begin;
	reader->begin = 0;
	if (reader->end == reader->capacity)
		r = array_reserve(&reader->buffer, &reader->capacity, reader->end + 1, 1);
	if (r < 0)
		return r;
	return reader->stored ? decompress(reader) : read_plain(reader);
}

/* Takes a line from the buffer. */
static void take(struct line_reader *reader, size_t length, const char **text, size_t *taken)
{
	*text = reader->buffer + reader->begin;
	*taken = length;
	reader->begin += length;
	reader->line++;
}

int line_reader_next(struct line_reader *reader, const char **text, size_t *length)
{
	size_t searched = 0;

	for (;;) {
		const char *begin = reader->buffer + reader->begin;
		size_t left = reader->end - reader->begin;
		const char *newline = memchr(begin + searched, '\n', left - searched);
		int r;

		if ((newline ? (size_t)(newline - begin) : left) >= reader->max)
			return LINE_TOO_LONG;
		if (newline) {
			take(reader, (size_t)(newline - begin), text, length);
			reader->begin++;
			return 0;
		}
		if (reader->at_end && left > 0 && reader->flags & LINES_OPEN_END) {
			take(reader, left, text, length);
			return 0;
		}
		if (reader->at_end)
			return left > 0 ? (int)LINE_TORN : (int)LINE_END;
		searched = left;
		r = read_more(reader);
		if (r != 0)
			return r;
	}
}
