/* SPDX-License-Identifier: MIT */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

/* Prints what an index knows: its groups, the files that have no copy, its figures. One thread
 * at a time. Memory for one group at a time.
 */

#include <stdint.h>

#include "base/attributes.h"
#include "report/output.h"
#include "report/summary.h"

struct catalog_reader;
struct rules;
struct sources;

enum report_format {
	REPORT_TEXT, /* for people */
	REPORT_FDUPES, /* as fdupes and jdupes print it: any bytes, as they are */
	REPORT_JSON,
};

enum report_part {
	REPORT_GROUPS, /* all copies of each group */
	REPORT_REDUNDANT, /* only those that are not kept */
	REPORT_SINGLES, /* the files that have no copy */
	REPORT_SUMMARY, /* the figures alone */
};

/* All pointers are borrowed. */
struct report {
	struct catalog_reader *reader;
	const struct sources *sources;
	/* How the paths of each source begin in text and as fdupes: as the user wrote it. JSON has
	 * absolute paths. */
	const char *const *shown;
	const struct rules *rules; /* which copies are kept, and which are redundant */
	enum report_format format;
	enum report_part part;
	uint64_t min_size; /* smaller files are left out */
};

/* Prints it and gives its figures. 0 or -errno: -EINTR when stop_requested(). A failure of the output
 * stays in there too. */
MUST_CHECK int report_print(const struct report *report, struct output *output,
			    struct report_summary *summary);

#endif
