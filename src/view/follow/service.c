/* SPDX-License-Identifier: MIT */
#include "view/follow/service.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/stop.h"
#include "index/query.h"
#include "scan/indexing.h"
#include "view/follow/ticket_worker.h"
#include "view/tree/view.h"

/* ---- service manager ---------------------------------------------------------------- */

/* Maximum wait for room in the manager's socket. */
#define SEND_TIMEOUT_S 5

/* Creates a socket and connects it. A name that begins with '@' is an abstract address (unix(7)).
 * Returns the socket, or -errno. */
static int connect_to(const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t length = strlen(name);
	const struct timeval timeout = {.tv_sec = SEND_TIMEOUT_S};
	int fd, r;

	if ((name[0] != '/' && name[0] != '@') || length < 2 || length >= sizeof(address.sun_path))
		return -EAFNOSUPPORT;
	memcpy(address.sun_path, name, length);
	if (address.sun_path[0] == '@')
		address.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	if (connect(fd, (const struct sockaddr *)&address,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)) == 0)
		return fd;
	r = -errno;
	(void)close(fd);
	return r;
}

/* Connects to the service manager, if there is one. Must be called before threads are started. */
static void service_manager_init(struct service_manager *service)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): called before threads are started */
	const char *name = getenv("NOTIFY_SOCKET");

	service->has_manager = name;
	service->socket = name ? connect_to(name) : -1;
}

/* Closes the socket. Later notifications do nothing. */
static void service_manager_deinit(struct service_manager *service)
{
	if (service->socket >= 0)
		(void)close(service->socket);
	*service = (struct service_manager){.has_manager = false, .socket = -1};
}

static int send_message(const struct service_manager *service, const char *message, int flags)
{
	if (service->socket < 0)
		return service->socket;
	return send(service->socket, message, strlen(message), flags | MSG_NOSIGNAL) < 0 ? -errno
											 : 0;
}

/* Sends a message that must arrive, such as "READY=1". If the socket is full, blocks for at most
 * five seconds. Logs a warning if the message could not be sent. */
static void service_manager_notify(const struct service_manager *service, const char *message)
{
	int r = service->has_manager ? send_message(service, message, 0) : 0;

	if (r < 0)
		log_warning("cannot notify the service manager: %s", error_text(r));
}

int service_manager_try_notify(const struct service_manager *service, const char *message)
{
	return service->has_manager ? send_message(service, message, MSG_DONTWAIT) : 0;
}

/* ---- readiness ---------------------------------------------------------------------- */

void readiness_init(struct readiness *readiness, unsigned int awaited)
{
	readiness->fd = -1;
	readiness->child = 0;
	readiness->report = false;
	atomic_init(&readiness->awaited, awaited);
	atomic_init(&readiness->status, TWINFS_EXIT_COMPLETE);
	service_manager_init(&readiness->service);
}

int readiness_fork(struct readiness *readiness)
{
	int ends[2];
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	child = fork();
	if (child < 0) {
		int r = -errno;

		(void)close(ends[0]);
		(void)close(ends[1]);
		return r;
	}
	/* no notification: the service manager would believe that the parent serves the view */
	service_manager_deinit(&readiness->service);
	readiness->child = child;
	readiness->fd = child != 0 ? ends[0] : ends[1];
	(void)close(child != 0 ? ends[1] : ends[0]);
	return 0;
}

void readiness_leave_session(const struct readiness *readiness)
{
	if (readiness->fd >= 0)
		(void)setsid();
}

/* Waits until the pipe is readable. If a signal interrupts the parent, the child gets SIGTERM.
 * Signals are blocked except during ppoll(2), so that none is lost. If ppoll(2) fails, the read of
 * the pipe waits instead. */
static void wait_for_pipe(const struct readiness *readiness)
{
	struct pollfd pipe = {.fd = readiness->fd, .events = POLLIN};
	sigset_t all;
	sigset_t before;
	bool passed_on = false;
	int r;

	(void)sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	do {
		if (interrupt_signal() != 0 && !passed_on) {
			(void)kill(readiness->child, SIGTERM);
			passed_on = true;
		}
		r = ppoll(&pipe, 1, NULL, &before);
	} while (r < 0 && errno == EINTR);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Waits for the end of the child. Returns its wait status, or -1 if unknown. */
static int reap(struct readiness *readiness)
{
	const pid_t child = readiness->child;
	int status, r;

	do
		r = waitpid(child, &status, 0) < 0 ? -errno : 0;
	while (r == -EINTR);
	readiness->child = 0;
	return r < 0 ? -1 : status;
}

/* Returns the exit status of a child that ended without a report. */
static enum twinfs_exit child_status(struct readiness *readiness)
{
	int status = reap(readiness);

	if (status == -1)
		return TWINFS_EXIT_FAILED;
	if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
		return (enum twinfs_exit)WEXITSTATUS(status);
	/* a child to which a signal was passed on unmounts its view, too */
	if (WIFEXITED(status) && interrupt_signal() == 0)
		log_error("the view was unmounted before it was ready");
	else if (WIFSIGNALED(status))
		log_error("the background process was killed by signal %d", WTERMSIG(status));
	return TWINFS_EXIT_FAILED;
}

enum twinfs_exit readiness_wait(struct readiness *readiness)
{
	unsigned char status;
	ssize_t length;

	wait_for_pipe(readiness);
	do
		length = read(readiness->fd, &status, sizeof(status));
	while (length < 0 && errno == EINTR);
	(void)close(readiness->fd);
	readiness->fd = -1;
	log_mark_reported(); /* a child that failed has logged the cause */
	if (length == sizeof(status))
		return (enum twinfs_exit)status;
	return child_status(readiness);
}

bool readiness_conclude(struct readiness *readiness)
{
	const bool runs = readiness->child > 0;
	sigset_t all;
	sigset_t before;

	(void)sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (interrupt_signal() == 0)
		return runs; /* signals stay blocked until the process ends */
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (runs) {
		(void)kill(readiness->child, SIGTERM);
		(void)reap(readiness);
	}
	return false;
}

bool readiness_note(struct readiness *readiness, enum twinfs_exit *status)
{
	if (*status != TWINFS_EXIT_COMPLETE)
		atomic_store(&readiness->status, *status);
	if (atomic_fetch_sub(&readiness->awaited, 1) != 1)
		return false;
	*status = (enum twinfs_exit)atomic_load(&readiness->status);
	return true;
}

/* Replaces stdin, stdout and stderr by /dev/null. */
static void leave_stdio(void)
{
	AUTO_CLOSE int null = open("/dev/null", O_RDWR | O_CLOEXEC | O_NOCTTY);

	if (null < 0)
		return;
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		(void)dup2(null, fd);
}

void readiness_report(struct readiness *readiness, enum twinfs_exit status)
{
	const unsigned char byte = (unsigned char)status;

	if (readiness->fd < 0) {
		if (!readiness->report)
			service_manager_notify(&readiness->service, "READY=1");
		readiness->report = true;
		return;
	}
	log_to_syslog();
	leave_stdio();
	if (write(readiness->fd, &byte, sizeof(byte)) < 0)
		log_debug("cannot report readiness: the parent has ended: %s", error_text(errno));
	(void)close(readiness->fd);
	readiness->fd = -1;
}

/* ---- progress ----------------------------------------------------------------------- */

/* The service status thread:
 *
 *	waits for			passes on
 *	service_status_update(),	a status line that differs from the last one --> manager
 *	  a view, POLL_NS while the
 *	  view is not current
 *	PAUSE_MS after each line
 */

/* Minimum time between two lines. */
#define PAUSE_MS 250
/* Interval at which counters are polled, as no update reports their changes. */
#define POLL_NS SECOND_NS

struct service_status {
	const struct service_manager *service; /* borrowed */
	const struct indexing *indexing; /* borrowed */
	struct bytes sent; /* the last line; used only by the thread */
	struct ticket_worker worker; /* its lock also guards all fields below; it has no tickets */
	struct view *view; /* borrowed; NULL before service_status_show() */
	bool has_update;
	uint64_t poll_ns; /* time of the next line without an update */
};

/* ---- text --------------------------------------------------------------------------- */

static int append_comparing(struct bytes *text, const struct service_figures *figures)
{
	int percent = progress_percent(&figures->counts);
	uint64_t seconds;
	int r;

	if (percent < 0)
		return bytes_append_text(text, "comparing");
	r = bytes_format(text, "comparing %d %%", percent);
	if (r < 0 || !progress_seconds_left(&figures->counts, figures->elapsed_ns, &seconds))
		return r;
	r = bytes_append_text(text, ", ");
	if (r == 0)
		r = progress_append_left(text, seconds);
	return r < 0 ? r : bytes_append_text(text, " left");
}

static int append_figures(struct bytes *text, const struct service_figures *figures)
{
	char count[NUMBER_TEXT_MAX], size[SIZE_TEXT_MAX];
	int r = bytes_format(text, "%s %s, %s reclaimable", number_format(count, figures->groups),
			     plural(figures->groups, "group", "groups"),
			     size_format(size, figures->reclaimable_bytes));

	if (r == 0 && figures->errors > 0)
		r = bytes_format(text, "; %s could not be read, see .twinfs/errors",
				 number_format(count, figures->errors));
	return r;
}

int service_status_format(struct bytes *text, const struct service_figures *figures)
{
	char count[NUMBER_TEXT_MAX];
	int r = 0;

	if (figures->problem)
		r = bytes_format(text, "cannot update (%s): ", error_text(figures->problem));
	else if (figures->missing)
		r = bytes_append_text(text, "a source is missing: ");
	if (r < 0)
		return r;
	switch (figures->phase) {
	case SERVICE_READS_NAMES:
		return bytes_format(text, "reading names, %s so far",
				    number_format(count, figures->counts.files_done));
	case SERVICE_COMPARES:
		return append_comparing(text, figures);
	case SERVICE_COMPARES_CHANGES:
		r = bytes_append_text(text, "comparing changed files: ");
		break;
	case SERVICE_IS_CURRENT:
		r = bytes_append_text(text, "current: ");
		break;
	}
	return r < 0 ? r : append_figures(text, figures);
}

/* ---- sending ------------------------------------------------------------------------ */

static void gather_of_view(const struct view *view, struct service_figures *figures)
{
	struct catalog_totals totals = {0};

	figures->problem = view->problem;
	figures->missing = view_get_state(view) == VIEW_SOURCE_MISSING;
	if (view_first_comparison(view, &figures->counts, &figures->elapsed_ns)) {
		figures->phase = SERVICE_COMPARES;
		return;
	}
	figures->phase = view_get_progress(view) == VIEW_CURRENT ? SERVICE_IS_CURRENT
								 : SERVICE_COMPARES_CHANGES;
	if (catalog_totals_now(view->catalog, &totals) < 0)
		return;
	figures->groups = totals.groups;
	figures->reclaimable_bytes = size_sum_bytes(&totals.reclaimable_bytes);
	figures->errors = totals.errors;
}

/* Sends the status line if it changed. Returns false if the line has to be sent again later. */
static bool send_status(struct service_status *status, const struct view *view)
{
	struct service_figures figures = {.phase = SERVICE_READS_NAMES};
	CLEANUP_BYTES struct bytes text = {0};
	const char *line;
	int r;

	if (view)
		gather_of_view(view, &figures);
	else
		figures.counts = progress_counts_of(&status->indexing->ingest, PROGRESS_NAMES);
	if (bytes_append_text(&text, "STATUS=") < 0 || service_status_format(&text, &figures) < 0)
		return false;
	line = bytes_text(&text);
	if (!line)
		return false;
	if (bytes_compare(&text, &status->sent) == 0)
		return true;
	r = service_manager_try_notify(status->service, line);
	if (r < 0)
		return r != -EAGAIN; /* with any other error the manager has closed its socket */
	bytes_free(&status->sent);
	status->sent = text;
	text = (struct bytes){.data = NULL};
	return true;
}

/* While the view is current, updates report every change. */
static bool is_due(void *context, uint64_t now_ns, uint64_t *until_ns)
{
	const struct service_status *status = context;
	bool is_current = status->view && view_get_state(status->view) == VIEW_CURRENT;

	*until_ns = is_current ? UINT64_MAX : status->poll_ns;
	return status->has_update || *until_ns <= now_ns;
}

/* Sends one line. Returns false if the thread has to end. */
static bool send_next(struct service_status *status)
{
	const struct view *view;
	bool sent;

	pthread_mutex_lock(&status->worker.lock);
	view = status->view;
	status->has_update = false;
	pthread_mutex_unlock(&status->worker.lock);
	sent = send_status(status, view);
	pthread_mutex_lock(&status->worker.lock);
	status->has_update |= !sent;
	status->poll_ns = clock_monotonic_ns() + POLL_NS;
	pthread_mutex_unlock(&status->worker.lock);
	return ticket_worker_pause(&status->worker, PAUSE_MS);
}

static void *run(void *context)
{
	struct service_status *status = context;
	uint64_t no_ticket;

	while (send_next(status) && ticket_worker_wait(&status->worker, is_due, status, &no_ticket))
		;
	return NULL;
}

void service_status_free(struct service_status *status)
{
	if (!status)
		return;
	bytes_free(&status->sent);
	ticket_worker_deinit(&status->worker);
	free(status);
}

void service_status_start(struct service_status **status, const struct service_manager *service,
			  const struct indexing *indexing)
{
	struct service_status *made;

	*status = NULL;
	made = service->has_manager ? calloc(1, sizeof(*made)) : NULL;
	if (!made)
		return;
	made->service = service;
	made->indexing = indexing;
	ticket_worker_init(&made->worker);
	if (ticket_worker_start(&made->worker, run, made) < 0)
		service_status_free(made);
	else
		*status = made;
}

/* Wakes the thread. view: the new view; NULL: no change. */
static void wake(struct service_status *status, struct view *view)
{
	pthread_mutex_lock(&status->worker.lock);
	if (view)
		status->view = view;
	status->has_update = true;
	ticket_worker_wake(&status->worker);
	pthread_mutex_unlock(&status->worker.lock);
}

void service_status_show(struct service_status *status, struct view *view)
{
	if (status)
		wake(status, view);
}

void service_status_update(struct service_status *status)
{
	if (status)
		wake(status, NULL);
}

void service_status_end(struct service_status *status)
{
	if (status)
		ticket_worker_stop(&status->worker);
}
