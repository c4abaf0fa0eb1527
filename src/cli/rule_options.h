/* SPDX-License-Identifier: MIT */
#ifndef CLI_RULE_OPTIONS_H
#define CLI_RULE_OPTIONS_H

/* The options that select which copies are kept and which are redundant: --keep, --protect, --only,
 * --between-sources and --include-bundles. For the main thread.
 *
 * A command adds keep_option and rule_options to its table and a struct rule_settings to its
 * settings. It passes options with ids from OPTION_ID_RULES to OPTION_ID_OWN - 1 to rule_apply().
 * When the index is current, and before copies are selected, it calls rule_settings_prepare().
 */

#include "base/attributes.h"
#include "base/options.h"
#include "base/text_list.h"
#include "choose/rules.h"

struct catalog_reader;
struct sources;

/* The id of keep_option, and the first id of rule_options: above the ids of common_options.c, below
 * OPTION_ID_OWN. */
#define OPTION_ID_RULES 50

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

void rule_settings_init(struct rule_settings *settings);
void rule_settings_deinit(struct rule_settings *settings);

/* Applies one of these options. The results are those of the apply function of struct option_table.
 * Folders and files must exist; their paths are resolved at once. */
MUST_CHECK int rule_apply(struct rule_settings *settings, int id, const char *value);

/* Returns what is wrong with the rules for these operands, or NULL: --between-sources needs two
 * sources. The sources of a view, and of a file with names, are not checked here. */
const char *rule_settings_fault(const struct rule_settings *settings, char *const *operands,
				size_t count);

/* Reads the keep rules of the index, and checks that the rules fit the sources: each path of
 * --protect and --only is in the index, and --between-sources has two sources. Returns 0, -EXDEV
 * (logged) if they do not fit, or another -errno. */
MUST_CHECK int rule_settings_prepare(struct rule_settings *settings, struct catalog_reader *reader,
				     const struct sources *sources);

#endif
