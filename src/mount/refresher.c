/* SPDX-License-Identifier: MIT */
#include "mount/refresher.h"

#include <errno.h>
#include <string.h>
#include <uthash.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/timed_wait.h"
#include "mount/look.h"
#include "mount/mounter.h"
#include "mount/session.h"

/* From one look to the next. */
#define LOOK_INTERVAL_NS 100000000
#define LOOKS_SHARE 50

/* The longest: one who is looked at may have stood still. */
#define PAUSE_MAX_NS UINT64_C(5000000000)

/* How often those who asked are looked at again, and for how long. */
#define AGAIN_INTERVAL_NS UINT64_C(500000000)
#define AGAIN_FOR_NS UINT64_C(10000000000)

/* Instead of who asked last. */
#define TOO_MANY (-1)

int refresher_init(struct refresher *refresher)
{
	int r;

	memset(refresher, 0, sizeof(*refresher));
	r = -pthread_mutex_init(&refresher->lock, NULL);
	if (r == 0)
		timed_wait_init(&refresher->changed);
	return r;
}

void refresher_deinit(struct refresher *refresher)
{
	look_forget_all(refresher);
	arena_free(&refresher->recent_memory);
	(void)pthread_mutex_destroy(&refresher->lock);
	(void)pthread_cond_destroy(&refresher->changed);
}

/* ---- what it is told ----------------------------------------------------------------- */

static void note_folder(struct refresher *refresher, uint64_t node)
{
	struct watched_folder *folder;

	HASH_FIND(hh, refresher->watched, &node, sizeof(node), folder);
	if (folder)
		folder->changed = true;
}

void refresher_note_folder(struct refresher *refresher, uint64_t folder)
{
	if (!refresher->process)
		return;
	(void)pthread_mutex_lock(&refresher->lock);
	note_folder(refresher, folder);
	(void)pthread_mutex_unlock(&refresher->lock);
}

void refresher_note_name(struct refresher *refresher, uint64_t folder, const char *name)
{
	char *text;

	if (!refresher->process)
		return;
	(void)pthread_mutex_lock(&refresher->lock);
	note_folder(refresher, folder);
	if (refresher->recent_count < RECENT_NAMES_MAX) {
		text = arena_copy(&refresher->recent_memory, name, strlen(name));
		if (text)
			refresher->recent[refresher->recent_count++] =
				(struct recent_name){folder, text, ++refresher->recent_number};
	}
	(void)pthread_mutex_unlock(&refresher->lock);
}

void refresher_note_all(struct refresher *refresher)
{
	struct watched_folder *folder, *next;

	if (!refresher->process)
		return;
	(void)pthread_mutex_lock(&refresher->lock);
	HASH_ITER(hh, refresher->watched, folder, next)
	folder->changed = true;
	(void)pthread_mutex_unlock(&refresher->lock);
}

void refresher_told(struct refresher *refresher)
{
	if (!refresher->process)
		return;
	(void)pthread_mutex_lock(&refresher->lock);
	refresher->told = true;
	refresher->changes = refresher->watched != NULL;
	(void)pthread_cond_broadcast(&refresher->changed);
	(void)pthread_mutex_unlock(&refresher->lock);
}

/* Notes who asks. False: that was known. */
static bool note_asker(struct refresher *refresher, pid_t asker)
{
	struct mounter_watchers *askers = &refresher->askers;
	size_t known = 0;

	while (known < askers->count && askers->threads[known] != asker)
		known++;
	atomic_store(&refresher->asker, known < MOUNTER_THREADS_MAX ? asker : TOO_MANY);
	if (known < askers->count)
		return false;
	if (known < MOUNTER_THREADS_MAX)
		askers->threads[askers->count++] = asker;
	return true;
}

/* Nearly all requests come from who came before. */
void refresher_asked(struct refresher *refresher, pid_t asker)
{
	pid_t last = atomic_load(&refresher->asker);

	if (!refresher->process || asker <= 0 || last == asker || last == TOO_MANY)
		return;
	(void)pthread_mutex_lock(&refresher->lock);
	if (note_asker(refresher, asker))
		(void)pthread_cond_broadcast(&refresher->changed);
	(void)pthread_mutex_unlock(&refresher->lock);
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
static uint64_t due(const struct refresher *refresher, const struct times *times, struct look *look)
{
	bool wants_anybody = refresher->told || atomic_load(&refresher->asker) == TOO_MANY;
	uint64_t at = times->again_ns < times->again_until_ns ? times->again_ns : UINT64_MAX;
	uint64_t now = clock_monotonic_ns();

	look->watchers = refresher->askers;
	look->watchers.anybody = wants_anybody && times->anybody_ns <= now;
	look->finds = look->watchers.anybody || look->watchers.count > 0 || at <= now;
	if (look->watchers.anybody || look->watchers.count > 0 || refresher->changes)
		return times->next_ns;
	if (wants_anybody && times->anybody_ns < at)
		at = times->anybody_ns;
	return at > times->next_ns ? at : times->next_ns;
}

/* Waits for something to do, and takes it. False: nothing any more. */
static bool take(struct refresher *refresher, const struct times *times, struct look *look)
{
	bool goes_on;
	uint64_t from;

	(void)pthread_mutex_lock(&refresher->lock);
	while (!atomic_load(&refresher->stopping)) {
		from = due(refresher, times, look);
		if (from <= clock_monotonic_ns())
			break;
		timed_wait(&refresher->changed, &refresher->lock, from);
	}
	goes_on = !atomic_load(&refresher->stopping);
	look->noted_before = refresher->recent_number;
	if (look->watchers.anybody)
		refresher->told = false;
	refresher->changes = false;
	refresher->askers.count = 0;
	if (look->watchers.anybody || atomic_load(&refresher->asker) != TOO_MANY)
		atomic_store(&refresher->asker, 0);
	(void)pthread_mutex_unlock(&refresher->lock);
	return goes_on;
}

static void note_times(struct times *times, const struct look *look, uint64_t begin_ns)
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
	struct refresher *refresher = &session->refresher;
	struct look look = {.session = session, .refresher = refresher};
	struct times times = {0};
	int r = 0;

	while (r == 0 && take(refresher, &times, &look)) {
		uint64_t begin = clock_monotonic_ns();

		r = look_at_all(&look);
		if (look.unfinished)
			refresher_told(refresher);
		note_times(&times, &look, begin);
	}
	if (r < 0 && r != -ECANCELED)
		log_warning("programs that show folders of the view do not hear of changes: %s",
			    error_text(r));
	arena_free(&look.recent_memory);
	(void)pthread_mutex_lock(&refresher->lock);
	refresher->running = false;
	(void)pthread_cond_broadcast(&refresher->changed);
	(void)pthread_mutex_unlock(&refresher->lock);
	return NULL;
}

void refresher_start(struct session *session)
{
	struct refresher *refresher = &session->refresher;
	int r;

	if (session->access == SESSION_READ_ONLY)
		return;
	refresher->process = mounter_process(session->settings.mounter);
	(void)pthread_mutex_lock(&refresher->lock);
	r = atomic_load(&refresher->stopping) ? -ECANCELED
					      : thread_start(&refresher->thread, refresh, session);
	refresher->running = r == 0;
	(void)pthread_mutex_unlock(&refresher->lock);
	if (r == 0)
		return;
	refresher->process = 0;
	if (r != -ECANCELED)
		log_warning("programs that show folders of the view do not hear of changes: cannot "
			    "start a thread: %s",
			    error_text(r));
}

void refresher_stop(struct refresher *refresher)
{
	(void)pthread_mutex_lock(&refresher->lock);
	atomic_store(&refresher->stopping, true);
	(void)pthread_cond_broadcast(&refresher->changed);
	while (refresher->running)
		(void)pthread_cond_wait(&refresher->changed, &refresher->lock);
	(void)pthread_mutex_unlock(&refresher->lock);
}

void refresher_join(struct refresher *refresher)
{
	if (refresher->process)
		(void)pthread_join(refresher->thread, NULL);
}
