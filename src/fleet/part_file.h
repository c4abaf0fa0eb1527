/* SPDX-License-Identifier: MIT */
#ifndef FLEET_PART_FILE_H
#define FLEET_PART_FILE_H

/* Writes the files of a set of rows (row_set.h): compressed by libzstd, if the program was built
 * with it, and with the SHA-256 of the bytes on the disk. One thread at a time. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/sha256.h"

/* Suffix of the names of the files. */
#ifdef ZSTD_KNOWN
#define PART_FILE_SUFFIX ".jsonl.zst"
#else
#define PART_FILE_SUFFIX ".jsonl"
#endif

/* Outcome that the caller must handle; failures are -errno. */
enum {
	PART_FILE_NOT_COMPRESSED = 1, /* libzstd failed; struct part_file has the cause */
};

struct ZSTD_CCtx_s; /* of libzstd */

struct part_file {
	int fd; /* -1: no file is open */
	struct ZSTD_CCtx_s *compressor; /* NULL: the program was built without libzstd */
	struct sha256 *sha256;
	struct bytes waiting; /* output that is not written yet */
	uint64_t bytes; /* size of the file, with what waits */
	const char *fault; /* why libzstd failed; static */
};

/* What is known of a file that was written. */
struct part_file_facts {
	uint64_t bytes;
	char sha256[SHA256_DIGITS + 1]; /* of the file as it is on the disk */
};

/* Prepares for any number of files, one after the other. Returns 0 or -ENOMEM. The caller must call
 * part_file_deinit() in all cases. */
MUST_CHECK int part_file_init(struct part_file *part);
void part_file_deinit(struct part_file *part); /* closes a file that is open */

/* Makes a file. Returns 0, PART_FILE_NOT_COMPRESSED, or -errno; -EEXIST if the name exists. */
MUST_CHECK int part_file_open(struct part_file *part, int directory, const char *name);

/* Adds bytes to the file. Returns 0, PART_FILE_NOT_COMPRESSED, or -errno. */
MUST_CHECK int part_file_add(struct part_file *part, const void *data, size_t length);

/* Ends the file and closes it. Blocks until the file is on the disk. Returns 0,
 * PART_FILE_NOT_COMPRESSED, or -errno. */
MUST_CHECK int part_file_close(struct part_file *part, struct part_file_facts *facts);

#endif
