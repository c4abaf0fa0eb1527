/* SPDX-License-Identifier: MIT */
#include "view/fuse/handle.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/descriptor.h"
#include "view/fuse/fuse.h"
#include "view/tree/caller.h"

/* ---- open quota ---------------------------------------------------------------------- */

/* The limit for users other than root is this part of all descriptors. File comparison uses up to
 * half of the descriptors (scan/contents.c). */
#define USERS_DIVISOR 2

void open_quotas_init(struct open_quotas *quotas)
{
	*quotas = (struct open_quotas){.most = descriptors_max() / USERS_DIVISOR};
}

/* Returns the link to a user's quota. If the user has none, returns the link where the quota must
 * be inserted. */
static struct open_quota **find(struct open_quotas *quotas, uid_t uid)
{
	struct open_quota **at = &quotas->buckets[uid % OPEN_QUOTAS_BUCKETS];

	while (*at && (*at)->uid != uid)
		at = &(*at)->next;
	return at;
}

int open_quotas_take(struct open_quotas *quotas, const uid_t *uid, struct open_quota **quota)
{
	struct open_quota **at;

	*quota = NULL;
	if (uid) {
		at = find(quotas, *uid);
		if (quotas->taken >= quotas->most ||
		    (*at ? (*at)->count : 0) >= quotas->most - quotas->taken)
			return -EMFILE;
		if (!*at)
			*at = calloc(1, sizeof(**at));
		if (!*at)
			return -ENOMEM;
		(*at)->uid = *uid;
		(*at)->count++;
		*quota = *at;
	}
	quotas->taken++;
	return 0;
}

void open_quotas_return(struct open_quotas *quotas, struct open_quota *quota)
{
	struct open_quota **at;

	quotas->taken--;
	if (!quota || --quota->count > 0)
		return;
	at = find(quotas, quota->uid);
	*at = quota->next;
	free(quota);
}

/* ---- handle -------------------------------------------------------------------------- */

void handle_list_init(struct handle_list *list)
{
	list->first = NULL;
	list->polled = 0;
	open_quotas_init(&list->quotas);
	pthread_mutex_init(&list->lock, NULL);
}

static void close_handle(struct handle *handle)
{
	view_close(&handle->file);
	if (handle->poll)
		fuse_pollhandle_destroy(handle->poll);
	free(handle);
}

void handle_list_deinit(struct handle_list *list)
{
	struct handle *handle = list->first;

	while (handle) {
		struct handle *next = handle->next;

		open_quotas_return(&list->quotas, handle->quota);
		close_handle(handle);
		handle = next;
	}
	pthread_mutex_destroy(&list->lock);
}

static void add(struct handle_list *list, struct handle *handle)
{
	handle->list = list;
	handle->uses = 1;
	pthread_mutex_lock(&list->lock);
	handle->next = list->first;
	if (list->first)
		list->first->previous = handle;
	list->first = handle;
	pthread_mutex_unlock(&list->lock);
}

static int take_quota(struct handle_list *list, const struct view_call *call,
		      struct open_quota **quota)
{
	int r;

	pthread_mutex_lock(&list->lock);
	r = open_quotas_take(&list->quotas, call->caller ? &call->caller->uid : NULL, quota);
	pthread_mutex_unlock(&list->lock);
	return r;
}

static void return_quota(struct handle_list *list, struct open_quota *quota)
{
	pthread_mutex_lock(&list->lock);
	open_quotas_return(&list->quotas, quota);
	pthread_mutex_unlock(&list->lock);
}

int handle_open(struct handle_list *list, const struct view_call *call, uint64_t node,
		struct handle **handle)
{
	struct handle *opened = calloc(1, sizeof(*opened));
	int r;

	if (!opened)
		return -ENOMEM;
	r = take_quota(list, call, &opened->quota);
	if (r == 0) {
		r = view_open(call, node, &opened->file);
		if (r != 0)
			return_quota(list, opened->quota);
	}
	if (r != 0) {
		free(opened);
		return r;
	}
	add(list, opened);
	*handle = opened;
	return 0;
}

bool handle_list_has_any(struct handle_list *list)
{
	bool any;

	pthread_mutex_lock(&list->lock);
	any = list->first;
	pthread_mutex_unlock(&list->lock);
	return any;
}

struct handle *handle_use(struct handle *handle)
{
	pthread_mutex_lock(&handle->list->lock);
	handle->uses++;
	pthread_mutex_unlock(&handle->list->lock);
	return handle;
}

static void unlink_handle(struct handle *handle)
{
	if (handle->previous)
		handle->previous->next = handle->next;
	else
		handle->list->first = handle->next;
	if (handle->next)
		handle->next->previous = handle->previous;
	if (handle->poll)
		handle->list->polled--;
}

void handle_set_poll(struct handle *handle, struct fuse_pollhandle *poll)
{
	struct fuse_pollhandle *before;

	pthread_mutex_lock(&handle->list->lock);
	before = handle->poll;
	handle->poll = poll;
	handle->list->polled += !before;
	pthread_mutex_unlock(&handle->list->lock);
	if (before)
		fuse_pollhandle_destroy(before);
}

/* Removes and returns the poll handle of a readable file, or returns NULL if there is none. */
static struct fuse_pollhandle *take_poller(struct handle_list *list, struct view *view)
{
	struct fuse_pollhandle *poll = NULL;

	pthread_mutex_lock(&list->lock);
	for (struct handle *handle = list->polled ? list->first : NULL; handle && !poll;
	     handle = handle->next) {
		if (!handle->poll || !view_has_more(view, &handle->file))
			continue;
		poll = TAKE(handle->poll);
		list->polled--;
	}
	pthread_mutex_unlock(&list->lock);
	return poll;
}

void handles_wake_pollers(struct handle_list *list, struct view *view)
{
	struct fuse_pollhandle *poll;

	while ((poll = take_poller(list, view))) {
		(void)fuse_lowlevel_notify_poll(poll);
		fuse_pollhandle_destroy(poll);
	}
}

void handle_drop(struct handle *handle)
{
	struct handle_list *list;
	struct open_quota *quota;
	bool last;

	if (!handle)
		return;
	pthread_mutex_lock(&handle->list->lock);
	last = --handle->uses == 0;
	if (last)
		unlink_handle(handle);
	pthread_mutex_unlock(&handle->list->lock);
	if (!last)
		return;
	list = handle->list;
	quota = handle->quota;
	close_handle(handle);
	return_quota(list, quota);
}
