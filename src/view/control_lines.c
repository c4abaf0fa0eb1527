/* SPDX-License-Identifier: MIT */

/* The files of lines: README.txt and, with one line per object, .twinfs/errors and pending. */

#include <errno.h>

#include <jansson.h>

#include "base/log.h"
#include "catalog/query.h"
#include "catalog/scan.h"
#include "row/json_path.h"
#include "row/json_text.h"
#include "view/control.h"
#include "view/node.h"
#include "view/source_path.h"

/* Begins an object with the path of a node. *object is NULL if the node has no name any more. */
static int begin_line(const struct view_query *query, uint64_t node, json_t **object)
{
	CLEANUP_BYTES struct bytes path = {0};
	int r = source_path_of(query, node, &path);

	*object = NULL;
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	*object = json_object();
	if (!*object)
		return -ENOMEM;
	r = json_set_path(*object, "path", (const char *)path.data, path.length);
	if (r < 0)
		json_decref(TAKE(*object));
	return r;
}

/* ---- README.txt ---------------------------------------------------------------------- */

const char control_readme[] =
	"This folder is a view of other folders, made by twinfs. It shows which of their\n"
	"files are equal: twinfs compared them byte by byte, and follows each change.\n"
	"Nothing is stored here. Nothing can be changed or deleted here, so it is safe to\n"
	"look around, to open files and to copy them.\n"
	"\n"
	"by-size     Equal files, those that waste the most space first. Begin here.\n"
	"folders     Whole folders that are equal.\n"
	"dups        The same groups of equal files, each in a folder that is named by a\n"
	"            hash of the content. A copy is named by the path of the file, for\n"
	"            example Photos\342\210\2252019\342\210\225img.jpg. (kept) marks the copy that "
	"would stay.\n"
	"uniques     Your files, each content once. It is all that a backup needs.\n"
	"redundant   The copies that uniques leaves out.\n"
	"report.html A page for a browser: where the space is, and what to do next.\n"
	".twinfs     Hidden. It has files for programs.\n"
	"\n"
	"dups, uniques and redundant are all that other users see of a shared view.\n"
	"\n"
	"While files are still compared, by-size and folders are not complete.\n"
	"\n"
	"To free space, select files or folders here in a file manager, and choose \"Move\n"
	"redundant copies to trash\". To end the view, choose \"Stop showing equal files\".\n"
	"If the menu has no such actions: man twinfs describes them in FILE MANAGERS.\n"
	"\n"
	"The same in a terminal, where V is this folder:\n"
	"\n"
	"    twinfs remove --dry-run V    shows what would go and what would stay\n"
	"    twinfs remove --trash V      moves copies to the trash, after a question\n"
	"    twinfs undo                  takes that back\n"
	"    twinfs unmount V             ends the view\n"
	"\n"
	"man twinfs has the rest, with many examples.\n";

/* ---- errors -------------------------------------------------------------------------- */

static int append_error(const struct view_query *query, const struct error_entry *error,
			struct bytes *content)
{
	enum node_kind kind = error->kind == ERROR_DIR ? NODE_DIR : NODE_FILE;
	json_t *object;
	int r = begin_line(query, node_make(kind, error->id), &object);

	if (r < 0 || !object)
		return r;
	r = json_set_text(object, "error", error_name(error->error));
	if (r == 0)
		r = json_set_text(object, "message", error_text(error->error));
	if (r == 0)
		r = json_append_line(content, object, JSON_COMPACT);
	json_decref(object);
	return r;
}

int control_errors(const struct view_query *query, struct bytes *content)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct error_entry error;
	int r = catalog_scan_errors(query->reader, &scan);

	while (r == 0 && (r = catalog_next_error(scan, &error)) == 0)
		r = append_error(query, &error, content);
	return r == -ENOENT ? 0 : r;
}

/* ---- pending ------------------------------------------------------------------------- */

static int append_pending(const struct view_query *query, const struct size_entry *entry,
			  struct bytes *content)
{
	json_t *object;
	int error, r = catalog_get_error(query->reader, ERROR_FILE, entry->file, &error);

	if (r < 0 || error) /* an unreadable file does not wait for comparison */
		return r;
	r = begin_line(query, node_make(NODE_FILE, entry->file), &object);
	if (r < 0 || !object)
		return r;
	r = json_set_number(object, "size", entry->size);
	if (r == 0)
		r = json_append_line(content, object, JSON_COMPACT);
	json_decref(object);
	return r;
}

/* Files of one size are sorted with unread ones first. An unread file waits only if another file
 * has the same size. For the first file of a size, this is known at the next entry. */
static int append_all_pending(const struct view_query *query, struct catalog_scan *scan,
			      struct bytes *content)
{
	struct size_entry entry, before = {0};
	bool waits = false, paired = false;
	int r;

	while ((r = catalog_next_size(scan, &entry)) == 0) {
		bool same = before.file && before.size == entry.size;

		if (same && !paired && waits)
			r = append_pending(query, &before, content);
		paired = same;
		waits = entry.prefix == 0;
		if (r == 0 && paired && waits)
			r = append_pending(query, &entry, content);
		if (r < 0)
			return r;
		before = entry;
	}
	return r == -ENOENT ? 0 : r;
}

int control_pending(const struct view_query *query, struct bytes *content)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct size_entry from = {.size = 0};
	int r = catalog_get_min_size(query->reader, &from.size);

	if (r == 0)
		r = catalog_scan_sizes(query->reader, &from, &scan);
	if (r < 0)
		return expect_record(r);
	return append_all_pending(query, scan, content);
}
