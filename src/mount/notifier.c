/* SPDX-License-Identifier: MIT */
#include "mount/notifier.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/timed_wait.h"
#include "mount/session.h"
#include "mount/sync.h"
#include "view/node.h"

/* How often a notice that could not be read from the index is tried again, and after which time:
 * what the kernel holds is wrong for as long. */
#define TRIES_MAX 10
#define TRY_AGAIN_MS 100

/* No name of the view: it is longer than a name may be. */
#define NO_NAME_LENGTH 256

int notifier_init(struct notifier *notifier)
{
	int r;

	*notifier = (struct notifier){.first = NULL};
	r = -pthread_mutex_init(&notifier->lock, NULL);
	if (r < 0)
		return r;
	timed_wait_init(&notifier->changed);
	return 0;
}

void notifier_deinit(struct notifier *notifier)
{
	struct invalidation *invalidation = notifier->first;

	while (invalidation) {
		struct invalidation *next = invalidation->next;

		invalidation_free(invalidation);
		invalidation = next;
	}
	pthread_mutex_destroy(&notifier->lock);
	pthread_cond_destroy(&notifier->changed);
}

void session_tell(struct session *session, struct invalidation *invalidation)
{
	struct notifier *notifier = &session->notifier;

	invalidation->next = NULL;
	pthread_mutex_lock(&notifier->lock);
	if (notifier->last)
		notifier->last->next = invalidation;
	else
		notifier->first = invalidation;
	notifier->last = invalidation;
	notifier->told++;
	pthread_cond_broadcast(&notifier->changed);
	pthread_mutex_unlock(&notifier->lock);
}

/* ---- telling the kernel -------------------------------------------------------------- */

/* That the kernel knows nothing of a node or name any more is as good; and when the file system
 * is gone, there is nobody to tell. A huge notice must not hold up the end of the session. */

static bool holds(void *context, uint64_t node)
{
	struct session *session = context;

	return !session->notifier.stopping && cached_marks_has(&session->cached, node_inode(node));
}

/* The byte behind the name is sent, too. */
static void drop_entry(void *context, uint64_t parent, const char *name, size_t length)
{
	struct session *session = context;
	char text[NO_NAME_LENGTH];

	if (session->notifier.stopping || length >= NO_NAME_LENGTH)
		return;
	memcpy(text, name, length);
	text[length] = '\0';
	(void)fuse_lowlevel_notify_inval_entry(session->fuse, parent, text, length);
	watcher_thread_note_name(&session->watcher, parent, text);
}

/* To drop a name the kernel takes the lock of the parent's inode, which lookups and listings under
 * way hold: also when there is no such name. */
static void settle(void *context, uint64_t parent)
{
	struct session *session = context;
	char no_name[NO_NAME_LENGTH + 1] = {0};

	if (session->notifier.stopping)
		return;
	memset(no_name, 'x', NO_NAME_LENGTH);
	(void)fuse_lowlevel_notify_inval_entry(session->fuse, parent, no_name, NO_NAME_LENGTH);
	watcher_thread_note_folder(&session->watcher, parent);
}

/* The content of a directory is its listing; that of a file node never changes. */
static void drop_node(void *context, uint64_t node)
{
	struct session *session = context;
	off_t offset = node_kind(node) == NODE_FILE ? -1 : 0;

	if (session->notifier.stopping)
		return;
	(void)fuse_lowlevel_notify_inval_inode(session->fuse, node, offset, 0);
	if (node_kind(node) != NODE_FILE)
		watcher_thread_note_folder(&session->watcher, node);
}

/* All groups' folders that were listed since this was done last: it costs no more than the listings
 * did. */
static void drop_copies(void *context)
{
	struct session *session = context;
	AUTO_FREE uint64_t *folders = NULL;
	size_t count = listed_groups_take(&session->listed, &folders);

	for (size_t i = 0; i < count; i++) {
		settle(session, folders[i]);
		drop_node(session, folders[i]);
	}
	watcher_thread_note_all(&session->watcher);
}

/* ---- the thread ---------------------------------------------------------------------- */

static void spread(struct session *session, const struct invalidation *invalidation)
{
	const struct invalidation_sink sink = {
		.is_cached = holds,
		.entry = drop_entry,
		.wait = settle,
		.inode = drop_node,
		.copy_listings = drop_copies,
		.context = session,
	};
	int r = invalidation_apply(session->view, invalidation, &sink);

	for (int tries = 1; r < 0 && tries < TRIES_MAX && !session->notifier.stopping; tries++) {
		clock_sleep_ms(TRY_AGAIN_MS);
		r = invalidation_apply(session->view, invalidation, &sink);
	}
	if (r < 0)
		log_error("cannot tell the kernel what changed, so the view may show what is no "
			  "longer so: %s",
			  error_text(r));
	handles_wake_pollers(&session->handles, session->view);
	watcher_thread_wake(&session->watcher);
}

/* Waits for something to do; false: nothing any more. *notice may be NULL. */
static bool take(struct session *session, struct invalidation **invalidation)
{
	struct notifier *notifier = &session->notifier;
	bool goes_on;

	pthread_mutex_lock(&notifier->lock);
	while (!notifier->stopping && !notifier->first && !sync_is_due(session))
		timed_wait(&notifier->changed, &notifier->lock, sync_limit_ns(session));
	goes_on = !notifier->stopping;
	*invalidation = goes_on ? notifier->first : NULL;
	if (*invalidation) {
		notifier->first = (*invalidation)->next;
		if (!notifier->first)
			notifier->last = NULL;
	}
	pthread_mutex_unlock(&notifier->lock);
	return goes_on;
}

static void end_invalidation(struct notifier *notifier, struct invalidation *invalidation)
{
	invalidation_free(invalidation);
	pthread_mutex_lock(&notifier->lock);
	notifier->done++;
	pthread_mutex_unlock(&notifier->lock);
}

static void *notify(void *context)
{
	struct session *session = context;
	struct notifier *notifier = &session->notifier;
	struct invalidation *invalidation;

	while (take(session, &invalidation)) {
		if (invalidation) {
			spread(session, invalidation);
			end_invalidation(notifier, invalidation);
		}
		sync_answer(session);
	}
	pthread_mutex_lock(&notifier->lock);
	notifier->running = false;
	pthread_cond_broadcast(&notifier->changed);
	pthread_mutex_unlock(&notifier->lock);
	return NULL;
}

int notifier_start(struct session *session)
{
	struct notifier *notifier = &session->notifier;
	int r;

	pthread_mutex_lock(&notifier->lock);
	r = thread_start(&notifier->thread, notify, session);
	notifier->running = r == 0;
	pthread_mutex_unlock(&notifier->lock);
	notifier->started = r == 0;
	return r;
}

void notifier_stop(struct session *session)
{
	struct notifier *notifier = &session->notifier;

	pthread_mutex_lock(&notifier->lock);
	notifier->stopping = true;
	pthread_cond_broadcast(&notifier->changed);
	while (notifier->running)
		pthread_cond_wait(&notifier->changed, &notifier->lock);
	pthread_mutex_unlock(&notifier->lock);
	sync_cancel(session);
}

void notifier_join(struct notifier *notifier)
{
	if (notifier->started)
		pthread_join(notifier->thread, NULL);
}
