/* SPDX-License-Identifier: MIT */
#ifndef PARTIAL_PRINT_H
#define PARTIAL_PRINT_H

#include "base/attributes.h"
#include "base/output.h"
#include "choose/report.h"

struct partial;

/* Prints the runs of a plan in their order. For the main thread.
 *
 * format	not REPORT_FDUPES, which has no offsets
 * shown	the path of each source as the user wrote it, for the format text; other formats
 *		have absolute paths
 *
 * Returns 0, -EINTR if stop_requested(), or another -errno. */
MUST_CHECK int partial_print(const struct partial *partial, enum report_format format,
			     const char *const *shown, struct output *output);

#endif
