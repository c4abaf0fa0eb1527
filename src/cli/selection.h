/* SPDX-License-Identifier: MIT */
#ifndef CLI_SELECTION_H
#define CLI_SELECTION_H

/* The options that select groups (choose/filter.h), and which of their copies are kept and which
 * are redundant, for list, report and the acts. For the main thread.
 *
 * A command adds filter_options, keep_option and rule_options to its table. Its settings begin with
 * a struct selection_settings. When the index is current, and before copies are selected, it calls
 * rule_settings_prepare() and filter_settings_prepare(), or list_prepare().
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/options.h"
#include "base/text.h"
#include "choose/filter.h"
#include "choose/report.h"
#include "choose/rules.h"
#include "cli/common_options.h"

struct catalog_reader;
struct current_index;
struct sources;

/* The rules, for help, and what --keep expects. */
#define KEEP_RULE_WORDS                                                                        \
	"source-order, first-seen, oldest, newest, shortest-path, longest-path, most-linked, " \
	"path:GLOB"
#define KEEP_RULES_EXPECTED "comma-separated rules: " KEEP_RULE_WORDS

struct rule_settings {
	struct rules rules; /* the rules given so far; points into the other members */
	struct keep_rules keep;
	struct keep_rules of_index; /* set by rule_settings_prepare() */
	struct text_list protect; /* absolute, without symlinks */
	struct text_list only;
};

extern const struct option_spec keep_option[];
extern const struct option_spec rule_options[];

/* Appends the rules of one --keep. Returns 0, -EINVAL, -EBADMSG (logged) for a malformed glob, or
 * -ENOMEM. */
MUST_CHECK int keep_option_apply(struct keep_rules *rules, const char *list);

/* Returns what is wrong with the rules for these operands, or NULL: --between-sources needs two
 * sources. The sources of a view, and of a file with names, are not checked here. */
const char *rule_settings_fault(const struct rule_settings *settings, char *const *operands,
				size_t count);

/* Reads the keep rules of the index, and checks that the rules fit the sources: each path of
 * --protect and --only is in the index, and --between-sources has two sources. Returns 0, -EXDEV
 * (logged) if they do not fit, or another -errno. */
MUST_CHECK int rule_settings_prepare(struct rule_settings *settings, struct catalog_reader *reader,
				     const struct sources *sources);

/* ---- filters --------------------------------------------------------------------------------- */

struct filter_settings {
	struct filter filter; /* points into the other members */
	struct text_list excludes; /* globs, set by filter_settings_prepare() */
	struct text_list paths, paths_any_case; /* globs */
	struct text_list extensions;
	struct filter_regex **regexes; /* NULL-terminated */
	size_t regex_count, regex_capacity;
	bool copies_given;
	bool explained; /* filter_settings_explain() was called */
	uint64_t unmatched_excludes; /* set by filter_settings_explain() */
};

extern const struct option_spec filter_options[];

/* ---- both ------------------------------------------------------------------------------------ */

struct selection_settings {
	struct common_settings common;
	struct rule_settings rules;
	struct filter_settings filters;
};

/* Sets what is not zero at first, and that operands can be files. */
void selection_init(struct selection_settings *selection);
void selection_free(struct selection_settings *selection);

/* Returns what is wrong with the filters, or NULL. */
const char *filter_settings_fault(const struct selection_settings *selection);

/* Returns whether any filter is given, --min-size and --exclude included. */
bool filter_settings_given(const struct selection_settings *selection);

/* Returns whether the filters select groups by the names of copies. */
bool filter_settings_by_name(const struct filter_settings *settings);

/* Completes the filter for a snapshot of the index: --min-size, and each --exclude that the last
 * scan did not have. all_sizes: without --min-size, the smallest size is that of the index. Returns
 * 0 or -errno. */
MUST_CHECK int filter_settings_prepare(struct filter_settings *settings,
				       const struct current_index *index,
				       struct catalog_reader *reader, bool all_sizes);

/* Logs each pattern that matches no file of the index, in the snapshot in which the filter was
 * used, except those of --exclude-from. Does nothing if it was called before. Returns 0 or
 * -errno. */
MUST_CHECK int filter_settings_explain(struct filter_settings *settings,
				       const struct current_index *index,
				       struct catalog_reader *reader);

/* ---- the report of selected copies ----------------------------------------------------------- */

struct list_request {
	struct selection_settings *selection;
	/* The requested report. The caller leaves reader, sources, rules, filter and shown empty,
	 * and stays for REPORT_REDUNDANT: list_prepare() and list_print() set them in a copy. */
	struct report report;
};

/* The argument of --format, in the order of enum report_format. */
#define LIST_FORMATS "text|fdupes|json|jsonl|csv|null"

/* Makes the requested report for a snapshot of the index. Returns 0, -EXDEV (logged) if the rules
 * or options do not fit the sources, or another -errno. */
MUST_CHECK int list_prepare(const struct list_request *request, const struct current_index *index,
			    struct catalog_reader *reader, struct report *report);

#endif
