/* SPDX-License-Identifier: MIT */
#include "mount/session.h"

#include <errno.h>
#include <linux/fuse.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/log.h"
#include "mount/fuse_options.h"
#include "mount/mounter.h"
#include "mount/signals.h"
#include "view/caller.h"

/* ---- device --------------------------------------------------------------------------------- */

/* The FUSE device of a mount (fuse(4)), from which requests are read and to which replies are
 * written. */

static int device_use(struct session *session, int fd);

#if PARALLEL_DIROPS_KNOWN

/* Connects libfuse to fd, the device of a mount. From then on, libfuse owns the descriptor and
 * closes it.
 *
 * libfuse before 3.17 does not request FUSE_PARALLEL_DIROPS from the kernel. Without this flag, a
 * slow listing or lookup blocks all others in the same directory. For these versions the flag is
 * set in the reply to FUSE_INIT.
 *
 * Returns 0, or -EIO; after a failure the caller still owns fd. */
static int device_use(struct session *session, int fd)
{
	/* for a mount point of this form, libfuse uses the open descriptor */
	char device[sizeof("/dev/fd/") + 10];

	(void)snprintf(device, sizeof(device), "/dev/fd/%d", fd);
	return fuse_session_mount(session->fuse, device) == 0 ? 0 : -EIO;
}

#else

/* The first reply answers FUSE_INIT. Notifications, whose field unique is 0, can precede this
 * reply. */
static bool is_first_reply(struct session *session, const struct fuse_out_header *header)
{
	return header->unique != 0 && !atomic_load(&session->replied) &&
	       !atomic_exchange(&session->replied, true);
}

static ssize_t write_reply(int fd, struct iovec *parts, int count, void *userdata)
{
	struct fuse_init_out *answer;

	if (is_first_reply(userdata, parts[0].iov_base) && count == 2 &&
	    parts[1].iov_len == sizeof(*answer)) {
		answer = parts[1].iov_base;
		answer->flags |= FUSE_PARALLEL_DIROPS;
	}
	return writev(fd, parts, count);
}

/* libfuse requires this function but never calls it, as workers read the device (loop.c). */
static ssize_t read_request(int fd, void *memory, size_t size, void *userdata)
{
	(void)userdata;
	return read(fd, memory, size);
}

/* Connects libfuse to fd, the device of a mount. From then on, libfuse owns the descriptor and
 * closes it.
 *
 * libfuse before 3.17 does not request FUSE_PARALLEL_DIROPS from the kernel. Without this flag, a
 * slow listing or lookup blocks all others in the same directory. For these versions the flag is
 * set in the reply to FUSE_INIT.
 *
 * Returns 0, or -EIO; after a failure the caller still owns fd. */
static int device_use(struct session *session, int fd)
{
	static const struct fuse_custom_io calls = {.writev = write_reply, .read = read_request};

	return fuse_session_custom_io(session->fuse, &calls, fd) == 0 ? 0 : -EIO;
}

#endif

/* ---- making -------------------------------------------------------------------------- */

static void init_parts(struct session *session)
{
	handle_list_init(&session->handles);
	listed_groups_init(&session->listed);
	backings_init(&session->backings);
	buffers_init(&session->buffers);
	notifier_init(&session->notifier);
	watcher_thread_init(&session->watcher);
	watcher_replies_init(&session->replies);
	loop_init(&session->loop);
}

/* Mounts the view, and connects libfuse to the device. */
static int take_mount(struct session *session)
{
	int fd = mounter_mount(session->settings.mounter), r;

	if (fd < 0)
		return fd;
	session->mounted = true;
	r = device_use(session, fd);
	if (r < 0)
		(void)close(fd);
	return r;
}

/* Mounts the view, and logs a failure with the mount point; libfuse logs the details. */
static int mount_session(struct session *session)
{
	const struct features *facts = &session->facts;
	bool rings = facts->wants_io_uring && !features_no_io_uring(facts);
	/* checked again, as the daemon can have dropped permissions since it parsed the option */
	int r = session->settings.shared ? caller_try_impersonation() : 0;

	if (r == 0)
		r = fuse_options_session(&session->fuse, &session->settings, session->access, rings,
					 session);
	session->loop.rings = rings;
	if (r == 0)
		r = take_mount(session);
	if (r == -ECANCELED)
		log_error("interrupted before the view was mounted");
	else if (r < 0)
		log_error("cannot mount a view on %s: %s; run 'twinfs doctor' to find the "
			  "cause",
			  quote_path(session->settings.mount_point), error_text(r));
	return r;
}

/* Determines the available features, and warns of requested features that are not available; the
 * view works without them. Whether the kernel supports passthrough is known at FUSE_INIT. */
static void gather_facts(struct session *session)
{
	struct features *facts = &session->facts;
	const char *reason;

	features_gather(facts);
	facts->kernel_passthrough = true;
	facts->wants_passthrough = session->settings.passthrough;
	facts->wants_io_uring = session->settings.io_uring;
	reason = features_no_passthrough(facts);
	session->expects_passthrough = !reason;
	if (facts->wants_passthrough && reason)
		log_warning("reading without passthrough: %s", reason);
	reason = features_no_io_uring(facts);
	if (facts->wants_io_uring && reason)
		log_warning("answering requests without io_uring: %s", reason);
}

int session_new(struct session **session, struct view *view,
		const struct session_settings *settings)
{
	struct session *made = calloc(1, sizeof(*made));
	int r;

	if (!made) {
		log_error("cannot prepare to mount a view: %s", error_text(-ENOMEM));
		return -ENOMEM;
	}
	init_parts(made);
	made->view = view;
	made->settings = *settings;
	made->access = mounter_access(settings->mounter);
	fuse_options_log();
	gather_facts(made);
	r = mount_session(made);
	if (r < 0) {
		session_free(made);
		return r;
	}
	*session = made;
	return 0;
}

/* Returns whether the connection has ended: the view was unmounted. In that case, another file
 * system can be mounted at the mount point. */
static bool was_unmounted(const struct session *session)
{
	struct pollfd device = {.fd = fuse_session_fd(session->fuse)};

	return poll(&device, 1, 0) == 1 && device.revents & POLLERR;
}

static void unmount(const struct session *session)
{
	int r = mounter_unmount(session->settings.mounter);

	if (r < 0)
		log_error("cannot unmount %s: the mounter process ended or did not respond; run "
			  "'fusermount3 -u'",
			  quote_path(session->settings.mount_point));
}

void session_free(struct session *session)
{
	bool mounted;

	if (!session)
		return;
	/* the mount of a failed view stays, so that programs get errors instead of an empty
	 * directory */
	mounted = session->mounted && !session->failed && !session->mounted_elsewhere &&
		  !was_unmounted(session);
	/* closes the device first, so that waiting programs fail and the unmount does not block */
	if (session->fuse)
		fuse_session_destroy(session->fuse);
	if (mounted)
		unmount(session);
	handle_list_deinit(&session->handles);
	listed_groups_deinit(&session->listed);
	backings_deinit(&session->backings);
	buffers_deinit(&session->buffers);
	notifier_deinit(&session->notifier);
	watcher_thread_deinit(&session->watcher);
	watcher_replies_deinit(&session->replies);
	loop_deinit(&session->loop);
	free(session);
}

/* ---- running and stopping ------------------------------------------------------------ */

/* Ends the watcher thread, the notifier and the loop, in this order, and waits for each.
 * session_run then returns; if it has not begun yet, it will return at once. The kernel can block
 * the watcher thread and the notifier until the loop answers requests, so the loop ends last. Any
 * thread except these three. */
static void stop(void *context)
{
	struct session *session = context;

	watcher_thread_stop(&session->watcher);
	notifier_stop(session);
	loop_stop(&session->loop);
}

/* Runs the loop together with the notifier and the other threads. */
static int serve(struct session *session)
{
	unsigned int threads = session->settings.single_threaded ? 1 : LOOP_THREADS_MAX;
	int r;

	watcher_thread_start(session); /* first, as the other threads check whether it runs */
	unmount_watch_start(session, stop);
	r = notifier_start(session);
	if (r == 0)
		r = loop_run(&session->loop, session->fuse, threads);
	watcher_thread_stop(&session->watcher);
	watcher_thread_join(&session->watcher);
	notifier_stop(session);
	notifier_join(&session->notifier);
	unmount_watch_end(&session->unmount_watch);
	return r;
}

int session_run(struct session *session)
{
	int r;

	signal_watch_attach(session->settings.signals, stop, session);
	r = serve(session);
	signal_watch_attach(session->settings.signals, NULL, NULL);
	session->failed = r < 0 && atomic_load(&session->loop.begun);
	if (r < 0)
		log_error("the mount on %s failed: %s", quote_path(session->settings.mount_point),
			  error_text(r));
	return r;
}
