/* SPDX-License-Identifier: MIT */
#include "cli/content_search.h"

#include <errno.h>
#include <string.h>

#include "act/act_log.h"
#include "base/bytes.h"
#include "base/human_text.h"
#include "base/log.h"
#include "base/quote.h"
#include "catalog/catalog.h"
#include "catalog/paths.h"
#include "catalog/query.h"
#include "catalog/scan.h"

/* Highest number of files of each kind that are tried for one content. It bounds memory, and the
 * time if very many files have its size. */
#define PATHS_MAX 1000

void content_search_deinit(struct content_search *search)
{
	if (search->catalog)
		catalog_close(search->catalog);
	text_list_free(&search->paths);
}

/* Begins another kind of files, which has a limit of its own. */
static void begin_kind(struct content_search *search)
{
	search->limit = search->paths.count + PATHS_MAX;
}

/* Adds a path, unless it is known or the limit is reached. */
static int add_path(struct content_search *search, const char *path)
{
	if (!path || text_list_has(&search->paths, path))
		return 0;
	if (search->paths.count == search->limit) {
		search->is_limited = true;
		return 0;
	}
	return text_list_add(&search->paths, path, strlen(path));
}

/* ---- by the index ------------------------------------------------------------------------ */

/* Adds the path of a name of a file. */
static int add_name(struct content_search *search, struct catalog_reader *reader, uint64_t dir,
		    uint64_t cookie)
{
	CLEANUP_BYTES struct bytes path = {0}, relative = {0};
	uint32_t source = 0;
	uint64_t root;
	int r = catalog_entry_path(reader, dir, cookie, &relative, &source);

	if (r == 0)
		r = catalog_get_source(reader, source, &path, &root);
	if (r == 0)
		r = bytes_format(&path, "/%.*s", (int)relative.length, (const char *)relative.data);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	return bytes_text(&path) ? add_path(search, bytes_text(&path)) : -ENOMEM;
}

/* Adds the path of a file, or all its paths if it is the copy. The act removed some of them. */
static int add_file(struct content_search *search, struct catalog_reader *reader, uint64_t id)
{
	struct catalog_scan *names = NULL;
	struct file_record file;
	uint64_t dir, cookie;
	int r = catalog_get_file(reader, id, &file);
	bool is_copy;

	if (r < 0)
		return 0;
	is_copy = search->inode && file.attributes.inode == search->inode;
	r = catalog_scan_names(reader, &file, &names);
	while (r == 0 && (r = catalog_next_name(names, &dir, &cookie)) == 0) {
		r = add_name(search, reader, dir, cookie);
		if (!is_copy)
			break;
	}
	catalog_scan_end(names);
	return r == -ENOMEM ? r : 0;
}

/* What the index knows about a file of the size. */
enum knowledge {
	CONTENT_OTHER, /* it has another hash */
	CONTENT_SAME, /* it has the hash */
	CONTENT_UNKNOWN, /* the index has no hash of it */
};

static enum knowledge judge(struct catalog_reader *reader, const struct size_entry *entry,
			    const struct record *record)
{
	struct group_record group;
	struct content_record content;

	if (entry->group)
		return catalog_get_group(reader, entry->group, &group) == 0 &&
				       hash128_equal(group.hash, record->hash)
			       ? CONTENT_SAME
			       : CONTENT_OTHER;
	if (catalog_get_content(reader, entry->file, &content) != 0 || !content_has_hash(&content))
		return CONTENT_UNKNOWN;
	return hash128_equal(content.hash, record->hash) ? CONTENT_SAME : CONTENT_OTHER;
}

/* Adds the files of the size of which the index knows this. */
static int add_sizes(struct content_search *search, struct catalog_reader *reader,
		     const struct record *record, enum knowledge knowledge)
{
	const struct size_entry from = {.size = record->size};
	struct catalog_scan *scan = NULL;
	struct size_entry entry;
	int r = catalog_scan_sizes(reader, &from, &scan);

	begin_kind(search);
	while (r == 0 && (r = catalog_next_size(scan, &entry)) == 0 && entry.size == record->size) {
		if (judge(reader, &entry, record) != knowledge)
			continue;
		if (search->paths.count == search->limit) {
			search->is_limited = true;
			break;
		}
		r = add_file(search, reader, entry.file);
	}
	catalog_scan_end(scan);
	return r == -ENOMEM ? r : 0;
}

static void begin_reading(struct content_search *search, struct catalog_reader **reader)
{
	const struct catalog_options options = {.folder = search->folder, .read_only = true};

	if (!search->is_opened && catalog_open(&search->catalog, &options) != 0)
		search->catalog = NULL; /* the log can still find the content */
	search->is_opened = true;
	if (search->catalog && catalog_read_begin(search->catalog, reader) < 0)
		*reader = NULL;
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

	begin_kind(search);
	hash128_format(record->hash, digits);
	r = act_log_read(search->folder, &pass);
	return r == -ENOMEM ? r : 0;
}

/* Lists the files that possibly have the content, the most certain ones first. */
static int list_paths(struct content_search *search, const struct record *record)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	int r;

	text_list_free(&search->paths);
	search->paths = (struct text_list){.count = 0};
	search->hash = record->hash;
	search->inode = record->links > 1 ? record->inode : 0;
	search->is_limited = search->is_explained = false;
	begin_reading(search, &reader);
	r = reader ? add_sizes(search, reader, record, CONTENT_SAME) : 0;
	if (r == 0)
		r = search_log(search, record);
	if (r == 0 && reader)
		r = add_sizes(search, reader, record, CONTENT_UNKNOWN);
	return r;
}

static void explain_limit(struct content_search *search, const struct record *record)
{
	char count[NUMBER_TEXT_MAX];

	if (!search->is_limited || search->is_explained)
		return;
	search->is_explained = true;
	log_warning("the content of %s was searched in %s files only, and others have its size; if "
		    "you know a file with this content, put a copy of it at %s and run 'twinfs "
		    "undo' again",
		    quote_path(record->path), number_format(count, search->paths.count),
		    quote_path(record->kept ? record->kept : record->path));
}

int content_search_find(struct content_search *search, const struct record *record,
			int (*try)(void *trying, const char *path), void *trying)
{
	int r = 0;

	if (!hash128_equal(search->hash, record->hash) ||
	    (record->links > 1 && search->inode != record->inode))
		r = list_paths(search, record);
	for (size_t i = 0; r == 0 && i < search->paths.count; i++)
		r = try(trying, search->paths.items[i]);
	if (r == 0)
		explain_limit(search, record);
	return r;
}
