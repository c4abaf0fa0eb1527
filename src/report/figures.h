/* SPDX-License-Identifier: MIT */
#ifndef REPORT_FIGURES_H
#define REPORT_FIGURES_H

/* The figures of an index as people read them: one line each, a word and what it is. One thread
 * at a time.
 */

#include "base/attributes.h"
#include "base/output.h"
#include "report/summary.h"

/* Prints one line: the word, and behind it, aligned with that of other lines, the rest. */
void figure_print(struct output *output, const char *word, const char *format, ...)
	PRINTF_LIKE(3, 4);

/* The same for a path, quoted where it is odd and never cut. 0 or -ENOMEM. */
MUST_CHECK int figure_print_path(struct output *output, const char *word, const char *path);

/* Room for what figure_size() writes. */
#define FIGURE_SIZE_MAX 64

/* Writes "2.2 GiB (2,345,678,901 bytes)", or for small sizes the bytes alone. Returns text. */
const char *figure_size(char text[static FIGURE_SIZE_MAX], uint64_t bytes);

/* Prints all figures. */
void figures_print(struct output *output, const struct report_summary *summary);

#endif
