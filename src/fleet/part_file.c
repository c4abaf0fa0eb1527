/* SPDX-License-Identifier: MIT */
#include "fleet/part_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#ifdef ZSTD_KNOWN
#include <zstd.h>
#endif

#include "base/descriptor.h"

/* Number of bytes that are written at once. */
#define WRITE_BYTES (256UL << 10)

/* Writes what waits. */
static int flush(struct part_file *part)
{
	int r = sha256_update(part->sha256, part->waiting.data, part->waiting.length);

	if (r == 0)
		r = write_fully(part->fd, part->waiting.data, part->waiting.length);
	part->bytes += part->waiting.length;
	part->waiting.length = 0;
	return r;
}

/* ---- libzstd ------------------------------------------------------------------------- */

#ifdef ZSTD_KNOWN

static int compressor_init(struct part_file *part)
{
	part->compressor = ZSTD_createCCtx();
	return part->compressor ? 0 : -ENOMEM;
}

static void compressor_deinit(struct part_file *part)
{
	(void)ZSTD_freeCCtx(part->compressor);
}

static int check(struct part_file *part, size_t result)
{
	if (!ZSTD_isError(result))
		return 0;
	part->fault = ZSTD_getErrorName(result);
	return PART_FILE_NOT_COMPRESSED;
}

/* Begins a frame, which ends with a checksum of its content. */
static int begin_frame(struct part_file *part)
{
	int r = check(part, ZSTD_CCtx_reset(part->compressor, ZSTD_reset_session_only));

	return r != 0 ? r
		      : check(part,
			      ZSTD_CCtx_setParameter(part->compressor, ZSTD_c_checksumFlag, 1));
}

/* Compresses bytes, and writes as much of the result as fills the buffer. */
static int compress(struct part_file *part, const void *data, size_t length, ZSTD_EndDirective end)
{
	ZSTD_inBuffer in = {data, length, 0};
	size_t left = 1;
	int r = 0;

	while (r == 0 && (in.pos < in.size || (end == ZSTD_e_end && left > 0))) {
		ZSTD_outBuffer out = {part->waiting.data, WRITE_BYTES, part->waiting.length};

		left = ZSTD_compressStream2(part->compressor, &out, &in, end);
		r = check(part, left);
		part->waiting.length = out.pos;
		if (r == 0 && out.pos == out.size)
			r = flush(part);
	}
	return r;
}

int part_file_add(struct part_file *part, const void *data, size_t length)
{
	return compress(part, data, length, ZSTD_e_continue);
}

static int end_frame(struct part_file *part)
{
	return compress(part, NULL, 0, ZSTD_e_end);
}

#else

static int compressor_init(struct part_file *part)
{
	part->compressor = NULL;
	return 0;
}

static void compressor_deinit(struct part_file *part)
{
	(void)part;
}

static int begin_frame(struct part_file *part)
{
	(void)part;
	return 0;
}

int part_file_add(struct part_file *part, const void *data, size_t length)
{
	int r = bytes_append(&part->waiting, data, length);

	return r == 0 && part->waiting.length >= WRITE_BYTES ? flush(part) : r;
}

static int end_frame(struct part_file *part)
{
	(void)part;
	return 0;
}

#endif

/* ---- files --------------------------------------------------------------------------- */

int part_file_init(struct part_file *part)
{
	int r;

	*part = (struct part_file){.fd = -1, .sha256 = sha256_new()};
	r = part->sha256 ? bytes_reserve(&part->waiting, WRITE_BYTES) : -ENOMEM;
	return r < 0 ? r : compressor_init(part);
}

void part_file_deinit(struct part_file *part)
{
	cleanup_close(&part->fd);
	compressor_deinit(part);
	sha256_free(part->sha256);
	bytes_free(&part->waiting);
	*part = (struct part_file){.fd = -1};
}

int part_file_open(struct part_file *part, int directory, const char *name)
{
	int r = sha256_reset(part->sha256);

	if (r == 0)
		r = begin_frame(part);
	if (r != 0)
		return r;
	part->bytes = 0;
	part->waiting.length = 0;
	part->fd = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return part->fd < 0 ? -errno : 0;
}

int part_file_close(struct part_file *part, struct part_file_facts *facts)
{
	int r = end_frame(part);

	if (r == 0)
		r = flush(part);
	if (r == 0)
		r = sha256_finish(part->sha256, facts->sha256);
	if (r == 0 && fsync(part->fd) < 0)
		r = -errno;
	facts->bytes = part->bytes;
	cleanup_close(&part->fd);
	part->fd = -1;
	return r;
}
