/* SPDX-License-Identifier: MIT */
#ifndef CLI_LIST_PRINT_H
#define CLI_LIST_PRINT_H

/* The output of list and of a dry run of an act. For the main thread; everything is borrowed. */

#include "base/attributes.h"
#include "choose/report.h"
#include "cli/filter_options.h"
#include "cli/rule_options.h"
#include "twinfs/exit.h"

struct current_index;

struct list_request {
	struct rule_settings *rules;
	struct filter_settings *filters;
	/* The requested report. The caller leaves reader, sources, rules, filter and shown empty,
	 * and stays for REPORT_REDUNDANT: list_prepare() and list_print() set them in a copy. */
	struct report report;
};

/* Parses the argument of --format, one of LIST_FORMATS. Returns 0 or -EINVAL. */
#define LIST_FORMATS "text|fdupes|json|jsonl|csv|null"
MUST_CHECK int list_parse_format(const char *word, enum report_format *format);

/* Makes the requested report for a snapshot of the index. Returns 0, -EXDEV (logged) if the rules
 * or options do not fit the sources, or another -errno. */
MUST_CHECK int list_prepare(const struct list_request *request, const struct current_index *index,
			    struct catalog_reader *reader, struct report *report);

/* Prints the list. Returns the exit status. Failures are logged. */
enum twinfs_exit list_print(const struct list_request *request, struct current_index *index);

#endif
