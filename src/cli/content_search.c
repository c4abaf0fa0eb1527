/* SPDX-License-Identifier: MIT */
#include "cli/content_search.h"

#include <errno.h>
#include <string.h>

#include "act/act_log.h"
#include "base/bytes.h"
#include "catalog/catalog.h"
#include "catalog/paths.h"
#include "catalog/query.h"
#include "catalog/scan.h"

/* Highest number of files that are tried for one content. It bounds memory and time if very many
 * files have its size. */
#define PATHS_MAX 1000

void content_search_deinit(struct content_search *search)
{
	if (search->catalog)
		catalog_close(search->catalog);
	text_list_free(&search->paths);
}

static int add_path(struct content_search *search, const char *path)
{
	return path && search->paths.count < PATHS_MAX
		       ? text_list_add(&search->paths, path, strlen(path))
		       : 0;
}

/* ---- by the index ------------------------------------------------------------------------ */

/* Adds the path of a file. */
static int add_file(struct content_search *search, struct catalog_reader *reader, uint64_t id)
{
	CLEANUP_BYTES struct bytes path = {0}, relative = {0};
	struct file_record file;
	uint32_t source = 0;
	uint64_t root;
	int r = catalog_get_file(reader, id, &file);

	if (r == 0)
		r = catalog_file_path(reader, &file, &relative, &source);
	if (r == 0)
		r = catalog_get_source(reader, source, &path, &root);
	if (r == 0)
		r = bytes_format(&path, "/%.*s", (int)relative.length, (const char *)relative.data);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	return bytes_text(&path) ? add_path(search, bytes_text(&path)) : -ENOMEM;
}

/* Returns whether a file of the size possibly has the content. */
static bool is_possible(struct catalog_reader *reader, const struct size_entry *entry,
			const struct record *record)
{
	struct group_record group;
	struct content_record content;

	if (entry->group)
		return catalog_get_group(reader, entry->group, &group) == 0 &&
		       hash128_equal(group.hash, record->hash);
	return catalog_get_content(reader, entry->file, &content) != 0 ||
	       !content_has_hash(&content) || hash128_equal(content.hash, record->hash);
}

/* Adds the files of the size.
 *
 * grouped	true: files that are known to have the content; false: files that are in no group
 */
static int add_sizes(struct content_search *search, struct catalog_reader *reader,
		     const struct record *record, bool grouped)
{
	const struct size_entry from = {.size = record->size};
	struct catalog_scan *scan = NULL;
	struct size_entry entry;
	int r = catalog_scan_sizes(reader, &from, &scan);

	while (r == 0 && search->paths.count < PATHS_MAX &&
	       (r = catalog_next_size(scan, &entry)) == 0 && entry.size == record->size) {
		if ((entry.group != 0) == grouped && is_possible(reader, &entry, record))
			r = add_file(search, reader, entry.file);
	}
	catalog_scan_end(scan);
	return r == -ENOMEM ? r : 0;
}

static int search_index(struct content_search *search, const struct record *record)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	const struct catalog_options options = {.folder = search->folder, .read_only = true};
	int r;

	if (!search->is_opened && catalog_open(&search->catalog, &options) != 0)
		search->catalog = NULL; /* the log can still find the content */
	search->is_opened = true;
	if (!search->catalog || catalog_read_begin(search->catalog, &reader) < 0)
		return 0;
	r = add_sizes(search, reader, record, true);
	return r < 0 ? r : add_sizes(search, reader, record, false);
}

/* ---- by the log -------------------------------------------------------------------------- */

static int add_logged(void *context, const struct record *record, const char *line)
{
	struct content_search *search = context;
	int r = 0;

	(void)line;
	if (record->command == RECORD_UNDO || !hash128_equal(record->hash, search->hash))
		return 0;
	r = add_path(search, record->to);
	if (r == 0)
		r = add_path(search, record->kept);
	return r == 0 ? add_path(search, record->path) : r;
}

static int search_log(struct content_search *search, const struct record *record)
{
	char digits[HASH128_DIGITS + 1];
	struct act_log_pass pass = {.record = add_logged, .context = search, .containing = digits};
	int r;

	hash128_format(record->hash, digits);
	r = act_log_read(search->folder, &pass);
	return r == -ENOMEM ? r : 0;
}

int content_search_find(struct content_search *search, const struct record *record,
			int (*try)(void *trying, const char *path), void *trying)
{
	int r = 0;

	if (!hash128_equal(search->hash, record->hash)) {
		text_list_free(&search->paths);
		search->paths = (struct text_list){.count = 0};
		search->hash = record->hash;
		r = search_index(search, record);
		if (r == 0)
			r = search_log(search, record);
	}
	for (size_t i = 0; r == 0 && i < search->paths.count; i++)
		r = try(trying, search->paths.items[i]);
	return r;
}
