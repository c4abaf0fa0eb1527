/* SPDX-License-Identifier: MIT */
#ifndef CLI_COMMON_OPTIONS_H
#define CLI_COMMON_OPTIONS_H

/* Options that several commands share. For the first thread.
 *
 * A command puts the lists that it wants into its option table, a struct common_settings into its
 * settings, and gives to common_apply() what its own apply function does not know.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/options.h"
#include "base/progress.h"
#include "cli/text_list.h"
#include "ingest/ingest.h"
#include "twinfs/exit.h"

/* A command's own options are numbered from here. */
#define OPTION_ID_OWN 100

struct common_settings {
	const char *index; /* as given, borrowed; NULL: not given */
	uint64_t min_size; /* bytes */
	bool min_size_given;
	struct text_list excludes; /* globs */
	bool cross_file_systems;
	bool file_systems_given; /* --one-file-system or --cross-file-systems */
	enum ingest_disk disk;
	bool disk_given;
	bool accept_changed_source;
	bool json; /* --format */
	bool quiet;
	enum progress_when progress;
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

/* The place of a word in a list of count, or -EINVAL. */
MUST_CHECK int parse_word(const char *word, const char *const words[], size_t count);

/* The word for a way to read, as --disk takes it. */
const char *common_disk_word(uint32_t disk);

/* What a command exits with after options_parse() or options_apply_item() gave this, not 0. */
enum twinfs_exit options_exit(int result);

#endif
