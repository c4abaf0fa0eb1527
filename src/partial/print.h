/* SPDX-License-Identifier: MIT */
#ifndef PARTIAL_PRINT_H
#define PARTIAL_PRINT_H

#include <stdbool.h>

#include "base/attributes.h"
#include "base/output.h"
#include "choose/report.h"

struct partial;

/* Returns whether runs can be printed in the format: it has offsets. */
bool partial_can_print(enum report_format format);

/* Prints the runs of a plan in their order. For the main thread.
 *
 * format	one that partial_can_print()
 * shown	the path of each source as the user wrote it, for the format text; other formats
 *		have absolute paths
 *
 * Returns 0, -EINTR if stop_requested(), or another -errno. */
MUST_CHECK int partial_print(const struct partial *partial, enum report_format format,
			     const char *const *shown, struct output *output);

#endif
