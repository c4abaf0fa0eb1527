/* SPDX-License-Identifier: MIT */
#include "mount/watcher_thread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/timed_wait.h"
#include "mount/mounter.h"
#include "mount/session.h"
#include "mount/watcher_pass.h"

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
