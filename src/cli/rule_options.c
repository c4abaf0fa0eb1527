/* SPDX-License-Identifier: MIT */
#include "cli/rule_options.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "cli/common_options.h"
#include "cli/current_index.h"
#include "index/patterns.h"
#include "index/query.h"
#include "index/source.h"

#define PATH_RULE "path:"

enum {
	OPT_PROTECT = OPTION_ID_RULES + 1,
	OPT_ONLY,
	OPT_BETWEEN_SOURCES,
	OPT_INCLUDE_BUNDLES,
	OPT_BREAK_SYMLINKS,
};

const struct option_spec keep_option[] = {
	{.heading = "Rules"},
	{
		.name = "keep",
		.argument = "RULE[,RULE]",
		.help = "select the kept copy of each group; a later rule decides only where all "
			"earlier rules tie: " KEEP_RULE_WORDS
			" (default: the rules of the view, see mount --keep, or else the copy that "
			"a view keeps)",
		.id = OPTION_ID_RULES,
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
		.id = OPT_PROTECT,
		.expects = "a folder or a file",
	},
	{
		.name = "only",
		.argument = "PATH",
		.help = "act only upon this file, or upon files in this folder; can be given more "
			"than once",
		.id = OPT_ONLY,
		.expects = "a folder or a file",
	},
	{
		.name = "between-sources",
		.help = "act only upon copies whose kept copy is in another source; files in the "
			"same source do not count as copies of each other",
		.id = OPT_BETWEEN_SOURCES,
	},
	{
		.name = "include-bundles",
		.help = "act also upon copies in folders that must stay whole (.git, *.app, photo "
			"libraries, maildirs, virtual environments ...)",
		.id = OPT_INCLUDE_BUNDLES,
	},
	{
		.name = "break-symlinks",
		.help = "act also upon copies that symbolic links in the sources lead to; without "
			"the copies, these lead nowhere",
		.id = OPT_BREAK_SYMLINKS,
	},
	{0},
};

void rule_settings_init(struct rule_settings *settings)
{
	memset(settings, 0, sizeof(*settings));
}

void rule_settings_deinit(struct rule_settings *settings)
{
	keep_rules_free(&settings->keep);
	keep_rules_free(&settings->of_index);
	text_list_free(&settings->protect);
	text_list_free(&settings->only);
	rule_settings_init(settings);
}

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

int rule_apply(struct rule_settings *settings, int id, const char *value)
{
	switch (id) {
	case OPTION_ID_RULES:
		settings->rules.keep = &settings->keep;
		return keep_option_apply(&settings->keep, value);
	case OPT_PROTECT:
		return add_resolved_path(&settings->protect, &settings->rules.protect, value);
	case OPT_ONLY:
		return add_resolved_path(&settings->only, &settings->rules.only, value);
	case OPT_BETWEEN_SOURCES:
		settings->rules.between_sources = true;
		return 0;
	case OPT_INCLUDE_BUNDLES:
		settings->rules.include_bundles = true;
		return 0;
	case OPT_BREAK_SYMLINKS:
		settings->rules.break_symlinks = true;
		return 0;
	default:
		return -EINVAL;
	}
}

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
