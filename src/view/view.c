/* SPDX-License-Identifier: MIT */
#include "view/view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "catalog/query.h"
#include "view/class.h"
#include "view/group_walk.h"
#include "view/node.h"
#include "view/query.h"

/* What df(1) counts in. */
#define STATFS_BLOCK_SIZE 4096

void view_init(struct view *view, struct catalog *catalog, const struct sources *sources,
	       const char *mount_point)
{
	*view = (struct view){
		.catalog = catalog,
		.sources = sources,
		.mount_point = mount_point,
		.read_mode = "copy",
		.since = clock_now(),
	};
	atomic_init(&view->state, VIEW_WALKING);
	atomic_init(&view->watch, "none");
	event_log_init(&view->events);
	listing_times_init(&view->times);
}

void view_deinit(struct view *view)
{
	listing_times_deinit(&view->times);
	event_log_deinit(&view->events);
}

void view_set_state(struct view *view, enum view_state state)
{
	atomic_store_explicit(&view->state, state, memory_order_release);
}

void view_set_problem(struct view *view, int problem)
{
	atomic_store(&view->problem, problem);
}

void view_set_watch(struct view *view, const char *name)
{
	atomic_store(&view->watch, name);
}

void view_set_unwatched(struct view *view, uint64_t directories)
{
	atomic_store(&view->unwatched, directories);
}

enum view_state view_get_state(const struct view *view)
{
	return atomic_load_explicit(&view->state, memory_order_acquire);
}

static const struct view_class *class_of(uint64_t node)
{
	static const struct view_class *const classes[] = {
		[NODE_FIXED] = &fixed_class,
		[NODE_DIR] = &tree_class,
		[NODE_GROUP] = &group_class,
		[NODE_FILE] = &file_class,
	};
	uint64_t kind = node_kind(node);

	if (node_version(node) && kind != NODE_FILE)
		return NULL;
	return kind < ARRAY_SIZE(classes) ? classes[kind] : NULL;
}

int view_lookup(struct view *view, uint64_t parent, const char *name, struct stat *attributes)
{
	struct view_query query CLEANUP_QUERY = {0};
	const struct view_class *class = class_of(parent);
	int r;

	if (!class)
		return -ESTALE;
	if (!class->lookup)
		return -ENOTDIR;
	if (strnlen(name, NAME_BYTES_MAX + 1) > NAME_BYTES_MAX)
		return -ENAMETOOLONG;
	r = query_begin(&query, view);
	if (r == 0)
		r = class->lookup(&query, node_id(parent), name, attributes);
	return query_error(r);
}

int view_getattr(struct view *view, uint64_t node, struct stat *attributes)
{
	struct view_query query CLEANUP_QUERY = {0};
	const struct view_class *class = class_of(node);
	int r;

	if (!class)
		return -ESTALE;
	r = query_begin(&query, view);
	if (r == 0)
		r = class->getattr(&query, node_id(node), attributes);
	if (r == 0 && attributes->st_ino != node)
		r = -ESTALE; /* a file with another content by now */
	return query_error(r);
}

static int list_begin(struct view_listing *listing)
{
	struct view_query query CLEANUP_QUERY = {0};
	int r = query_begin(&query, listing->view);

	if (r == 0)
		r = listing->class->list_begin(&query, listing);
	return query_error(r);
}

int view_list_begin(struct view *view, uint64_t node, struct view_listing **listing)
{
	const struct view_class *class = class_of(node);
	struct view_listing *begun;
	int r;

	if (!class)
		return -ESTALE;
	if (!class->list)
		return -ENOTDIR;
	begun = malloc(sizeof(*begun));
	if (!begun)
		return -ENOMEM;
	*begun = (struct view_listing){.view = view, .class = class, .id = node_id(node)};
	r = list_begin(begun);
	if (r < 0) {
		view_list_end(begun);
		return r;
	}
	*listing = begun;
	return 0;
}

int view_list(struct view_listing *listing, uint64_t after, view_emit_fn *emit, void *context)
{
	struct view_query query CLEANUP_QUERY = {0};
	int r = query_begin(&query, listing->view);

	if (r == 0)
		r = listing->class->list(&query, listing, after, emit, context);
	return query_error(r);
}

uint64_t view_list_parent(const struct view_listing *listing)
{
	return listing->parent;
}

void view_list_end(struct view_listing *listing)
{
	if (!listing)
		return;
	group_marks_free(listing->marks);
	free(listing);
}

int view_statfs(struct view *view, struct statvfs *statfs)
{
	struct view_query query CLEANUP_QUERY = {0};
	struct catalog_totals totals = {0};
	int r = query_begin(&query, view);

	if (r == 0)
		r = catalog_get_totals(query.reader, &totals);
	if (r < 0)
		return query_error(r);
	*statfs = (struct statvfs){
		.f_bsize = STATFS_BLOCK_SIZE,
		.f_frsize = STATFS_BLOCK_SIZE,
		.f_blocks =
			totals.bytes / STATFS_BLOCK_SIZE + (totals.bytes % STATFS_BLOCK_SIZE > 0),
		.f_files = totals.files + totals.directories,
		.f_namemax = NAME_BYTES_MAX,
	};
	return 0;
}
