/* SPDX-License-Identifier: MIT */
#include "view/fuse/notifier.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "view/fuse/session.h"
#include "view/tree/node.h"

/* Maximum number of attempts to apply an invalidation if the index cannot be read, and the pause
 * between them. The kernel's caches are outdated meanwhile. */
#define TRIES_MAX 10
#define RETRY_MS 100

/* Maximum wait of an open. */
#define OPEN_WAIT_MS 2000

/* Limit of waiting requests that arrived over io_uring: half of the eight ring entries that libfuse
 * makes for each processor. */
#define IO_URING_WAITERS_MAX 4

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
static void invalidate_entry(void *context, uint64_t parent, const char *name, size_t length,
			     bool directory)
{
	struct session *session = context;
	char text[NO_NAME_LENGTH];

	if (session->notifier.stopping || length >= NO_NAME_LENGTH)
		return;
	memcpy(text, name, length);
	text[length] = '\0';
	(void)fuse_lowlevel_notify_inval_entry(session->fuse, parent, text, length);
	watcher_thread_note_name(&session->watcher, parent, text, directory);
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
	if (node_kind(node) == NODE_FILE)
		watcher_thread_note_file(&session->watcher, node);
	else
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

/* ---- requests that wait -------------------------------------------------------------- */

struct sync_waiter {
	struct sync_waiter *next;
	fuse_req_t request;
	/* reference to the file of a read; NULL for an open, which gets ESTALE */
	struct handle *handle;
	size_t size; /* limit of the reply */
	bool recheck_only; /* an open that does not wait for comparisons */
	/* time at which an open times out, on the monotonic clock; UINT64_MAX for a read */
	uint64_t limit_ns;
	uint64_t ticket;
	bool registered;
	bool interrupted;
	bool synced; /* its ticket was reached; after and error are set */
	uint64_t after; /* the reply waits until the kernel has processed this many invalidations */
	int error; /* positive errno, or 0 */
};

static void mark_synced(struct sync_waiter *waiter, const struct notifier *notifier)
{
	waiter->synced = true;
	waiter->after = notifier->queued;
	waiter->error = notifier->sync_error;
}

/* Marks all waiters with a ticket up to this one, or only those that need no comparison. */
static void mark_reached(struct notifier *notifier, uint64_t ticket, bool recheck_only)
{
	for (struct sync_waiter *waiter = notifier->waiters; waiter; waiter = waiter->next) {
		if (!waiter->synced && waiter->ticket <= ticket &&
		    (waiter->recheck_only || !recheck_only))
			mark_synced(waiter, notifier);
	}
	pthread_cond_broadcast(&notifier->changed);
}

void session_synced(struct session *session, uint64_t ticket, int error)
{
	struct notifier *notifier = &session->notifier;

	pthread_mutex_lock(&notifier->lock);
	notifier->synced = ticket;
	notifier->sync_error = error;
	mark_reached(notifier, ticket, false);
	pthread_mutex_unlock(&notifier->lock);
}

void session_rechecked(struct session *session, uint64_t ticket)
{
	struct notifier *notifier = &session->notifier;

	pthread_mutex_lock(&notifier->lock);
	if (ticket > notifier->rechecked)
		notifier->rechecked = ticket;
	mark_reached(notifier, ticket, true);
	pthread_mutex_unlock(&notifier->lock);
}

/* Replies to a read of .twinfs/sync. Stores the text for later reads at higher offsets. */
static void reply_sync(struct session *session, struct sync_waiter *waiter)
{
	CLEANUP_BYTES struct bytes answer = {0}, before = {0};
	struct bytes *content = &waiter->handle->file.content;
	AUTO_FREE char *given = malloc(waiter->size ? waiter->size : 1);
	int r = given ? view_sync_text(session->view, &answer) : -ENOMEM;
	size_t length = answer.length < waiter->size ? answer.length : waiter->size;

	if (r < 0) {
		(void)fuse_reply_err(waiter->request, -r);
		return;
	}
	memcpy(given, answer.data, length);
	pthread_mutex_lock(&session->notifier.lock);
	/* NOLINTNEXTLINE(clang-analyzer-deadcode.DeadStores): freed after the lock is released */
	before = *content;
	*content = answer;
	answer = (struct bytes){0};
	pthread_mutex_unlock(&session->notifier.lock);
	(void)fuse_reply_buf(waiter->request, given, length);
}

/* Replies to a waiter that was removed from the list, and frees it. error: positive errno, or 0. */
static void finish(struct session *session, struct sync_waiter *waiter, int error)
{
	if (!waiter->handle)
		(void)fuse_reply_err(waiter->request, error == EINTR ? EINTR : ESTALE);
	else if (error)
		(void)fuse_reply_err(waiter->request, error);
	else
		reply_sync(session, waiter);
	handle_drop(waiter->handle);
	free(waiter);
}

/* Returns the link to the waiter of a request, or the link at the end of the list. */
static struct sync_waiter **find(struct notifier *notifier, fuse_req_t request)
{
	struct sync_waiter **at = &notifier->waiters;

	while (*at && (*at)->request != request)
		at = &(*at)->next;
	return at;
}

/* Called by the thread that processes the interrupt, or by fuse_req_interrupt_func before the
 * waiter is registered. */
static void on_interrupt(fuse_req_t request, void *context)
{
	struct session *session = context;
	struct notifier *notifier = &session->notifier;
	struct sync_waiter **at, *waiter;
	bool taken;

	pthread_mutex_lock(&notifier->lock);
	at = find(notifier, request);
	waiter = *at;
	taken = waiter && waiter->registered;
	if (taken)
		*at = waiter->next;
	else if (waiter)
		waiter->interrupted = true;
	pthread_mutex_unlock(&notifier->lock);
	if (taken)
		finish(session, waiter, EINTR);
}

/* Returns whether another request can wait. Over io_uring, each waiting request occupies an entry
 * of the ring. If all entries are occupied, no other request is answered, including those that the
 * notifier waits for. Must be called with the lock held. */
static bool has_room(const struct notifier *notifier, const struct sync_waiter *waiter)
{
	const struct sync_waiter *other = notifier->waiters;
	size_t count = 0;

	for (; other; other = other->next)
		count++;
	return count < IO_URING_WAITERS_MAX || !request_is_io_uring(waiter->request);
}

/* Adds a waiter to the list. Returns 0, or EAGAIN without adding the waiter. */
static int add_waiter(struct session *session, struct sync_waiter *waiter)
{
	struct notifier *notifier = &session->notifier;
	bool room;

	pthread_mutex_lock(&notifier->lock);
	room = has_room(notifier, waiter);
	if (room) {
		waiter->next = notifier->waiters;
		notifier->waiters = waiter;
	}
	/* a reached ticket includes all changes before earlier tickets */
	if (waiter->ticket <= notifier->synced ||
	    (waiter->recheck_only && waiter->ticket <= notifier->rechecked))
		mark_synced(waiter, notifier);
	pthread_mutex_unlock(&notifier->lock);
	return room ? 0 : EAGAIN;
}

/* Allows other threads to reply. Returns 0, or a positive errno and removes the waiter from the
 * list. */
static int register_waiter(struct notifier *notifier, struct sync_waiter *waiter)
{
	int error;

	pthread_mutex_lock(&notifier->lock);
	error = waiter->interrupted ? EINTR : notifier->stopping ? ECANCELED : 0;
	if (error)
		*find(notifier, waiter->request) = waiter->next;
	else
		waiter->registered = true;
	pthread_cond_broadcast(&notifier->changed);
	pthread_mutex_unlock(&notifier->lock);
	return error;
}

/* Adds a waiter with a new ticket to the list. If that fails, finishes the waiter. */
static void start_waiting(struct session *session, struct sync_waiter *waiter)
{
	int error;

	waiter->ticket = session->settings.sync(session->settings.context);
	error = add_waiter(session, waiter);
	if (!error) {
		fuse_req_interrupt_func(waiter->request, on_interrupt, session);
		error = register_waiter(&session->notifier, waiter);
	}
	if (error)
		finish(session, waiter, error);
}

static void wait_for_sync(struct session *session, fuse_req_t request, struct handle *handle,
			  size_t size)
{
	struct sync_waiter *waiter = calloc(1, sizeof(*waiter));

	if (!waiter) {
		(void)fuse_reply_err(request, ENOMEM);
		return;
	}
	waiter->request = request;
	waiter->handle = handle_use(handle);
	waiter->size = size;
	waiter->limit_ns = UINT64_MAX;
	if (handle->file.node == FIXED_REMAP)
		session->settings.remap(session->settings.context);
	start_waiting(session, waiter);
}

void sync_refuse_open(struct session *session, fuse_req_t request, bool compare)
{
	struct notifier *notifier = &session->notifier;
	struct sync_waiter *waiter = calloc(1, sizeof(*waiter));
	bool late;

	pthread_mutex_lock(&notifier->lock);
	late = notifier->rechecked < notifier->timed_out_rechecked;
	compare = compare && notifier->synced >= notifier->timed_out_synced;
	pthread_mutex_unlock(&notifier->lock);
	if (!waiter || late) {
		free(waiter);
		(void)fuse_reply_err(request, ESTALE);
		return;
	}
	waiter->request = request;
	waiter->recheck_only = !compare;
	waiter->limit_ns = clock_monotonic_ns() + OPEN_WAIT_MS * MS_NS;
	start_waiting(session, waiter);
}

void sync_read(struct session *session, fuse_req_t request, struct handle *handle, size_t size,
	       size_t offset)
{
	const struct bytes *content = &handle->file.content;
	AUTO_FREE char *rest = NULL;
	size_t length;

	if (offset == 0) {
		wait_for_sync(session, request, handle, size);
		return;
	}
	pthread_mutex_lock(&session->notifier.lock);
	length = offset < content->length ? content->length - offset : 0;
	if (length > size)
		length = size;
	rest = malloc(length ? length : 1);
	if (rest && length)
		memcpy(rest, content->data + offset, length);
	pthread_mutex_unlock(&session->notifier.lock);
	if (rest)
		(void)fuse_reply_buf(request, rest, length);
	else
		(void)fuse_reply_err(request, ENOMEM);
}

static bool can_reply(const struct sync_waiter *waiter, const struct notifier *notifier)
{
	if (!waiter->registered)
		return false;
	if (waiter->synced && waiter->after <= notifier->done)
		return true;
	return waiter->limit_ns != UINT64_MAX && clock_monotonic_ns() >= waiter->limit_ns;
}

/* Returns whether a request can be answered. Must be called with the lock held. */
static bool any_is_due(const struct session *session)
{
	const struct sync_waiter *waiter = session->notifier.waiters;

	while (waiter && !can_reply(waiter, &session->notifier))
		waiter = waiter->next;
	return waiter;
}

/* Returns the next time at which an open times out, on the monotonic clock, or UINT64_MAX. Must be
 * called with the lock held. */
static uint64_t next_limit_ns(const struct session *session)
{
	const struct sync_waiter *waiter = session->notifier.waiters;
	uint64_t limit_ns = UINT64_MAX;

	for (; waiter; waiter = waiter->next) {
		if (waiter->registered && waiter->limit_ns < limit_ns)
			limit_ns = waiter->limit_ns;
	}
	return limit_ns;
}

/* Records the ticket for which an open timed out. Must be called with the lock held. */
static void note_timeout(struct notifier *notifier, const struct sync_waiter *waiter)
{
	if (waiter->handle || waiter->synced)
		return;
	if (!waiter->recheck_only)
		notifier->timed_out_synced = waiter->ticket;
	if (waiter->ticket > notifier->rechecked)
		notifier->timed_out_rechecked = waiter->ticket;
}

/* Removes registered waiters from the list: all, or only those that can be answered. Returns a
 * list of them. */
static struct sync_waiter *take_waiters(struct notifier *notifier, bool all)
{
	struct sync_waiter **at = &notifier->waiters, *taken = NULL;

	pthread_mutex_lock(&notifier->lock);
	while (*at) {
		struct sync_waiter *waiter = *at;

		if (all ? !waiter->registered : !can_reply(waiter, notifier)) {
			at = &waiter->next;
			continue;
		}
		*at = waiter->next;
		waiter->next = taken;
		taken = waiter;
		note_timeout(notifier, waiter);
	}
	pthread_mutex_unlock(&notifier->lock);
	return taken;
}

/* Replies to the waiters that take_waiters() takes. */
static void finish_waiters(struct session *session, bool all)
{
	struct sync_waiter *waiter = take_waiters(&session->notifier, all);

	while (waiter) {
		struct sync_waiter *next = waiter->next;

		finish(session, waiter, all ? ECANCELED : waiter->error);
		waiter = next;
	}
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
	while (!notifier->stopping && !notifier->first && !any_is_due(session))
		timed_wait(&notifier->changed, &notifier->lock, next_limit_ns(session));
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
		finish_waiters(session, false);
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
	finish_waiters(session, true);
}

void notifier_join(struct notifier *notifier)
{
	if (notifier->started)
		pthread_join(notifier->thread, NULL);
}
