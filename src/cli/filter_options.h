/* SPDX-License-Identifier: MIT */
#ifndef CLI_FILTER_OPTIONS_H
#define CLI_FILTER_OPTIONS_H

/* The options that select groups for list, report and the acts (choose/filter.h). For the main
 * thread.
 *
 * A command adds filter_options to its table and a struct filter_settings to its settings. It
 * passes options with ids from OPTION_ID_FILTERS to OPTION_ID_RULES - 1 to filter_apply(). When the
 * index is current, it calls filter_settings_prepare() before it uses settings->filter.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/options.h"
#include "base/text_list.h"
#include "choose/filter.h"

struct catalog_reader;
struct current_index;
struct index_settings;

/* The first id of filter_options: above the ids of common_options.c, below OPTION_ID_RULES. */
#define OPTION_ID_FILTERS 30

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

void filter_settings_init(struct filter_settings *settings);
void filter_settings_deinit(struct filter_settings *settings);

/* Applies one of these options. The results are those of the apply function of struct option_table.
 */
MUST_CHECK int filter_apply(struct filter_settings *settings, int id, const char *value);

/* Returns what is wrong with the filters, or NULL. */
const char *filter_settings_fault(const struct filter_settings *settings,
				  const struct index_settings *index);

/* Returns whether any filter is given, --min-size and --exclude included. */
bool filter_settings_given(const struct filter_settings *settings,
			   const struct index_settings *index);

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

#endif
