/* SPDX-License-Identifier: MIT */
#include "mount/session.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/caller.h"
#include "base/error.h"
#include "base/log.h"
#include "base/quote.h"
#include "mount/mounter.h"
#include "mount/signals.h"

/* Threads that answer at a time; more wait. Reads block on the disk, and a rotating one sorts a
 * queue of about this length well. Idle ones stay: with fewer, libfuse ends and starts threads all
 * the time. */
#define THREADS_MAX 16

/* The longest name that is shown as the device: mount(2) ends at a page with all options. */
#define SOURCE_LENGTH_MAX 1000

/* What a view is, whoever mounts it: ro,nosuid,nodev because nothing in it can be written, and what
 * a source holds is no reason to trust it. */
#define FIXED_OPTIONS "ro,nosuid,nodev,subtype=twinfs"

/* The kernel checks modes (and ACLs) itself, as it knows the caller. In a shared mount it does not:
 * it would judge by what it was told, while the rights at the source are those of the moment, and
 * those of the folders above a source count as well. */
#define FIXED_ALONE "default_permissions"
#define FIXED_SHARED "allow_other"

/* Wakes the thread in libfuse's loop: sent to it alone, while it is there. */
#define WAKE_SIGNAL SIGUSR2
#define WAKE_INTERVAL_NS 20000000

static void log_from_fuse(enum fuse_log_level level, const char *format, va_list args)
	PRINTF_LIKE(2, 0);
static void log_from_fuse(enum fuse_log_level level, const char *format, va_list args)
{
	char message[1024];

	if (vsnprintf(message, sizeof(message), format, args) < 0)
		return;
	message[strcspn(message, "\n")] = '\0';
	if (level <= FUSE_LOG_ERR)
		log_error("%s", message);
	else if (level <= FUSE_LOG_WARNING)
		log_warning("%s", message);
	else
		log_debug("%s", message);
}

void session_log_from_fuse(void)
{
	fuse_set_log_func(log_from_fuse);
}

/* ---- making -------------------------------------------------------------------------- */

static int add_option(struct fuse_args *args, const char *option)
{
	return fuse_opt_add_arg(args, "-o") == 0 && fuse_opt_add_arg(args, option) == 0 ? 0
											: -ENOMEM;
}

/* Adds name=value, where value may hold what separates options. */
static int add_value(struct fuse_args *args, const char *name, const char *value)
{
	struct bytes option CLEANUP_BYTES = {0};
	AUTO_FREE char *escaped = NULL;
	const char *text;
	int r = bytes_format(&option, "%s=%s", name, value);

	text = r == 0 ? bytes_text(&option) : NULL;
	if (!text || fuse_opt_add_opt_escaped(&escaped, text) != 0)
		return -ENOMEM;
	return add_option(args, escaped);
}

int session_arguments(struct fuse_args *args, const struct session_settings *settings, bool rings)
{
	const char *source = settings->source;
	int r = fuse_opt_add_arg(args, "twinfs") == 0 ? 0 : -ENOMEM;

	if (strlen(source) > SOURCE_LENGTH_MAX)
		source = "twinfs";
	if (r == 0)
		r = add_option(args, FIXED_OPTIONS);
	if (r == 0)
		r = add_option(args, settings->shared ? FIXED_SHARED : FIXED_ALONE);
	if (r == 0)
		r = add_value(args, "fsname", source);
	if (r == 0 && rings)
		r = add_option(args, "io_uring");
	if (r == 0 && settings->debug)
		r = add_option(args, "debug");
	for (char *const *option = settings->options; r == 0 && option && *option; option++)
		r = add_option(args, *option);
	return r;
}

static int init_condition(pthread_cond_t *condition)
{
	pthread_condattr_t attributes;
	int r = pthread_condattr_init(&attributes);

	if (r)
		return -r;
	(void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	r = pthread_cond_init(condition, &attributes);
	(void)pthread_condattr_destroy(&attributes);
	return -r;
}

static int init_parts(struct session *session)
{
	int r = handle_list_init(&session->handles);

	if (r < 0)
		return r;
	r = listed_init(&session->listed);
	if (r < 0)
		goto no_listed;
	r = backings_init(&session->backings);
	if (r < 0)
		goto no_backings;
	r = buffers_init(&session->buffers);
	if (r < 0)
		goto no_buffers;
	r = notifier_init(&session->notifier);
	if (r == 0)
		return 0;
	buffers_deinit(&session->buffers);
no_buffers:
	backings_deinit(&session->backings);
no_backings:
	listed_deinit(&session->listed);
no_listed:
	handle_list_deinit(&session->handles);
	return r;
}

static int init_locks(struct session *session)
{
	int r = init_condition(&session->ended);

	if (r < 0)
		return r;
	r = -pthread_mutex_init(&session->lock, NULL);
	if (r == 0) {
		r = init_parts(session);
		if (r < 0)
			(void)pthread_mutex_destroy(&session->lock);
	}
	if (r < 0)
		(void)pthread_cond_destroy(&session->ended);
	return r;
}

/* Mounts, and has libfuse serve what was mounted for it. */
static int take_mount(struct session *session)
{
	int fd = mounter_mount(session->settings.mounter);
	char device[sizeof("/dev/fd/") + 10]; /* which libfuse takes for one that is mounted */

	if (fd < 0)
		return fd;
	session->mounted = true;
	(void)snprintf(device, sizeof(device), "/dev/fd/%d", fd);
	if (fuse_session_mount(session->fuse, device) == 0)
		return 0;
	(void)close(fd);
	return -EIO;
}

/* What libfuse says itself is logged by it; which mount failed is said here. */
static int mount_session(struct session *session)
{
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	const struct speed_facts *facts = &session->facts;
	/* however many rights were given up since somebody asked for it */
	int r = session->settings.shared ? caller_try() : 0;

	if (r == 0)
		r = session_arguments(&args, &session->settings,
				      facts->wants_rings && !speed_no_rings(facts));
	if (r == 0) {
		session->fuse = fuse_session_new(&args, &session_callbacks,
						 sizeof(session_callbacks), session);
		r = session->fuse ? 0 : -EINVAL;
	}
	fuse_opt_free_args(&args);
	if (r == 0)
		r = take_mount(session);
	if (r < 0)
		log_error("cannot mount a view on %s: %s",
			  quote_path(session->settings.mount_point), error_text(r));
	return r;
}

/* Gathers what decides how fast it can be, and warns of wishes that cannot be had: the view is
 * there all the same. That the kernel can do what is wished is said by itself, when it begins to
 * ask. */
static void gather_facts(struct session *session)
{
	struct speed_facts *facts = &session->facts;
	const char *reason;

	*facts = (struct speed_facts){
		.library_reads = PASSTHROUGH_KNOWN,
		.library_rings = RINGS_KNOWN,
		.kernel_reads = true,
		.kernel_rings = speed_kernel_switch(),
		.privileged = geteuid() == 0,
		.wants_passthrough = session->settings.passthrough,
		.wants_rings = session->settings.io_uring,
	};
	reason = speed_no_passthrough(facts);
	session->expects_passthrough = !reason;
	if (facts->wants_passthrough && reason)
		log_warning("reading without passthrough: %s", reason);
	reason = speed_no_rings(facts);
	if (facts->wants_rings && reason)
		log_warning("answering requests without io_uring: %s", reason);
}

int session_new(struct session **session, struct view *view,
		const struct session_settings *settings)
{
	struct session *made = calloc(1, sizeof(*made));
	int r = made ? init_locks(made) : -ENOMEM;

	if (r < 0) {
		log_error("cannot prepare to mount a view: %s", error_text(r));
		free(made);
		return r;
	}
	made->view = view;
	made->settings = *settings;
	session_log_from_fuse();
	gather_facts(made);
	r = mount_session(made);
	if (r < 0) {
		session_free(made);
		return r;
	}
	*session = made;
	return 0;
}

/* Has the kernel given up the connection? Something else may be mounted there by now. */
static bool was_unmounted(const struct session *session)
{
	struct pollfd device = {.fd = fuse_session_fd(session->fuse)};

	return poll(&device, 1, 0) == 1 && device.revents & POLLERR;
}

void session_free(struct session *session)
{
	bool unmount;

	if (!session)
		return;
	/* who asks a view that failed shall get an error, not an empty directory */
	unmount = session->mounted && !session->failed && !was_unmounted(session);
	/* closes the device, so that who waits for us fails, rather than the unmounting */
	if (session->fuse)
		fuse_session_destroy(session->fuse);
	if (unmount)
		mounter_unmount(session->settings.mounter);
	handle_list_deinit(&session->handles);
	listed_deinit(&session->listed);
	backings_deinit(&session->backings);
	buffers_deinit(&session->buffers);
	notifier_deinit(&session->notifier);
	(void)pthread_mutex_destroy(&session->lock);
	(void)pthread_cond_destroy(&session->ended);
	free(session);
}

/* ---- running and stopping ------------------------------------------------------------ */

static void wake(int signal)
{
	(void)signal; /* that it came has interrupted a system call */
}

static void *wait_to_be_cancelled(void *context)
{
	for (;;)
		(void)pause();
	return context;
}

/* libfuse ends its threads by pthread_cancel, for which the C library loads another one the first
 * time, and ends the process where that fails: so that is now, not when memory is short. */
static void prepare_to_cancel(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, wait_to_be_cancelled, NULL) != 0)
		return;
	(void)pthread_cancel(thread);
	(void)pthread_join(thread, NULL);
}

/* Blocks in libfuse until the mount is gone or fuse_session_exit() was called. */
static int run_loop(struct session *session)
{
	struct fuse_loop_config *config;
	int r;

	if (session->settings.single_threaded)
		return fuse_session_loop(session->fuse);
	config = fuse_loop_cfg_create();
	if (!config)
		return -ENOMEM;
	fuse_loop_cfg_set_clone_fd(config, 0);
	fuse_loop_cfg_set_max_threads(config, THREADS_MAX);
	fuse_loop_cfg_set_idle_threads(config, THREADS_MAX);
	r = fuse_session_loop_mt(session->fuse, config);
	fuse_loop_cfg_destroy(config);
	return r;
}

static bool begin_running(struct session *session)
{
	(void)pthread_mutex_lock(&session->lock);
	session->running = !session->stopping;
	session->loop = pthread_self();
	(void)pthread_mutex_unlock(&session->lock);
	return session->running;
}

static void end_running(struct session *session)
{
	(void)pthread_mutex_lock(&session->lock);
	session->running = false;
	(void)pthread_cond_broadcast(&session->ended);
	(void)pthread_mutex_unlock(&session->lock);
}

/* Serves, with a notifier as long as there are answers. */
static int serve(struct session *session)
{
	int r = notifier_start(session);

	if (r < 0)
		return r;
	if (begin_running(session)) {
		r = run_loop(session);
		end_running(session);
	}
	notifier_stop(session);
	notifier_join(&session->notifier);
	return r;
}

int session_run(struct session *session)
{
	const struct sigaction action = {.sa_handler = wake};
	struct sigaction before;
	sigset_t wake_set, mask;
	int r;

	(void)sigemptyset(&wake_set);
	(void)sigaddset(&wake_set, WAKE_SIGNAL);
	if (sigaction(WAKE_SIGNAL, &action, &before) != 0)
		return -errno;
	(void)pthread_sigmask(SIG_UNBLOCK, &wake_set, &mask);
	prepare_to_cancel();
	signal_watch_attach(session->settings.signals, session);
	r = serve(session);
	signal_watch_attach(session->settings.signals, NULL);
	(void)pthread_sigmask(SIG_SETMASK, &mask, NULL);
	(void)sigaction(WAKE_SIGNAL, &before, NULL);
	session->failed = r < 0;
	if (session->failed)
		log_error("the mount on %s failed: %s", quote_path(session->settings.mount_point),
			  error_text(r));
	return r < 0 ? r : 0;
}

static struct timespec after_interval(void)
{
	struct timespec time;

	(void)clock_gettime(CLOCK_MONOTONIC, &time);
	time.tv_nsec += WAKE_INTERVAL_NS;
	if (time.tv_nsec >= 1000000000) {
		time.tv_nsec -= 1000000000;
		time.tv_sec++;
	}
	return time;
}

/* What the notifier is telling the kernel may wait for requests to be answered, and programs wait
 * for the notifier: so it ends first.
 *
 * The loop looks at its flag, then waits: a signal that comes between the two is lost, so it is
 * sent until the loop has ended. */
void session_stop(struct session *session)
{
	notifier_stop(session);
	(void)pthread_mutex_lock(&session->lock);
	session->stopping = true;
	while (session->running) {
		struct timespec until = after_interval();

		fuse_session_exit(session->fuse);
		(void)pthread_kill(session->loop, WAKE_SIGNAL);
		(void)pthread_cond_timedwait(&session->ended, &session->lock, &until);
	}
	(void)pthread_mutex_unlock(&session->lock);
}
