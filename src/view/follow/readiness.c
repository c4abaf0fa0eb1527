/* SPDX-License-Identifier: MIT */
#include "view/follow/readiness.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/stop.h"

/* ---- service manager ----------------------------------------------------------------- */

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

/* ---- readiness ----------------------------------------------------------------------- */

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
