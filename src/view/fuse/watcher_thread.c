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

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/sort.h"
#include "base/thread.h"
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
	uint64_t node; /* equal to the inode number, as folders have no versions */
	atomic_bool changed; /* changed since it was listed */
	bool listed; /* names is valid */
	bool missing; /* not in the view at the last pass; it can come back */
	struct watcher_names names; /* the names that the watchers of the folder know */
	/* until this time, recent names with a number above last_recent count as unknown to the
	 * watchers */
	uint64_t grace_until_ns;
	uint64_t last_recent;
	struct bytes path; /* last known path in the view */
	uint64_t parent; /* node of the last known parent folder */
	UT_hash_handle hh;
};

struct watcher_pass {
	struct session *session;
	struct watcher_thread *watcher;
	struct mounter_watchers watchers; /* threads whose watches are searched */
	bool finds_watched; /* search for watches before the known folders are updated */
	uint64_t noted_before; /* number of the last recent name when the pass began */
	/* Recent names at the time when the watches were known. The texts are in the arena of the
	 * watcher thread, or in recent_memory after a search of all processes. */
	struct recent_name recent[RECENT_NAMES_MAX];
	const char *unknown[RECENT_NAMES_MAX]; /* texts of recent names in one folder */
	size_t recent_count;
	struct arena recent_memory;

	/* set by the pass */
	uint64_t found_ns; /* time at which the watches were known */
	struct watched_folder *folder; /* folder being updated */
	bool missing; /* the folder is no longer in the view */
	unsigned int events; /* events raised in the folder */
	bool unfinished; /* some differences are left for the next pass */
	int failure; /* -errno that ends the thread */
};

/* Maximum number of events for one folder in one pass. More events would keep the watchers of the
 * folder busy. */
#define EVENTS_MAX 256

/* Maximum number of stored names of all folders. A folder that exceeds this limit gets no
 * events. */
#define NAMES_MAX 131072

/* Time after the first listing of a folder during which names in recent invalidations are reported.
 * A watcher can have listed the folder before this thread did. */
#define LISTING_GRACE_NS (5 * SECOND_NS)

/* Attempts to raise an event if a program looked the name up in between. */
#define TRIES_MAX 4

/* Name for removed folders of folders/ in the root of the view, for the mounter only. */
#define GONE_NAME ".gone"

/* ---- events -------------------------------------------------------------------------- */

/* Invalidates the dentry of a name. For a cached dentry, the kernel would send no request to the
 * daemon. */
static void invalidate_name(const struct watcher_pass *pass, const char *name)
{
	(void)fuse_lowlevel_notify_inval_entry(pass->session->fuse, pass->folder->node, name,
					       strlen(name));
}

/* Raises an event. Returns false if no more can be raised. */
static bool raise_event(struct watcher_pass *pass, const struct watcher_event *event)
{
	struct mounter *mounter = pass->session->settings.mounter;
	int r = -EEXIST;

	for (int tries = 0; tries < TRIES_MAX && (r == -EEXIST || r == -ENOENT); tries++) {
		if (event->kind != WATCHER_EVENT_CHANGED)
			invalidate_name(pass, event->name);
		r = mounter_raise_event(mounter, event, &pass->watcher->stopping);
	}
	if (r == -ECANCELED || r == -ECHILD || r == -EPIPE || r == -EOPNOTSUPP || r == -EROFS)
		pass->failure = r;
	return pass->failure == 0;
}

/* Simulates a name in the view for a removed folder that is still watched. Returns its path. The
 * folder is simulated in its last parent, unless it was in folders/, where its parents can be gone
 * as well. */
static const char *simulate_folder(const struct watched_folder *folder, const char *path,
				   struct watcher_reply *reply)
{
	uint64_t kind = node_kind(folder->node);

	reply->parent = folder->parent;
	reply->folder_name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	if (kind != NODE_EQUALS && kind != NODE_FOLDER)
		return path;
	reply->parent = VIEW_ROOT;
	reply->folder_name = GONE_NAME;
	return GONE_NAME;
}

static bool report_name(void *context, enum watcher_event_kind kind, const struct listed_name *name)
{
	struct watcher_pass *pass = context;
	struct watcher_replies *replies = &pass->session->replies;
	const struct watched_folder *folder = pass->folder;
	const char *path = bytes_text(&pass->folder->path);
	struct watcher_event event = {
		.kind = kind,
		.directory = name->directory,
		.folder = folder->node,
		.path = path ? path : "",
		.name = name->text,
	};
	struct watcher_reply reply = {
		.folder = folder->node,
		.name = name->text,
		.exists = kind == WATCHER_EVENT_DELETED,
		.directory = name->directory,
	};
	bool continues;

	if (pass->events++ >= EVENTS_MAX || !path)
		return false;
	if (pass->missing)
		event.path = simulate_folder(folder, path, &reply);
	if (kind != WATCHER_EVENT_CHANGED)
		watcher_reply_begin(replies, reply);
	continues = raise_event(pass, &event);
	watcher_reply_end(replies);
	return continues;
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

static bool list_name(const struct view_entry *entry, void *context)
{
	struct watched_listing *listing = context;
	const struct listed_name name = {
		.text = entry->name,
		.directory = S_ISDIR(entry->attributes.st_mode),
		.digest = digest_of(&entry->attributes),
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

static size_t room_for(const struct watcher_thread *watcher, const struct watched_folder *wanted)
{
	const struct watched_folder *folder, *next;
	size_t used = 0;

	HASH_ITER(hh, watcher->watched, folder, next)
	used += folder == wanted ? 0 : folder->names.count;
	return used < NAMES_MAX ? NAMES_MAX - used : 0;
}

/* Lists a folder and updates its path. Returns 0, -ENOENT if it no longer exists, or -errno. */
static int list_folder(const struct watcher_pass *pass, struct watched_listing *listing)
{
	struct watched_folder *folder = pass->folder;
	const struct view_call call = {.view = pass->session->view};
	CLEANUP_BYTES struct bytes path = {0};
	int r = view_path(pass->session->view, folder->node, &path);

	if (r == -ESTALE)
		r = -ENOENT;
	listing->room = room_for(pass->watcher, folder);
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

/* A search of all processes can miss a watch that is added during the search. So names that were
 * recorded since the search began stay recorded. */
static void requeue_recent(struct watcher_pass *pass)
{
	struct watcher_thread *watcher = pass->watcher;

	pass->recent_memory = watcher->recent_memory;
	watcher->recent_memory = (struct arena){0};
	watcher->recent_count = 0;
	for (size_t i = 0; i < pass->recent_count; i++) {
		struct recent_name recent = pass->recent[i];

		if (recent.number <= pass->noted_before)
			continue;
		recent.text = arena_copy(&watcher->recent_memory, recent.text, strlen(recent.text));
		if (recent.text)
			watcher->recent[watcher->recent_count++] = recent;
	}
}

static void take_recent(struct watcher_pass *pass)
{
	struct watcher_thread *watcher = pass->watcher;

	arena_free(&pass->recent_memory);
	pthread_mutex_lock(&watcher->lock);
	pass->recent_count = watcher->recent_count;
	memcpy(pass->recent, watcher->recent, watcher->recent_count * sizeof(*pass->recent));
	if (pass->watchers.all_processes)
		requeue_recent(pass);
	pthread_mutex_unlock(&watcher->lock);
}

/* Determines the names that new watchers of a folder know: all current names, except that recent
 * changes are unknown to them. Returns 0 or -errno. */
static int assume_known_names(struct watcher_pass *pass, const struct watcher_names *now)
{
	struct watched_folder *folder = pass->folder;
	size_t count = 0;
	int r = 0;

	if (!folder->listed) {
		folder->grace_until_ns = clock_monotonic_ns() + LISTING_GRACE_NS;
		r = watcher_names_copy(&folder->names, now);
	}
	for (size_t i = 0; i < pass->recent_count; i++) {
		const struct recent_name *recent = &pass->recent[i];

		if (recent->folder == folder->node && recent->number > folder->last_recent)
			pass->unknown[count++] = recent->text;
	}
	if (pass->recent_count)
		folder->last_recent = pass->recent[pass->recent_count - 1].number;
	return r < 0 ? r : watcher_names_mark_changed(&folder->names, now, pass->unknown, count);
}

/* Reports the differences from what the watchers know. Differences that cannot be reported now are
 * left for the next pass. */
static void report_differences(struct watcher_pass *pass, struct watcher_names *now)
{
	struct watched_folder *folder = pass->folder;
	struct watcher_names rest;
	int r = watcher_names_differ(&folder->names, now, report_name, pass, &rest);

	watcher_names_free(&folder->names);
	if (r == 0 && rest.count) {
		watcher_names_free(now);
		*now = rest;
		atomic_store(&folder->changed, true);
		pass->unfinished = true;
	}
}

static void update_folder(struct watcher_pass *pass)
{
	struct watched_folder *folder = pass->folder;
	struct watched_listing listing = {.result = 0};
	int r = list_folder(pass, &listing);

	pass->missing = folder->missing = r == -ENOENT;
	pass->events = 0;
	if (r == 0 || pass->missing) {
		if (!folder->listed ? !pass->missing
				    : folder->grace_until_ns > clock_monotonic_ns())
			r = assume_known_names(pass, &listing.names);
		if (r == 0 || pass->missing)
			report_differences(pass, &listing.names);
		else
			watcher_names_free(&folder->names);
		folder->listed = true;
		folder->names = listing.names;
		return;
	}
	watcher_names_free(&listing.names);
	if (r == -EOVERFLOW) {
		watcher_names_free(&folder->names);
		folder->listed = false;
	}
}

/* ---- watches ------------------------------------------------------------------------- */

static bool is_folder(uint64_t node)
{
	switch ((enum node_kind)node_kind(node)) {
	case NODE_FIXED:
		return node < FIXED_FILES;
	case NODE_DIR:
	case NODE_REDUNDANT:
	case NODE_GROUP:
	case NODE_RANKS:
	case NODE_FOLDER_RANKS:
	case NODE_EQUALS:
	case NODE_FOLDER:
		return true;
	case NODE_FILE:
	case NODE_LINK:
	case NODE_DEEP_LINK:
	case NODE_PLACEHOLDER:
		break;
	}
	return false;
}

static void remove_watched(struct watcher_thread *watcher, struct watched_folder *folder)
{
	HASH_DEL(watcher->watched, folder);
	watcher_names_free(&folder->names);
	bytes_free(&folder->path);
	free(folder);
}

static void add_node(struct watcher_thread *watcher, uint64_t node)
{
	struct watched_folder *folder;

	HASH_FIND(hh, watcher->watched, &node, sizeof(node), folder);
	if (folder || !is_folder(node))
		return;
	folder = calloc(1, sizeof(*folder));
	if (!folder)
		return;
	folder->node = node;
	atomic_store(&folder->changed, true);
	HASH_ADD(hh, watcher->watched, node, sizeof(folder->node), folder);
}

/* Adds the nodes of an inode. Of a directory in folders/, these are all its occurrences. */
static void add_watched(struct watcher_thread *watcher, const struct view *view, uint64_t inode)
{
	uint64_t depth = node_kind(inode) == NODE_FOLDER ? view->folder_depth : 0;

	for (uint64_t i = 0; i <= depth; i++)
		add_node(watcher, i << NODE_INODE_BITS | inode);
}

static void remove_unwatched(struct watcher_thread *watcher, const uint64_t *inodes, size_t count)
{
	struct watched_folder *folder, *next;

	HASH_ITER(hh, watcher->watched, folder, next)
	{
		uint64_t inode = node_inode(folder->node);

		if (!bsearch(&inode, inodes, count, sizeof(*inodes), numbers_by_value))
			remove_watched(watcher, folder);
	}
}

/* Counts the watched inodes. Those in folders/ have a node for each depth. */
static size_t count_watched(const struct watcher_thread *watcher)
{
	const struct watched_folder *folder, *next;
	size_t count = 0;

	HASH_ITER(hh, watcher->watched, folder, next)
	count += folder->node == node_inode(folder->node);
	return count;
}

/* Updates the table of watched folders. Returns 0 or -errno. */
static int find_watched(struct watcher_pass *pass)
{
	struct watcher_thread *watcher = pass->watcher;
	uint64_t inodes[MOUNTER_WATCHED_MAX];
	long found = mounter_find_watched(pass->session->settings.mounter, &pass->watchers, inodes,
					  &watcher->stopping);
	size_t count = found < 0 ? 0 : numbers_sort_once(inodes, (size_t)found);

	if (found < 0)
		return (int)found;
	pthread_mutex_lock(&watcher->lock);
	if (pass->watchers.all_processes)
		remove_unwatched(watcher, inodes, count);
	for (size_t i = 0; i < count; i++)
		add_watched(watcher, pass->session->view, inodes[i]);
	pthread_mutex_unlock(&watcher->lock);
	pass->session->view->watched_folders = count_watched(watcher);
	return 0;
}

/* Runs a pass. Returns 0, -ECANCELED if the thread must stop, or another -errno if no events can be
 * raised any more. */
static int watcher_pass_run(struct watcher_pass *pass)
{
	struct watcher_thread *watcher = pass->watcher;
	struct watched_folder *folder, *next;

	pass->unfinished = false;
	pass->failure = pass->finds_watched ? find_watched(pass) : 0;
	pass->found_ns = clock_monotonic_ns();
	take_recent(pass);
	HASH_ITER(hh, watcher->watched, folder, next)
	{
		/* no change is noted for a folder that comes back in folders/ */
		if (pass->failure == 0 &&
		    (atomic_exchange(&folder->changed, false) || folder->missing)) {
			pass->folder = folder;
			update_folder(pass);
		}
	}
	if (watcher->watched && pass->failure != -ECANCELED)
		mounter_close_route(pass->session->settings.mounter);
	return pass->failure;
}

/* Removes all watched folders. */
static void watcher_pass_clear(struct watcher_thread *watcher)
{
	struct watched_folder *folder, *next;

	HASH_ITER(hh, watcher->watched, folder, next)
	remove_watched(watcher, folder);
}

/* ---- watcher thread ------------------------------------------------------------------------- */

/* Minimum pause between passes, and the pause as a multiple of the duration of a pass. */
#define PASS_INTERVAL_MIN_NS (100 * MS_NS)
#define PAUSE_FACTOR 50

/* Maximum pause, even after a pass that a stopped process delayed. */
#define PASS_INTERVAL_MAX_NS (5 * SECOND_NS)

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
	arena_free(&watcher->recent_memory);
	pthread_mutex_destroy(&watcher->lock);
	pthread_cond_destroy(&watcher->changed);
}

/* ---- input --------------------------------------------------------------------------- */

static void note_folder(struct watcher_thread *watcher, uint64_t node)
{
	struct watched_folder *folder;

	HASH_FIND(hh, watcher->watched, &node, sizeof(node), folder);
	if (folder)
		atomic_store(&folder->changed, true);
}

void watcher_thread_note_folder(struct watcher_thread *watcher, uint64_t folder)
{
	if (!watcher->process)
		return;
	pthread_mutex_lock(&watcher->lock);
	note_folder(watcher, folder);
	pthread_mutex_unlock(&watcher->lock);
}

void watcher_thread_note_name(struct watcher_thread *watcher, uint64_t folder, const char *name)
{
	char *text;

	if (!watcher->process)
		return;
	pthread_mutex_lock(&watcher->lock);
	note_folder(watcher, folder);
	if (watcher->recent_count < RECENT_NAMES_MAX) {
		text = arena_copy(&watcher->recent_memory, name, strlen(name));
		if (text)
			watcher->recent[watcher->recent_count++] =
				(struct recent_name){folder, text, ++watcher->recent_number};
	}
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
	watcher->pass_needed = watcher->watched;
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
	uint64_t all_processes_ns; /* next search of all processes */
	/* Next search of recent requesters, and the end of such searches. The search is repeated,
	 * because a program can list a folder first and watch it later. */
	uint64_t again_ns, again_until_ns;
};

/* Returns the time of the next pass after one that began and ended at these times. */
static uint64_t next_time(uint64_t begin_ns, uint64_t end_ns)
{
	uint64_t pause = (end_ns - begin_ns) * PAUSE_FACTOR;

	if (pause > PASS_INTERVAL_MAX_NS)
		pause = PASS_INTERVAL_MAX_NS;
	return end_ns + (pause > PASS_INTERVAL_MIN_NS ? pause : PASS_INTERVAL_MIN_NS);
}

/* Returns when the next pass is due, and sets what it searches. UINT64_MAX: no pass is due until an
 * event. */
static uint64_t next_pass_time(const struct watcher_thread *watcher, const struct times *times,
			       struct watcher_pass *pass)
{
	bool wants_all = watcher->search_needed || atomic_load(&watcher->requester) == TOO_MANY;
	uint64_t at = times->again_ns < times->again_until_ns ? times->again_ns : UINT64_MAX;
	uint64_t now = clock_monotonic_ns();

	pass->watchers = watcher->requesters;
	pass->watchers.all_processes = wants_all && times->all_processes_ns <= now;
	pass->finds_watched = pass->watchers.all_processes || pass->watchers.count > 0 || at <= now;
	if (pass->watchers.all_processes || pass->watchers.count > 0 || watcher->pass_needed)
		return times->next_ns;
	if (wants_all && times->all_processes_ns < at)
		at = times->all_processes_ns;
	return at > times->next_ns ? at : times->next_ns;
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
	watcher->requesters.count = 0;
	if (pass->watchers.all_processes || atomic_load(&watcher->requester) != TOO_MANY)
		atomic_store(&watcher->requester, 0);
	pthread_mutex_unlock(&watcher->lock);
	return running;
}

static void note_times(struct times *times, const struct watcher_pass *pass, uint64_t begin_ns)
{
	uint64_t now = clock_monotonic_ns();

	times->next_ns = next_time(begin_ns, now);
	if (pass->watchers.all_processes)
		times->all_processes_ns = next_time(begin_ns, pass->found_ns);
	if (pass->watchers.count > 0)
		times->again_until_ns = now + SEARCH_AGAIN_FOR_NS;
	times->again_ns = now + SEARCH_AGAIN_INTERVAL_NS;
}

static void *run_watcher(void *context)
{
	struct session *session = context;
	struct watcher_thread *watcher = &session->watcher;
	AUTO_FREE struct watcher_pass *pass = calloc(1, sizeof(*pass));
	struct times times = {0};
	int r = pass ? 0 : -ENOMEM;

	if (pass) {
		pass->session = session;
		pass->watcher = watcher;
	}
	while (r == 0 && wait_for_pass(watcher, &times, pass)) {
		uint64_t begin = clock_monotonic_ns();

		r = watcher_pass_run(pass);
		if (pass->unfinished)
			watcher_thread_wake(watcher);
		note_times(&times, pass, begin);
	}
	if (r < 0 && r != -ECANCELED)
		log_warning("programs that watch folders of the view get no inotify events: %s",
			    error_text(r));
	if (pass)
		arena_free(&pass->recent_memory);
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
	if (r != -ECANCELED)
		log_warning("programs that watch folders of the view get no inotify events: cannot "
			    "start a thread: %s",
			    error_text(r));
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
