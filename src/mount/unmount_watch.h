/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_UNMOUNT_WATCH_H
#define MOUNT_UNMOUNT_WATCH_H

/* The thread that ends a session whose view was unmounted, while a mount namespace that was copied
 * before (unshare(1), containers) still has it mounted: the kernel keeps the connection alive for
 * that copy, and so the daemon and its lock on the index.
 *
 *	/proc/self/mountinfo --the mount table changed--> thread --session_stop--> session
 *
 * The session is ended only if all of this is true:
 *
 *	- this namespace had a mount of the view when the thread was started, and has none any more,
 *	  also no other one (mount --bind, mount --move);
 *	- no file of the view is open;
 *	- a process of another namespace has the view mounted.
 *
 * So a view that was mounted for another namespace is never ended here, and one that was unmounted
 * lazily lives as long as a program of this namespace uses it.
 */

#include <pthread.h>
#include <stdbool.h>

#include "base/attributes.h"

struct session;

struct unmount_watch {
	pthread_t thread;
	bool running;
	int table_fd; /* of the mount table, for poll(2) alone */
	int end_fd; /* an eventfd */
	void (*stop)(void *session); /* ends the session */
	char *device; /* of the view, as the mount table has it */
};

/* Starts the thread of a session that is mounted, which it ends by stop. Without the thread the view is served all the
 * same; why there is none is logged. */
void unmount_watch_start(struct session *session, void (*stop)(void *session));

/* Ends the thread, waits for it, and frees. Any thread but that one; after unmount_watch_start. */
void unmount_watch_end(struct unmount_watch *watch);

#endif
