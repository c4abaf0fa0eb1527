/* SPDX-License-Identifier: MIT */
#ifndef VIEW_FUSE_MOUNT_H
#define VIEW_FUSE_MOUNT_H

/* A view, mounted with libfuse's low-level interface.
 *
 * A daemon calls mount_point_prepare (index/mount_point.h), mounter_start (view/fuse/mounter.h),
 * signal_watch_new, session_new, session_run and session_free, in this order. The first three calls
 * must precede the start of any other thread. The arguments of session_new are borrowed until
 * session_free.
 *
 * Mounts have the options nosuid,nodev and the type fuse.twinfs. Requests that change something
 * fail (enum session_access). Only the user who mounts has access, unless the mount is
 * shared. */

#include <stdbool.h>

#include "base/attributes.h"
#include "base/text.h"
#include "view/tree/invalidation.h"
#include "view/tree/view.h"

struct mounter;
struct session;
struct signal_watch;

/* How writes to a view are refused, besides the EROFS of every request that changes something. The
 * second and the third kind allow watcher events (view/fuse/watcher_event.h). */
enum session_access {
	SESSION_READ_ONLY, /* the superblock is read-only */
	/* Mounts of root. The visible mount is always read-only. The superblock is read-only until
	 * the first watcher event. */
	SESSION_READ_ONLY_MOUNT,
	/* Mounts of a plain user. The superblock is writable. The daemon refuses changes and checks
	 * permissions. */
	SESSION_REFUSING,
};

/* The options of the user. */
struct session_options {
	bool passthrough; /* the kernel reads all files without the daemon (view/fuse/features.h) */
	bool io_uring; /* requests over io_uring, if possible */
	/* other users have access; each sees only files that this user can read
	 * (view/fuse/callbacks.c); needs root */
	bool shared;
	bool nonempty; /* the mount point may be a directory that is not empty */
	bool auto_unmount; /* unmount even if the daemon is killed (view/fuse/mounter.h) */
	bool single_threaded;
	bool debug; /* libfuse prints every request to stderr */
	/* items of -o for FUSE, each of class MOUNT_OPTION_FUSE (mount_option_classify) */
	struct text_list fuse;
};

struct session_settings {
	const char *mount_point; /* absolute, as returned by mount_point_prepare */
	const char *source; /* the device that df(1) and mount(8) show */
	struct session_options options; /* borrows the texts */
	struct mounter *mounter; /* the process that mounts and unmounts */
	struct signal_watch *signals; /* signals that end the session */
	/* Called once, by a thread of the session, when the kernel initialises the mount. From then
	 * on, requests are answered. */
	void (*ready)(void *context);
	/* Called when a program reads .twinfs/sync, or when an open waits for a recheck. Returns a
	 * new ticket, above 0 and above all earlier tickets, for which session_synced will be
	 * called. Called by threads of the session without locks; must not block. */
	uint64_t (*sync)(void *context);
	/* Called before sync, in the same way, when a program reads .twinfs/remap: the tickets that
	 * follow wait until all extents were mapped again. */
	void (*remap)(void *context);
	void *context;
};

/* Mounts the view. Requests wait until session_run. Returns 0, or -errno (logged) with nothing
 * mounted. */
MUST_CHECK int session_new(struct session **session, struct view *view,
			   const struct session_settings *settings);

/* Serves until the file system is unmounted, or a signal or the unmount watch
 * (view/fuse/session.c) ends the session. Returns 0, or -errno (logged). */
MUST_CHECK int session_run(struct session *session);

/* Queues an invalidation for the notifier, which applies it to the kernel's caches. Takes the
 * invalidation. Any thread, in the order of the commits. Never blocks. */
void session_invalidate(struct session *session, struct invalidation *invalidation);

/* Reports that all changes made before this ticket was created are committed, and that their
 * invalidations are queued. Requests that wait for a ticket up to this one are answered when the
 * kernel has processed these invalidations. If error (positive errno) is not 0, readers of
 * .twinfs/sync get this error. Any thread. Never blocks. */
void session_synced(struct session *session, uint64_t ticket, int error);

/* Reports that all changes of names and attributes made before this ticket was created are
 * committed. Contents are not compared yet. A call of session_synced must follow. Any thread. Never
 * blocks. */
void session_rechecked(struct session *session, uint64_t ticket);

/* Unmounts the view lazily: programs with open files get errors. The mount stays if an error ended
 * session_run, so that programs get errors instead of an empty directory. Frees the session.
 * Accepts NULL. */
void session_free(struct session *session);

/* Returns the version of libfuse (static string). */
const char *mount_library_version(void);

/* ---- signals ------------------------------------------------------------------------ */

/* Signals of a daemon: SIGINT and SIGTERM end the daemon. SIGHUP ends the daemon or makes it
 * rescan.
 *
 * One thread waits for these signals. To end the daemon, the thread sets the flag of base/stop.h,
 * which stops scans, and calls the callback of signal_watch_attach().
 */

/* Begins to wait for signals. Blocks them in the calling thread, and so in all threads that this
 * thread starts later. Call it after the last fork(2) and before any other thread is started.
 *
 * hangup_ends	SIGHUP ends the daemon (in the foreground of a terminal)
 *
 * Returns 0 or -errno. */
MUST_CHECK int signal_watch_new(struct signal_watch **watch, bool hangup_ends);

/* Sets the callback for a SIGHUP that does not end the daemon. The watch's thread calls it. */
void signal_watch_on_hangup(struct signal_watch *watch, void (*hangup)(void *context),
			    void *context);

/* Sets the callback that stops the session; NULL removes it. If a signal that ends the daemon was
 * received before, the callback is called at once. If not, the watch's thread calls it when such a
 * signal arrives. Waits for a running callback. */
void signal_watch_attach(struct signal_watch *watch, void (*stop)(void *context), void *context);

/* Returns the last signal that ended the daemon, or 0. Any thread. */
int signal_watch_number(const struct signal_watch *watch);

/* Ends the watch. The signals stay blocked. Accepts NULL. */
void signal_watch_free(struct signal_watch *watch);

#endif
