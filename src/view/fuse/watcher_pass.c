/* SPDX-License-Identifier: MIT */
#include "view/fuse/watcher_pass.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <uthash.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/sort.h"
#include "view/fuse/kernel_cache.h"
#include "view/fuse/mounter.h"
#include "view/fuse/session.h"
#include "view/fuse/watched_files.h"
#include "view/fuse/watcher_event.h"
#include "view/tree/node.h"
#include "view/tree/view.h"

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

/* ---- changes ------------------------------------------------------------------------- */

/* Returns whether a node is no longer in the view. */
static bool is_gone(const struct watcher_pass *pass, uint64_t node)
{
	const struct view_call call = {.view = pass->session->view};
	struct stat attributes;
	int r = view_getattr(&call, node, &attributes);

	return r == 0 ? attributes.st_nlink == 0 : r == -ENOENT || r == -ESTALE;
}

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

bool recent_names_add(struct recent_names *recent, struct recent_name added)
{
	if (recent->count >= RECENT_NAMES_MAX ||
	    array_reserve(&recent->list, &recent->capacity, recent->count + 1, sizeof(added)) < 0)
		return false;
	added.text = arena_copy(&recent->memory, added.text, strlen(added.text));
	if (added.text)
		recent->list[recent->count++] = added;
	return added.text;
}

void recent_names_free(struct recent_names *recent)
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

		if (recent->number > pass->noted_before &&
		    !recent_names_add(&watcher->recent, *recent))
			watcher->recent_lost = recent->number;
	}
	if (watcher->recent_lost <= pass->noted_before)
		watcher->recent_lost = 0;
}

static void take_recent(struct watcher_pass *pass)
{
	struct watcher_thread *watcher = pass->watcher;
	size_t count;

	recent_names_free(&pass->recent);
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
	const struct recent_name wanted = {.folder = folder};

	if (!pass->recent_sorted && recent->count > 0)
		qsort(recent->list, recent->count, sizeof(*recent->list), by_folder);
	pass->recent_sorted = true;
	return sorted_place(&wanted, recent->list, recent->count, sizeof(wanted), by_folder);
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
			    quote_path(watched_folder_path(folder)), unserved_cause(reason),
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
		const char *path = watched_folder_path(folder);

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
		return;
	}
	/* -EIO: the view is stale; the next pass tries again */
	atomic_store(&folder->changed, true);
	if (r == -ENOMEM)
		note_unserved(pass, UNSERVED_MEMORY);
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

void watched_folder_note(struct watcher_thread *watcher, uint64_t node)
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
		watched_folder_note(watcher, recent->list[i - 1].folder);
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

int watcher_pass_run(struct watcher_pass *pass)
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
	watcher_pass_raise_changes(pass);
	watcher_pass_raise_files(pass);
	publish_unserved(pass);
	begin_expectations(pass);
	note_again(pass);
	if ((watcher->watched || watcher->files.count > 0) && pass->failure != -ECANCELED)
		mounter_close_route(pass->session->settings.mounter);
	return pass->failure;
}

void watcher_pass_free(struct watcher_pass *pass)
{
	recent_names_free(&pass->recent);
	free(pass->changes);
	bytes_free(&pass->created);
	arena_free(&pass->texts);
}

void watcher_pass_clear(struct watcher_thread *watcher)
{
	struct watched_folder *folder, *next;

	HASH_ITER(hh, watcher->watched, folder, next)
	remove_watched(watcher, folder);
}
