/* SPDX-License-Identifier: MIT */
#ifndef ROW_LINE_READER_H
#define ROW_LINE_READER_H

/* Reads the lines of a file, which can be compressed by zstd. The memory is that of the longest
 * line, and bounded, whatever the file has. One thread at a time. Logs nothing. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"

enum line_reader_flag {
	LINES_COMPRESSED = 1,
	LINES_FROM_START = 2, /* read by pread(2) from offset 0 on: for a file that is read again */
	LINES_OPEN_END = 4, /* the last line can lack its end */
};

/* Outcomes that the caller must handle; failures are -errno. */
enum line_outcome {
	LINE_END = 1, /* the last line was read */
	LINE_TORN = 2, /* the file ends within a line, or within compressed data */
	LINE_TOO_LONG = 3, /* longer than the maximum */
	LINE_NOT_COMPRESSED = 4, /* the file is not what zstd writes */
};

struct ZSTD_DCtx_s; /* of libzstd */
struct sha256;

struct line_reader {
	int fd; /* borrowed */
	unsigned int flags; /* enum line_reader_flag */
	size_t max; /* of a line, with its end */
	uint64_t line; /* number of the last line, from 1 */
	off_t offset; /* of the next read; for LINES_FROM_START only */
	char *buffer;
	size_t capacity;
	size_t begin, end; /* what was read and not returned yet */
	bool at_end; /* all bytes were read */
	struct ZSTD_DCtx_s *decompressor; /* NULL: the file is not compressed */
	char *stored; /* bytes of the file, if it is compressed */
	size_t stored_begin, stored_end;
	bool in_frame; /* a compressed frame is not complete yet */
	struct sha256
		*sha256; /* borrowed: gets the bytes of the file as they are stored; or NULL */
};

/* Begins to read an open file.
 *
 * fd		borrowed
 * max		maximum length of a line in bytes, with its end; SIZE_MAX: no limit
 * flags	enum line_reader_flag
 *
 * Returns 0, -ENOMEM, or -EOPNOTSUPP if the file is compressed and the program was built without
 * libzstd. The caller must call line_reader_deinit() in all cases. */
MUST_CHECK int line_reader_init(struct line_reader *reader, int fd, size_t max, unsigned int flags);
void line_reader_deinit(struct line_reader *reader);
#define CLEANUP_LINE_READER CLEANUP(line_reader_deinit)

/* Reads the next line. text is not terminated, has no newline, and is valid until the next call.
 * Blocks on the file. Returns 0, an enum line_outcome, -EINTR if stop_requested(), or another
 * -errno. */
MUST_CHECK int line_reader_next(struct line_reader *reader, const char **text, size_t *length);

#endif
