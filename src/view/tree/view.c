/* SPDX-License-Identifier: MIT */
#include "view/tree/view.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/kernel.h"
#include "index/source.h"
#include "view/tree/access.h"
#include "view/tree/node.h"
#include "view/tree/query.h"

void view_init(struct view *view, struct catalog *catalog, const struct sources *sources,
	       const char *mount_point)
{
	static const struct keep_rules none;

	*view = (struct view){
		.keep_rules = &none,
		.catalog = catalog,
		.sources = sources,
		.mount_point = mount_point,
		.since = clock_now(),
	};
	atomic_init(&view->state, VIEW_WALKING);
	atomic_init(&view->stale, false);
	atomic_init(&view->read_mode, "copy");
	atomic_init(&view->transport, "device");
	atomic_init(&view->watch, "none");
	pthread_mutex_init(&view->unserved_lock, NULL);
	event_log_init(&view->events);
	/* once the kernel's generator is initialised, getrandom(2) returns so few bytes without a
	 * delay */
	if (random_fill(&view->cookie_secret, sizeof(view->cookie_secret)) < 0)
		view->cookie_secret = (uint64_t)view->since.tv_nsec;
	view->inode_secret = catalog_secret(catalog);
	listing_times_init(&view->times);
	ranking_init(&view->ranking, catalog_scan_ranks);
	ranking_init(&view->folder_ranking, catalog_scan_folder_ranks);
	folder_cache_init(&view->folders);
	visible_cache_init(&view->visible_cache);
	directory_paths_init(&view->directory_paths);
	known_numbers_init(&view->numbers);
}

uint64_t view_inode(const struct view *view, uint64_t node)
{
	uint64_t id = node_id(node);

	if (view->shared && node_kind(node) != NODE_FIXED)
		node = node_make(node_kind(node), permute_id(view->inode_secret, id));
	return node_seen_inode(node);
}

static const struct {
	const char *name, *cause, *remedy;
} unserved_reasons[UNSERVED_REASONS] = {
	[UNSERVED_NAMES] = {"names", "the watched folders have too many names",
			    "watch fewer folders, or folders with fewer names"},
	[UNSERVED_CHANGES] = {"changes", "there were too many changes before its watch was found",
			      "list the folder again"},
	[UNSERVED_MEMORY] = {"memory", "not enough memory", "let the daemon use more memory"},
};

const char *unserved_name(enum unserved_reason reason)
{
	return unserved_reasons[reason].name;
}

const char *unserved_cause(enum unserved_reason reason)
{
	return unserved_reasons[reason].cause;
}

const char *unserved_remedy(enum unserved_reason reason)
{
	return unserved_reasons[reason].remedy;
}

void unserved_free(struct unserved *unserved)
{
	for (size_t i = 0; i < unserved->count; i++)
		free(unserved->paths[i].path);
	*unserved = (struct unserved){.failure = 0};
}

void unserved_add(struct unserved *unserved, enum unserved_reason reason, const char *path)
{
	char *copy = unserved->count < UNSERVED_PATHS_MAX ? strdup(path) : NULL;

	unserved->folders[reason]++;
	if (copy)
		unserved->paths[unserved->count++] = (struct unserved_path){reason, copy};
}

void view_set_unserved(struct view *view, struct unserved *unserved)
{
	struct unserved before;

	pthread_mutex_lock(&view->unserved_lock);
	before = view->unserved;
	view->unserved = *unserved;
	pthread_mutex_unlock(&view->unserved_lock);
	unserved_free(&before);
	*unserved = (struct unserved){.failure = 0};
}

void view_deinit(struct view *view)
{
	unserved_free(&view->unserved);
	pthread_mutex_destroy(&view->unserved_lock);
	directory_paths_deinit(&view->directory_paths);
	visible_cache_deinit(&view->visible_cache);
	known_numbers_deinit(&view->numbers);
	folder_cache_deinit(&view->folders);
	ranking_deinit(&view->folder_ranking);
	ranking_deinit(&view->ranking);
	listing_times_deinit(&view->times);
	event_log_deinit(&view->events);
}

void view_set_state(struct view *view, enum view_state state)
{
	if (state == VIEW_CURRENT)
		atomic_store(&view->first_comparison_ns, 0);
	else if (state == VIEW_COMPARING && view_get_progress(view) == VIEW_WALKING)
		atomic_store(&view->first_comparison_ns, clock_monotonic_ns());
	atomic_store_explicit(&view->state, state, memory_order_release);
}

bool view_first_comparison(const struct view *view, struct progress_counts *counts,
			   uint64_t *elapsed_ns)
{
	uint64_t since_ns = atomic_load(&view->first_comparison_ns);

	if (since_ns == 0 || !view->hooks.count_compared)
		return false;
	view->hooks.count_compared(view->hooks.context, counts);
	*elapsed_ns = clock_monotonic_ns() - since_ns;
	return true;
}

enum view_state view_get_progress(const struct view *view)
{
	return atomic_load_explicit(&view->state, memory_order_acquire);
}

enum view_state view_get_state(const struct view *view)
{
	if (view->stale || view->problem)
		return VIEW_STUCK;
	if (sources_missing(view->sources) > 0)
		return VIEW_SOURCE_MISSING;
	return sources_silent(view->sources) > 0 ? VIEW_SOURCE_SILENT : view_get_progress(view);
}

/* ---- currency ----------------------------------------------------------------------- */

void currency_note_event(struct currency *currency)
{
	uint64_t none = 0;

	atomic_compare_exchange_strong(&currency->arrived_ns, &none, clock_monotonic_ns());
}

/* Sets taken_ns first, so that currency_lag_ns() finds the event in one of the fields. An event
 * that arrives in between is taken as well, and is younger. */
void currency_take_events(struct currency *currency)
{
	uint64_t arrived_ns = atomic_load(&currency->arrived_ns);

	if (arrived_ns && !atomic_load(&currency->taken_ns))
		atomic_store(&currency->taken_ns, arrived_ns);
	atomic_store(&currency->arrived_ns, 0);
}

void currency_note_applied(struct currency *currency)
{
	atomic_store(&currency->taken_ns, 0);
}

uint64_t currency_lag_ns(const struct currency *currency)
{
	uint64_t arrived_ns = atomic_load(&currency->arrived_ns);
	uint64_t taken_ns = atomic_load(&currency->taken_ns);
	uint64_t oldest_ns = taken_ns ? taken_ns : arrived_ns;
	uint64_t now_ns = clock_monotonic_ns();

	return oldest_ns && oldest_ns < now_ns ? now_ns - oldest_ns : 0;
}

/* ---- requests ----------------------------------------------------------------------- */

static const struct node_ops *class_of(uint64_t node)
{
	static const struct node_ops *const classes[] = {
		[NODE_FIXED] = &fixed_ops,        [NODE_DIR] = &tree_ops,
		[NODE_GROUP] = &group_ops,        [NODE_FILE] = &file_ops,
		[NODE_REDUNDANT] = &tree_ops,     [NODE_RANKS] = &ranks_ops,
		[NODE_LINK] = &link_ops,          [NODE_DEEP_LINK] = &link_ops,
		[NODE_FOLDER_RANKS] = &ranks_ops, [NODE_EQUALS] = &equals_ops,
		[NODE_FOLDER] = &tree_ops,
	};
	uint64_t kind = node_kind(node);

	if (node_version(node) && kind != NODE_FILE && kind != NODE_FOLDER)
		return NULL;
	return kind < ARRAY_SIZE(classes) ? classes[kind] : NULL;
}

int view_lookup(const struct view_call *call, uint64_t parent, const char *name,
		struct stat *attributes)
{
	CLEANUP_QUERY struct view_query query = {0};
	const struct node_ops *class = class_of(parent);
	int r;

	if (!class)
		return -ESTALE;
	if (!class->lookup)
		return -ENOTDIR;
	if (strnlen(name, NAME_BYTES_MAX + 1) > NAME_BYTES_MAX)
		return -ENAMETOOLONG;
	r = query_begin_for(&query, call);
	if (r == 0)
		r = access_check_node(&query, parent, X_OK);
	if (r == 0)
		r = class->lookup(&query, parent, name, attributes);
	/* a caller that can search a directory of a source can reach its entries */
	if (r == 0 && node_kind(parent) == NODE_FIXED)
		r = access_check_node(&query, attributes->st_ino, F_OK);
	return query_error(call->view, r);
}

int view_getattr(const struct view_call *call, uint64_t node, struct stat *attributes)
{
	CLEANUP_QUERY struct view_query query = {0};
	const struct node_ops *class = class_of(node);
	int r;

	if (!class)
		return -ESTALE;
	r = query_begin_for(&query, call);
	if (r == 0)
		r = access_check_node(&query, node, F_OK);
	if (r == 0)
		r = class->getattr(&query, node, attributes);
	if (r == 0 && attributes->st_ino != node)
		r = -ESTALE; /* the content has changed */
	return query_error(call->view, r);
}

int view_path(struct view *view, uint64_t node, struct bytes *path)
{
	CLEANUP_QUERY struct view_query query = {0};
	const struct node_ops *class = class_of(node);
	int r;

	if (!class || !class->path)
		return -ESTALE;
	r = query_begin(&query, view);
	if (r == 0)
		r = class->path(&query, node, path);
	return query_error(view, r);
}

void file_place_free(struct file_place *place)
{
	bytes_free(&place->path);
	bytes_free(&place->name);
}

int view_find_file(struct view *view, uint64_t node, struct file_place *place)
{
	CLEANUP_QUERY struct view_query query = {0};
	int r = query_begin(&query, view);

	if (r == 0)
		r = tree_find_file(&query, node, place);
	return query_error(view, r);
}

/* Execution of a regular file without any execute bit is refused, even for root. */
int view_access(const struct view_call *call, uint64_t node, int access)
{
	CLEANUP_QUERY struct view_query query = {0};
	const struct node_ops *class = class_of(node);
	struct stat attributes;
	int r;

	if (!class)
		return -ESTALE;
	access &= R_OK | X_OK;
	r = query_begin_for(&query, call);
	if (r == 0)
		r = call->view->shared ? access_check_node(&query, node, access)
				       : access_check_own(&query, node, access);
	if (r == 0)
		r = class->getattr(&query, node, &attributes);
	if (r == 0 && access & X_OK && !(attributes.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)))
		r = S_ISREG(attributes.st_mode) ? -EACCES : 0;
	return query_error(call->view, r);
}

/* Returns -ENOENT if the node no longer exists, as readdir(3) does for a removed directory. */
static int list_begin(const struct view_query *query, const struct node_ops *class, uint64_t node,
		      uint64_t *parent)
{
	int r = access_check_node(query, node, R_OK);

	if (r == 0)
		r = class->list_begin(query, node, parent);
	return r == -ESTALE ? -ENOENT : r;
}

/* Is the node uniques/, redundant/, or a directory of a source? */
static bool is_of_trees(uint64_t node)
{
	return node_is_source_dir(node) || node == FIXED_UNIQUES || node == FIXED_REDUNDANT;
}

static bool emit_dot(const char *name, uint64_t node, uint64_t cookie, view_emit_fn *emit,
		     void *context)
{
	const struct view_entry entry = {
		.name = name,
		.cookie = cookie,
		.known = true,
		.attributes = {.st_ino = node, .st_mode = S_IFDIR},
	};

	return emit(&entry, context);
}

int view_list(const struct view_call *call, uint64_t node, uint64_t after, view_emit_fn *emit,
	      void *context)
{
	CLEANUP_QUERY struct view_query query = {0};
	const struct node_ops *class = class_of(node);
	uint64_t parent = VIEW_ROOT;
	int r;

	if (!class)
		return -ENOENT;
	if (!class->list)
		return -ENOTDIR;
	if (call->view->stale && is_of_trees(node))
		return -EIO;
	r = query_begin_for(&query, call);
	if (r == 0)
		r = list_begin(&query, class, node, &parent);
	if (r < 0)
		return query_error(call->view, r);
	if (after < VIEW_COOKIE_SELF && !emit_dot(".", node, VIEW_COOKIE_SELF, emit, context))
		return 0;
	if (after < VIEW_COOKIE_PARENT &&
	    !emit_dot("..", parent, VIEW_COOKIE_PARENT, emit, context))
		return 0;
	if (after < VIEW_COOKIE_MIN)
		after = 0;
	return query_error(call->view, class->list(&query, node, after, emit, context));
}

/* A caller of a shared view gets zeros, as the space can be that of a hidden file system. */
int view_statfs(const struct view_call *call, struct statvfs *statfs)
{
	*statfs = (struct statvfs){.f_bsize = SOURCE_SPACE_BLOCK, .f_frsize = SOURCE_SPACE_BLOCK};
	if (!call->caller)
		sources_add_space(call->view->sources, statfs);
	statfs->f_namemax = NAME_BYTES_MAX;
	return 0;
}
