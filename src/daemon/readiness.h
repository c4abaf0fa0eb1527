/* SPDX-License-Identifier: MIT */
#ifndef DAEMON_READINESS_H
#define DAEMON_READINESS_H

/* Going into the background, and telling the one in front when the work is done.
 *
 *	parent				child
 *	readiness_fork()  ----------->  soon in a session of its own, stderr still the user's
 *	readiness_wait() <-- a byte --  readiness_report(): stdio gone, messages to syslog
 *	exits with it			serves on
 *
 * A child that ends without a report is reported by its exit status. A signal that would end the
 * parent is passed on to the child. One that stays in front tells the service manager that started
 * it, where there is one.
 */

#include <stdbool.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "daemon/service.h"
#include "twinfs/exit.h"

struct readiness {
	int fd; /* our end of the pipe, -1: nobody waits */
	pid_t child; /* in the parent; 0 in the child */
	struct service service; /* of one that stays in front */
	bool report; /* the service manager knows */
};

/* No parent waits: readiness_report() tells at most the service manager. Call it before threads are
 * started. */
void readiness_init(struct readiness *readiness);

/* Forks. interrupt_watch() was called, and no other thread runs. 0 in both, child tells them apart;
 * -errno when there is no child. */
MUST_CHECK int readiness_fork(struct readiness *readiness);

/* In the child: signals of the parent's terminal do not reach it any more. One that stays in front
 * stays in its session. */
void readiness_leave_session(const struct readiness *readiness);

/* In the parent: blocks until the child reports or ends. Returns what it says. */
enum twinfs_exit readiness_wait(struct readiness *readiness);

/* In the child, once: gives the status to the parent and leaves its terminal. One thread. */
void readiness_report(struct readiness *readiness, enum twinfs_exit status);

#endif
