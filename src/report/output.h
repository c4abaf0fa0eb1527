/* SPDX-License-Identifier: MIT */
#ifndef REPORT_OUTPUT_H
#define REPORT_OUTPUT_H

/* What a command prints: buffered, and no write that fails goes unseen, not even to a full disk
 * or a closed pipe.
 *
 * The first failure is kept and everything after it dropped, so that a writer need not look after
 * each line, only now and then whether it is worth going on. One thread at a time.
 */

#include <stddef.h>

#include "base/attributes.h"
#include "base/bytes.h"

struct output {
	int fd; /* borrowed */
	int error; /* the first failure, -errno */
	struct bytes waiting;
};

void output_init(struct output *output, int fd);

/* Drops what was not flushed. */
void output_deinit(struct output *output);
#define CLEANUP_OUTPUT CLEANUP(output_deinit)

void output_bytes(struct output *output, const void *data, size_t length);
void output_text(struct output *output, const char *text);
void output_format(struct output *output, const char *format, ...) PRINTF_LIKE(2, 3);

/* Writes what is waiting. Returns 0, or the first failure since output_init(). */
MUST_CHECK int output_flush(struct output *output);

#endif
