/* SPDX-License-Identifier: MIT */
#include "mount/notifier.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "mount/session.h"
#include "mount/sync.h"
#include "view/node.h"

/* Maximum number of attempts to apply an invalidation if the index cannot be read, and the pause
 * between them. The kernel's caches are outdated meanwhile. */
#define TRIES_MAX 10
#define RETRY_MS 100

/* A name of this length is longer than any name of the view. */
#define NO_NAME_LENGTH 256

void notifier_init(struct notifier *notifier)
{
	*notifier = (struct notifier){.first = NULL};
	pthread_mutex_init(&notifier->lock, NULL);
	timed_wait_init(&notifier->changed);
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

void session_invalidate(struct session *session, struct invalidation *invalidation)
{
	struct notifier *notifier = &session->notifier;

	invalidation->next = NULL;
	pthread_mutex_lock(&notifier->lock);
	if (notifier->last)
		notifier->last->next = invalidation;
	else
		notifier->first = invalidation;
	notifier->last = invalidation;
	notifier->queued++;
	pthread_cond_broadcast(&notifier->changed);
	pthread_mutex_unlock(&notifier->lock);
}

/* ---- invalidating -------------------------------------------------------------------- */

/* Errors are ignored. ENOENT means that the kernel has no such inode or dentry, and any other error
 * normally means that the connection has ended. If the session stops, the rest of a large
 * invalidation is skipped. */

static bool is_cached(void *context, uint64_t node)
{
	struct session *session = context;

	return !session->notifier.stopping && cached_marks_has(&session->cached, node_inode(node));
}

/* Passes a name with its NUL, as libfuse sends the byte after the name to the kernel. */
static void invalidate_entry(void *context, uint64_t parent, const char *name, size_t length)
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

/* Waits for running lookups and listings in a directory. These requests hold the lock of the
 * directory's inode, which the kernel takes to invalidate any entry. The entry invalidated here
 * does not exist. */
static void wait_for_directory(void *context, uint64_t parent)
{
	struct session *session = context;
	char no_name[NO_NAME_LENGTH + 1] = {0};

	if (session->notifier.stopping)
		return;
	memset(no_name, 'x', NO_NAME_LENGTH);
	(void)fuse_lowlevel_notify_inval_entry(session->fuse, parent, no_name, NO_NAME_LENGTH);
	watcher_thread_note_folder(&session->watcher, parent);
}

/* Offset 0 also invalidates the listing of a directory. Offset -1 invalidates only the attributes,
 * as the content of a file node never changes. */
static void invalidate_inode(void *context, uint64_t node)
{
	struct session *session = context;
	off_t offset = node_kind(node) == NODE_FILE ? -1 : 0;

	if (session->notifier.stopping)
		return;
	(void)fuse_lowlevel_notify_inval_inode(session->fuse, node, offset, 0);
	if (node_kind(node) != NODE_FILE)
		watcher_thread_note_folder(&session->watcher, node);
}

/* Invalidates the listings of all groups' folders that were listed since the last call. The
 * invalidations cost no more than the listings did. */
static void invalidate_copy_listings(void *context)
{
	struct session *session = context;
	AUTO_FREE uint64_t *folders = NULL;
	size_t count = listed_groups_take(&session->listed, &folders);

	for (size_t i = 0; i < count; i++) {
		wait_for_directory(session, folders[i]);
		invalidate_inode(session, folders[i]);
	}
	watcher_thread_note_all(&session->watcher);
}

/* ---- the thread ---------------------------------------------------------------------- */

static void apply(struct session *session, const struct invalidation *invalidation)
{
	const struct invalidation_sink sink = {
		.is_cached = is_cached,
		.entry = invalidate_entry,
		.wait = wait_for_directory,
		.inode = invalidate_inode,
		.copy_listings = invalidate_copy_listings,
		.context = session,
	};
	int r = invalidation_apply(session->view, invalidation, &sink);

	for (int tries = 1; r < 0 && tries < TRIES_MAX && !session->notifier.stopping; tries++) {
		clock_sleep_ms(RETRY_MS);
		r = invalidation_apply(session->view, invalidation, &sink);
	}
	if (r < 0)
		log_error("cannot invalidate the kernel's caches: %s; the view can show outdated "
			  "files",
			  error_text(r));
	handles_wake_pollers(&session->handles, session->view);
	watcher_thread_wake(&session->watcher);
}

/* Waits for work. Returns false when the thread must end. *invalidation is NULL if only waiters
 * have to be answered. */
static bool take_invalidation(struct session *session, struct invalidation **invalidation)
{
	struct notifier *notifier = &session->notifier;
	bool running;

	pthread_mutex_lock(&notifier->lock);
	while (!notifier->stopping && !notifier->first && !sync_is_due(session))
		timed_wait(&notifier->changed, &notifier->lock, sync_limit_ns(session));
	running = !notifier->stopping;
	*invalidation = running ? notifier->first : NULL;
	if (*invalidation) {
		notifier->first = (*invalidation)->next;
		if (!notifier->first)
			notifier->last = NULL;
	}
	pthread_mutex_unlock(&notifier->lock);
	return running;
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

	while (take_invalidation(session, &invalidation)) {
		if (invalidation) {
			apply(session, invalidation);
			end_invalidation(notifier, invalidation);
		}
		sync_reply(session);
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
