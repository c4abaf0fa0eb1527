/* SPDX-License-Identifier: MIT */
#ifndef CLI_COMMON_OPTIONS_H
#define CLI_COMMON_OPTIONS_H

/* Options that several commands share. For the main thread.
 *
 * A command adds the lists that it needs to its option table. Its settings begin with a struct
 * common_settings.
 */

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/attributes.h"
#include "base/options.h"
#include "base/text.h"
#include "scan/indexing.h"
#include "twinfs/exit.h"

struct output;

struct common_settings {
	struct index_settings index;
	bool json; /* --format */
	bool quiet;
};

extern const struct option_spec index_option[]; /* --index */
extern const struct option_spec no_scan_option[]; /* --no-scan, of queries; after index_option */
extern const struct option_spec files_option[]; /* --files0-from; after scan_options */
extern const struct option_spec one_index_option[]; /* --index of commands for all indexes */
extern const struct option_spec scan_options[]; /* which files are left out */
extern const struct option_spec walk_options[]; /* how sources are scanned; after scan_options */
extern const struct option_spec format_option[]; /* --format=text|json */
extern const struct option_spec message_options[]; /* --progress, --quiet, --version */
extern const struct option_spec version_option[]; /* --version */

void common_settings_init(struct common_settings *settings);
void common_settings_deinit(struct common_settings *settings);

/* Returns when a command shows its progress: never with --quiet. */
enum progress_when common_progress(const struct common_settings *settings);

/* For struct option_spec: sets a uint64_t to the bytes of a SIZE, or a const char * to a text that
 * can be empty, or nothing. */
int option_set_size(void *member, const char *value);
int option_set_text(void *member, const char *value);
int option_ignore(void *member, const char *value);

/* Adds the glob of an option, like "--path". Returns 0, -EBADMSG (logged) for a malformed glob, or
 * -ENOMEM. */
MUST_CHECK int glob_option_add(struct text_list *globs, const char *option, const char *glob);

/* Returns what is wrong with the number of operands, SOURCE|FILE... or MOUNTPOINT, of a command
 * with files_option, or NULL. */
const char *find_operand_fault(const struct index_settings *settings, size_t operand_count);

/* Works like find_operand_fault(), for a command that also has no_scan_option. */
const char *find_source_fault(const struct index_settings *settings, size_t operand_count);

/* If fault is NULL, returns 0. If not, logs it as what is wrong with the command line, and returns
 * -EINVAL. */
MUST_CHECK int usage_check(const struct option_table *table, const char *fault);

/* Writes the output of a command after its work. Logs a failure. */
void print_result_end(struct output *output);

/* Converts a result that is not 0 of options_parse() or usage_check() to an exit status. */
enum twinfs_exit options_exit(int result);

/* ---- durations and moments ------------------------------------------------------------------- */

/* Durations, and moments in the past, as users write them. Any thread. */

/* Describes a duration in messages about options. */
#define DURATION_EXPECTED "a number with s, m, h or d (seconds without), like 90 or 15m"

/* Parses a whole number with a unit s, m, h or d, or without a unit for seconds. Returns 0,
 * -EINVAL, or -ERANGE above about 500 years. */
MUST_CHECK int duration_parse(const char *text, uint64_t *milliseconds);

/* Describes a moment in messages about options. */
#define MOMENT_EXPECTED \
	"an age with m, h, d, w or y, like 7d, or a date like 2024-01-31 or '2024-01-31 18:30'"

/* Parses an age, which is a number of minutes, hours, days, weeks or years (of 365 days) before
 * now, or a date with an optional time in the local time zone. Returns 0, -EINVAL, or -ERANGE for
 * an age above about 500 years. */
MUST_CHECK int moment_parse(const char *text, struct timespec now, struct timespec *moment);

#endif
