/* SPDX-License-Identifier: MIT */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

/* Prints what an index knows: its groups, the files that have no copy, its figures. One thread
 * at a time. Memory for one group at a time, and for sorting where that is asked for.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/output.h"
#include "report/summary.h"

struct bundle_tally;
struct catalog_reader;
struct rules;
struct sources;

enum report_format {
	REPORT_TEXT, /* for people */
	REPORT_FDUPES, /* as fdupes and jdupes print it: exact bytes, but for a terminal */
	REPORT_JSON, /* one object */
	REPORT_JSONL, /* one for each group or file, a line each */
	REPORT_CSV, /* a line for each name */
	REPORT_NULL, /* paths, each with a NUL behind it */
};

enum report_part {
	REPORT_GROUPS, /* all copies of each group */
	REPORT_REDUNDANT, /* only those that may go */
	REPORT_SINGLES, /* the files that have no copy */
	REPORT_SUMMARY, /* the figures alone */
};

enum report_order {
	REPORT_BY_RECLAIMABLE, /* most first; singles as the index has them, the smallest first */
	REPORT_BY_SIZE, /* of one copy, the largest first */
	REPORT_BY_COUNT, /* of inodes, most first; not for singles */
	REPORT_BY_PATH, /* of the kept copy, by source and path */
};

/* All pointers are borrowed. */
struct report {
	struct catalog_reader *reader;
	const struct sources *sources;
	/* How the paths of each source begin in text and as fdupes: as the user wrote it. Other
	 * formats have absolute paths. */
	const char *const *shown;
	const struct rules *rules; /* which copies are kept, and which are redundant */
	enum report_format format;
	enum report_part part;
	enum report_order order;
	bool explain; /* says of each name why it is kept, redundant or spared */
	uint64_t min_size; /* smaller files are left out */
	uint64_t max_size; /* larger ones too */
	/* Globs (glob_matches_within() in base/path.h): what has no name that one of them matches
	 * is left out. NULL-terminated; NULL: nothing is. */
	char *const *paths;
	uint64_t top; /* so many groups or files at most, from 1 */
	struct bundle_tally
		*bundles; /* counts copies that stay for their bundle; NULL: nobody asks */
};

/* Whether the format has a place for the figures alone, and for reasons. */
bool report_can_summarize(enum report_format format);
bool report_can_explain(enum report_format format);

/* Prints it and gives its figures: those of the groups are of the selected ones. 0 or -errno:
 * -EINTR when stop_requested(). A failure of the output stays in there too. */
MUST_CHECK int report_print(const struct report *report, struct output *output,
			    struct report_summary *summary);

#endif
