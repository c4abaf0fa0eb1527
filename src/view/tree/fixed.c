/* SPDX-License-Identifier: MIT */

/* The nodes that every view has: the root with dups/, by-size/, folders/, .twinfs/, README.txt,
 * report.html and, with several sources, uniques/ and redundant/. */

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "index/query.h"
#include "index/source.h"
#include "view/tree/access.h"
#include "view/tree/node.h"
#include "view/tree/query.h"

struct fixed_entry {
	enum fixed_node parent;
	enum fixed_node id;
	const char *name;
};

static const struct fixed_entry fixed_entries[] = {
	/* in the root */
	{FIXED_ROOT, FIXED_DUPS, "dups"},
	{FIXED_ROOT, FIXED_UNIQUES, "uniques"},
	{FIXED_ROOT, FIXED_REDUNDANT, "redundant"},
	{FIXED_ROOT, FIXED_BY_SIZE, "by-size"},
	{FIXED_ROOT, FIXED_FOLDERS, "folders"},
	{FIXED_ROOT, FIXED_README, "README.txt"},
	{FIXED_ROOT, FIXED_ROOT_REPORT, "report.html"},
	{FIXED_ROOT, FIXED_TWINFS, ".twinfs"},
	/* in .twinfs/ */
	{FIXED_TWINFS, FIXED_STATUS, "status.json"},
	{FIXED_TWINFS, FIXED_ERRORS, "errors"},
	{FIXED_TWINFS, FIXED_PENDING, "pending"},
	{FIXED_TWINFS, FIXED_METRICS, "metrics"},
	{FIXED_TWINFS, FIXED_SYNC, "sync"},
	{FIXED_TWINFS, FIXED_REMAP, "remap"},
	{FIXED_TWINFS, FIXED_EVENTS, "events"},
	{FIXED_TWINFS, FIXED_REPORT, "report.html"},
};

/* Fills in the attributes of .twinfs/events. Programs that follow this file use its size. */
static void fill_events(struct stat *attributes, struct view *view)
{
	struct timespec changed;
	uint64_t size = event_log_size(&view->events, &changed);

	stat_set_file(attributes, FIXED_EVENTS, size ? changed : view->since);
	attributes->st_size = (off_t)size;
}

/* Returns the time of the last change, or for a caller the time of the mount: the change can
 * concern a hidden file. */
static struct timespec change_time(const struct view_query *query, struct timespec changed)
{
	return query->caller ? query->view->since : changed;
}

static int fixed_getattr(const struct view_query *query, uint64_t node, struct stat *attributes)
{
	struct view *view = query->view;
	struct catalog_totals totals;
	int r = catalog_get_totals(query->reader, &totals);

	if (r < 0)
		return expect_record(r);
	switch (node) {
	case FIXED_ROOT:
	case FIXED_UNIQUES:
	case FIXED_REDUNDANT:
	case FIXED_TWINFS:
		stat_set_directory(attributes, node,
				   change_time(query, listing_times_latest(&view->times, node,
									   view->since)));
		return 0;
	case FIXED_DUPS:
	case FIXED_BY_SIZE:
	case FIXED_FOLDERS:
		stat_set_directory(attributes, node, change_time(query, totals.changed));
		return 0;
	case FIXED_STATUS:
	case FIXED_ERRORS:
	case FIXED_PENDING:
	case FIXED_METRICS:
	case FIXED_SYNC:
	case FIXED_REMAP:
		stat_set_file(attributes, node, totals.changed);
		return 0;
	case FIXED_REPORT:
	case FIXED_ROOT_REPORT:
		stat_set_file(attributes, node, totals.changed);
		attributes->st_size = VIEW_REPORT_BYTES;
		return 0;
	case FIXED_README:
		stat_set_file(attributes, node, view->since);
		attributes->st_size = (off_t)strlen(control_readme);
		return 0;
	case FIXED_EVENTS:
		fill_events(attributes, view);
		return 0;
	default:
		return -ESTALE;
	}
}

/* Returns the kind of the source trees that a node contains (or is, with a single source);
 * NODE_FIXED if the node contains none. */
static enum node_kind trees_in(uint64_t node)
{
	if (node == FIXED_UNIQUES)
		return NODE_DIR;
	return node == FIXED_REDUNDANT ? NODE_REDUNDANT : NODE_FIXED;
}

/* Fills in the attributes of a name. */
static int entry_getattr(const struct view_query *query, const struct fixed_entry *entry,
			 struct stat *attributes)
{
	const struct sources *sources = query->view->sources;
	enum node_kind trees = trees_in(entry->id);

	if (trees != NODE_FIXED && sources->count == 1)
		return tree_ops.getattr(query, node_make(trees, sources->list[0].root), attributes);
	return fixed_getattr(query, entry->id, attributes);
}

/* Returns -ENOENT for an empty tree of redundant/, and for a tree that the caller cannot reach. The
 * existence of a source can be hidden. */
static int tree_getattr(const struct view_query *query, enum node_kind kind, uint64_t root,
			struct stat *attributes)
{
	int r = access_check_node(query, node_make(kind, root), F_OK);

	if (r == -EACCES)
		return -ENOENT;
	if (r == 0)
		r = tree_ops.getattr(query, node_make(kind, root), attributes);
	return r == -ESTALE && kind == NODE_REDUNDANT ? -ENOENT : r;
}

static int trees_lookup(const struct view_query *query, enum node_kind kind, const char *name,
			struct stat *attributes)
{
	const struct sources *sources = query->view->sources;

	for (size_t i = 0; i < sources->count; i++) {
		if (strcmp(sources->list[i].tree, name) == 0)
			return tree_getattr(query, kind, sources->list[i].root, attributes);
	}
	return -ENOENT;
}

static int fixed_lookup(const struct view_query *query, uint64_t node, const char *name,
			struct stat *attributes)
{
	if (node == FIXED_DUPS)
		return groups_lookup(query, name, attributes);
	if (node_is_ranked(node))
		return ranked_lookup(query, ranked_of(node), name, attributes);
	if (trees_in(node) != NODE_FIXED)
		return trees_lookup(query, trees_in(node), name, attributes);
	for (size_t i = 0; i < ARRAY_SIZE(fixed_entries); i++) {
		const struct fixed_entry *entry = &fixed_entries[i];

		if (entry->parent == node && strcmp(entry->name, name) == 0)
			return entry_getattr(query, entry, attributes);
	}
	return -ENOENT;
}

static int fixed_list_begin(const struct view_query *query, uint64_t node, uint64_t *parent)
{
	(void)query;
	*parent = FIXED_ROOT;
	return node >= FIXED_FILES ? -ENOTDIR : 0;
}

static int trees_list(const struct view_query *query, uint64_t node, uint64_t after,
		      view_emit_fn *emit, void *context)
{
	const struct sources *sources = query->view->sources;
	int r = 0;

	for (size_t i = 0; i < sources->count && r == 0; i++) {
		struct view_entry entry = {
			.name = sources->list[i].tree,
			.cookie = VIEW_COOKIE_MIN + i,
			.known = true,
		};

		if (entry.cookie <= after)
			continue;
		r = tree_getattr(query, trees_in(node), sources->list[i].root, &entry.attributes);
		if (r == 0 && !emit(&entry, context))
			break;
		if (r == -ENOENT)
			r = 0;
	}
	return r;
}

static int fixed_list(const struct view_query *query, uint64_t node, uint64_t after,
		      view_emit_fn *emit, void *context)
{
	int r = 0;

	if (node == FIXED_DUPS)
		return groups_list(query, after, emit, context);
	if (node_is_ranked(node))
		return ranked_list(query, ranked_of(node), after, emit, context);
	if (trees_in(node) != NODE_FIXED)
		return trees_list(query, node, after, emit, context);
	for (size_t i = 0; i < ARRAY_SIZE(fixed_entries) && r == 0; i++) {
		struct view_entry entry = {
			.name = fixed_entries[i].name,
			.cookie = VIEW_COOKIE_MIN + i,
			.known = true,
		};

		if (fixed_entries[i].parent != node || entry.cookie <= after ||
		    access_check_node(query, fixed_entries[i].id, F_OK) == -EACCES)
			continue;
		r = entry_getattr(query, &fixed_entries[i], &entry.attributes);
		if (r == 0 && !emit(&entry, context))
			break;
	}
	return r;
}

static int fixed_path(const struct view_query *query, uint64_t node, struct bytes *path)
{
	(void)query;
	if (node == FIXED_ROOT)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(fixed_entries); i++) {
		if (fixed_entries[i].id == node && fixed_entries[i].parent == FIXED_ROOT)
			return bytes_format(path, "%s", fixed_entries[i].name);
	}
	return -ESTALE;
}

const struct node_ops fixed_ops = {
	.path = fixed_path,
	.getattr = fixed_getattr,
	.lookup = fixed_lookup,
	.list_begin = fixed_list_begin,
	.list = fixed_list,
};
