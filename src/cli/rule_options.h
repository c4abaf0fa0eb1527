/* SPDX-License-Identifier: MIT */
#ifndef CLI_RULE_OPTIONS_H
#define CLI_RULE_OPTIONS_H

/* The options that say which copies stay and which may go: --keep, --protect, --only,
 * --between-sources and --include-bundles. For the first thread.
 *
 * A command puts rule_options into its table and a struct rule_settings into its settings, and
 * gives to rule_apply() what has an id from OPTION_ID_RULES up to OPTION_ID_OWN. When the index is
 * current, and before anything is decided, it calls rule_settings_check().
 */

#include "base/attributes.h"
#include "base/options.h"
#include "base/text_list.h"
#include "report/rules.h"

struct catalog_reader;
struct sources;

/* Below OPTION_ID_OWN, above what common_options.c has. */
#define OPTION_ID_RULES 50

struct rule_settings {
	struct rules rules; /* what was asked for so far; points into the rest */
	struct keep_rule *keep;
	size_t keep_capacity;
	struct text_list globs; /* of the keep rules */
	struct text_list protect; /* absolute, without symlinks */
	struct text_list only;
};

extern const struct option_spec rule_options[];

void rule_settings_init(struct rule_settings *settings);
void rule_settings_deinit(struct rule_settings *settings);

/* Takes one of these options; the results are those of struct option_table's apply. Folders and
 * files must be there, and are resolved at once. */
MUST_CHECK int rule_apply(struct rule_settings *settings, int id, const char *value);

/* Whether the rules fit the sources: each path of --protect and --only has to do with one, and for
 * --between-sources there are two. 0 or -errno, said. */
MUST_CHECK int rule_settings_check(const struct rule_settings *settings,
				   struct catalog_reader *reader, const struct sources *sources);

#endif
