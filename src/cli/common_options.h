/* SPDX-License-Identifier: MIT */
#ifndef CLI_COMMON_OPTIONS_H
#define CLI_COMMON_OPTIONS_H

/* Options that several commands share. For the first thread.
 *
 * A command puts the lists that it wants into its option table, a struct common_settings into its
 * settings, and gives to common_apply() what its own apply function does not know.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "base/options.h"
#include "index/index_settings.h"
#include "twinfs/exit.h"

/* A command's own options are numbered from here. */
#define OPTION_ID_OWN 100

struct common_settings {
	struct index_settings index;
	bool json; /* --format */
	bool quiet;
};

extern const struct option_spec index_option[]; /* --index */
extern const struct option_spec one_index_option[]; /* --index, where many are looked at */
extern const struct option_spec scan_options[]; /* what is scanned */
extern const struct option_spec format_option[]; /* --format=text|json */
extern const struct option_spec talk_options[]; /* what is said; --version */
extern const struct option_spec version_option[]; /* --version */

void common_settings_init(struct common_settings *settings);
void common_settings_deinit(struct common_settings *settings);

/* Takes one of these options; the results are those of struct option_table's apply. */
MUST_CHECK int common_apply(struct common_settings *settings, int id, const char *value);

/* What a command exits with after options_parse() or options_apply_item() gave this, not 0. */
enum twinfs_exit options_exit(int result);

#endif
