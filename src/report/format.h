/* SPDX-License-Identifier: MIT */
#ifndef REPORT_FORMAT_H
#define REPORT_FORMAT_H

/* What a format has to do. report.c calls begin, then group or single for each thing in turn, then
 * end. Failures of the output are found there; the functions return only others, as -errno.
 */

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/size.h"
#include "report/copies.h"
#include "report/report.h"
#include "report/selection.h"

/* A report being printed. */
struct printing {
	const struct report *report;
	struct output *output;
	struct report_summary summary; /* whole when end is called */
	uint64_t printed; /* groups or files so far */
	struct bytes path; /* for format_path() */
};

struct format {
	MUST_CHECK int (*begin)(struct printing *printing);
	MUST_CHECK int (*group)(struct printing *printing, const struct group_record *group,
				const struct copies *copies);
	MUST_CHECK int (*single)(struct printing *printing, const struct single *single);
	MUST_CHECK int (*end)(struct printing *printing);
	bool can_summarize; /* has a place for the figures alone */
	bool can_explain; /* has a place for reasons */
};

extern const struct format format_text;
extern const struct format format_fdupes;
extern const struct format format_json;
extern const struct format format_jsonl;
extern const struct format format_csv;
extern const struct format format_null;

/* What would come free, in bytes, if all went that may. */
static inline uint64_t format_reclaimable(const struct group_record *group,
					  const struct copies *copies)
{
	return size_multiply(copies->redundant, group->size);
}

/* "kept", "redundant" or "spared". */
const char *format_fate(enum fate fate);

/* Whether the part that is asked for shows this copy. */
bool format_shows(const struct printing *printing, const struct copy *copy);

/* Makes the path of a copy, behind what its source begins with, in printing->path; until the next
 * one. */
MUST_CHECK int format_path(struct printing *printing, const char *source,
			   const struct copies *copies, const struct copy *copy);

/* The same, absolute. */
MUST_CHECK int format_absolute_path(struct printing *printing, const struct copies *copies,
				    const struct copy *copy);

#endif
