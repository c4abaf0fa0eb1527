/* SPDX-License-Identifier: MIT */
#include "choose/filter.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/path.h"
#include "base/stop.h"
#include "choose/copies.h"
#include "index/paths.h"
#include "index/scan.h"
#include "index/source.h"

typedef bool match_fn(const char *glob, const char *path);

bool filter_needs_names(const struct filter *filter)
{
	return filter_excludes(filter) || filter->paths.count > 0 ||
	       filter->paths_any_case.count > 0 || filter->regexes || filter->extensions ||
	       filter->has_newer || filter->has_older || filter->same_name;
}

bool filter_is_selective(const struct filter *filter)
{
	const struct filter none = FILTER_NONE;

	return filter_needs_names(filter) || filter->max_size != none.max_size ||
	       filter->min_copies != none.min_copies || filter->max_copies != none.max_copies ||
	       filter->top != none.top;
}

/* ---- names -------------------------------------------------------------------------------- */

static bool is_root(const char *path)
{
	return strcmp(path, COPY_ROOT) == 0;
}

/* Returns the last component of a path below a source; for its root, that of the source. */
static const char *base_name(const struct sources *sources, uint32_t source, const char *path)
{
	return path_base_name(is_root(path) ? sources->list[source].path : path);
}

/* Returns whether a pattern matches the name. Records all patterns that do. */
static bool any_matches(const struct patterns *patterns, uint32_t source, const char *path,
			match_fn *matches)
{
	char *const *globs = patterns_of(patterns, source);
	bool any = false;

	for (size_t i = 0; globs && globs[i]; i++) {
		if (!matches(globs[i], path))
			continue;
		patterns_mark(patterns, i);
		any = true;
	}
	return any;
}

static int any_regex_matches(const struct filter *filter, const struct sources *sources,
			     uint32_t source, const char *path, bool *any)
{
	CLEANUP_BYTES struct bytes absolute = {0};
	int r;

	if (is_root(path))
		path = "";
	r = source_absolute_path(sources, source, path, &absolute);
	if (r == 0 && !bytes_text(&absolute))
		r = -ENOMEM;
	*any = false;
	for (size_t i = 0; r == 0 && filter->regexes[i]; i++) {
		struct filter_regex *regex = filter->regexes[i];

		if (regexec(&regex->compiled, bytes_text(&absolute), 0, NULL, 0) != 0)
			continue;
		regex->matched = true;
		*any = true;
	}
	return r;
}

static bool has_extension(const char *name, char *const *extensions)
{
	size_t length = strlen(name);

	for (; *extensions; extensions++) {
		size_t tail = strlen(*extensions);

		/* something must be before the dot: ".jpg" is a hidden file without an extension */
		if (length > tail + 1 && name[length - tail - 1] == '.' &&
		    strcasecmp(name + length - tail, *extensions) == 0)
			return true;
	}
	return false;
}

static bool globs_fit(const struct filter *filter, uint32_t source, const char *path)
{
	bool fit = true;

	if (filter->paths.count > 0)
		fit &= any_matches(&filter->paths, source, path, glob_matches_within);
	if (filter->paths_any_case.count > 0)
		fit &= any_matches(&filter->paths_any_case, source, path,
				   glob_matches_within_any_case);
	return fit;
}

/* Sets *fits to whether a name satisfies the filters for names. Calls all matchers, so that each
 * pattern that matches is recorded. */
static int name_fits(const struct filter *filter, const struct sources *sources, uint32_t source,
		     const char *path, bool *fits)
{
	bool matches;
	int r = 0;

	*fits = !filter->extensions ||
		has_extension(base_name(sources, source, path), filter->extensions);
	*fits &= globs_fit(filter, source, path);
	if (filter->regexes) {
		r = any_regex_matches(filter, sources, source, path, &matches);
		*fits &= matches;
	}
	return r;
}

static bool filters_by_name(const struct filter *filter)
{
	return filter->paths.count > 0 || filter->paths_any_case.count > 0 || filter->regexes ||
	       filter->extensions;
}

static int any_name_fits(const struct filter *filter, const struct sources *sources,
			 const struct copies *copies, bool *any)
{
	int r = 0;

	*any = !filters_by_name(filter);
	for (size_t i = 0; r == 0 && !*any && i < copies->count; i++)
		r = name_fits(filter, sources, copies->list[i].source,
			      copy_path(copies, &copies->list[i]), any);
	return r;
}

static const char *base_name_of(const struct sources *sources, const struct copies *copies,
				size_t number)
{
	const struct copy *copy = &copies->list[number];

	return base_name(sources, copy->source, copy_path(copies, copy));
}

static bool have_same_name(const struct sources *sources, const struct copies *copies)
{
	for (size_t i = 1; i < copies->count; i++) {
		if (strcmp(base_name_of(sources, copies, i), base_name_of(sources, copies, 0)) != 0)
			return false;
	}
	return true;
}

bool filter_selects_folders(const struct filter *filter)
{
	return filter->paths.count > 0 || filter->paths_any_case.count > 0 || filter->regexes;
}

int filter_selects_folder(struct filter *filter, const struct sources *sources, uint32_t source,
			  const char *path, bool *selected)
{
	CLEANUP_BYTES struct bytes inside = {0};
	bool matches;
	int r;

	/* globs for folders need a slash, and the others ignore it */
	if (bytes_format(&inside, "%s/", path) < 0 || !bytes_text(&inside))
		return -ENOMEM;
	*selected = globs_fit(filter, source, bytes_text(&inside));
	if (!filter->regexes)
		return 0;
	r = any_regex_matches(filter, sources, source, path, &matches);
	*selected &= matches;
	return r;
}

/* ---- excluded names ----------------------------------------------------------------------- */

bool filter_excludes_name(const struct filter *filter, uint32_t source, const char *path)
{
	return any_matches(&filter->excludes, source, path, glob_matches_within);
}

int filter_excludes_entry(const struct filter *filter, struct catalog_reader *reader, uint64_t dir,
			  uint64_t cookie, bool *excluded)
{
	CLEANUP_BYTES struct bytes path = {0};
	uint32_t source;
	int r;

	*excluded = false;
	if (!filter_excludes(filter))
		return 0;
	r = catalog_entry_path(reader, dir, cookie, &path, &source);
	if (r == 0 && !bytes_text(&path))
		r = -ENOMEM;
	if (r == 0)
		*excluded = filter_excludes_name(filter, source, bytes_text(&path));
	return r == -ENOENT ? -EUCLEAN : r;
}

static bool is_excluded(void *context, const struct copies *copies, const struct copy *copy)
{
	return filter_excludes_name(context, copy->source, copy_path(copies, copy));
}

void filter_remove_excluded(struct filter *filter, struct copies *copies)
{
	if (filter_excludes(filter))
		copies_remove(copies, is_excluded, filter);
}

/* ---- times -------------------------------------------------------------------------------- */

/* Returns the last change of any of the copies. There must be one. */
static struct timespec latest_of(const struct copies *copies)
{
	struct timespec latest = copies->list[0].mtime;

	for (size_t i = 1; i < copies->count; i++) {
		if (clock_is_earlier(latest, copies->list[i].mtime))
			latest = copies->list[i].mtime;
	}
	return latest;
}

static bool time_fits(const struct filter *filter, const struct copies *copies)
{
	struct timespec latest = latest_of(copies);

	return (!filter->has_newer || !clock_is_earlier(latest, filter->newer)) &&
	       (!filter->has_older || clock_is_earlier(latest, filter->older));
}

/* ---- the selection ------------------------------------------------------------------------ */

int filter_selects_single(struct filter *filter, const struct sources *sources,
			  const struct copies *names, bool *selected)
{
	int r;

	*selected = false;
	if (names->count == 0)
		return 0;
	r = any_name_fits(filter, sources, names, selected);
	*selected = r == 0 && *selected && time_fits(filter, names);
	return r;
}

int filter_selects_group(struct filter *filter, const struct sources *sources,
			 const struct copies *copies, bool *selected)
{
	size_t inodes = copies_count_inodes(copies);

	*selected = false;
	if (inodes < 2 || !filter_has_copies(filter, inodes) ||
	    (filter->same_name && !have_same_name(sources, copies)))
		return 0;
	return filter_selects_single(filter, sources, copies, selected);
}

/* ---- patterns without a match ------------------------------------------------------------- */

static bool all_matched(const struct patterns *patterns)
{
	for (size_t i = 0; i < patterns->count; i++) {
		if (!patterns->matched[i])
			return false;
	}
	return true;
}

static bool all_have_matched(const struct filter *filter)
{
	for (size_t i = 0; filter->regexes && filter->regexes[i]; i++) {
		if (!filter->regexes[i]->matched)
			return false;
	}
	return all_matched(&filter->excludes) && all_matched(&filter->paths) &&
	       all_matched(&filter->paths_any_case);
}

/* Matches all patterns with the names of a file. */
static int try_file(struct filter *filter, struct catalog_reader *reader,
		    const struct sources *sources, const struct file_record *file)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	CLEANUP_BYTES struct bytes path = {0};
	uint64_t dir, cookie;
	uint32_t source;
	bool fits;
	int r = catalog_scan_names(reader, file, &scan);

	while (r == 0 && (r = catalog_next_name(scan, &dir, &cookie)) == 0) {
		path.length = 0;
		r = catalog_entry_path(reader, dir, cookie, &path, &source);
		if (r == 0 && !bytes_text(&path))
			r = -ENOMEM;
		if (r < 0)
			return r;
		(void)any_matches(&filter->excludes, source, bytes_text(&path),
				  glob_matches_within);
		r = name_fits(filter, sources, source, bytes_text(&path), &fits);
	}
	return r == -ENOENT ? 0 : r;
}

static int try_all_files(struct filter *filter, struct catalog_reader *reader,
			 const struct sources *sources)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct file_record file;
	int r = 0;

	if (!all_have_matched(filter))
		r = catalog_scan_files(reader, 0, &scan);
	while (r == 0 && !all_have_matched(filter) && !stop_requested() &&
	       (r = catalog_next_file(scan, &file)) == 0)
		r = try_file(filter, reader, sources, &file);
	return r == -ENOENT ? 0 : r;
}

static void list_unmatched(const struct patterns *patterns, const char *option,
			   const struct unmatched_hook *hook)
{
	for (size_t i = 0; i < patterns->count; i++) {
		if (!patterns->matched[i])
			hook->unmatched(hook->context, option, patterns->globs[i]);
	}
}

int filter_find_unmatched(struct filter *filter, struct catalog_reader *reader,
			  const struct sources *sources, const struct unmatched_hook *hook)
{
	int r = try_all_files(filter, reader, sources);

	if (r < 0 || stop_requested())
		return r;
	list_unmatched(&filter->excludes, "--exclude", hook);
	list_unmatched(&filter->paths, "--path", hook);
	list_unmatched(&filter->paths_any_case, "--ipath", hook);
	for (size_t i = 0; filter->regexes && filter->regexes[i]; i++) {
		if (!filter->regexes[i]->matched)
			hook->unmatched(hook->context, "--regex", filter->regexes[i]->text);
	}
	return 0;
}
