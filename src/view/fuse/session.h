/* SPDX-License-Identifier: MIT */
#ifndef VIEW_FUSE_SESSION_H
#define VIEW_FUSE_SESSION_H

/* The session, shared by the files of this folder. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "view/fuse/features.h"
#include "view/fuse/handle.h"
#include "view/fuse/kernel_cache.h"
#include "view/fuse/loop.h"
#include "view/fuse/mount.h"
#include "view/fuse/notifier.h"
#include "view/fuse/watcher_event.h"
#include "view/fuse/watcher_thread.h"

/* The thread that ends a session that only another mount namespace shows (session.c). */
struct unmount_watch {
	pthread_t thread;
	bool running;
	int table_fd; /* mount table, for poll(2) only */
	int end_fd; /* eventfd that ends the thread */
	void (*stop)(void *session); /* ends the session */
	char *device; /* device number of the view, in the form of the mount table */
};

struct session {
	struct view *view; /* borrowed */
	struct session_settings settings;
	struct fuse_session *fuse;
	enum session_access access;
	bool mounted;
	atomic_bool replied; /* the first reply was sent (session.c) */
	bool failed; /* an error ended the session while it answered requests */
	struct page_gate gate;
	atomic_uint prefetches; /* workers that store a file in the page cache (callbacks.c) */
	struct generations generations;
	struct cached_marks cached;
	struct listed_groups listed;
	struct listing_habits habits;
	struct backings backings;
	struct buffers buffers;
	struct features facts; /* complete once the kernel has sent FUSE_INIT */
	bool expects_passthrough; /* passthrough depends on the kernel only */
	const char *advice[FEATURE_ADVICE_MAX]; /* hints for more speed; set at FUSE_INIT */
	bool needs_opendir; /* the kernel needs opendir requests; set at FUSE_INIT */
	struct handle_list handles;
	struct notifier notifier;
	struct watcher_thread watcher;
	struct watcher_replies replies;
	struct loop loop;
	struct unmount_watch unmount_watch;
	/* the view was unmounted here but is still mounted in another mount namespace; set by the
	 * unmount watch */
	bool mounted_elsewhere;
};

/* Does this program check the permissions of callers, instead of the kernel? */
static inline bool session_checks_access(const struct session *session)
{
	return session->settings.options.shared || session->access == SESSION_REFUSING;
}

/* callbacks.c */
extern const struct fuse_lowlevel_ops session_callbacks;

#endif
