/* SPDX-License-Identifier: MIT */

/* The nodes that every view has: its root, dups/, uniques/ with several sources, .twinfs/. */

#include <errno.h>
#include <string.h>

#include "catalog/query.h"
#include "view/class.h"
#include "view/fill.h"
#include "view/node.h"

struct fixed_entry {
	enum fixed_node parent;
	enum fixed_node id;
	const char *name;
};

static const struct fixed_entry fixed_entries[] = {
	{FIXED_ROOT, FIXED_DUPS, "dups"},         {FIXED_ROOT, FIXED_UNIQUES, "uniques"},
	{FIXED_ROOT, FIXED_TWINFS, ".twinfs"},    {FIXED_TWINFS, FIXED_STATUS, "status.json"},
	{FIXED_TWINFS, FIXED_ERRORS, "errors"},   {FIXED_TWINFS, FIXED_PENDING, "pending"},
	{FIXED_TWINFS, FIXED_METRICS, "metrics"}, {FIXED_TWINFS, FIXED_SYNC, "sync"},
	{FIXED_TWINFS, FIXED_EVENTS, "events"},
};

/* Those who follow the file look at its size. */
static void fill_events(struct stat *attributes, struct view *view)
{
	struct timespec changed;
	uint64_t size = event_log_size(&view->events, &changed);

	fill_file(attributes, FIXED_EVENTS, size ? changed : view->since);
	attributes->st_size = (off_t)size;
}

static int fixed_getattr(const struct view_query *query, uint64_t id, struct stat *attributes)
{
	struct catalog_totals totals;
	int r = catalog_get_totals(query->reader, &totals);

	if (r < 0)
		return expect_record(r);
	switch (id) {
	case FIXED_ROOT:
	case FIXED_UNIQUES:
	case FIXED_TWINFS:
		fill_directory(attributes, id, query->view->since);
		return 0;
	case FIXED_DUPS:
		fill_directory(attributes, id, totals.changed);
		return 0;
	case FIXED_STATUS:
	case FIXED_ERRORS:
	case FIXED_PENDING:
	case FIXED_METRICS:
	case FIXED_SYNC:
		fill_file(attributes, id, totals.changed);
		return 0;
	case FIXED_EVENTS:
		fill_events(attributes, query->view);
		return 0;
	default:
		return -ESTALE;
	}
}

/* The attributes of a name; a single source's root is uniques/ itself. */
static int entry_getattr(const struct view_query *query, const struct fixed_entry *entry,
			 struct stat *attributes)
{
	const struct sources *sources = query->view->sources;

	if (entry->id == FIXED_UNIQUES && sources->count == 1)
		return tree_class.getattr(query, sources->list[0].root, attributes);
	return fixed_getattr(query, entry->id, attributes);
}

static int trees_lookup(const struct view_query *query, const char *name, struct stat *attributes)
{
	const struct sources *sources = query->view->sources;

	for (size_t i = 0; i < sources->count; i++) {
		if (strcmp(sources->list[i].tree, name) == 0)
			return tree_class.getattr(query, sources->list[i].root, attributes);
	}
	return -ENOENT;
}

static int fixed_lookup(const struct view_query *query, uint64_t id, const char *name,
			struct stat *attributes)
{
	if (id == FIXED_DUPS)
		return groups_lookup(query, name, attributes);
	if (id == FIXED_UNIQUES)
		return trees_lookup(query, name, attributes);
	for (size_t i = 0; i < ARRAY_SIZE(fixed_entries); i++) {
		const struct fixed_entry *entry = &fixed_entries[i];

		if (entry->parent == id && strcmp(entry->name, name) == 0)
			return entry_getattr(query, entry, attributes);
	}
	return -ENOENT;
}

static int fixed_list_begin(const struct view_query *query, uint64_t id, uint64_t *parent)
{
	(void)query;
	*parent = FIXED_ROOT;
	return id >= FIXED_FILES ? -ENOTDIR : 0;
}

static int trees_list(const struct view_query *query, uint64_t after, view_emit_fn *emit,
		      void *context)
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
		r = tree_class.getattr(query, sources->list[i].root, &entry.attributes);
		if (r == 0 && !emit(&entry, context))
			break;
	}
	return r;
}

static int fixed_list(const struct view_query *query, uint64_t id, uint64_t after,
		      view_emit_fn *emit, void *context)
{
	int r = 0;

	if (id == FIXED_DUPS)
		return groups_list(query, after, emit, context);
	if (id == FIXED_UNIQUES)
		return trees_list(query, after, emit, context);
	for (size_t i = 0; i < ARRAY_SIZE(fixed_entries) && r == 0; i++) {
		struct view_entry entry = {
			.name = fixed_entries[i].name,
			.cookie = VIEW_COOKIE_MIN + i,
			.known = true,
		};

		if (fixed_entries[i].parent != id || entry.cookie <= after)
			continue;
		r = entry_getattr(query, &fixed_entries[i], &entry.attributes);
		if (r == 0 && !emit(&entry, context))
			break;
	}
	return r;
}

const struct view_class fixed_class = {
	.getattr = fixed_getattr,
	.lookup = fixed_lookup,
	.list_begin = fixed_list_begin,
	.list = fixed_list,
};
