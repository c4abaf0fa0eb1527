/* SPDX-License-Identifier: MIT */
#include "mount/watcher_thread.h"

#include <errno.h>
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

/* From one look to the next. */
#define LOOK_INTERVAL_NS (100 * MS_NS)
#define LOOKS_SHARE 50

/* The longest: one who is looked at may have stood still. */
#define PAUSE_MAX_NS (5 * SECOND_NS)

/* How often those who asked are looked at again, and for how long. */
#define AGAIN_INTERVAL_NS (500 * MS_NS)
#define AGAIN_FOR_NS (10 * SECOND_NS)

/* Instead of who asked last. */
#define TOO_MANY (-1)

int watcher_thread_init(struct watcher_thread *watcher)
{
	int r;

	memset(watcher, 0, sizeof(*watcher));
	r = -pthread_mutex_init(&watcher->lock, NULL);
	if (r == 0)
		timed_wait_init(&watcher->changed);
	return r;
}

void watcher_thread_deinit(struct watcher_thread *watcher)
{
	watcher_pass_forget(watcher);
	arena_free(&watcher->recent_memory);
	pthread_mutex_destroy(&watcher->lock);
	pthread_cond_destroy(&watcher->changed);
}

/* ---- what it is told ----------------------------------------------------------------- */

static void note_folder(struct watcher_thread *watcher, uint64_t node)
{
	struct watched_folder *folder;

	HASH_FIND(hh, watcher->watched, &node, sizeof(node), folder);
	if (folder)
		folder->changed = true;
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
	folder->changed = true;
	pthread_mutex_unlock(&watcher->lock);
}

void watcher_thread_wake(struct watcher_thread *watcher)
{
	if (!watcher->process)
		return;
	pthread_mutex_lock(&watcher->lock);
	watcher->told = true;
	watcher->changes = watcher->watched;
	pthread_cond_broadcast(&watcher->changed);
	pthread_mutex_unlock(&watcher->lock);
}

/* Notes who asks. False: that was known. */
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

/* Nearly all requests come from who came before. */
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

/* From which times on there may be looks. */
struct times {
	uint64_t next_ns; /* at what is known, or at those who asked */
	uint64_t anybody_ns; /* at all processes */
	/* at those who asked before: who lists a folder may begin to watch it after that */
	uint64_t again_ns, again_until_ns;
};

/* Now that a look of this kind began and ended at these times. */
static uint64_t next_time(uint64_t begin_ns, uint64_t end_ns)
{
	uint64_t pause = (end_ns - begin_ns) * LOOKS_SHARE;

	if (pause > PAUSE_MAX_NS)
		pause = PAUSE_MAX_NS;
	return end_ns + (pause > LOOK_INTERVAL_NS ? pause : LOOK_INTERVAL_NS);
}

/* When the next look is due, and whom it is for; UINT64_MAX: not before something happens. */
static uint64_t due(const struct watcher_thread *watcher, const struct times *times,
		    struct watcher_pass *look)
{
	bool wants_anybody = watcher->told || atomic_load(&watcher->requester) == TOO_MANY;
	uint64_t at = times->again_ns < times->again_until_ns ? times->again_ns : UINT64_MAX;
	uint64_t now = clock_monotonic_ns();

	look->watchers = watcher->requesters;
	look->watchers.anybody = wants_anybody && times->anybody_ns <= now;
	look->finds = look->watchers.anybody || look->watchers.count > 0 || at <= now;
	if (look->watchers.anybody || look->watchers.count > 0 || watcher->changes)
		return times->next_ns;
	if (wants_anybody && times->anybody_ns < at)
		at = times->anybody_ns;
	return at > times->next_ns ? at : times->next_ns;
}

/* Waits for something to do, and takes it. False: nothing any more. */
static bool take(struct watcher_thread *watcher, const struct times *times,
		 struct watcher_pass *look)
{
	bool goes_on;
	uint64_t from;

	pthread_mutex_lock(&watcher->lock);
	while (!atomic_load(&watcher->stopping)) {
		from = due(watcher, times, look);
		if (from <= clock_monotonic_ns())
			break;
		timed_wait(&watcher->changed, &watcher->lock, from);
	}
	goes_on = !atomic_load(&watcher->stopping);
	look->noted_before = watcher->recent_number;
	if (look->watchers.anybody)
		watcher->told = false;
	watcher->changes = false;
	watcher->requesters.count = 0;
	if (look->watchers.anybody || atomic_load(&watcher->requester) != TOO_MANY)
		atomic_store(&watcher->requester, 0);
	pthread_mutex_unlock(&watcher->lock);
	return goes_on;
}

static void note_times(struct times *times, const struct watcher_pass *look, uint64_t begin_ns)
{
	uint64_t now = clock_monotonic_ns();

	times->next_ns = next_time(begin_ns, now);
	if (look->watchers.anybody)
		times->anybody_ns = next_time(begin_ns, look->found_ns);
	if (look->watchers.count > 0)
		times->again_until_ns = now + AGAIN_FOR_NS;
	times->again_ns = now + AGAIN_INTERVAL_NS;
}

static void *refresh(void *context)
{
	struct session *session = context;
	struct watcher_thread *watcher = &session->watcher;
	struct watcher_pass look = {.session = session, .watcher = watcher};
	struct times times = {0};
	int r = 0;

	while (r == 0 && take(watcher, &times, &look)) {
		uint64_t begin = clock_monotonic_ns();

		r = watcher_pass_run(&look);
		if (look.unfinished)
			watcher_thread_wake(watcher);
		note_times(&times, &look, begin);
	}
	if (r < 0 && r != -ECANCELED)
		log_warning("programs that show folders of the view do not hear of changes: %s",
			    error_text(r));
	arena_free(&look.recent_memory);
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
					    : thread_start(&watcher->thread, refresh, session);
	watcher->running = r == 0;
	pthread_mutex_unlock(&watcher->lock);
	if (r == 0)
		return;
	watcher->process = 0;
	if (r != -ECANCELED)
		log_warning("programs that show folders of the view do not hear of changes: cannot "
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
