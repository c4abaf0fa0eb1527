/* SPDX-License-Identifier: MIT */
#ifndef VIEW_FOLLOW_SERVICE_H
#define VIEW_FOLLOW_SERVICE_H

/* What a daemon reports: its readiness, to the process that started it, and its progress, to the
 * service manager. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/progress.h"
#include "twinfs/exit.h"

struct indexing;
struct service_status;
struct view;

/* ---- service manager ---------------------------------------------------------------- */

/* Notifications for the service manager, as by sd_notify(3): datagrams to the socket that
 * NOTIFY_SOCKET names. Without NOTIFY_SOCKET all functions do nothing.
 *
 * readiness_init() connects the socket, because a confined process cannot create a socket
 * (view/follow/daemon.c).
 *
 * libsystemd is not linked. The protocol is one call of send(2), and sd_notify(3) itself advises
 * against a library only for it. libsystemd would map four libraries for compression and
 * cryptography into a process that reads untrusted files.
 *
 * A struct service_manager is constant while there are threads, so any thread may notify.
 */

struct service_manager {
	bool has_manager; /* NOTIFY_SOCKET is set */
	int socket; /* connected; -errno if the connection failed */
};

/* Sends a message whose loss does no harm. Never blocks. Returns 0, -EAGAIN if the socket is full,
 * or another -errno. */
int service_manager_try_notify(const struct service_manager *service, const char *message);

/* ---- readiness ---------------------------------------------------------------------- */

/* Reports of readiness. A daemon in the background reports to its parent, and a daemon in the
 * foreground to the service manager.
 *
 *	parent				child
 *	readiness_fork()  ----------->  prepares in a session of its own, with stderr of the parent
 *	readiness_wait() <-- status --  readiness_report(): stdio is /dev/null, logs to syslog
 *	exits with the status		keeps serving
 *
 * If the child ends without a report, the parent exits with the status of the child. If a signal
 * would end the parent, the parent sends SIGTERM to the child.
 */

struct readiness {
	int fd; /* this process's end of the pipe; -1: no parent waits */
	pid_t child; /* after readiness_fork(): the child's id in the parent, 0 in the child */
	struct service_manager service; /* of a daemon in the foreground */
	bool report; /* readiness was reported to the service manager */
	atomic_uint awaited; /* calls of readiness_note() before the report */
	atomic_uint status; /* enum twinfs_exit: the worst that was noted */
};

/* Prepares a daemon without a waiting parent: readiness_report() notifies the service manager, if
 * there is one. Must be called before threads are started.
 *
 * awaited	number of events to be noted before the report */
void readiness_init(struct readiness *readiness, unsigned int awaited);

/* Forks. The caller must have called interrupt_watch() and have no other thread. Returns 0 in both
 * processes, which the field child distinguishes, or -errno if the fork failed. */
MUST_CHECK int readiness_fork(struct readiness *readiness);

/* In a forked child: starts a new session, so that signals of the parent's terminal do not reach
 * the child. In a process in the foreground: does nothing. */
void readiness_leave_session(const struct readiness *readiness);

/* In the parent: blocks until the child reports or ends. Returns the status that the child reported
 * or ended with, or TWINFS_EXIT_FAILED. */
enum twinfs_exit readiness_wait(struct readiness *readiness);

/* In the parent, after readiness_wait() and before it exits. If a signal interrupted the parent,
 * ends the child and waits for its end. Later signals no longer interrupt the parent. Returns
 * whether a child that reported goes on. */
MUST_CHECK bool readiness_conclude(struct readiness *readiness);

/* In the child: notes one of the awaited events and its status. Any thread. Returns whether it is
 * the last one; *status is then the worst of all. */
MUST_CHECK bool readiness_note(struct readiness *readiness, enum twinfs_exit *status);

/* In the child: sends the status to the parent, and replaces stdio by /dev/null. In a process in
 * the foreground: notifies the service manager, once. One thread. */
void readiness_report(struct readiness *readiness, enum twinfs_exit status);

/* ---- progress ----------------------------------------------------------------------- */

/* Sends the progress of a view to the service manager; 'systemctl status' shows it.
 *
 *	counters of walk and comparison --once a second------.
 *	commits, state of the view --service_status_update---+--> thread --STATUS=...--> manager
 *
 * The thread sends a line only if it differs from the last line, and at most four lines a second.
 * It sleeps while the view is current and nothing changes. Without a service manager there is no
 * thread.
 */

/* State of a view, as shown in a status line. */
struct service_figures {
	enum service_phase {
		SERVICE_READS_NAMES,
		SERVICE_COMPARES, /* the first comparison */
		SERVICE_COMPARES_CHANGES,
		SERVICE_IS_CURRENT,
	} phase;
	int problem; /* positive errno that blocks progress, or 0 */
	bool missing; /* a source is missing */
	struct progress_counts counts; /* in the first two phases */
	uint64_t elapsed_ns; /* in SERVICE_COMPARES */
	uint64_t groups, reclaimable_bytes, errors; /* in the last two phases */
};

/* Appends the figures as text: "comparing 43 %, 2 minutes left". Returns 0 or -ENOMEM. Pure. */
MUST_CHECK int service_status_format(struct bytes *text, const struct service_figures *figures);

/* Starts the thread. If there is no service manager, or the thread cannot be started, sets *status
 * to NULL, and the view is served without a status.
 *
 * service, indexing	borrowed until service_status_end()
 */
void service_status_start(struct service_status **status, const struct service_manager *service,
			  const struct indexing *indexing);

/* Sets the view (borrowed until service_status_end()). Like the functions below, accepts a NULL
 * status. */
void service_status_show(struct service_status *status, struct view *view);

/* Requests a new status line. Any thread, never blocks for long. */
void service_status_update(struct service_status *status);

/* Ends the thread. service_status_update() may still be called. */
void service_status_end(struct service_status *status);

/* Frees the status, after service_status_end() and the last service_status_update(). */
void service_status_free(struct service_status *status);

#endif
