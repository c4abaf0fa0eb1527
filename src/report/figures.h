/* SPDX-License-Identifier: MIT */
#ifndef REPORT_FIGURES_H
#define REPORT_FIGURES_H

/* The figures of an index as text for people, one line each: a label, then the value. One thread at
 * a time.
 */

#include "base/attributes.h"
#include "base/output.h"
#include "report/summary.h"

/* Prints one line: the label, then the formatted value in a column that is the same in all lines. A
 * value of more than 511 bytes is truncated. */
void figure_print(struct output *output, const char *label, const char *format, ...)
	PRINTF_LIKE(3, 4);

/* Prints one line whose value is a path. The path is quoted if needed and never truncated. Returns
 * 0 or -ENOMEM. */
MUST_CHECK int figure_print_path(struct output *output, const char *label, const char *path);

/* Highest number of bytes that figure_size() writes, with the NUL. */
#define FIGURE_SIZE_MAX 64

/* Writes "2.2 GiB (2,345,678,901 bytes)", or only the bytes if the size is small. Returns text. */
const char *figure_size(char text[static FIGURE_SIZE_MAX], uint64_t bytes);

/* Prints all figures. */
void figures_print(struct output *output, const struct report_summary *summary);

/* As figures_print(), for groups of folders. */
void figures_print_folders(struct output *output, const struct report_summary *summary);

#endif
