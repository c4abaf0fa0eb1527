/* SPDX-License-Identifier: MIT */
#include "report/similar_contents.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/numbers.h"
#include "base/stop.h"
#include "catalog/paths.h"
#include "catalog/query.h"
#include "catalog/scan.h"
#include "report/filter.h"
#include "report/report.h"
#include "report/similar_tree.h"

struct content_pass {
	const struct report *report;
	const struct similar_tree *tree;
	similar_content_fn *take;
	void *context;
	uint32_t *dirs; /* of the present content */
	size_t count, capacity;
	uint32_t last; /* the last directory that was found: most names follow one of the same */
};

static bool has_size(const struct content_pass *reading, uint64_t size)
{
	const struct filter *filter = reading->report->filter;

	return size > 0 && size >= filter->min_size && size <= filter->max_size;
}

/* ---- names ---------------------------------------------------------------------------------- */

static int is_excluded(const struct content_pass *reading, uint64_t dir, uint64_t cookie,
		       bool *excluded)
{
	const struct report *report = reading->report;
	CLEANUP_BYTES struct bytes path = {0};
	uint32_t source;
	int r = 0;

	*excluded = false;
	if (!filter_excludes(report->filter))
		return 0;
	r = catalog_entry_path(report->reader, dir, cookie, &path, &source);
	if (r == 0 && !bytes_text(&path))
		r = -ENOMEM;
	if (r == 0)
		*excluded = filter_excludes_name(report->filter, source, bytes_text(&path));
	return r == -ENOENT ? -EUCLEAN : r;
}

static int add_name(struct content_pass *reading, uint64_t dir, uint64_t cookie)
{
	bool excluded;
	int r = is_excluded(reading, dir, cookie, &excluded);

	if (r < 0 || excluded)
		return r;
	if (reading->tree->list[reading->last].id != dir)
		r = similar_tree_find(reading->tree, dir, &reading->last);
	if (r == 0)
		r = array_reserve(&reading->dirs, &reading->capacity, reading->count + 1,
				  sizeof(*reading->dirs));
	if (r == 0)
		reading->dirs[reading->count++] = reading->last;
	return r;
}

static int add_names(struct content_pass *reading, const struct file_record *file)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	uint64_t dir, cookie;
	int r;

	if (file->names <= 1)
		return file->names == 0 ? 0 : add_name(reading, file->dir, file->cookie);
	r = catalog_scan_names(reading->report->reader, file, &scan);
	while (r == 0 && (r = catalog_next_name(scan, &dir, &cookie)) == 0)
		r = add_name(reading, dir, cookie);
	return r == -ENOENT && scan ? 0 : r;
}

static int compare_dirs(const void *left, const void *right)
{
	const uint32_t *a = left;
	const uint32_t *b = right;

	return numbers_compare(*a, *b);
}

/* Ends a content. */
static int take_content(struct content_pass *reading, uint64_t size)
{
	struct similar_content content = {.size = size, .dirs = reading->dirs};

	if (stop_requested())
		return -EINTR;
	sort_unless_sorted(reading->dirs, reading->count, sizeof(*reading->dirs), compare_dirs);
	for (size_t i = 0; i < reading->count; i++) {
		if (i == 0 || reading->dirs[i] != reading->dirs[content.count - 1])
			reading->dirs[content.count++] = reading->dirs[i];
	}
	reading->count = 0;
	return content.count > 0 ? reading->take(reading->context, &content) : 0;
}

/* ---- groups --------------------------------------------------------------------------------- */

static int read_group(struct content_pass *reading, const struct group_record *group)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct file_record file;
	uint64_t id;
	int r = catalog_scan_members(reading->report->reader, group->id, 0, &scan);

	while (r == 0 && (r = catalog_next_member(scan, &id)) == 0) {
		r = catalog_get_file_name(reading->report->reader, id, &file);
		if (r == 0)
			r = add_names(reading, &file);
		else if (r == -ENOENT)
			r = -EUCLEAN;
	}
	return r == -ENOENT && scan ? take_content(reading, group->size) : r;
}

static int read_groups(struct content_pass *reading)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct group_record group;
	int r = catalog_scan_groups(reading->report->reader, 0, &scan);

	while (r == 0 && (r = catalog_next_group(scan, &group)) == 0) {
		if (has_size(reading, group.size))
			r = read_group(reading, &group);
	}
	return r == -ENOENT && scan ? 0 : r;
}

/* ---- other files ---------------------------------------------------------------------------- */

/* The contents of files in the order of their ids. */
struct cursor {
	struct catalog_scan *scan;
	uint64_t file; /* 0: before the first one, UINT64_MAX: after the last one */
	struct content_record content;
};

/* Sets *grouped to whether a file is a member of a group. The files must have rising ids. */
static int is_grouped(struct cursor *cursor, const struct catalog_totals *totals, uint64_t file,
		      bool *grouped)
{
	while (cursor->file < file) {
		int r = catalog_next_content(cursor->scan, &cursor->file, &cursor->content);

		if (r == -ENOENT)
			cursor->file = UINT64_MAX;
		else if (r < 0)
			return r;
	}
	*grouped =
		cursor->file == file && cursor->content.group != 0 && !catalog_defers(totals, file);
	return 0;
}

static int read_file(struct content_pass *reading, struct cursor *cursor,
		     const struct catalog_totals *totals, const struct file_record *file)
{
	bool grouped;
	int r;

	if (!S_ISREG(file->attributes.mode) || !has_size(reading, file->attributes.size))
		return 0;
	r = is_grouped(cursor, totals, file->id, &grouped);
	if (r < 0 || grouped)
		return r;
	r = add_names(reading, file);
	return r < 0 ? r : take_content(reading, file->attributes.size);
}

static int read_files(struct content_pass *reading)
{
	struct catalog_reader *reader = reading->report->reader;
	CLEANUP_SCAN struct catalog_scan *contents = NULL;
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct catalog_totals totals;
	struct cursor cursor = {0};
	struct file_record file;
	int r = catalog_get_totals(reader, &totals);

	if (r == 0)
		r = catalog_scan_contents(reader, 0, &contents);
	cursor.scan = contents;
	if (r == 0)
		r = catalog_scan_files(reader, 0, &scan);
	while (r == 0 && (r = catalog_next_file(scan, &file)) == 0)
		r = read_file(reading, &cursor, &totals, &file);
	return r == -ENOENT && scan ? 0 : r;
}

int similar_read_contents(const struct report *report, const struct similar_tree *tree,
			  similar_content_fn *take, void *context)
{
	struct content_pass reading = {.report = report,
				       .tree = tree,
				       .take = take,
				       .context = context};
	int r = read_groups(&reading);

	if (r == 0)
		r = read_files(&reading);
	free(reading.dirs);
	return r;
}
