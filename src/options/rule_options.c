/* SPDX-License-Identifier: MIT */
#include "options/rule_options.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/log.h"
#include "base/quote.h"
#include "options/glob_options.h"
#include "source/source.h"

#define PATH_RULE "path:"

enum {
	OPT_KEEP = OPTION_ID_RULES,
	OPT_PROTECT,
	OPT_ONLY,
	OPT_BETWEEN_SOURCES,
	OPT_INCLUDE_BUNDLES,
};

const struct option_spec rule_options[] = {
	{.heading = "Rules"},
	{
		.name = "keep",
		.argument = "RULE[,RULE]",
		.help = "select the kept copy of each group; a later rule decides only where all "
			"earlier rules tie: source-order, first-seen, oldest, newest, "
			"shortest-path, longest-path, most-linked, path:GLOB (default: the copy "
			"that a view keeps)",
		.id = OPT_KEEP,
		.expects = "comma-separated rules: source-order, first-seen, oldest, newest, "
			   "shortest-path, longest-path, most-linked or path:GLOB",
	},
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
	{0},
};

void rule_settings_init(struct rule_settings *settings)
{
	memset(settings, 0, sizeof(*settings));
}

void rule_settings_deinit(struct rule_settings *settings)
{
	free(settings->keep);
	text_list_free(&settings->globs);
	text_list_free(&settings->protect);
	text_list_free(&settings->only);
	rule_settings_init(settings);
}

static int append_rule(struct rule_settings *settings, struct keep_rule rule)
{
	size_t count = settings->rules.keep_count;
	int r = array_reserve(&settings->keep, &settings->keep_capacity, count + 1,
			      sizeof(*settings->keep));

	if (r < 0)
		return r;
	settings->keep[count] = rule;
	settings->rules.keep = settings->keep;
	settings->rules.keep_count = count + 1;
	return 0;
}

static int add_path_rule(struct rule_settings *settings, const char *glob, size_t length)
{
	AUTO_FREE char *text = strndup(glob, length);
	int r;

	if (!text)
		return -ENOMEM;
	if (length == 0)
		return -EINVAL;
	r = glob_option_add(&settings->globs, "--keep=path", text);
	if (r < 0)
		return r;
	/* a backslash before a comma means the same in a glob as in the list, so it stays */
	return append_rule(settings,
			   (struct keep_rule){.by = KEEP_PATH,
					      .glob = settings->globs
							      .items[settings->globs.count - 1]});
}

static int add_rule(struct rule_settings *settings, const char *word, size_t length)
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
		return add_path_rule(settings, word + prefix, length - prefix);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (words[i] && strlen(words[i]) == length && memcmp(word, words[i], length) == 0)
			return append_rule(settings, (struct keep_rule){.by = (enum keep_by)i});
	}
	return -EINVAL;
}

static int add_rules(struct rule_settings *settings, const char *list)
{
	for (;;) {
		size_t length = list_item_length(list);
		int r = add_rule(settings, list, length);

		if (r < 0 || list[length] == '\0')
			return r;
		list += length + 1;
	}
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
	case OPT_KEEP:
		return add_rules(settings, value);
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
	default:
		return -EINVAL;
	}
}

int rule_settings_check(const struct rule_settings *settings, struct catalog_reader *reader,
			const struct sources *sources)
{
	const char *unmatched = NULL;
	int r;

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
		log_error("--between-sources needs two sources, and only one is given; a source "
			  "inside another source does not count");
		return -EXDEV;
	}
	return 0;
}
