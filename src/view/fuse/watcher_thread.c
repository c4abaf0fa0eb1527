/* SPDX-License-Identifier: MIT */
#include "view/fuse/watcher_thread.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/attributes.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "view/fuse/mounter.h"
#include "view/fuse/session.h"
#include "view/fuse/watched_files.h"
#include "view/fuse/watcher_pass.h"
#include "view/tree/view.h"

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
	recent_names_free(&watcher->recent);
	pthread_mutex_destroy(&watcher->lock);
	pthread_cond_destroy(&watcher->changed);
}

/* ---- input --------------------------------------------------------------------------- */

void watcher_thread_note_folder(struct watcher_thread *watcher, uint64_t folder)
{
	if (!watcher->process)
		return;
	pthread_mutex_lock(&watcher->lock);
	watched_folder_note(watcher, folder);
	pthread_mutex_unlock(&watcher->lock);
}

void watcher_thread_note_name(struct watcher_thread *watcher, uint64_t folder, const char *name,
			      bool directory)
{
	if (!watcher->process)
		return;
	pthread_mutex_lock(&watcher->lock);
	watched_folder_note(watcher, folder);
	if (!recent_names_add(&watcher->recent,
			      (struct recent_name){.folder = folder,
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
