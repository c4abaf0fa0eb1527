/* SPDX-License-Identifier: MIT */
#ifndef BASE_OUTPUT_H
#define BASE_OUTPUT_H

/* Buffered output of a command, and the terminal that shows it. Every failed write is detected,
 * also on a full disk or a closed pipe.
 *
 * The first failure is kept, and all later output is discarded. Callers need not check each line,
 * only occasionally whether to continue. One thread at a time.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "base/bytes.h"

struct json_t; /* of jansson */

struct output {
	int fd; /* borrowed */
	bool terminal; /* quote names, as a terminal would interpret control bytes in them */
	int error; /* the first failure, -errno */
	struct bytes waiting; /* output that is not written yet */
};

/* Sets output->terminal if fd is a terminal. A caller that later copies the output to a terminal
 * must set output->terminal itself. */
void output_init(struct output *output, int fd);

/* Discards output that was not flushed. */
void output_deinit(struct output *output);
#define CLEANUP_OUTPUT CLEANUP(output_deinit)

void output_bytes(struct output *output, const void *data, size_t length);
void output_text(struct output *output, const char *text);
void output_format(struct output *output, const char *format, ...) PRINTF_LIKE(2, 3);

/* Writes a name: its exact bytes, or as quoted by shell_name_append() if the output is a
 * terminal. */
void output_name(struct output *output, const void *name, size_t length);

/* Writes JSON, or a part of it that ends with a whole character. On a terminal, characters that the
 * terminal would interpret or hide (utf8_is_unfit) become equivalent \u escapes. Only line ends
 * between values stay. */
void output_json(struct output *output, const char *text, size_t length);

/* Writes an object by output_json(), without spaces and line ends, and frees it. Returns 0, or
 * -ENOMEM, also if the object is NULL. */
MUST_CHECK int output_json_object(struct output *output, struct json_t *object);

/* Writes the buffer. Returns 0, or the first failure since output_init(). */
MUST_CHECK int output_flush(struct output *output);

/* The functions below ask for the terminal behind a descriptor. Any thread; they do not block, and
 * preserve errno. */

/* Columns of a terminal that does not report its width. */
#define TERMINAL_WIDTH_DEFAULT 80

/* Clears from the cursor to the end of the line (ECMA-48: EL). */
#define TERMINAL_CLEAR_REST "\033[K"

/* Returns whether the terminal named by TERM can redraw a line. Returns false for "dumb", and if
 * TERM is empty or not set. */
bool terminal_redraws(void);

/* Returns whether this process is in the foreground of the terminal fd, or fd is not the terminal
 * of its session. Returns false for a background job of a shell. */
bool terminal_is_foreground(int fd);

/* Returns the columns of the terminal fd (TERMINAL_WIDTH_DEFAULT if it does not report them), or 0
 * if fd is no terminal. */
unsigned int terminal_width(int fd);

#endif
