/* SPDX-License-Identifier: MIT */
#include "view/fuse/session.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fuse.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/descriptor.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/thread.h"
#include "index/mount_table.h"
#include "view/fuse/fuse.h"
#include "view/fuse/mounter.h"
#include "view/tree/caller.h"

/* ---- device ------------------------------------------------------------------------- */

/* The FUSE device of a mount (fuse(4)), from which requests are read and to which replies are
 * written. */

/* Connects libfuse to fd, the device of a mount. From then on, libfuse owns the descriptor and
 * closes it.
 *
 * libfuse before 3.17 does not request FUSE_PARALLEL_DIROPS from the kernel. Without this flag, a
 * slow listing or lookup blocks all others in the same directory. For these versions the flag is
 * set in the reply to FUSE_INIT.
 *
 * Returns 0, or -EIO; after a failure the caller still owns fd. */
static int device_use(struct session *session, int fd);

#if PARALLEL_DIROPS_KNOWN

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

static int device_use(struct session *session, int fd)
{
	static const struct fuse_custom_io calls = {.writev = write_reply, .read = read_request};

	return fuse_session_custom_io(session->fuse, &calls, fd) == 0 ? 0 : -EIO;
}

#endif

/* Returns whether the connection has ended: the view was unmounted. In that case, another file
 * system can be mounted at the mount point. */
static bool was_unmounted(const struct session *session)
{
	struct pollfd device = {.fd = fuse_session_fd(session->fuse)};

	return poll(&device, 1, 0) == 1 && device.revents & POLLERR;
}

/* ---- making ------------------------------------------------------------------------- */

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
	int r = session->settings.options.shared ? caller_try_impersonation() : 0;

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
	facts->wants_passthrough = session->settings.options.passthrough;
	facts->wants_io_uring = session->settings.options.io_uring;
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

/* ---- unmount watch ------------------------------------------------------------------ */

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

#define OWN_TABLE "/proc/self/mountinfo"

/* Delay after a change of the mount table. An unmounted view without other users has ended by then,
 * and several changes cause one check. */
#define PAUSE_MS 200

/* Longest interval of checks while an unmounted view is in use. */
#define INTERVAL_MAX_MS 60000

enum awaited {
	AWAITED_END, /* end of the session */
	AWAITED_CHANGE, /* change of the mount table */
	AWAITED_NOTHING, /* time limit */
};

/* Waits for the end of the session and, if with_table, for changes of the mount table. Does not
 * wait for the device: every request of the kernel would wake this thread.
 *
 * limit_ms	-1: none */
static enum awaited await(const struct session *session, bool with_table, int limit_ms)
{
	const struct unmount_watch *watch = &session->unmount_watch;
	struct pollfd polled[] = {
		{.fd = watch->end_fd, .events = POLLIN},
		{.fd = with_table ? watch->table_fd : -1, .events = POLLPRI},
	};
	int r;

	do
		r = poll(polled, ARRAY_SIZE(polled), limit_ms);
	while (r < 0 && errno == EINTR);
	if (r < 0 || polled[0].revents || was_unmounted(session))
		return AWAITED_END;
	return polled[1].revents ? AWAITED_CHANGE : AWAITED_NOTHING;
}

/* Returns whether a mount table contains the view. If the table cannot be read, returns unknown. */
static bool has_view(const char *file, const char *device, bool unknown)
{
	CLEANUP_TABLE struct mount_table table = {0};

	if (mount_table_read_from(&table, file) < 0)
		return unknown;
	return mount_table_view_of(&table, device);
}

/* Returns a process whose namespace has the view mounted, or 0. */
static pid_t find_other_namespace(const char *device)
{
	AUTO_CLOSEDIR DIR *processes = opendir("/proc");
	const struct dirent *entry;
	char path[sizeof("/proc//mountinfo") + NAME_MAX];

	/* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is local */
	while (processes && (entry = readdir(processes))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		(void)snprintf(path, sizeof(path), "/proc/%s/mountinfo", entry->d_name);
		if (has_view(path, device, false))
			return (pid_t)strtol(entry->d_name, NULL, 10);
	}
	return 0;
}

/* Returns whether no file of the view is open and *process, in another namespace, has the view
 * mounted. */
static bool is_mounted_elsewhere(struct session *session, pid_t *process)
{
	const char *device = session->unmount_watch.device;

	if (handle_list_has_any(&session->handles))
		return false;
	*process = find_other_namespace(device);
	return *process > 0;
}

static void end_session(struct session *session, pid_t process)
{
	log_info("the view at %s was unmounted; process %d still has it mounted in another mount "
		 "namespace, where requests fail from now on",
		 quote_path(session->settings.mount_point), (int)process);
	session->mounted_elsewhere = true;
	session->unmount_watch.stop(session);
}

static void *watch_table(void *context)
{
	struct session *session = context;
	const char *device = session->unmount_watch.device;
	/* time to the next check if the table does not change; -1: no check */
	int interval_ms = -1;
	pid_t process;

	while (await(session, true, interval_ms) != AWAITED_END &&
	       await(session, false, PAUSE_MS) != AWAITED_END) {
		if (has_view(OWN_TABLE, device, true)) {
			interval_ms = -1;
			continue;
		}
		/* a table that changes while it is read can lack a mount */
		if (await(session, true, 0) == AWAITED_NOTHING &&
		    is_mounted_elsewhere(session, &process)) {
			end_session(session, process);
			break;
		}
		interval_ms = interval_ms < 0 ? PAUSE_MS : interval_ms * 2;
		if (interval_ms > INTERVAL_MAX_MS)
			interval_ms = INTERVAL_MAX_MS;
	}
	return NULL;
}

/* Opens the mount table and determines the device number of the view. Returns 0, -ENOENT if this
 * namespace does not have the view mounted, or another -errno. */
static int find_device(struct unmount_watch *watch, const char *mount_point)
{
	CLEANUP_TABLE struct mount_table table = {0};
	const struct mountinfo *entry;
	int r;

	/* opened before the table is read, so that no change is missed */
	watch->table_fd = open(OWN_TABLE, O_RDONLY | O_CLOEXEC);
	if (watch->table_fd < 0)
		return -errno;
	r = mount_table_read_from(&table, OWN_TABLE);
	if (r < 0)
		return r;
	entry = mount_table_covering(&table, mount_point);
	if (!entry || !mount_entry_is_view(entry) || strcmp(entry->point, mount_point) != 0)
		return -ENOENT;
	watch->device = strdup(entry->device);
	return watch->device ? 0 : -ENOMEM;
}

static void unmount_watch_free(struct unmount_watch *watch)
{
	cleanup_close(&watch->table_fd);
	cleanup_close(&watch->end_fd);
	free(watch->device);
}

/* Starts the thread of a mounted session; the thread calls stop to end the session. If the thread
 * cannot be started, this is logged, and the view is served without the thread. */
static void unmount_watch_start(struct session *session, void (*stop)(void *session))
{
	struct unmount_watch *watch = &session->unmount_watch;
	int r;

	*watch = (struct unmount_watch){.table_fd = -1, .end_fd = -1, .stop = stop};
	r = find_device(watch, session->settings.mount_point);
	if (r == 0) {
		watch->end_fd = eventfd(0, EFD_CLOEXEC);
		r = watch->end_fd < 0 ? -errno : 0;
	}
	if (r == 0)
		r = thread_start(&watch->thread, watch_table, session);
	watch->running = r == 0;
	if (r == 0)
		return;
	log_debug("the daemon ends only when no mount namespace has %s mounted: %s",
		  quote_path(session->settings.mount_point), error_text(r));
	unmount_watch_free(watch);
}

/* Ends and joins the thread, and frees the watch. Called by another thread, after
 * unmount_watch_start. */
static void unmount_watch_end(struct unmount_watch *watch)
{
	if (!watch->running)
		return;
	(void)eventfd_write(watch->end_fd, 1);
	pthread_join(watch->thread, NULL);
	unmount_watch_free(watch);
}

/* ---- signals ------------------------------------------------------------------------ */

/* How long a daemon may take to end. It possibly waits for a source that does not
 * answer. A service manager kills it after 90 s. */
#define GRACE_S 60

struct signal_watch {
	pthread_t thread;
	sigset_t signals;
	atomic_bool ending;
	atomic_int number; /* last signal that ended the daemon */
	pthread_mutex_t lock; /* protects the fields below; held during the callbacks */
	void (*stop)(void *context);
	void *stop_context;
	bool received;
	bool hangup_ends;
	void (*hangup)(void *context);
	void *context;
};

static void stop_everything(struct signal_watch *watch)
{
	stop_request();
	pthread_mutex_lock(&watch->lock);
	watch->received = true;
	if (watch->stop)
		watch->stop(watch->stop_context);
	pthread_mutex_unlock(&watch->lock);
}

static void call_hangup(struct signal_watch *watch)
{
	pthread_mutex_lock(&watch->lock);
	if (watch->hangup)
		watch->hangup(watch->context);
	pthread_mutex_unlock(&watch->lock);
}

/* Waits for the next signal. After one that ends the daemon, ends the process if nothing else does.
 * Returns the signal, or 0 after a failure. */
static int await_signal(struct signal_watch *watch)
{
	static const struct timespec grace = {.tv_sec = GRACE_S};
	bool stopped = atomic_load(&watch->number) != 0;
	int number;

	do
		number = sigtimedwait(&watch->signals, NULL, stopped ? &grace : NULL);
	while (number < 0 && errno == EINTR);
	if (number < 0 && errno == EAGAIN)
		interrupt_raise(atomic_load(&watch->number));
	return number < 0 ? 0 : number;
}

static void *watch_signals(void *context)
{
	struct signal_watch *watch = context;
	int signal;

	while ((signal = await_signal(watch)) != 0 && !atomic_load(&watch->ending)) {
		if (signal == SIGHUP && !watch->hangup_ends) {
			call_hangup(watch);
			continue;
		}
		atomic_store(&watch->number, signal);
		stop_everything(watch);
	}
	return NULL;
}

int signal_watch_new(struct signal_watch **watch, bool hangup_ends)
{
	struct signal_watch *made = calloc(1, sizeof(*made));
	sigset_t before;
	int r;

	if (!made)
		return -ENOMEM;
	(void)sigemptyset(&made->signals);
	(void)sigaddset(&made->signals, SIGINT);
	(void)sigaddset(&made->signals, SIGTERM);
	(void)sigaddset(&made->signals, SIGHUP);
	made->hangup_ends = hangup_ends;
	pthread_mutex_init(&made->lock, NULL);
	pthread_sigmask(SIG_BLOCK, &made->signals, &before);
	(void)signal(SIGHUP, SIG_DFL); /* SIGHUP can be ignored (nohup) */
	r = thread_start(&made->thread, watch_signals, made);
	if (r < 0) {
		pthread_sigmask(SIG_SETMASK, &before, NULL);
		pthread_mutex_destroy(&made->lock);
		free(made);
		return r;
	}
	*watch = made;
	return 0;
}

void signal_watch_on_hangup(struct signal_watch *watch, void (*hangup)(void *context),
			    void *context)
{
	pthread_mutex_lock(&watch->lock);
	watch->hangup = hangup;
	watch->context = context;
	pthread_mutex_unlock(&watch->lock);
}

void signal_watch_attach(struct signal_watch *watch, void (*stop)(void *context), void *context)
{
	pthread_mutex_lock(&watch->lock);
	watch->stop = stop;
	watch->stop_context = context;
	if (stop && watch->received)
		stop(context);
	pthread_mutex_unlock(&watch->lock);
}

int signal_watch_number(const struct signal_watch *watch)
{
	return atomic_load(&watch->number);
}

void signal_watch_free(struct signal_watch *watch)
{
	if (!watch)
		return;
	atomic_store(&watch->ending, true);
	pthread_kill(watch->thread, SIGINT); /* any of the awaited signals */
	pthread_join(watch->thread, NULL);
	pthread_mutex_destroy(&watch->lock);
	free(watch);
}

/* ---- running and stopping ----------------------------------------------------------- */

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
	unsigned int threads = session->settings.options.single_threaded ? 1 : LOOP_THREADS_MAX;
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
