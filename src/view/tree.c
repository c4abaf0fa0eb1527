/* SPDX-License-Identifier: MIT */

/* uniques/: the directories and files of the sources, without redundant copies. */

#include <errno.h>
#include <string.h>

#include "catalog/query.h"
#include "view/class.h"
#include "view/fill.h"
#include "view/node.h"

/* Outcome: the file is a redundant copy, which uniques/ leaves out. */
enum {
	TREE_REDUNDANT = 1
};

static int get_dir(const struct view_query *query, uint64_t id, struct dir_record *dir)
{
	int r = catalog_get_dir(query->reader, id, dir);

	return r == -ENOENT ? -ESTALE : r;
}

static int tree_getattr(const struct view_query *query, uint64_t id, struct stat *attributes)
{
	struct dir_record dir;
	int r = get_dir(query, id, &dir);

	if (r < 0)
		return r;
	fill_record(attributes, node_make(NODE_DIR, id), &dir.attributes);
	attributes->st_ctim = listing_times_latest(&query->view->times, id, attributes->st_ctim);
	return 0;
}

static int file_getattr(const struct view_query *query, uint64_t id, struct stat *attributes)
{
	struct file_record file;
	int r = catalog_get_file(query->reader, id, &file);

	if (r == -ENOENT)
		return -ESTALE;
	if (r == 0)
		fill_record(attributes, node_make_file(id, file.touches), &file.attributes);
	return r;
}

/* The attributes of a file that uniques/ shows; TREE_REDUNDANT for another. */
static int get_shown_file(const struct view_query *query, uint64_t id, struct stat *attributes)
{
	struct group_record group;
	bool redundant;
	int r = file_getattr(query, id, attributes);

	if (r < 0 || !S_ISREG(attributes->st_mode))
		return r;
	r = catalog_is_redundant(query->reader, id, &redundant, &group);
	if (r < 0)
		return r;
	return redundant ? TREE_REDUNDANT : 0;
}

/* What an entry of a directory is: 0, TREE_REDUNDANT, or -errno; that of the source where not
 * even stat(2) worked on it. */
static int get_entry(const struct view_query *query, const struct entry_record *entry,
		     struct stat *attributes)
{
	int r;

	switch (entry->kind) {
	case ENTRY_DIR:
		r = tree_getattr(query, entry->child, attributes);
		break;
	case ENTRY_FILE:
		r = get_shown_file(query, entry->child, attributes);
		break;
	case ENTRY_UNKNOWN:
		return -(int)entry->child;
	default:
		return -EUCLEAN;
	}
	return expect_record(r);
}

/* Why a name is not there: a directory that could not be read has no names, but that is not to say
 * that the source has none. */
static int explain_absence(const struct view_query *query, uint64_t id)
{
	struct dir_record dir;
	int r = get_dir(query, id, &dir);

	if (r < 0)
		return r;
	return dir.error ? -dir.error : -ENOENT;
}

static int tree_lookup(const struct view_query *query, uint64_t id, const char *name,
		       struct stat *attributes)
{
	struct name wanted = {.bytes = name, .length = (uint32_t)strlen(name)};
	struct entry_record entry;
	int r = catalog_find_entry(query->reader, id, wanted, &entry);

	if (r == -ENOENT)
		return explain_absence(query, id);
	if (r == 0)
		r = get_entry(query, &entry, attributes);
	return r == TREE_REDUNDANT ? -ENOENT : r;
}

static int tree_list_begin(const struct view_query *query, uint64_t id, uint64_t *parent)
{
	struct dir_record dir;
	int r = get_dir(query, id, &dir);

	if (r < 0)
		return r;
	if (dir.error && !(dir.flags & DIR_NOT_SEARCHED))
		return -dir.error;
	if (dir.parent)
		*parent = node_make(NODE_DIR, dir.parent);
	else
		*parent = query->view->sources->count == 1 ? FIXED_ROOT : FIXED_UNIQUES;
	return 0;
}

/* Emits one entry; *full is set when it did not fit. */
static int list_entry(const struct view_query *query, const struct entry_record *record,
		      view_emit_fn *emit, void *context, bool *full)
{
	char name[NAME_BYTES_MAX + 1];
	struct view_entry entry = {.name = name, .cookie = record->cookie, .known = true};
	int r = get_entry(query, record, &entry.attributes);

	if (r == TREE_REDUNDANT)
		return 0;
	if (r < 0 && record->kind != ENTRY_UNKNOWN)
		return r;
	if (r < 0) {
		entry.known = false;
		entry.attributes = (struct stat){0};
	}
	memcpy(name, record->name.bytes, record->name.length);
	name[record->name.length] = '\0';
	*full = !emit(&entry, context);
	return 0;
}

static int tree_list(const struct view_query *query, uint64_t id, uint64_t after,
		     view_emit_fn *emit, void *context)
{
	struct catalog_scan *scan CLEANUP_SCAN = NULL;
	struct entry_record entry;
	bool full = false;
	int r = catalog_scan_entries(query->reader, id, after, &scan);

	while (r == 0 && !full && (r = catalog_next_entry(scan, &entry)) == 0)
		r = list_entry(query, &entry, emit, context, &full);
	return r == -ENOENT ? 0 : r;
}

const struct view_class tree_class = {
	.getattr = tree_getattr,
	.lookup = tree_lookup,
	.list_begin = tree_list_begin,
	.list = tree_list,
};

const struct view_class file_class = {
	.getattr = file_getattr,
};
