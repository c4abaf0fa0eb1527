/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_UNMOUNT_WATCH_H
#define MOUNT_UNMOUNT_WATCH_H

/* The thread that ends a session whose view was unmounted while another mount namespace
 * (unshare(1), containers) still has a copy of the mount. The copy keeps the FUSE connection alive,
 * and so the daemon and its lock on the index.
 *
 *	/proc/self/mountinfo --mount table changed--> thread --stop--> session
 *
 * The session ends only if all of these conditions hold:
 *
 *	- this namespace had a mount of the view when the thread was started, and has none now. Bind
 *	  mounts (mount --bind) and moved mounts (mount --move) count;
 *	- no file of the view is open;
 *	- a process of another namespace has the view mounted.
 *
 * So a view that was mounted for another namespace is never ended here. A lazily unmounted view
 * lives as long as a program has a file of it open.
 */

#include <pthread.h>
#include <stdbool.h>

struct session;

struct unmount_watch {
	pthread_t thread;
	bool running;
	int table_fd; /* mount table, for poll(2) only */
	int end_fd; /* eventfd that ends the thread */
	void (*stop)(void *session); /* ends the session */
	char *device; /* device number of the view, in the form of the mount table */
};

/* Starts the thread of a mounted session; the thread calls stop to end the session. If the thread
 * cannot be started, this is logged, and the view is served without the thread. */
void unmount_watch_start(struct session *session, void (*stop)(void *session));

/* Ends and joins the thread, and frees the watch. Called by another thread, after
 * unmount_watch_start. */
void unmount_watch_end(struct unmount_watch *watch);

#endif
