/* SPDX-License-Identifier: MIT */
#include "cli/selection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/path.h"
#include "cli/common_options.h"
#include "cli/current_index.h"
#include "index/patterns.h"
#include "index/query.h"
#include "index/scan_settings.h"
#include "index/source.h"

void selection_init(struct selection_settings *selection)
{
	selection->common.index.takes_files = true;
	selection->filters.filter = FILTER_NONE;
}

static void filter_settings_free(struct filter_settings *settings)
{
	patterns_free(&settings->filter.excludes);
	patterns_free(&settings->filter.paths);
	patterns_free(&settings->filter.paths_any_case);
	text_list_free(&settings->excludes);
	text_list_free(&settings->paths);
	text_list_free(&settings->paths_any_case);
	text_list_free(&settings->extensions);
	for (size_t i = 0; i < settings->regex_count; i++) {
		regfree(&settings->regexes[i]->compiled);
		free(settings->regexes[i]);
	}
	free(settings->regexes);
}

void selection_free(struct selection_settings *selection)
{
	keep_rules_free(&selection->rules.keep);
	keep_rules_free(&selection->rules.of_index);
	text_list_free(&selection->rules.protect);
	text_list_free(&selection->rules.only);
	filter_settings_free(&selection->filters);
}

/* ---- rules ----------------------------------------------------------------------------------- */

#define PATH_RULE "path:"

static int add_path_rule(struct keep_rules *rules, const char *glob, size_t length)
{
	CLEANUP_TEXT_LIST struct text_list checked = {0};
	AUTO_FREE char *text = strndup(glob, length);
	int r;

	if (!text)
		return -ENOMEM;
	if (length == 0)
		return -EINVAL;
	/* a backslash before a comma means the same in a glob as in the list, so it stays */
	r = glob_option_add(&checked, "--keep=path", text);
	return r < 0 ? r : keep_rules_add(rules, KEEP_PATH, text);
}

static int add_rule(struct keep_rules *rules, const char *word, size_t length)
{
	static const char *const words[] = {
		[KEEP_SOURCE_ORDER] = "source-order",
		[KEEP_FIRST_SEEN] = "first-seen",
		[KEEP_OLDEST] = "oldest",
		[KEEP_NEWEST] = "newest",
		[KEEP_SHORTEST_PATH] = "shortest-path",
		[KEEP_LONGEST_PATH] = "longest-path",
		[KEEP_MOST_LINKED] = "most-linked",
	};
	const size_t prefix = strlen(PATH_RULE);

	if (length >= prefix && memcmp(word, PATH_RULE, prefix) == 0)
		return add_path_rule(rules, word + prefix, length - prefix);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (words[i] && strlen(words[i]) == length && memcmp(word, words[i], length) == 0)
			return keep_rules_add(rules, (enum keep_by)i, NULL);
	}
	return -EINVAL;
}

int keep_option_apply(struct keep_rules *rules, const char *list)
{
	const char *separator = rules->text.length > 0 ? "," : "";
	int r = bytes_format(&rules->text, "%s%s", separator, list);

	for (size_t length; r == 0; list += length + 1) {
		length = list_item_length(list);
		r = add_rule(rules, list, length);
		if (list[length] == '\0')
			break;
	}
	return r;
}

/* Adds the absolute path of a folder or file, without symlinks, as paths in the index are. */
static int add_resolved_path(struct text_list *list, char *const **paths, const char *given)
{
	AUTO_FREE char *absolute = NULL;
	struct stat status;
	int r;

	if (given[0] == '\0')
		return -EINVAL;
	absolute = realpath(given, NULL);
	if (!absolute || stat(absolute, &status) < 0)
		return -errno;
	if (!S_ISDIR(status.st_mode) && !S_ISREG(status.st_mode))
		return -EINVAL;
	r = text_list_add(list, absolute, strlen(absolute));
	*paths = list->items;
	return r;
}

static int set_keep(void *member, const char *value)
{
	struct rule_settings *settings = member;

	settings->rules.keep = &settings->keep;
	return keep_option_apply(&settings->keep, value);
}

static int set_protect(void *member, const char *value)
{
	struct rule_settings *settings = member;

	return add_resolved_path(&settings->protect, &settings->rules.protect, value);
}

static int set_only(void *member, const char *value)
{
	struct rule_settings *settings = member;

	return add_resolved_path(&settings->only, &settings->rules.only, value);
}

const struct option_spec keep_option[] = {
	{.heading = "Rules"},
	{
		.name = "keep",
		.argument = "RULE[,RULE]",
		.help = "select the kept copy of each group; a later rule decides only where all "
			"earlier rules tie: " KEEP_RULE_WORDS
			" (default: the rules of the view, see mount --keep, or else the copy that "
			"a view keeps)",
		.at = offsetof(struct selection_settings, rules),
		.set = set_keep,
		.expects = KEEP_RULES_EXPECTED,
	},
	{0},
};

const struct option_spec rule_options[] = {
	{
		.name = "protect",
		.argument = "PATH",
		.help = "never act upon this file, or upon files in this folder; can be given more "
			"than once",
		.at = offsetof(struct selection_settings, rules),
		.set = set_protect,
		.expects = "a folder or a file",
	},
	{
		.name = "only",
		.argument = "PATH",
		.help = "act only upon this file, or upon files in this folder; can be given more "
			"than once",
		.at = offsetof(struct selection_settings, rules),
		.set = set_only,
		.expects = "a folder or a file",
	},
	{
		.name = "between-sources",
		.help = "act only upon copies whose kept copy is in another source; files in the "
			"same source do not count as copies of each other",
		.at = offsetof(struct selection_settings, rules.rules.between_sources),
	},
	{
		.name = "include-bundles",
		.help = "act also upon copies in folders that must stay whole (.git, *.app, photo "
			"libraries, maildirs, virtual environments ...)",
		.at = offsetof(struct selection_settings, rules.rules.include_bundles),
	},
	{
		.name = "break-symlinks",
		.help = "act also upon copies that symbolic links in the sources lead to; without "
			"the copies, these lead nowhere",
		.at = offsetof(struct selection_settings, rules.rules.break_symlinks),
	},
	{0},
};

#define NEEDS_TWO_SOURCES                                                                      \
	"--between-sources needs two sources, and only one is given; a source inside another " \
	"source does not count"

const char *rule_settings_fault(const struct rule_settings *settings, char *const *operands,
				size_t count)
{
	CLEANUP_TEXT_LIST struct text_list sources = {0};

	if (!settings->rules.between_sources || count == 0 ||
	    (count == 1 && current_index_is_view(operands[0])))
		return NULL;
	return source_paths_recall(operands, count, &sources) == 0 && sources.count < 2
		       ? NEEDS_TWO_SOURCES
		       : NULL;
}

int rule_settings_prepare(struct rule_settings *settings, struct catalog_reader *reader,
			  const struct sources *sources)
{
	const char *unmatched = NULL;
	int r = patterns_set_keep_rules(&settings->keep, sources);

	keep_rules_free(&settings->of_index);
	settings->rules.of_index = &settings->of_index;
	if (r == 0)
		r = catalog_get_keep_rules(reader, &settings->of_index);
	if (r == 0)
		r = rules_find_unmatched(&settings->rules, reader, sources, &unmatched);
	if (r < 0)
		return r;
	if (r == RULES_UNMATCHED) {
		log_error("%s, given to --protect or --only, is no folder or file of the index of "
			  "these sources; give one that is in the index",
			  quote_path(unmatched));
		return -EXDEV;
	}
	if (settings->rules.between_sources && sources->count < 2) {
		log_error(NEEDS_TWO_SOURCES);
		return -EXDEV;
	}
	return 0;
}

/* ---- filters --------------------------------------------------------------------------------- */

static int set_path(void *member, const char *value)
{
	return glob_option_add(member, "--path", value);
}

static int set_ipath(void *member, const char *value)
{
	return glob_option_add(member, "--ipath", value);
}

static int set_regex(void *member, const char *text)
{
	struct filter_settings *settings = member;
	AUTO_FREE struct filter_regex *regex = calloc(1, sizeof(*regex));
	char reason[256];
	int r;

	if (!regex || array_reserve(&settings->regexes, &settings->regex_capacity,
				    settings->regex_count + 2, sizeof(*settings->regexes)) < 0)
		return -ENOMEM;
	if (*text == '\0')
		return -EINVAL;
	r = regcomp(&regex->compiled, text, REG_EXTENDED | REG_NOSUB);
	if (r != 0) {
		(void)regerror(r, &regex->compiled, reason, sizeof(reason));
		log_error("option '--regex' with %s: %s", quote_path(text), reason);
		return -EBADMSG;
	}
	regex->text = text;
	settings->regexes[settings->regex_count++] = TAKE(regex);
	settings->regexes[settings->regex_count] = NULL;
	settings->filter.regexes = settings->regexes;
	return 0;
}

/* Adds comma-separated extensions, each with or without its dot. */
static int set_extensions(void *member, const char *list)
{
	struct filter_settings *settings = member;

	for (;;) {
		size_t length = strcspn(list, ",");
		size_t dot = list[0] == '.';
		int r = -EINVAL;

		if (length > dot && !memchr(list, '/', length))
			r = text_list_add(&settings->extensions, list + dot, length - dot);
		settings->filter.extensions = settings->extensions.items;
		if (r < 0 || list[length] == '\0')
			return r;
		list += length + 1;
	}
}

static int set_moment(void *member, const char *text)
{
	return moment_parse(text, clock_now(), member);
}

/* Parses a number at the beginning of text, which can be missing. Sets *end behind it. */
static int parse_number(const char *text, uint64_t *number, const char **end)
{
	size_t digits = strspn(text, "0123456789");

	*end = text + digits;
	return digits == 0 ? 0 : number_read(text, digits, number);
}

/* Parses N, N.., ..M or N..M. */
static int set_copies(void *member, const char *text)
{
	struct filter *filter = member;
	uint64_t least = 0, most = UINT64_MAX;
	const char *end;
	int r = parse_number(text, &least, &end);

	if (r == 0 && end > text && *end == '\0')
		most = least;
	else if (r == 0 && strncmp(end, "..", 2) == 0)
		r = parse_number(end + 2, &most, &end);
	else
		r = -EINVAL;
	if (r < 0 || *end != '\0' || most < 2 || most < least || strcmp(text, "..") == 0)
		return -EINVAL;
	filter->min_copies = least;
	filter->max_copies = most;
	return 0;
}

static int set_top(void *member, const char *text)
{
	uint64_t *top = member;
	const char *end;
	int r;

	*top = 0;
	r = parse_number(text, top, &end);
	return r < 0 || *end != '\0' || *top == 0 ? -EINVAL : 0;
}

const struct option_spec filter_options[] = {
	{.heading = "Groups to select"},
	{
		.name = "path",
		.argument = "GLOB",
		.help = "only groups with a name that --exclude=GLOB would match; can be given "
			"more than once",
		.at = offsetof(struct selection_settings, filters.paths),
		.set = set_path,
		.expects = "a glob",
	},
	{
		.name = "ipath",
		.argument = "GLOB",
		.help = "like --path, but ignore the case of ASCII letters",
		.at = offsetof(struct selection_settings, filters.paths_any_case),
		.set = set_ipath,
		.expects = "a glob",
	},
	{
		.name = "regex",
		.argument = "REGEX",
		.help = "only groups with a name whose absolute path contains a match of this "
			"extended regular expression",
		.at = offsetof(struct selection_settings, filters),
		.set = set_regex,
		.expects = "a regular expression",
	},
	{
		.name = "ext",
		.argument = "EXT[,EXT]",
		.help = "only groups with a name that has one of these extensions, in upper or "
			"lower case",
		.at = offsetof(struct selection_settings, filters),
		.set = set_extensions,
		.expects = "comma-separated extensions, like jpg,jpeg",
	},
	{
		.name = "max-size",
		.argument = "SIZE",
		.help = "only groups of files of at most SIZE",
		.at = offsetof(struct selection_settings, filters.filter.max_size),
		.set = option_set_size,
		.expects = SIZE_EXPECTED,
	},
	{
		.name = "newer",
		.argument = "WHEN",
		.help = "only groups with a copy that was changed in this time, like 7d, or since "
			"this date, like 2024-01-31",
		.at = offsetof(struct selection_settings, filters.filter.newer),
		.given = offsetof(struct selection_settings, filters.filter.has_newer),
		.set = set_moment,
		.expects = MOMENT_EXPECTED,
	},
	{
		.name = "older",
		.argument = "WHEN",
		.help = "only groups without such a copy: all copies are older",
		.at = offsetof(struct selection_settings, filters.filter.older),
		.given = offsetof(struct selection_settings, filters.filter.has_older),
		.set = set_moment,
		.expects = MOMENT_EXPECTED,
	},
	{
		.name = "copies",
		.argument = "N..M",
		.help = "only groups with this number of copies: N, N.. (at least), ..M (at most) "
			"or N..M; hard links count once",
		.at = offsetof(struct selection_settings, filters.filter),
		.given = offsetof(struct selection_settings, filters.copies_given),
		.set = set_copies,
		.expects = "a number or range from 2, like 3, 3.. or 3..5",
	},
	{
		.name = "same-name",
		.help = "only groups whose copies all have the same base name",
		.at = offsetof(struct selection_settings, filters.filter.same_name),
	},
	{
		.name = "top",
		.argument = "N",
		.help = "only the first N of these groups",
		.at = offsetof(struct selection_settings, filters.filter.top),
		.set = set_top,
		.expects = "a number of at least 1",
	},
	{0},
};

const char *filter_settings_fault(const struct selection_settings *selection)
{
	const struct filter *filter = &selection->filters.filter;

	if (filter->max_size < selection->common.index.min_size)
		return "--max-size is below --min-size";
	if (filter->has_newer && filter->has_older &&
	    clock_ns(filter->newer) >= clock_ns(filter->older))
		return "--newer is not before --older, so no group can be both";
	return NULL;
}

bool filter_settings_by_name(const struct filter_settings *settings)
{
	return settings->paths.count > 0 || settings->paths_any_case.count > 0 ||
	       settings->regex_count > 0 || settings->extensions.count > 0;
}

bool filter_settings_given(const struct selection_settings *selection)
{
	const struct index_settings *index = &selection->common.index;

	return filter_settings_by_name(&selection->filters) ||
	       filter_is_selective(&selection->filters.filter) || index->excludes.count > 0 ||
	       index->min_size_given;
}

/* ---- the filter for an index -------------------------------------------------------------- */

/* Sets the excluded names: those that the index does not leave out itself. */
static int find_excludes(struct filter_settings *settings, const struct text_list *globs,
			 const struct current_index *index, struct catalog_reader *reader)
{
	CLEANUP_SCAN_SETTINGS struct scan_settings known = {0};
	int r = globs->count > 0 ? catalog_get_scan_settings(reader, &known) : 0;

	text_list_free(&settings->excludes);
	for (size_t i = 0; r == 0 && i < globs->count; i++) {
		if (!scan_settings_exclude(&known, globs->items[i]))
			r = text_list_add(&settings->excludes, globs->items[i],
					  strlen(globs->items[i]));
	}
	patterns_free(&settings->filter.excludes);
	return r < 0 ? r
		     : patterns_make(&settings->filter.excludes, settings->excludes.items,
				     index->sources, PATTERN_TO_EXCLUDE);
}

int filter_settings_prepare(struct filter_settings *settings, const struct current_index *index,
			    struct catalog_reader *reader, bool all_sizes)
{
	const struct index_settings *options = index->indexing.settings;
	struct filter *filter = &settings->filter;
	int r = find_excludes(settings, &options->excludes, index, reader);

	patterns_free(&filter->paths);
	patterns_free(&filter->paths_any_case);
	filter->min_size = options->min_size;
	if (r == 0 && all_sizes && !options->min_size_given)
		r = catalog_get_min_size(reader, &filter->min_size);
	if (r == 0)
		r = patterns_make(&filter->paths, settings->paths.items, index->sources,
				  PATTERN_TO_SELECT);
	return r < 0 ? r
		     : patterns_make(&filter->paths_any_case, settings->paths_any_case.items,
				     index->sources, PATTERN_TO_SELECT);
}

struct explaining {
	struct filter_settings *settings;
	const struct index_settings *options;
};

/* Globs from a file are skipped: such a list is often for many sources. */
static void explain_unmatched(void *context, const char *option, const char *pattern)
{
	const struct explaining *explaining = context;
	bool excludes = strcmp(option, "--exclude") == 0;

	if (excludes && text_list_has(&explaining->options->listed_excludes, pattern))
		return;
	log_warning("%s=%s matches no file of the index", option, quote_path(pattern));
	explaining->settings->unmatched_excludes += excludes;
}

int filter_settings_explain(struct filter_settings *settings, const struct current_index *index,
			    struct catalog_reader *reader)
{
	struct explaining explaining = {settings, index->indexing.settings};
	const struct unmatched_hook hook = {explain_unmatched, &explaining};

	if (settings->explained)
		return 0;
	settings->explained = true;
	return filter_find_unmatched(&settings->filter, reader, index->sources, &hook);
}

/* ---- the report of selected copies ----------------------------------------------------------- */

int list_prepare(const struct list_request *request, const struct current_index *index,
		 struct catalog_reader *reader, struct report *report)
{
	int r = current_index_check_options(index, reader);

	if (r < 0)
		return r;
	*report = request->report;
	report->reader = reader;
	report->sources = index->sources;
	report->rules = &request->selection->rules.rules;
	report->filter = &request->selection->filters.filter;
	report->last_scan = index->last_scan;
	/* The index of a view can have files below the default --min-size. Such files are printed,
	 * but listed as redundant only if --min-size includes them. */
	r = filter_settings_prepare(&request->selection->filters, index, reader,
				    index->served && report->part != REPORT_REDUNDANT);
	return r < 0 ? r
		     : rule_settings_prepare(&request->selection->rules, reader, index->sources);
}
