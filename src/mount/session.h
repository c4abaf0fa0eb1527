/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_SESSION_H
#define MOUNT_SESSION_H

/* What the files of the session share. */

#include "mount/fuse.h"
#include "mount/handle.h"
#include "mount/kept.h"
#include "mount/listed.h"
#include "mount/mount.h"
#include "mount/notifier.h"
#include "mount/page_gate.h"

struct session {
	struct view *view; /* borrowed */
	struct session_settings settings;
	struct fuse_session *fuse;
	bool mounted;
	struct page_gate gate;
	struct kept kept;
	struct listed listed;
	bool opens_directories; /* the kernel cannot do without; since it began to ask */
	struct handle_list handles;
	struct notifier notifier;

	pthread_mutex_t lock; /* of all below */
	pthread_cond_t ended; /* running became false */
	bool stopping;
	bool running;
	pthread_t loop; /* who waits in libfuse's loop, while running */
};

/* callbacks.h */
extern const struct fuse_lowlevel_ops session_callbacks;

#endif
