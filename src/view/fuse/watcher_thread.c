/* SPDX-License-Identifier: MIT */
#include "view/fuse/watcher_thread.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/sort.h"
#include "base/thread.h"
#include "view/fuse/kernel_cache.h"
#include "view/fuse/mounter.h"
#include "view/fuse/session.h"
#include "view/fuse/watcher_event.h"
#include "view/tree/node.h"
#include "view/tree/view.h"

/* ---- watcher pass --------------------------------------------------------------------------- */

/* One pass of the watcher thread: finds the watched folders of the view, and raises events for
 * changes that their watchers do not know. For the watcher thread only. */

/* A folder with an inotify watch. */
struct watched_folder {
	uint64_t node;
	atomic_bool changed; /* changed since it was listed */
	bool listed; /* names is valid */
	/* until this time, the folder is updated without a known watch, as it is new; 0: it was
	 * found to be watched */
	uint64_t expected_until_ns;
	bool missing; /* its removal was reported; it can come back */
	uint64_t gone_ns; /* time since which it is not in the view and held, or 0 */
	struct watcher_names names; /* the names that the watchers of the folder know */
	/* until this time, recent names with a number above last_recent count as unknown to the
	 * watchers, unless they were reported since the folder was listed */
	uint64_t grace_until_ns;
	uint64_t last_recent;
	struct watcher_names reported; /* until then */
	enum unserved_reason unserved; /* why it does not get all events */
	bool said; /* the reason was logged */
	struct bytes path; /* last known path in the view */
	uint64_t parent; /* node of the last known parent folder */
	UT_hash_handle hh;
};

/* A difference between what the watchers of a folder know and the view. */
struct change {
	struct watched_folder *folder;
	enum watcher_event_kind kind;
	/* Order of the events of a pass. A folder that moved leaves its old place first, because
	 * its watches stay. Otherwise a new name precedes the one that it replaces, and the names
	 * in a removed folder precede that of the folder. */
	enum {
		PHASE_MOVED,
		PHASE_ADDED,
		PHASE_REMOVED, /* subfolders first */
		PHASE_REPLACED, /* names that were removed before */
	} phase;
	/* The text is in the arena of the pass. The node is 0 unless it is gone. */
	struct listed_name name;
	bool failed, raised; /* the event could not be raised, or was, with that of its partner */
	/* node that the name refers or referred to, if it is possibly moved, or 0 */
	uint64_t moved;
	struct change *partner; /* the other name of a moved node, or NULL */
};

struct watcher_pass {
	struct session *session;
	struct watcher_thread *watcher;
	struct mounter_watchers watchers; /* threads whose watches are searched */
	bool finds_watched; /* search for watches before the known folders are updated */
	uint64_t noted_before; /* number of the last recent name when the pass began */
	/* Recent names at the time when the watches were known. The texts are in the arena of the
	 * watcher thread, or in this one after a search of all processes. */
	struct recent_names recent;
	bool recent_sorted; /* by folder and number */
	bool recent_lost; /* some recent names are missing */
	size_t said; /* number of folders whose reason was logged */
	int search_failure; /* -ENOMEM if some watches were not found, or 0 */
	uint64_t last_recent; /* number of the last one */

	/* set by the pass */
	uint64_t begun_ns;
	uint64_t found_ns; /* time at which the watches were known */
	uint64_t listing_ns; /* time for which folders were listed */
	size_t names; /* stored names of all folders but the one being updated */
	struct watched_folder *folder; /* folder being updated */
	bool missing; /* the folder is no longer in the view */
	bool holds; /* folders that have just gone are held */
	struct watcher_names held; /* names in the folder, of subfolders that are held */
	uint64_t held_until_ns; /* next time at which a held folder has its events */
	bool in_grace; /* names that are reported are recorded */
	struct change *changes;
	size_t count, capacity; /* of changes */
	struct arena texts; /* of changes */
	struct bytes created; /* nodes (uint64_t) of created folders */
	bool folder_ended; /* watches of a folder ended */
	bool expects; /* new folders were listed */
	bool repeats; /* events that failed are raised again by the next pass */
	unsigned int repetitions; /* passes in a row that repeated events */
	int failure; /* -errno that ends the thread */
};

/* Maximum number of stored names of all folders, which need about 100 bytes each. A folder that
 * exceeds this limit gets no events. */
#define NAMES_MAX 1048576

/* Maximum number of recent names. Further ones are not reported to programs that begin to watch a
 * folder before the next search of all processes. */
#define RECENT_NAMES_MAX 131072

/* Time after the first listing of a folder during which names in recent invalidations are reported.
 * A watcher can have listed the folder before this thread did. */
#define LISTING_GRACE_NS (5 * SECOND_NS)

/* Time for which a folder that the daemon computes, such as that of a group, must have gone before
 * its removal is reported. A group is often gone only until its files are compared again. */
#define HOLD_NS (SECOND_NS / 2)

/* Time for which new folders are updated before a watch is found. A recursive watcher lists and
 * watches a new folder after its event. */
#define EXPECTED_NS (10 * SECOND_NS)

/* Stands for the end of a time that begins when the event of the folder has been raised. */
#define FROM_EVENT UINT64_MAX

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

static const char *path_of(struct watched_folder *folder)
{
	const char *path = bytes_text(&folder->path);

	return path ? path : "";
}

/* Returns whether a node is no longer in the view. */
static bool is_gone(const struct watcher_pass *pass, uint64_t node)
{
	const struct view_call call = {.view = pass->session->view};
	struct stat attributes;
	int r = view_getattr(&call, node, &attributes);

	return r == 0 ? attributes.st_nlink == 0 : r == -ENOENT || r == -ESTALE;
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
	const char *path = path_of(folder);
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
		.path = path_of(folder),
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
		order = strcmp(path_of(x->folder), path_of(y->folder));
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
			  quote_path(path_of(folder)), error_text(r));
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
		.path = path_of(from->folder),
		.name = from->name.text,
		.to_folder = to->folder->node,
		.to_path = path_of(to->folder),
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

static void raise_changes(struct watcher_pass *pass)
{
	size_t failed = 0;

	if (pass->count > 0)
		qsort(pass->changes, pass->count, sizeof(*pass->changes), by_order);
	find_moves(pass);
	for (size_t i = 0; i < pass->count && pass->failure == 0; i++) {
		struct change *change = &pass->changes[i];

		if (change->partner && raise_move(pass, change))
			continue;
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

/* After the events of folders, which can be those of files as well. */
static void pass_files(struct watcher_pass *pass)
{
	struct watched_files *files = &pass->watcher->files;

	for (size_t i = 0; i < files->count && pass->failure == 0; i++) {
		if (files->list[i].due || (!files->list[i].known && !files->list[i].ended))
			pass_file(pass, &files->list[i]);
	}
	pass->session->view->watched_files = watched_files_count(files);
}

/* ---- changes ------------------------------------------------------------------------- */

static int add_change(struct watcher_pass *pass, struct change change)
{
	const char *text = change.name.text;

	if (array_reserve(&pass->changes, &pass->capacity, pass->count + 1, sizeof(change)) < 0)
		return -ENOMEM;
	change.folder = pass->folder;
	change.name.text = arena_copy(&pass->texts, text, strlen(text));
	if (!change.name.text)
		return -ENOMEM;
	pass->changes[pass->count++] = change;
	return 0;
}

/* Ends the watches on a node that is gone: of the folder itself, or of a file in it. */
static int add_end(struct watcher_pass *pass, struct listed_name name)
{
	return add_change(pass, (struct change){
					.kind = WATCHER_EVENT_ENDED,
					.phase = PHASE_REMOVED,
					.name = name,
				});
}

/* Returns whether the removal of a folder is not reported yet. */
static bool is_held(struct watcher_pass *pass, struct watched_folder *folder)
{
	if (!pass->holds || !folder->listed || folder->missing ||
	    node_kind(folder->node) == NODE_DIR)
		return false;
	if (!folder->gone_ns)
		folder->gone_ns = pass->begun_ns;
	if (folder->gone_ns + HOLD_NS <= pass->begun_ns)
		return false;
	if (folder->gone_ns + HOLD_NS < pass->held_until_ns)
		pass->held_until_ns = folder->gone_ns + HOLD_NS;
	return true;
}

static struct watched_folder *find_folder(const struct watcher_pass *pass, uint64_t node)
{
	struct watched_folder *folder;

	HASH_FIND(hh, pass->watcher->watched, &node, sizeof(node), folder);
	return folder;
}

/* Returns whether a removed name is that of a folder that is held. */
static bool is_name_held(struct watcher_pass *pass, const struct watched_difference *found)
{
	struct watched_folder *folder = NULL;

	if (found->name->directory && !found->replaced && !pass->missing)
		folder = find_folder(pass, found->name->node);
	return folder && is_held(pass, folder);
}

/* The event of a name is also one of the file itself. */
static void note_reported(struct watcher_pass *pass, uint64_t node)
{
	struct watched_file *file = watched_files_find(&pass->watcher->files, node);

	if (file)
		file->due = file->known = false;
}

static int add_difference(void *context, const struct watched_difference *found)
{
	struct watcher_pass *pass = context;
	const struct listed_name *before = found->before, *name = found->name;
	struct change change = {.kind = found->kind, .phase = PHASE_ADDED, .name = *name};
	int r = 0;

	if (found->kind == WATCHER_EVENT_CHANGED)
		note_reported(pass, name->node);
	if (!found->replaced && found->kind != WATCHER_EVENT_CHANGED)
		change.moved = name->node;
	change.name.node = 0;
	change.name.directory |= pass->folder->node == FIXED_DUPS; /* also if it is unknown */
	if (found->kind == WATCHER_EVENT_CREATED && found->replaced)
		change.phase = PHASE_REPLACED;
	if (found->kind == WATCHER_EVENT_CREATED && name->directory && name->node)
		r = bytes_append(&pass->created, &name->node, sizeof(name->node));
	if (found->kind == WATCHER_EVENT_DELETED) {
		bool gone = !name->node || is_gone(pass, name->node);

		change.phase = name->directory && !gone ? PHASE_MOVED : PHASE_REMOVED;
		if (gone) {
			change.name.node = name->node;
			change.moved = 0;
		}
		if (gone && is_name_held(pass, found))
			return watcher_names_add(&pass->held, *name);
	}
	if (r == 0 && found->kind == WATCHER_EVENT_CHANGED && before->node &&
	    before->node != name->node && is_gone(pass, before->node))
		r = add_end(pass, *before);
	/* a new watcher can have listed the folder while it had neither file */
	if (r == 0 && found->kind == WATCHER_EVENT_CHANGED && pass->in_grace) {
		change.kind = WATCHER_EVENT_CREATED;
		r = add_change(pass, change);
		change.kind = WATCHER_EVENT_CHANGED;
	}
	if (pass->in_grace && found->kind != WATCHER_EVENT_CHANGED &&
	    watcher_names_add(&pass->folder->reported, *name) < 0)
		pass->in_grace = false; /* the event is possibly raised twice */
	return r < 0 ? r : add_change(pass, change);
}

/* Adds the differences from what the watchers know. ended: the folder itself is gone. Returns 0, or
 * -ENOMEM and adds nothing. */
static int add_differences(struct watcher_pass *pass, struct watcher_names *now, bool ended)
{
	const struct listed_name itself = {
		.text = "",
		.node = pass->folder->node,
		.directory = true,
	};
	size_t count = pass->count;
	int r = watcher_names_differ(&pass->folder->names, now, add_difference, pass);

	if (r == 0 && ended)
		r = add_end(pass, itself);
	for (size_t i = 0; r == 0 && i < pass->held.count; i++)
		r = watcher_names_add(now, pass->held.names[i]);
	watcher_names_sort(now);
	if (pass->held.count > 0) /* else a change after the listing may be noted already */
		atomic_store(&pass->folder->changed, true);
	watcher_names_free(&pass->held);
	if (r < 0)
		pass->count = count;
	return r;
}

/* ---- listing ------------------------------------------------------------------------- */

struct watched_listing {
	struct watcher_names names;
	uint64_t parent;
	size_t room;
	int result;
};

/* A directory has no digest: its changes are reported to its own watchers. */
static uint64_t digest_of(const struct stat *attributes)
{
	const uint64_t parts[] = {
		attributes->st_ino,
		(uint64_t)attributes->st_size,
		attributes->st_mode,
		(uint64_t)clock_ns(attributes->st_mtim),
	};

	return S_ISDIR(attributes->st_mode) ? 0 : hash64(parts, sizeof(parts), 0);
}

/* Returns 0 for a file whose inode has a generation. */
static uint64_t node_of(const struct view_entry *entry)
{
	bool known = entry->known && node_generation((uint32_t)entry->attributes.st_dev) == 0;

	return known ? entry->attributes.st_ino : 0;
}

static bool list_name(const struct view_entry *entry, void *context)
{
	struct watched_listing *listing = context;
	const struct listed_name name = {
		.text = entry->name,
		.directory = S_ISDIR(entry->attributes.st_mode),
		.digest = digest_of(&entry->attributes),
		.node = node_of(entry),
		.mode = entry->attributes.st_mode,
		.size = entry->attributes.st_size,
	};

	if (entry->cookie == VIEW_COOKIE_PARENT)
		listing->parent = entry->attributes.st_ino;
	if (entry->cookie < VIEW_COOKIE_MIN)
		return true;
	listing->result = listing->names.count < listing->room
				  ? watcher_names_add(&listing->names, name)
				  : -EOVERFLOW;
	return listing->result == 0;
}

/* Lists a folder and updates its path. Returns 0, -ENOENT if it no longer exists, or -errno. */
static int list_folder(const struct watcher_pass *pass, struct watched_listing *listing)
{
	struct watched_folder *folder = pass->folder;
	const struct view_call call = {.view = pass->session->view};
	CLEANUP_BYTES struct bytes path = {0};
	int r;

	/* without the mark, no change is noted before the first request about a new folder */
	cached_marks_set(&pass->session->cached, node_inode(folder->node));
	r = view_path(pass->session->view, folder->node, &path);
	if (r == -ESTALE)
		r = -ENOENT;
	listing->room = pass->names < NAMES_MAX ? NAMES_MAX - pass->names : 0;
	if (r == 0)
		r = view_list(&call, folder->node, 0, list_name, listing);
	if (r == 0)
		r = listing->result;
	if (r < 0)
		return r;
	watcher_names_sort(&listing->names);
	folder->parent = listing->parent;
	folder->path.length = 0;
	return bytes_append(&folder->path, path.data, path.length);
}

/* Returns false if there is no place or no memory for it. The name is then not reported to new
 * watchers. */
static bool add_recent(struct recent_names *recent, struct recent_name added)
{
	if (recent->count >= RECENT_NAMES_MAX ||
	    array_reserve(&recent->list, &recent->capacity, recent->count + 1, sizeof(added)) < 0)
		return false;
	added.text = arena_copy(&recent->memory, added.text, strlen(added.text));
	if (added.text)
		recent->list[recent->count++] = added;
	return added.text;
}

static void free_recent(struct recent_names *recent)
{
	free(recent->list);
	arena_free(&recent->memory);
	*recent = (struct recent_names){0};
}

/* A search of all processes can miss a watch that is added during the search. So names that were
 * recorded since the search began stay recorded. */
static void requeue_recent(struct watcher_pass *pass)
{
	struct watcher_thread *watcher = pass->watcher;

	pass->recent.memory = watcher->recent.memory;
	free(watcher->recent.list);
	watcher->recent = (struct recent_names){0};
	for (size_t i = 0; i < pass->recent.count; i++) {
		const struct recent_name *recent = &pass->recent.list[i];

		if (recent->number > pass->noted_before && !add_recent(&watcher->recent, *recent))
			watcher->recent_lost = recent->number;
	}
	if (watcher->recent_lost <= pass->noted_before)
		watcher->recent_lost = 0;
}

static void take_recent(struct watcher_pass *pass)
{
	struct watcher_thread *watcher = pass->watcher;
	size_t count;

	free_recent(&pass->recent);
	pthread_mutex_lock(&watcher->lock);
	count = watcher->recent.count;
	if (count > 0 && array_reserve(&pass->recent.list, &pass->recent.capacity, count,
				       sizeof(*pass->recent.list)) == 0) {
		memcpy(pass->recent.list, watcher->recent.list, count * sizeof(*pass->recent.list));
		pass->recent.count = count;
	}
	pass->recent_sorted = false;
	pass->last_recent = watcher->recent_number;
	pass->recent_lost = watcher->recent_lost > 0 || pass->recent.count < count;
	if (pass->watchers.all_processes)
		requeue_recent(pass);
	pthread_mutex_unlock(&watcher->lock);
}

static int by_folder(const void *a, const void *b)
{
	const struct recent_name *x = a, *y = b;
	int order = numbers_compare(x->folder, y->folder);

	return order ? order : numbers_compare(x->number, y->number);
}

/* Returns the place of the first recent name in the folder, or where it would be. */
static size_t first_recent(struct watcher_pass *pass, uint64_t folder)
{
	struct recent_names *recent = &pass->recent;
	size_t from = 0, to = recent->count;

	if (!pass->recent_sorted && recent->count > 0)
		qsort(recent->list, recent->count, sizeof(*recent->list), by_folder);
	pass->recent_sorted = true;
	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (recent->list[middle].folder < folder)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* Appends the recent names in the folder that count as unknown (struct listed_name, without
 * digests). */
static int list_unknown(struct watcher_pass *pass, struct bytes *unknown)
{
	struct watched_folder *folder = pass->folder;
	const struct recent_names *recent = &pass->recent;
	int r = 0;

	watcher_names_sort(&folder->reported);
	for (size_t i = first_recent(pass, folder->node);
	     r == 0 && i < recent->count && recent->list[i].folder == folder->node; i++) {
		const struct listed_name name = {.text = recent->list[i].text,
						 .directory = recent->list[i].directory};

		if (recent->list[i].number > folder->last_recent &&
		    !watcher_names_find(&folder->reported, name.text))
			r = bytes_append(unknown, &name, sizeof(name));
	}
	return r;
}

/* Ends the watches on files that were replaced, as their names are reported as created. */
static int end_unknown(struct watcher_pass *pass, const struct watcher_names *now,
		       const struct bytes *unknown)
{
	const struct listed_name *names = (const void *)unknown->data;
	size_t count = unknown->length / sizeof(*names);
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		const struct listed_name *known =
			watcher_names_find(&pass->folder->names, names[i].text);

		if (known && !known->directory && known->node &&
		    watcher_names_find(now, names[i].text) && is_gone(pass, known->node))
			r = add_end(pass, *known);
	}
	return r;
}

/* Determines the names that new watchers of a folder know: all current names, except that recent
 * changes are unknown to them. Returns 0 or -errno. */
static int assume_known_names(struct watcher_pass *pass, const struct watcher_names *now)
{
	struct watched_folder *folder = pass->folder;
	CLEANUP_BYTES struct bytes unknown = {0};
	int r = 0;

	if (!folder->listed) {
		folder->grace_until_ns = clock_monotonic_ns() + LISTING_GRACE_NS;
		r = watcher_names_copy(&folder->names, now);
	}
	if (r == 0)
		r = list_unknown(pass, &unknown);
	if (r == 0)
		r = end_unknown(pass, now, &unknown);
	folder->last_recent = pass->last_recent;
	if (r < 0 || unknown.length == 0)
		return r;
	return watcher_names_mark_changed(&folder->names, now, (const void *)unknown.data,
					  unknown.length / sizeof(struct listed_name));
}

/* Adds names that appeared and disappeared since the folder was listed. A program that began to
 * watch the folder meanwhile can have listed them, so their removal is reported. */
static int add_passing_names(struct watcher_pass *pass, const struct watcher_names *now)
{
	struct watched_folder *folder = pass->folder;
	CLEANUP_BYTES struct bytes unknown = {0}, passing = {0};
	int r = list_unknown(pass, &unknown);
	const struct listed_name *names = (const void *)unknown.data;

	folder->last_recent = pass->last_recent;
	for (size_t i = 0; r == 0 && i < unknown.length / sizeof(*names); i++) {
		if (!watcher_names_find(&folder->names, names[i].text) &&
		    !watcher_names_find(now, names[i].text))
			r = bytes_append(&passing, &names[i], sizeof(*names));
	}
	if (r < 0 || passing.length == 0)
		return r;
	return watcher_names_mark_changed(&folder->names, now, (const void *)passing.data,
					  passing.length / sizeof(*names));
}

/* Compares the folder with what its watchers know. */
static void compare_folder(struct watcher_pass *pass, struct watcher_names *now, bool was_missing)
{
	struct watched_folder *folder = pass->folder;
	/* of a node in folders/, the depth may never have existed */
	bool ended = pass->missing && !was_missing &&
		     (folder->listed || node_kind(folder->node) != NODE_FOLDER);

	if (!pass->in_grace) {
		watcher_names_free(&folder->reported);
		if (add_passing_names(pass, now) < 0)
			log_debug("a name that disappeared is not reported: no memory");
	} else if (assume_known_names(pass, now) < 0) {
		watcher_names_free(&folder->names);
		ended = false;
	}
	if (add_differences(pass, now, ended) < 0) {
		watcher_names_free(now);
		folder->missing = was_missing;
		atomic_store(&folder->changed, true);
		return;
	}
	pass->folder_ended |= ended;
	folder->listed = true;
	watcher_names_free(&folder->names);
	folder->names = *now;
}

/* Maximum number of folders whose reason is logged. */
#define SAID_MAX 16

/* Records that the folder does not get all events, and logs this once for each folder. */
static void note_unserved(struct watcher_pass *pass, enum unserved_reason reason)
{
	struct watched_folder *folder = pass->folder;
	bool said = folder->said || folder->expected_until_ns;

	folder->unserved = reason;
	if (folder->path.length == 0 &&
	    view_path(pass->session->view, folder->node, &folder->path) < 0)
		folder->path.length = 0;
	if (said || pass->said > SAID_MAX)
		return;
	folder->said = true;
	if (pass->said++ < SAID_MAX)
		log_warning("cannot report all changes of the folder %s to programs that watch it "
			    "in the view: %s; %s",
			    quote_path(path_of(folder)), unserved_cause(reason),
			    unserved_remedy(reason));
	else
		log_warning("cannot report all changes of more folders of the view; see "
			    ".twinfs/status.json");
}

/* Publishes which folders do not get all events. */
static void publish_unserved(struct watcher_pass *pass)
{
	struct unserved unserved = {.failure = pass->search_failure};
	struct watched_folder *folder, *next;

	HASH_ITER(hh, pass->watcher->watched, folder, next)
	{
		const char *path = path_of(folder);

		if (folder->unserved && !folder->expected_until_ns)
			unserved_add(&unserved, folder->unserved, *path ? path : ".");
	}
	view_set_unserved(pass->session->view, &unserved);
}

static void update_folder(struct watcher_pass *pass)
{
	struct watched_folder *folder = pass->folder;
	struct watched_listing listing = {.result = 0};
	uint64_t begun_ns = clock_monotonic_ns();
	bool was_missing = folder->missing;
	int r = list_folder(pass, &listing);

	pass->listing_ns += clock_monotonic_ns() - begun_ns;
	pass->missing = r == -ENOENT;
	if (r != 0)
		watcher_names_free(&listing.names);
	if (pass->missing && is_held(pass, folder)) {
		atomic_store(&folder->changed, true);
		return;
	}
	folder->missing = pass->missing;
	folder->gone_ns = 0;
	if (folder->unserved != UNSERVED_CHANGES)
		folder->unserved = UNSERVED_NONE;
	if (r == 0 && !folder->listed && pass->recent_lost)
		note_unserved(pass, UNSERVED_CHANGES);
	if (r == 0 || pass->missing) {
		pass->in_grace =
			!folder->listed ? !pass->missing : folder->grace_until_ns > begun_ns;
		compare_folder(pass, &listing.names, was_missing);
		return;
	}
	if (r == -EOVERFLOW) {
		watcher_names_free(&folder->names);
		folder->listed = false;
		note_unserved(pass, UNSERVED_NAMES);
	} else if (r == -ENOMEM) {
		atomic_store(&folder->changed, true);
		note_unserved(pass, UNSERVED_MEMORY);
	}
}

/* ---- watches ------------------------------------------------------------------------- */

static void remove_watched(struct watcher_thread *watcher, struct watched_folder *folder)
{
	HASH_DEL(watcher->watched, folder);
	watcher_names_free(&folder->names);
	watcher_names_free(&folder->reported);
	bytes_free(&folder->path);
	free(folder);
}

static void add_node(struct watcher_thread *watcher, uint64_t node, uint64_t expected_until_ns)
{
	struct watched_folder *folder;

	HASH_FIND(hh, watcher->watched, &node, sizeof(node), folder);
	if (folder && expected_until_ns == 0)
		folder->expected_until_ns = 0;
	if (folder || !node_is_folder(node))
		return;
	folder = calloc(1, sizeof(*folder));
	if (!folder)
		return;
	folder->node = node;
	folder->expected_until_ns = expected_until_ns;
	atomic_store(&folder->changed, expected_until_ns == 0);
	HASH_ADD(hh, watcher->watched, node, sizeof(folder->node), folder);
}

/* Adds the nodes of an inode. Of a directory in folders/, these are all its occurrences. */
static void add_watched(struct watcher_thread *watcher, const struct view *view, uint64_t inode)
{
	uint64_t depth = node_kind(inode) == NODE_FOLDER ? view->folder_depth : 0;

	for (uint64_t i = 0; i <= depth; i++)
		add_node(watcher, i << NODE_INODE_BITS | inode, 0);
}

static void remove_unwatched(struct watcher_thread *watcher, const uint64_t *inodes, size_t count)
{
	uint64_t now = clock_monotonic_ns();
	struct watched_folder *folder, *next;

	HASH_ITER(hh, watcher->watched, folder, next)
	{
		uint64_t inode = node_inode(folder->node);

		if (folder->expected_until_ns <= now &&
		    (count == 0 ||
		     !bsearch(&inode, inodes, count, sizeof(*inodes), numbers_by_value)))
			remove_watched(watcher, folder);
	}
}

/* Counts the watched inodes whose names are known. Those in folders/ have a node for each depth. */
static size_t count_watched(const struct watcher_thread *watcher)
{
	const struct watched_folder *folder, *next;
	size_t count = 0;

	HASH_ITER(hh, watcher->watched, folder, next)
	count += folder->node == node_inode(folder->node) && folder->listed &&
		 !folder->expected_until_ns;
	return count;
}

/* Records whether a search found all watches. */
static void note_search(struct watcher_pass *pass, int result)
{
	if (result == -ENOMEM && !pass->search_failure)
		log_warning("cannot find all programs that watch the view: %s; %s",
			    error_text(result), unserved_remedy(UNSERVED_MEMORY));
	pass->search_failure = result == -ENOMEM ? result : 0;
}

/* Updates the table of watched folders. Without memory for that, it stays as it is. Returns 0 or
 * -errno. */
static int find_watched(struct watcher_pass *pass)
{
	struct watcher_thread *watcher = pass->watcher;
	CLEANUP_BYTES struct bytes found = {0};
	int r = mounter_find_watched(pass->session->settings.mounter, &pass->watchers, &found,
				     &watcher->stopping);
	uint64_t *inodes = (void *)found.data;
	size_t count = numbers_sort_once(inodes, found.length / sizeof(*inodes));

	note_search(pass, r);
	if (r < 0)
		return r == -ENOMEM ? 0 : r;
	pthread_mutex_lock(&watcher->lock);
	if (watched_files_update(&watcher->files, inodes, &count, pass->watchers.all_processes) < 0)
		note_search(pass, -ENOMEM);
	if (pass->watchers.all_processes)
		remove_unwatched(watcher, inodes, count);
	for (size_t i = 0; i < count; i++)
		add_watched(watcher, pass->session->view, inodes[i]);
	pthread_mutex_unlock(&watcher->lock);
	return 0;
}

static void note_folder(struct watcher_thread *watcher, uint64_t node)
{
	struct watched_folder *folder;

	HASH_FIND(hh, watcher->watched, &node, sizeof(node), folder);
	if (folder)
		atomic_store(&folder->changed, true);
}

/* Has folders updated again in which names were noted during the pass. If such a folder was listed
 * for the first time after that, its watchers seemed to know these names. */
static void note_again(const struct watcher_pass *pass)
{
	struct watcher_thread *watcher = pass->watcher;
	const struct recent_names *recent = &watcher->recent;

	pthread_mutex_lock(&watcher->lock);
	for (size_t i = recent->count; i > 0 && recent->list[i - 1].number > pass->last_recent; i--)
		note_folder(watcher, recent->list[i - 1].folder);
	pthread_mutex_unlock(&watcher->lock);
}

static size_t count_names(const struct watcher_thread *watcher)
{
	const struct watched_folder *folder, *next;
	size_t count = 0;

	HASH_ITER(hh, watcher->watched, folder, next)
	count += folder->names.count;
	return count;
}

/* Updates a folder, and the number of names. */
static void pass_folder(struct watcher_pass *pass, struct watched_folder *folder)
{
	pass->folder = folder;
	pass->names -= folder->names.count;
	update_folder(pass);
	pass->names += folder->names.count;
}

/* Updates the watched folders whose removal has been found, with all below them, so that the events
 * of their names come first. */
static void pass_removed_folders(struct watcher_pass *pass)
{
	for (size_t i = 0; i < pass->count && pass->failure == 0; i++) {
		const struct change *change = &pass->changes[i];
		struct watched_folder *folder = NULL;

		if (change->kind == WATCHER_EVENT_DELETED && change->name.directory)
			folder = find_folder(pass, change->name.node);
		if (folder && !folder->missing)
			pass_folder(pass, folder);
	}
}

/* Lists a new folder before its event, and adds its subfolders to those created. Its watchers then
 * know at least these names, or other ones by later events. */
static void expect_watches(struct watcher_pass *pass, uint64_t node)
{
	struct watcher_thread *watcher = pass->watcher;
	struct watched_listing listing = {.result = 0};
	int r = 0;

	if (find_folder(pass, node))
		return;
	pthread_mutex_lock(&watcher->lock);
	add_node(watcher, node, FROM_EVENT);
	pthread_mutex_unlock(&watcher->lock);
	pass->folder = find_folder(pass, node);
	if (!pass->folder)
		return;
	r = list_folder(pass, &listing);
	for (size_t i = 0; r == 0 && i < listing.names.count; i++) {
		if (listing.names.names[i].directory)
			r = bytes_append(&pass->created, &listing.names.names[i].node,
					 sizeof(uint64_t));
	}
	if (r < 0) {
		watcher_names_free(&listing.names);
		pthread_mutex_lock(&watcher->lock);
		remove_watched(watcher, pass->folder);
		pthread_mutex_unlock(&watcher->lock);
		return;
	}
	pass->folder->names = listing.names;
	pass->folder->listed = true;
	pass->folder->grace_until_ns = FROM_EVENT;
	pass->folder->last_recent = pass->last_recent;
	pass->names += listing.names.count;
	pass->expects = true;
}

/* Watchers learn of new folders from now on. */
static void begin_expectations(struct watcher_pass *pass)
{
	uint64_t now = clock_monotonic_ns();
	struct watched_folder *folder, *next;

	if (!pass->expects)
		return;
	pass->expects = false;
	HASH_ITER(hh, pass->watcher->watched, folder, next)
	{
		if (folder->grace_until_ns == FROM_EVENT)
			folder->grace_until_ns = now + LISTING_GRACE_NS;
		if (folder->expected_until_ns == FROM_EVENT)
			folder->expected_until_ns = now + EXPECTED_NS;
	}
}

static void pass_created_folders(struct watcher_pass *pass)
{
	uint64_t node;

	for (size_t i = 0; i + sizeof(node) <= pass->created.length; i += sizeof(node)) {
		memcpy(&node, pass->created.data + i, sizeof(node));
		expect_watches(pass, node);
	}
	pass->created.length = 0;
}

static void take_files(struct watcher_pass *pass)
{
	struct watcher_thread *watcher = pass->watcher;

	pthread_mutex_lock(&watcher->lock);
	watched_files_take(&watcher->files);
	pthread_mutex_unlock(&watcher->lock);
}

/* Runs a pass. Returns 0, -ECANCELED if the thread must stop, or another -errno if no events can be
 * raised any more. */
static int watcher_pass_run(struct watcher_pass *pass)
{
	struct watcher_thread *watcher = pass->watcher;
	struct watched_folder *folder, *next;

	pass->listing_ns = 0;
	pass->count = 0;
	pass->folder_ended = false;
	pass->holds = true;
	pass->begun_ns = clock_monotonic_ns();
	pass->held_until_ns = UINT64_MAX;
	arena_reset(&pass->texts);
	pass->failure = pass->finds_watched ? find_watched(pass) : 0;
	pass->found_ns = clock_monotonic_ns();
	take_recent(pass);
	take_files(pass);
	pass->names = count_names(watcher);
	HASH_ITER(hh, watcher->watched, folder, next)
	{
		/* no change is noted for a folder that comes back in folders/ */
		if (pass->failure == 0 &&
		    (atomic_exchange(&folder->changed, false) || folder->missing))
			pass_folder(pass, folder);
	}
	pass->session->view->watched_folders = count_watched(watcher);
	pass->holds = false;
	pass_removed_folders(pass);
	pass_created_folders(pass);
	raise_changes(pass);
	pass_files(pass);
	publish_unserved(pass);
	begin_expectations(pass);
	note_again(pass);
	if ((watcher->watched || watcher->files.count > 0) && pass->failure != -ECANCELED)
		mounter_close_route(pass->session->settings.mounter);
	return pass->failure;
}

static void watcher_pass_free(struct watcher_pass *pass)
{
	free_recent(&pass->recent);
	free(pass->changes);
	bytes_free(&pass->created);
	arena_free(&pass->texts);
}

/* Removes all watched folders. */
static void watcher_pass_clear(struct watcher_thread *watcher)
{
	struct watched_folder *folder, *next;

	HASH_ITER(hh, watcher->watched, folder, next)
	remove_watched(watcher, folder);
}

/* ---- watcher thread ------------------------------------------------------------------------- */

/* Pauses between passes, and between searches for watches, as multiples of the time for which
 * folders were listed and processes were searched. */
#define LISTING_PAUSE 10
#define SEARCH_PAUSE 50

/* Shortest pause, and longest, even after a search that a stopped process delayed. */
#define PAUSE_MIN_NS (100 * MS_NS)
#define PAUSE_MAX_NS (5 * SECOND_NS)

/* Interval and duration of repeated searches of recent requesters. */
#define SEARCH_AGAIN_INTERVAL_NS (500 * MS_NS)
#define SEARCH_AGAIN_FOR_NS (10 * SECOND_NS)

/* Value of requester if the list of requesters is full. */
#define TOO_MANY (-1)

void watcher_thread_init(struct watcher_thread *watcher)
{
	memset(watcher, 0, sizeof(*watcher));
	pthread_mutex_init(&watcher->lock, NULL);
	timed_wait_init(&watcher->changed);
}

void watcher_thread_deinit(struct watcher_thread *watcher)
{
	watcher_pass_clear(watcher);
	watched_files_free(&watcher->files);
	free_recent(&watcher->recent);
	pthread_mutex_destroy(&watcher->lock);
	pthread_cond_destroy(&watcher->changed);
}

/* ---- input --------------------------------------------------------------------------- */

void watcher_thread_note_folder(struct watcher_thread *watcher, uint64_t folder)
{
	if (!watcher->process)
		return;
	pthread_mutex_lock(&watcher->lock);
	note_folder(watcher, folder);
	pthread_mutex_unlock(&watcher->lock);
}

void watcher_thread_note_name(struct watcher_thread *watcher, uint64_t folder, const char *name,
			      bool directory)
{
	if (!watcher->process)
		return;
	pthread_mutex_lock(&watcher->lock);
	note_folder(watcher, folder);
	if (!add_recent(&watcher->recent, (struct recent_name){.folder = folder,
							       .text = name,
							       .directory = directory,
							       .number = ++watcher->recent_number}))
		watcher->recent_lost = watcher->recent_number;
	pthread_mutex_unlock(&watcher->lock);
}

void watcher_thread_note_file(struct watcher_thread *watcher, uint64_t node)
{
	if (!watcher->process)
		return;
	pthread_mutex_lock(&watcher->lock);
	watched_files_note(&watcher->files, node_inode(node));
	pthread_mutex_unlock(&watcher->lock);
}

void watcher_thread_note_all(struct watcher_thread *watcher)
{
	struct watched_folder *folder, *next;

	if (!watcher->process)
		return;
	pthread_mutex_lock(&watcher->lock);
	HASH_ITER(hh, watcher->watched, folder, next)
	atomic_store(&folder->changed, true);
	pthread_mutex_unlock(&watcher->lock);
}

void watcher_thread_wake(struct watcher_thread *watcher)
{
	if (!watcher->process)
		return;
	pthread_mutex_lock(&watcher->lock);
	watcher->search_needed = true;
	watcher->pass_needed = watcher->watched || watcher->files.count > 0;
	pthread_cond_broadcast(&watcher->changed);
	pthread_mutex_unlock(&watcher->lock);
}

/* Records a requester. Returns false if it was recorded before. */
static bool note_requester(struct watcher_thread *watcher, pid_t requester)
{
	struct mounter_watchers *requesters = &watcher->requesters;
	size_t known = 0;

	while (known < requesters->count && requesters->threads[known] != requester)
		known++;
	atomic_store(&watcher->requester, known < MOUNTER_THREADS_MAX ? requester : TOO_MANY);
	if (known < requesters->count)
		return false;
	if (known < MOUNTER_THREADS_MAX)
		requesters->threads[requesters->count++] = requester;
	return true;
}

/* Nearly all requests are from the same thread as the request before. */
void watcher_thread_note_request(struct watcher_thread *watcher, pid_t requester)
{
	pid_t last = atomic_load(&watcher->requester);

	if (!watcher->process || requester <= 0 || last == requester || last == TOO_MANY)
		return;
	pthread_mutex_lock(&watcher->lock);
	if (note_requester(watcher, requester))
		pthread_cond_broadcast(&watcher->changed);
	pthread_mutex_unlock(&watcher->lock);
}

/* ---- the thread ---------------------------------------------------------------------- */

/* Times at which passes are due. */
struct times {
	uint64_t next_ns; /* next pass */
	uint64_t search_ns; /* next search of recent requesters */
	uint64_t all_processes_ns; /* next search of all processes */
	/* Next search of recent requesters, and the end of such searches. The search is repeated,
	 * because a program can list a folder first and watch it later. */
	uint64_t again_ns, again_until_ns;
	uint64_t held_ns; /* when a folder is held no longer */
};

/* Returns the time after a pause of this many times the work that ended at end_ns. */
static uint64_t after_pause(uint64_t end_ns, uint64_t work_ns, uint64_t factor)
{
	uint64_t pause = work_ns * factor;

	if (pause > PAUSE_MAX_NS)
		pause = PAUSE_MAX_NS;
	return end_ns + (pause > PAUSE_MIN_NS ? pause : PAUSE_MIN_NS);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Returns when the next pass is due, and sets what it searches. UINT64_MAX: no pass is due until an
 * event. */
static uint64_t next_pass_time(const struct watcher_thread *watcher, const struct times *times,
			       struct watcher_pass *pass)
{
	bool wants_all = watcher->search_needed || atomic_load(&watcher->requester) == TOO_MANY;
	uint64_t all = wants_all ? times->all_processes_ns : UINT64_MAX, recent = UINT64_MAX;
	uint64_t now = clock_monotonic_ns(), at;

	if (watcher->requesters.count > 0)
		recent = times->search_ns;
	else if (times->again_ns < times->again_until_ns)
		recent = later(times->again_ns, times->search_ns);
	pass->watchers = watcher->requesters;
	pass->watchers.all_processes = all <= now;
	pass->finds_watched = all <= now || recent <= now;
	at = watcher->pass_needed ? times->next_ns : times->held_ns;
	return later(earlier(at, earlier(all, recent)), times->next_ns);
}

/* Waits until a pass is due and begins it. Returns false if the thread must end. */
static bool wait_for_pass(struct watcher_thread *watcher, const struct times *times,
			  struct watcher_pass *pass)
{
	bool running;
	uint64_t from;

	pthread_mutex_lock(&watcher->lock);
	while (!atomic_load(&watcher->stopping)) {
		from = next_pass_time(watcher, times, pass);
		if (from <= clock_monotonic_ns())
			break;
		timed_wait(&watcher->changed, &watcher->lock, from);
	}
	running = !atomic_load(&watcher->stopping);
	pass->noted_before = watcher->recent_number;
	if (pass->watchers.all_processes)
		watcher->search_needed = false;
	watcher->pass_needed = false;
	if (pass->finds_watched)
		watcher->requesters.count = 0;
	if (pass->watchers.all_processes ||
	    (pass->finds_watched && atomic_load(&watcher->requester) != TOO_MANY))
		atomic_store(&watcher->requester, 0);
	pthread_mutex_unlock(&watcher->lock);
	return running;
}

static void note_times(struct times *times, const struct watcher_pass *pass, uint64_t begin_ns)
{
	uint64_t now = clock_monotonic_ns();

	times->held_ns = pass->held_until_ns;
	times->next_ns = after_pause(now, pass->listing_ns, LISTING_PAUSE);
	if (!pass->finds_watched)
		return;
	times->search_ns = after_pause(pass->found_ns, pass->found_ns - begin_ns, SEARCH_PAUSE);
	times->again_ns = now + SEARCH_AGAIN_INTERVAL_NS;
	if (pass->watchers.all_processes)
		times->all_processes_ns = times->search_ns;
	if (pass->watchers.count > 0)
		times->again_until_ns = now + SEARCH_AGAIN_FOR_NS;
}

static void publish_failure(struct session *session, int failure)
{
	struct unserved unserved = {.failure = failure};

	session->view->watched_folders = 0;
	session->view->watched_files = 0;
	view_set_unserved(session->view, &unserved);
}

static void *run_watcher(void *context)
{
	struct session *session = context;
	struct watcher_thread *watcher = &session->watcher;
	AUTO_FREE struct watcher_pass *pass = calloc(1, sizeof(*pass));
	struct times times = {.held_ns = UINT64_MAX};
	int r = pass ? 0 : -ENOMEM;

	if (pass) {
		pass->session = session;
		pass->watcher = watcher;
	}
	while (r == 0 && wait_for_pass(watcher, &times, pass)) {
		uint64_t begin = clock_monotonic_ns();

		r = watcher_pass_run(pass);
		/* which watches ended is known after a search */
		if (pass->folder_ended || pass->repeats)
			watcher_thread_wake(watcher);
		note_times(&times, pass, begin);
	}
	if (r < 0 && r != -ECANCELED) {
		log_warning("programs that watch folders of the view get no inotify events: %s; "
			    "unmount the view and mount it again",
			    error_text(r));
		publish_failure(session, r);
	}
	if (pass)
		watcher_pass_free(pass);
	pthread_mutex_lock(&watcher->lock);
	watcher->running = false;
	pthread_cond_broadcast(&watcher->changed);
	pthread_mutex_unlock(&watcher->lock);
	return NULL;
}

void watcher_thread_start(struct session *session)
{
	struct watcher_thread *watcher = &session->watcher;
	int r;

	if (session->access == SESSION_READ_ONLY)
		return;
	watcher->process = mounter_process(session->settings.mounter);
	pthread_mutex_lock(&watcher->lock);
	r = atomic_load(&watcher->stopping) ? -ECANCELED
					    : thread_start(&watcher->thread, run_watcher, session);
	watcher->running = r == 0;
	pthread_mutex_unlock(&watcher->lock);
	if (r == 0)
		return;
	watcher->process = 0;
	if (r == -ECANCELED)
		return;
	log_warning("programs that watch folders of the view get no inotify events: cannot start a "
		    "thread: %s; unmount the view and mount it again",
		    error_text(r));
	publish_failure(session, r);
}

void watcher_thread_stop(struct watcher_thread *watcher)
{
	pthread_mutex_lock(&watcher->lock);
	atomic_store(&watcher->stopping, true);
	pthread_cond_broadcast(&watcher->changed);
	while (watcher->running)
		pthread_cond_wait(&watcher->changed, &watcher->lock);
	pthread_mutex_unlock(&watcher->lock);
}

void watcher_thread_join(struct watcher_thread *watcher)
{
	if (watcher->process)
		pthread_join(watcher->thread, NULL);
}
