/* SPDX-License-Identifier: MIT */
#ifndef BASE_OUTPUT_H
#define BASE_OUTPUT_H

/* What a command prints: buffered, and no write that fails goes unseen, not even to a full disk
 * or a closed pipe.
 *
 * The first failure is kept and everything after it dropped, so that a writer need not look after
 * each line, only now and then whether it is worth going on. One thread at a time.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "base/bytes.h"

struct output {
	int fd; /* borrowed */
	bool terminal; /* names are quoted, as a terminal would obey control bytes in them */
	int error; /* the first failure, -errno */
	struct bytes waiting;
};

/* Sets terminal if fd is a terminal. A caller that copies the output to a terminal later sets it
 * itself. */
void output_init(struct output *output, int fd);

/* Drops what was not flushed. */
void output_deinit(struct output *output);
#define CLEANUP_OUTPUT CLEANUP(output_deinit)

void output_bytes(struct output *output, const void *data, size_t length);
void output_text(struct output *output, const char *text);
void output_format(struct output *output, const char *format, ...) PRINTF_LIKE(2, 3);

/* Writes a name: its exact bytes, or on a terminal as shell_name_append() quotes it. */
void output_name(struct output *output, const void *name, size_t length);

/* Writes JSON, in parts of whole characters. On a terminal, characters that it would obey or hide
 * (utf8_is_unfit) become \\u escapes, which mean the same. JSON has no such characters below
 * U+007F but line ends between values. */
void output_json(struct output *output, const char *text, size_t length);

/* Writes what is waiting. Returns 0, or the first failure since output_init(). */
MUST_CHECK int output_flush(struct output *output);

#endif
