/* SPDX-License-Identifier: MIT */
#include "cli/common_options.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/output.h"
#include "base/path.h"

/* ---- globs ---------------------------------------------------------------------------------- */

int glob_option_add(struct text_list *globs, const char *option, const char *glob)
{
	const char *fault = glob_fault(glob);

	if (!fault)
		return text_list_add(globs, glob, strlen(glob));
	log_error("cannot use the glob %s of option '%s': %s", quote_path(glob), option, fault);
	return -EBADMSG;
}

/* Returns what is wrong with a line, or NULL. The rules of rsync and gitignore that begin so would
 * have another meaning as globs. */
static const char *line_fault(const char *line, size_t length)
{
	if (strlen(line) != length)
		return "it contains a NUL";
	if (line[0] == '!')
		return "a line cannot include names again; write \\! for the character";
	if (strncmp(line, "+ ", 2) == 0 || strncmp(line, "- ", 2) == 0)
		return "a line has only the glob; write \\+ or \\- for the character";
	return glob_fault(line);
}

static int add_lines(struct text_list *globs, const char *file, FILE *stream)
{
	AUTO_FREE char *line = NULL;
	size_t capacity = 0, number = 0;
	ssize_t length;
	int r = 0;

	while (r == 0 && (length = getline(&line, &capacity, stream)) >= 0) {
		const char *fault;

		number++;
		if (length > 0 && line[length - 1] == '\n')
			line[--length] = '\0';
		if (length == 0 || line[0] == '#')
			continue;
		fault = line_fault(line, (size_t)length);
		if (fault) {
			log_error("cannot use line %zu of %s: %s", number, quote_path(file), fault);
			return -EBADMSG;
		}
		r = text_list_add(globs, line, (size_t)length);
	}
	return r == 0 && ferror(stream) ? -EIO : r;
}

/* Adds the globs of a file, one in each line. Empty lines, and lines that begin with '#', are
 * skipped; a backslash before '#' makes it a part of the glob. Returns 0, -EBADMSG (logged) for a
 * malformed line, or another -errno. */
static int add_file(struct text_list *globs, const char *file)
{
	FILE *stream = fopen(file, "re");
	int r;

	if (!stream)
		return -errno;
	r = add_lines(globs, file, stream);
	(void)fclose(stream);
	return r;
}

/* ---- the options ---------------------------------------------------------------------------- */

int option_set_size(void *member, const char *value)
{
	return size_parse(value, member);
}

int option_set_text(void *member, const char *value)
{
	*(const char **)member = value;
	return 0;
}

int option_ignore(void *member, const char *value)
{
	(void)member;
	(void)value;
	return 0;
}

static int set_exclude(void *member, const char *value)
{
	return glob_option_add(member, "--exclude", value);
}

static int set_excludes(void *member, const char *file)
{
	struct index_settings *settings = member;
	size_t first = settings->listed_excludes.count;
	int r = add_file(&settings->listed_excludes, file);

	for (size_t i = first; r == 0 && i < settings->listed_excludes.count; i++) {
		const char *glob = settings->listed_excludes.items[i];

		r = text_list_add(&settings->excludes, glob, strlen(glob));
	}
	return r;
}

static int set_false(void *member, const char *value)
{
	(void)value;
	*(bool *)member = false;
	return 0;
}

static int set_json(void *member, const char *value)
{
	int found = options_find_word("text|json", value);

	*(bool *)member = found == 1;
	return found < 0 ? found : 0;
}

static int set_quiet(void *member, const char *value)
{
	struct common_settings *settings = member;

	(void)value;
	settings->quiet = true;
	settings->index.progress = PROGRESS_NEVER;
	log_set_level(LOG_LEVEL_WARNING);
	return 0;
}

static int print_version(void *member, const char *value)
{
	(void)member;
	(void)value;
	(void)printf("twinfs %s\n", TWINFS_VERSION);
	return OPTIONS_DONE;
}

#define VERSION_OPTION                                                                  \
	{                                                                               \
		.name = "version", .letter = 'V', .help = "print the version and exit", \
		.set = print_version,                                                   \
	}

const struct option_spec index_option[] = {
	{.heading = "Index"},
	{
		.name = "index",
		.argument = "DIR",
		.help = "directory of the index (default: one per set of sources, below "
			"~/.local/state/twinfs, or /var/lib/twinfs for root)",
		.at = offsetof(struct common_settings, index.folder),
	},
	{0},
};

const struct option_spec no_scan_option[] = {
	{
		.name = "no-scan",
		.help = "do not examine the sources, which can be absent: print what the index "
			"knows since its last scan",
		.at = offsetof(struct common_settings, index.no_scan),
	},
	{0},
};

const struct option_spec files_option[] = {
	{
		.name = "files0-from",
		.argument = "FILE",
		.help = "take the names of files and folders from FILE (-: standard input) "
			"instead of the command line; each ends with a NUL, as from find -print0",
		.at = offsetof(struct common_settings, index.names_from),
		.expects = "a file",
	},
	{0},
};

const struct option_spec one_index_option[] = {
	{.heading = "Index"},
	{
		.name = "index",
		.argument = "DIR",
		.help = "directory of the only index to read (default: all indexes below "
			"~/.local/state/twinfs, or /var/lib/twinfs for root)",
		.at = offsetof(struct common_settings, index.folder),
	},
	{0},
};

const struct option_spec scan_options[] = {
	{.heading = "Files to scan"},
	{
		.name = "min-size",
		.argument = "SIZE",
		.help = "leave out files smaller than SIZE: bytes, or a number with k, M or G "
			"(default: 1, so that empty files are not duplicates)",
		.at = offsetof(struct common_settings, index.min_size),
		.given = offsetof(struct common_settings, index.min_size_given),
		.set = option_set_size,
		.expects = SIZE_EXPECTED,
	},
	{
		.name = "exclude",
		.argument = "GLOB",
		.help = "leave out files and directories that match GLOB: a GLOB without a slash "
			"is compared with the base name, a GLOB with a slash with the path below "
			"the source; a GLOB with a slash at its end is for directories only; can "
			"be given more than once",
		.at = offsetof(struct common_settings, index.excludes),
		.set = set_exclude,
		.expects = "a glob",
	},
	{
		.name = "exclude-from",
		.argument = "FILE",
		.help = "leave out what the globs in FILE match, one in each line; empty lines, "
			"and lines that begin with #, are skipped",
		.at = offsetof(struct common_settings, index),
		.set = set_excludes,
		.expects = "a file",
	},
	{0},
};

const struct option_spec walk_options[] = {
	{
		.name = "one-file-system",
		.letter = 'x',
		.help = "do not enter other file systems (default)",
		.at = offsetof(struct common_settings, index.cross_mounts),
		.given = offsetof(struct common_settings, index.file_systems_given),
		.set = set_false,
	},
	{
		.name = "cross-file-systems",
		.help = "enter other file systems",
		.at = offsetof(struct common_settings, index.cross_mounts),
		.given = offsetof(struct common_settings, index.file_systems_given),
	},
	{
		.name = "disk",
		.argument = "auto|rotating|solid",
		.help = "order in which files are read: in the order of their blocks on the disk "
			"(rotating), in any order (solid), or as the type of the disk and the "
			"measured read times suggest (auto, the default)",
		.at = offsetof(struct common_settings, index.disk),
		.given = offsetof(struct common_settings, index.disk_given),
	},
	{
		.name = "accept-changed-source",
		.help = "accept a source that is on another file system than at the last scan, "
			"that is empty but was not, or that is an empty mount point of a view",
		.at = offsetof(struct common_settings, index.accept_changed_source),
	},
	{0},
};

const struct option_spec format_option[] = {
	{.heading = "Output"},
	{
		.name = "format",
		.letter = 'F',
		.argument = "text|json",
		.help = "output format (default: text, for people)",
		.at = offsetof(struct common_settings, json),
		.set = set_json,
	},
	{0},
};

const struct option_spec message_options[] = {
	{.heading = "Messages"},
	{
		.name = "progress",
		.argument = "auto|always|never",
		.help = "show progress on stderr: auto (if stderr is a terminal, the default), "
			"always or never",
		.at = offsetof(struct common_settings, index.progress),
	},
	{
		.name = "quiet",
		.help = "print errors and warnings only",
		.set = set_quiet,
	},
	VERSION_OPTION,
	{0},
};

const struct option_spec version_option[] = {
	{.heading = "Other"},
	VERSION_OPTION,
	{0},
};

void common_settings_init(struct common_settings *settings)
{
	index_settings_init(&settings->index);
}

void common_settings_deinit(struct common_settings *settings)
{
	index_settings_deinit(&settings->index);
}

enum progress_when common_progress(const struct common_settings *settings)
{
	return settings->quiet ? PROGRESS_NEVER : settings->index.progress;
}

const char *find_operand_fault(const struct index_settings *settings, size_t operand_count)
{
	if (settings->names_from)
		return operand_count > 0 ? "--files0-from names the operands: give no others"
					 : NULL;
	return operand_count > 0 ? NULL : "no SOURCE, no FILE and no MOUNTPOINT given";
}

const char *find_source_fault(const struct index_settings *settings, size_t operand_count)
{
	if (settings->no_scan && settings->accept_changed_source)
		return "--no-scan examines no source: omit --accept-changed-source";
	if (settings->no_scan && settings->names_from)
		return "--no-scan examines no file: omit --files0-from";
	if (!settings->no_scan)
		return find_operand_fault(settings, operand_count);
	if (operand_count > 0 || settings->folder)
		return NULL;
	return "no SOURCE, no MOUNTPOINT and no --index=DIR given";
}

int usage_check(const struct option_table *table, const char *fault)
{
	if (!fault)
		return 0;
	options_complain(table, "%s", fault);
	return -EINVAL;
}

void print_result_end(struct output *output)
{
	int r = output_flush(output);

	if (r < 0)
		log_error("cannot write the result: %s", error_text(r));
}

enum twinfs_exit options_exit(int result)
{
	switch (result) {
	case OPTIONS_DONE:
		return TWINFS_EXIT_COMPLETE;
	case -EINVAL:
	case -ERANGE:
		return TWINFS_EXIT_USAGE;
	default:
		return TWINFS_EXIT_FAILED;
	}
}

/* ---- durations and moments ------------------------------------------------------------------- */

/* Highest age. Later moments fit in nanoseconds since 1970, as in clock_ns(). */
#define AGE_SECONDS_MAX (INT64_C(500) * 365 * 86400)

/* Which texts have a unit. */
enum unit_use {
	USE_DURATION = 1,
	USE_AGE = 2,
};

/* Parses a number with a unit that is for this use. Sets the seconds of the unit. Returns 0,
 * -EINVAL or -ERANGE. */
static int parse_amount(const char *text, enum unit_use use, uint64_t *number, uint64_t *seconds)
{
	static const struct {
		const char *name;
		uint64_t seconds;
		unsigned int uses; /* enum unit_use, or-ed */
	} units[] = {
		{"", 1, USE_DURATION},
		{"s", 1, USE_DURATION},
		{"m", 60, USE_DURATION | USE_AGE},
		{"h", 3600, USE_DURATION | USE_AGE},
		{"d", 86400, USE_DURATION | USE_AGE},
		{"w", 604800, USE_AGE},
		{"y", 31536000, USE_AGE},
	};
	size_t digits = strspn(text, "0123456789");

	for (size_t i = 0; digits > 0 && i < ARRAY_SIZE(units); i++) {
		if (units[i].uses & use && strcmp(text + digits, units[i].name) == 0) {
			*seconds = units[i].seconds;
			return number_read(text, digits, number);
		}
	}
	return -EINVAL;
}

int duration_parse(const char *text, uint64_t *milliseconds)
{
	uint64_t number, seconds;
	int r = parse_amount(text, USE_DURATION, &number, &seconds);

	if (r < 0)
		return r;
	/* the value must also fit in nanoseconds */
	if (__builtin_mul_overflow(number, seconds * 1000, &number) || number > UINT64_MAX / MS_NS)
		return -ERANGE;
	*milliseconds = number;
	return 0;
}

static int parse_age(const char *text, struct timespec now, struct timespec *moment)
{
	uint64_t number, seconds;
	int r = parse_amount(text, USE_AGE, &number, &seconds);

	if (r < 0)
		return r;
	if (number > AGE_SECONDS_MAX / seconds)
		return -ERANGE;
	*moment = now;
	moment->tv_sec -= (time_t)(number * seconds);
	return 0;
}

/* Parses a time of day, with or without seconds, or none. */
static bool parse_time(const char *text, struct tm *parts)
{
	const char *end;

	if (*text == '\0')
		return true;
	if (*text != ' ' && *text != 'T')
		return false;
	end = strptime(text + 1, "%H:%M", parts);
	if (end && *end == ':')
		end = strptime(end, ":%S", parts);
	return end && *end == '\0';
}

int moment_parse(const char *text, struct timespec now, struct timespec *moment)
{
	struct tm parts = {.tm_isdst = -1};
	const char *end = strptime(text, "%Y-%m-%d", &parts);
	int day = parts.tm_mday;
	time_t seconds;

	if (!end)
		return parse_age(text, now, moment);
	if (!parse_time(end, &parts))
		return -EINVAL;
	parts.tm_isdst = -1;
	seconds = mktime(&parts);
	if (parts.tm_mday != day) /* a day like February 30 */
		return -EINVAL;
	*moment = (struct timespec){.tv_sec = seconds};
	return 0;
}
