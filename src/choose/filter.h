/* SPDX-License-Identifier: MIT */
#ifndef CHOOSE_FILTER_H
#define CHOOSE_FILTER_H

/* Filters: which groups, and which files without a copy, a report shows and an act acts upon. The
 * names of a group of folders are those of the folders; their times are as of folder_tree.h.
 *
 * Excluded names are removed from a group first, as if the index did not have them. The other
 * filters select or omit a group as a whole. Those that look at names (paths, extensions) select it
 * if one and the same name satisfies all of them. Those that look at times use the last change of
 * any of its copies.
 *
 * One thread at a time for each filter.
 */

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/attributes.h"
#include "index/patterns.h"
#include "index/record.h"

struct catalog_reader;
struct copies;
struct sources;

/* A regular expression, which is matched with the absolute path. */
struct filter_regex {
	const char *text; /* as given, borrowed */
	regex_t compiled;
	bool matched;
};

/* Pointers are borrowed, except those of the patterns. */
struct filter {
	uint64_t min_size, max_size; /* bytes of one copy */
	uint64_t min_copies, max_copies; /* inodes of a group; not for single files */
	struct timespec newer; /* the last change must be later; used if has_newer */
	struct timespec older; /* the last change must be earlier; used if has_older */
	bool has_newer, has_older;
	bool same_name; /* all names of a group have the same last component */
	struct patterns excludes;
	/* A name must match one of each kind that is not empty. */
	struct patterns paths;
	struct patterns paths_any_case;
	struct filter_regex *const *regexes; /* NULL-terminated; NULL: none */
	char *const *extensions; /* without a leading dot; NULL-terminated; NULL: any */
	uint64_t top; /* highest number of groups or files; at least 1 */
};

/* A filter that selects everything. */
#define FILTER_NONE \
	((struct filter){.max_size = UINT64_MAX, .max_copies = UINT64_MAX, .top = UINT64_MAX})

static inline bool filter_has_copies(const struct filter *filter, uint64_t inodes)
{
	return inodes >= filter->min_copies && inodes <= filter->max_copies;
}

/* Returns whether names are excluded, so that a group can have other copies than in the index. */
static inline bool filter_excludes(const struct filter *filter)
{
	return filter->excludes.count > 0;
}

/* Returns whether a group of the index can be selected, by its size and by the number of its
 * copies, which is lower without excluded names. */
static inline bool filter_may_have(const struct filter *filter, const struct group_record *group)
{
	return group->size >= filter->min_size && group->size <= filter->max_size &&
	       group->inodes >= filter->min_copies;
}

/* Returns whether groups can be left out for another reason than the smallest size. */
bool filter_is_selective(const struct filter *filter);

/* Returns whether size and number of copies do not decide alone. */
bool filter_needs_names(const struct filter *filter);

/* Returns whether a name is excluded. path: below the source */
bool filter_excludes_name(const struct filter *filter, uint32_t source, const char *path);

/* Sets *excluded to whether a name of the index is excluded. Returns 0 or -errno. */
MUST_CHECK int filter_excludes_entry(const struct filter *filter, struct catalog_reader *reader,
				     uint64_t dir, uint64_t cookie, bool *excluded);

/* Removes excluded names. */
void filter_remove_excluded(struct filter *filter, struct copies *copies);

/* Sets *selected to whether a group is selected. copies: without excluded names. Records which
 * patterns matched. Returns 0 or -errno. */
MUST_CHECK int filter_selects_group(struct filter *filter, const struct sources *sources,
				    const struct copies *copies, bool *selected);

/* The same for the names of a file without a copy. */
MUST_CHECK int filter_selects_single(struct filter *filter, const struct sources *sources,
				     const struct copies *names, bool *selected);

/* Returns whether folders are selected by their paths. */
bool filter_selects_folders(const struct filter *filter);

/* Sets *selected to whether the patterns for paths and the regular expressions select a folder.
 * path: below the source. Records which of them matched. Returns 0 or -errno. */
MUST_CHECK int filter_selects_folder(struct filter *filter, const struct sources *sources,
				     uint32_t source, const char *path, bool *selected);

/* Receives a pattern that matches nothing, and its option as on the command line ("--path"). */
struct unmatched_hook {
	void (*unmatched)(void *context, const char *option, const char *pattern);
	void *context;
};

/* Calls the hook for each pattern that matches no name of a file in the index. Reads the names of
 * all files if a pattern has not matched yet. Returns 0 or -errno. */
MUST_CHECK int filter_find_unmatched(struct filter *filter, struct catalog_reader *reader,
				     const struct sources *sources,
				     const struct unmatched_hook *hook);

#endif
