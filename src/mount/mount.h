/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_MOUNT_H
#define MOUNT_MOUNT_H

/* A view, mounted with libfuse's low-level interface.
 *
 * The order of a daemon's life: mount_point_prepare (mountpoint/point.h); mounter_start
 * (mount/mounter.h) and signal_watch_new (mount/signals.h) before any other thread; session_new;
 * session_run; session_free. What the session is given is borrowed until session_free.
 *
 * Mounts are always ro,nosuid,nodev and of type fuse.twinfs. Only the user who mounts gets
 * in, unless it is shared. */

#include <stdbool.h>

#include "base/attributes.h"
#include "view/invalidation.h"
#include "view/view.h"

struct mounter;
struct session;
struct signal_watch;

struct session_settings {
	const char *mount_point; /* absolute, as mount_point_prepare gave it */
	const char *source; /* what df(1) and mount(8) show as the device */
	/* further options for FUSE, only such that mount_option_classify calls
	 * MOUNT_OPTION_FUSE; NULL-terminated, or NULL */
	char *const *options;
	bool passthrough; /* the kernel shall read all files by itself (mount/backing.h) */
	bool io_uring; /* requests shall come over io_uring; without, where that cannot be */
	bool shared; /* other users get in, too (mount/requester.h); only root may, see caller_try_impersonation */
	bool nonempty; /* the mount point may have something in it */
	bool auto_unmount; /* also where the daemon was killed (mount/mounter.h) */
	bool single_threaded;
	bool debug; /* libfuse prints every request on stderr */
	struct mounter *mounter; /* who mounts and unmounts */
	struct signal_watch *signals; /* what ends the session; NULL: only unmounting does */
	/* Called once, from a thread of the session, when the kernel has taken up the mount and
	 * requests are answered; NULL: nobody is told. */
	void (*ready)(void *context);
	/* A program reads .twinfs/sync: gives a new ticket, above 0 and all earlier ones, and goes
	 * on to session_synced. Called from threads of the session with no lock held; must not
	 * block. NULL: what was told is all there is to wait for. */
	uint64_t (*sync)(void *context);
	void *context;
};

/* Mounts the view. Nothing answers before session_run; a program that comes earlier waits.
 * -errno, logged; nothing is mounted then. */
MUST_CHECK int session_new(struct session **session, struct view *view,
			   const struct session_settings *settings);

/* Serves until the file system is unmounted or a signal ends it. 0, or -errno (logged). */
MUST_CHECK int session_run(struct session *session);

/* Tells what a commit changed, so that the kernel drops what it holds of that. Takes the notice.
 * Any thread, in the order of the commits; never blocks. */
void session_tell(struct session *session, struct invalidation *invalidation);

/* Everything that happened before this ticket was given has been told: programs that read
 * .twinfs/sync with a ticket up to it get their answer, or the error (positive errno, 0: none),
 * when what was told before has reached the kernel. Any thread; never blocks. */
void session_synced(struct session *session, uint64_t ticket, int error);

/* Names and attributes are in the index as they were before this ticket was given; contents are not
 * compared yet. session_synced follows. Any thread; never blocks. */
void session_rechecked(struct session *session, uint64_t ticket);

/* Makes session_run return soon, and returns when it has. Any thread but those of the session;
 * a session that is not running yet will end as soon as it runs. */
void session_stop(struct session *session);

/* Unmounts (lazily: who still has files open sees errors) and frees; accepts NULL. */
void session_free(struct session *session);

/* The version of libfuse (static). */
const char *mount_library_version(void);

#endif
