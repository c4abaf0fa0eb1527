/* SPDX-License-Identifier: MIT */
#ifndef CLI_LIST_PRINT_H
#define CLI_LIST_PRINT_H

/* What list prints, and a dry run of an act. For the first thread; everything is borrowed. */

#include "base/attributes.h"
#include "cli/common_options.h"
#include "cli/rule_options.h"
#include "report/bundle.h"
#include "report/report.h"
#include "twinfs/exit.h"

struct current_index;

struct list_request {
	const struct common_settings *common;
	const struct rule_settings *rules;
	/* What to print: reader, sources, shown, rules and min_size are still to be set. */
	struct report report;
};

/* A report of everything, for people. */
struct report list_report(void);

/* Takes the argument of --format: 0 or -EINVAL. LIST_FORMATS are those there are. */
#define LIST_FORMATS "text|fdupes|json|jsonl|csv|null"
MUST_CHECK int list_parse_format(const char *word, enum report_format *format);

/* Completes a report of what was asked for, of a snapshot of the index. 0 or -errno; -EXDEV where
 * the rules do not fit the sources, which is said. */
MUST_CHECK int list_prepare(const struct list_request *request, const struct current_index *index,
			    struct catalog_reader *reader, struct report *report);

/* Logs how many copies stay for which bundle. */
void list_say_bundles(const struct bundle_tally *tally);

/* Prints it. What to exit with; all is said. */
enum twinfs_exit list_print(const struct list_request *request, const struct current_index *index);

#endif
