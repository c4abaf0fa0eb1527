/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_SESSION_H
#define MOUNT_SESSION_H

/* What the files of the session share. */

#include <stdatomic.h>

#include "mount/backing.h"
#include "mount/buffers.h"
#include "mount/cached_marks.h"
#include "mount/features.h"
#include "mount/fuse.h"
#include "mount/generations.h"
#include "mount/handle.h"
#include "mount/listed_groups.h"
#include "mount/loop.h"
#include "mount/mount.h"
#include "mount/notifier.h"
#include "mount/page_gate.h"
#include "mount/session_access.h"
#include "mount/unmount_watch.h"
#include "mount/watcher_reply.h"
#include "mount/watcher_thread.h"

struct session {
	struct view *view; /* borrowed */
	struct session_settings settings;
	struct fuse_session *fuse;
	enum session_access access;
	bool mounted;
	atomic_bool answered; /* by device.c */
	bool failed; /* after it had begun to answer; and not ended by anybody */
	struct page_gate gate;
	struct generations generations;
	struct cached_marks cached;
	struct listed_groups listed;
	struct backings backings;
	struct buffers buffers;
	struct features facts; /* the kernel's part is known since it began to ask */
	bool expects_passthrough; /* nothing but the kernel can speak against it */
	const char *advice[FEATURE_ADVICE_MAX]; /* for more speed; since the kernel began to ask */
	bool opens_directories; /* the kernel cannot do without; since it began to ask */
	struct handle_list handles;
	struct notifier notifier;
	struct watcher_thread watcher;
	struct watcher_replies replies;
	struct loop loop;
	struct unmount_watch unmount_watch;
	bool left_behind; /* the view was unmounted, and is ended all the same; set by its thread */
};

/* Are the rights of who asks for this program to judge, not for the kernel? */
static inline bool session_judges(const struct session *session)
{
	return session->settings.shared || session->access == SESSION_REFUSING;
}

/* callbacks.h */
extern const struct fuse_lowlevel_ops session_callbacks;

#endif
