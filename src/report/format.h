/* SPDX-License-Identifier: MIT */
#ifndef REPORT_FORMAT_H
#define REPORT_FORMAT_H

/* The functions of an output format. report.c calls begin, then group or single for each item in
 * turn, then end. report.c checks for failures of the output. The functions of the format return
 * only other failures, as -errno.
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
	struct report_summary summary; /* complete when end is called */
	uint64_t printed; /* groups or files so far */
	struct bytes path; /* the result of format_path() */
};

struct format {
	void (*begin)(struct printing *printing); /* NULL: prints nothing */
	MUST_CHECK int (*group)(struct printing *printing, const struct group_record *group,
				const struct copies *copies);
	/* prints one name of a file */
	MUST_CHECK int (*single)(struct printing *printing, const struct single *single,
				 const struct copy *name);
	MUST_CHECK int (*end)(struct printing *printing); /* NULL: prints nothing */
	bool can_summarize; /* can print the figures alone */
	bool can_explain; /* can print the reason of each fate */
};

extern const struct format format_text;
extern const struct format format_fdupes;
extern const struct format format_json;
extern const struct format format_jsonl;
extern const struct format format_csv;
extern const struct format format_null;

/* Returns the reclaimable bytes of a group by the fates of its copies. */
static inline uint64_t format_reclaimable(const struct group_record *group,
					  const struct copies *copies)
{
	return size_multiply(copies->redundant, group->size);
}

/* Returns "kept", "redundant" or "spared". */
const char *format_fate(enum fate fate);

/* Returns whether the selected part of the report shows this copy. */
bool format_shows(const struct printing *printing, const struct copy *copy);

/* Sets printing->path to the path of a copy, which begins with the given path of its source. Valid
 * until the next call. Returns 0 or -errno. */
MUST_CHECK int format_path(struct printing *printing, const char *source,
			   const struct copies *copies, const struct copy *copy);

/* Sets printing->path to the absolute path of a copy. Returns 0 or -errno. */
MUST_CHECK int format_absolute_path(struct printing *printing, const struct copies *copies,
				    const struct copy *copy);

#endif
