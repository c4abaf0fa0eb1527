/* SPDX-License-Identifier: MIT */
#include "fleet/line_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sha256.h"
#include "base/stop.h"

#ifdef ZSTD_KNOWN
#include <zstd.h>
#endif

/* Bytes of a read of a compressed file. */
#define STORED_BYTES ((size_t)64 << 10)

int line_reader_init(struct line_reader *reader, int fd, bool compressed)
{
	*reader = (struct line_reader){.fd = fd, .buffer = malloc(LINE_BYTES_MAX)};
	if (!reader->buffer)
		return -ENOMEM;
	if (!compressed)
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
		got = read(reader->fd, bytes, room);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	if (got > 0 && reader->sha256 && sha256_update(reader->sha256, bytes, (size_t)got) < 0)
		return -EIO;
	return got;
}

static int read_plain(struct line_reader *reader)
{
	long got = read_stored(reader, reader->buffer + reader->end, LINE_BYTES_MAX - reader->end);

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
	ZSTD_outBuffer out = {reader->buffer, LINE_BYTES_MAX, reader->end};
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

/* Reads more bytes into the buffer, which has room. */
static int read_more(struct line_reader *reader)
{
	memmove(reader->buffer, reader->buffer + reader->begin, reader->end - reader->begin);
	reader->end -= reader->begin;
	reader->begin = 0;
	return reader->stored ? decompress(reader) : read_plain(reader);
}

int line_reader_next(struct line_reader *reader, const char **text, size_t *length)
{
	size_t searched = 0;

	for (;;) {
		const char *begin = reader->buffer + reader->begin;
		size_t left = reader->end - reader->begin;
		const char *newline = memchr(begin + searched, '\n', left - searched);
		int r;

		if (newline) {
			*text = begin;
			*length = (size_t)(newline - begin);
			reader->begin += *length + 1;
			reader->line++;
			return 0;
		}
		if (reader->at_end)
			return left > 0 ? (int)LINE_TORN : (int)LINE_END;
		if (left == LINE_BYTES_MAX)
			return LINE_TOO_LONG;
		searched = left;
		r = read_more(reader);
		if (r != 0)
			return r;
	}
}
