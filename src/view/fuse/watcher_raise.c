/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/log.h"
#include "base/sort.h"
#include "view/fuse/mounter.h"
#include "view/fuse/session.h"
#include "view/fuse/watched_files.h"
#include "view/fuse/watcher_event.h"
#include "view/fuse/watcher_pass.h"
#include "view/tree/node.h"
#include "view/tree/view.h"

/* Attempts to raise an event if a program looked the name up in between. */
#define TRIES_MAX 4

/* Passes in a row that raise again what failed. A folder of a group can be gone for a moment. */
#define REPETITIONS_MAX 100

/* Name in the root of the view for nodes that are gone, for the mounter only. */
#define GONE_NAME ".gone"

/* ---- events -------------------------------------------------------------------------- */

/* Invalidates the dentry of a name. For a cached dentry, the kernel would send no request to the
 * daemon. */
static void invalidate_name(const struct watcher_pass *pass, uint64_t folder, const char *name)
{
	(void)fuse_lowlevel_notify_inval_entry(pass->session->fuse, folder, name, strlen(name));
}

/* Raises an event. Returns 0 or -errno, and sets the failure if no more events can be raised. */
static int raise_event(struct watcher_pass *pass, const struct watcher_event *event)
{
	struct mounter *mounter = pass->session->settings.mounter;
	int r = -EEXIST;

	for (int tries = 0; tries < TRIES_MAX && (r == -EEXIST || r == -ENOENT); tries++) {
		if (event->kind != WATCHER_EVENT_CHANGED && event->kind != WATCHER_EVENT_ENDED)
			invalidate_name(pass, event->folder, event->name);
		if (event->kind == WATCHER_EVENT_MOVED)
			invalidate_name(pass, event->to_folder, event->to_name);
		r = mounter_raise_event(mounter, event, &pass->watcher->stopping);
	}
	if (r < 0)
		log_debug("cannot raise an event for %s in the folder %s of the view: %s",
			  quote_path(event->name), quote_path(event->path), error_text(r));
	if (r == -ECANCELED || r == -ECHILD || r == -EPIPE || r == -EOPNOTSUPP || r == -EROFS)
		pass->failure = r;
	return r;
}

/* Returns whether a removed folder can be simulated in its last parent, so that the paths of
 * programs in it stay. In folders/, and if the parent is gone or moved, or another folder has the
 * name, this is not possible. */
static bool has_parent(const struct watcher_pass *pass, const struct watched_folder *folder,
		       const char *path)
{
	const struct view_call call = {.view = pass->session->view};
	const char *name = strrchr(path, '/');
	CLEANUP_BYTES struct bytes parent = {0};
	size_t length = name ? (size_t)(name - path) : 0;
	struct stat other;

	return *path && node_kind(folder->node) != NODE_EQUALS &&
	       node_kind(folder->node) != NODE_FOLDER &&
	       view_path(pass->session->view, folder->parent, &parent) == 0 &&
	       parent.length == length && (length == 0 || memcmp(parent.data, path, length) == 0) &&
	       view_lookup(&call, folder->parent, name ? name + 1 : path, &other) == -ENOENT;
}

/* Simulates a name in the view for a folder or file that is gone. Returns its path. */
static const char *simulate_gone(const struct watcher_pass *pass, const struct change *change,
				 struct watcher_reply *reply)
{
	struct watched_folder *folder = change->folder;
	const char *path = watched_folder_path(folder);
	bool itself = reply->folder == folder->node;

	if (itself && has_parent(pass, folder, path)) {
		reply->parent = folder->parent;
		reply->gone_name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
		return path;
	}
	reply->parent = VIEW_ROOT;
	reply->gone_name = GONE_NAME;
	reply->gone_mode = itself ? 0 : change->name.mode;
	reply->gone_size = itself ? 0 : change->name.size;
	return GONE_NAME;
}

/* Raises the event of a change. Returns 0 or -errno. */
static int raise_change(struct watcher_pass *pass, const struct change *change)
{
	struct watched_folder *folder = change->folder;
	bool ended = change->kind == WATCHER_EVENT_ENDED;
	int r;
	struct watcher_event event = {
		.kind = change->kind,
		.directory = change->name.directory,
		.folder = folder->node,
		.path = watched_folder_path(folder),
		.name = change->name.text,
	};
	struct listed_name name = change->name;
	struct watcher_reply reply = {
		.folder = ended ? name.node : folder->node,
		.name = ended ? NULL : &name,
		.exists = change->kind == WATCHER_EVENT_DELETED,
	};

	if (name.directory) /* rmdir(2) would make an inode unusable that can come back */
		name.node = 0;
	pass->folder = folder;
	if (folder->missing || ended)
		event.path = simulate_gone(pass, change, &reply);
	if (change->kind != WATCHER_EVENT_CHANGED)
		watcher_reply_begin(&pass->session->replies, reply);
	r = raise_event(pass, &event);
	watcher_reply_end(&pass->session->replies);
	if (ended) /* the kernel ends the watches when the last dentry is freed */
		invalidate_name(pass, reply.parent, reply.gone_name);
	return r;
}

static int by_order(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	int order = numbers_compare(x->phase, y->phase);

	if (order == 0 && x->folder != y->folder) {
		order = strcmp(watched_folder_path(x->folder), watched_folder_path(y->folder));
		if (x->phase == PHASE_REMOVED) /* subfolders first */
			order = order < 0 ? 1 : -(order > 0);
	}
	if (order == 0 && x->folder != y->folder)
		order = numbers_compare(x->folder->node, y->folder->node);
	if (order == 0)
		order = numbers_compare(x->kind, y->kind);
	return order ? order : strcmp(x->name.text, y->name.text);
}

static int failed_by_folder(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	return x->failed == y->failed ? numbers_compare(x->folder->node, y->folder->node)
				      : y->failed - x->failed;
}

/* Has the next pass find a folder's changes again that failed. The folder was possibly gone for a
 * moment. Returns their number. */
static size_t repeat_failed(const struct change *changes, size_t count)
{
	struct watched_folder *folder = changes[0].folder;
	CLEANUP_BYTES struct bytes failed = {0};
	size_t i;
	int r = 0;

	for (i = 0; i < count && changes[i].failed && changes[i].folder == folder; i++) {
		const struct watched_difference change = {.kind = changes[i].kind,
							  .name = &changes[i].name};

		if (r == 0)
			r = bytes_append(&failed, &change, sizeof(change));
	}
	if (r == 0)
		r = watcher_names_revert(&folder->names, (const void *)failed.data,
					 failed.length / sizeof(struct watched_difference));
	if (r < 0)
		log_debug("some events for the folder %s of the view are lost: %s",
			  quote_path(watched_folder_path(folder)), error_text(r));
	atomic_store(&folder->changed, true);
	return i;
}

/* ---- moved names ---------------------------------------------------------------------- */

/* Returns where names can move to from a folder: anywhere in uniques/ or in redundant/, or in the
 * folder of a group. 0: nowhere. */
static uint64_t reach_of(const struct watched_folder *folder)
{
	uint64_t kind = node_kind(folder->node);

	if (kind == NODE_DIR || kind == NODE_REDUNDANT)
		return node_make(kind, 0);
	return kind == NODE_GROUP ? folder->node : 0;
}

static int by_node_and_reach(const struct change *x, const struct change *y)
{
	int order = numbers_compare(x->moved, y->moved);

	return order ? order : numbers_compare(reach_of(x->folder), reach_of(y->folder));
}

static int by_moved(const void *a, const void *b)
{
	const struct change *const *x = a, *const *y = b;
	int order = by_node_and_reach(*x, *y);

	return order ? order : numbers_compare((*x)->kind, (*y)->kind);
}

/* Is this the only name of a node that was created within a reach, and the next one the only name
 * of the node that was removed there? */
static bool is_moved(struct change *const *changes, size_t i, size_t count)
{
	const struct change *to = changes[i], *from = changes[i + 1];

	return by_node_and_reach(from, to) == 0 && from->kind == WATCHER_EVENT_DELETED &&
	       to->kind == WATCHER_EVENT_CREATED && !from->folder->missing &&
	       !to->folder->missing && (i == 0 || by_node_and_reach(changes[i - 1], to) != 0) &&
	       (i + 2 == count || by_node_and_reach(changes[i + 2], to) != 0);
}

/* Finds the pairs of a removed and a created name of one node. Without memory for that, the events
 * are those of two names. */
static void find_moves(struct watcher_pass *pass)
{
	AUTO_FREE struct change **changes = calloc(pass->count + 1, sizeof(struct change *));
	size_t count = 0;

	for (size_t i = 0; changes && i < pass->count; i++) {
		if (pass->changes[i].moved && reach_of(pass->changes[i].folder))
			changes[count++] = &pass->changes[i];
	}
	if (count > 0)
		qsort(changes, count, sizeof(struct change *), by_moved);
	for (size_t i = 0; i + 1 < count; i++) {
		if (is_moved(changes, i, count)) {
			changes[i]->partner = changes[i + 1];
			changes[i + 1]->partner = changes[i];
		}
	}
}

/* Raises the events of a moved name. Returns true if they were raised. Otherwise, its two names get
 * events of their own. */
static bool raise_move(struct watcher_pass *pass, struct change *change)
{
	bool removed = change->kind == WATCHER_EVENT_DELETED;
	struct change *from = removed ? change : change->partner;
	struct change *to = removed ? change->partner : change;
	const struct watcher_event event = {
		.kind = WATCHER_EVENT_MOVED,
		.directory = from->name.directory,
		.folder = from->folder->node,
		.path = watched_folder_path(from->folder),
		.name = from->name.text,
		.to_folder = to->folder->node,
		.to_path = watched_folder_path(to->folder),
		.to_name = to->name.text,
	};
	struct listed_name name = to->name; /* as the kernel has to show the node from now on */
	int r;

	if (change->raised)
		return true;
	name.text = from->name.text;
	name.node = from->moved;
	watcher_reply_begin(&pass->session->replies, (struct watcher_reply){
							     .folder = from->folder->node,
							     .name = &name,
							     .exists = true,
							     .to_folder = to->folder->node,
							     .to_name = to->name.text,
						     });
	r = raise_event(pass, &event);
	watcher_reply_end(&pass->session->replies);
	from->raised = to->raised = r == 0;
	if (r < 0)
		from->partner = to->partner = NULL;
	return r == 0;
}

void watcher_pass_raise_changes(struct watcher_pass *pass)
{
	size_t failed = 0;

	if (pass->count > 0)
		qsort(pass->changes, pass->count, sizeof(*pass->changes), by_order);
	find_moves(pass);
	for (size_t i = 0; i < pass->count && pass->failure == 0; i++) {
		struct change *change = &pass->changes[i];

		if (change->partner && raise_move(pass, change))
			continue;
		if (pass->failure != 0)
			break;
		/* the end of a watch is not repeated: its folder is no longer updated */
		change->failed =
			raise_change(pass, change) < 0 && change->kind != WATCHER_EVENT_ENDED;
		failed += change->failed;
	}
	pass->repeats = failed > 0 && pass->failure == 0 && pass->repetitions < REPETITIONS_MAX;
	pass->repetitions = pass->repeats ? pass->repetitions + 1 : 0;
	if (!pass->repeats)
		return;
	qsort(pass->changes, pass->count, sizeof(*pass->changes), failed_by_folder);
	for (size_t i = 0; i < failed;)
		i += repeat_failed(&pass->changes[i], failed - i);
}

/* ---- events of watched files --------------------------------------------------------- */

/* Size of a file that was gone before its watch was found. The kernel keeps all its pages. */
#define SIZE_UNKNOWN INT64_MAX

/* Raises an event of the file itself, by its first name. */
static void raise_changed_file(struct watcher_pass *pass, const struct watched_file *file)
{
	CLEANUP(file_place_free) struct file_place place = {.folder = 0};
	int r = view_find_file(pass->session->view, file->node, &place);
	struct watcher_event event = {
		.kind = WATCHER_EVENT_CHANGED,
		.folder = place.folder,
		.path = r == 0 ? bytes_text(&place.path) : NULL,
		.name = r == 0 ? bytes_text(&place.name) : NULL,
	};

	if (event.path && event.name)
		(void)raise_event(pass, &event);
}

/* Ends the watches on a file that is gone. */
static void raise_ended_file(struct watcher_pass *pass, struct watched_file *file)
{
	const struct watcher_event event = {
		.kind = WATCHER_EVENT_ENDED,
		.folder = file->node,
		.path = GONE_NAME,
		.name = "",
	};
	const struct watcher_reply reply = {
		.folder = file->node,
		.parent = VIEW_ROOT,
		.gone_name = GONE_NAME,
		.gone_mode = file->known ? file->mode : S_IFREG,
		.gone_size = file->known ? file->size : SIZE_UNKNOWN,
		.gone_generation = file->generation,
	};

	file->ended = true;
	pass->folder_ended = true;
	watcher_reply_begin(&pass->session->replies, reply);
	(void)raise_event(pass, &event);
	watcher_reply_end(&pass->session->replies);
	invalidate_name(pass, VIEW_ROOT, GONE_NAME);
}

/* Learns the attributes of a file, and raises the event of a change. */
static void pass_file(struct watcher_pass *pass, struct watched_file *file)
{
	const struct view_call call = {.view = pass->session->view};
	struct stat attributes;
	int r = view_getattr(&call, file->node, &attributes);

	if (r == -ENOENT || r == -ESTALE || (r == 0 && attributes.st_nlink == 0)) {
		if (!file->ended)
			raise_ended_file(pass, file);
	} else if (r == 0) {
		file->size = attributes.st_size;
		file->mode = attributes.st_mode;
		file->generation = node_generation((uint32_t)attributes.st_dev);
		file->known = true;
		file->ended = false;
		if (file->due)
			raise_changed_file(pass, file);
	}
	file->due = false;
}

void watcher_pass_raise_files(struct watcher_pass *pass)
{
	struct watched_files *files = &pass->watcher->files;

	for (size_t i = 0; i < files->count && pass->failure == 0; i++) {
		if (files->list[i].due || (!files->list[i].known && !files->list[i].ended))
			pass_file(pass, &files->list[i]);
	}
	pass->session->view->watched_files = watched_files_count(files);
}
