/* SPDX-License-Identifier: MIT */
#ifndef DAEMON_SERVICE_H
#define DAEMON_SERVICE_H

/* What the service manager that started us is told, as by sd_notify(3): a datagram to the socket
 * that NOTIFY_SOCKET names. Where there is none, nothing is said and nothing costs anything.
 *
 * The socket is connected at the start and stays open, because a confined process can make no
 * socket (daemon/confinement.h).
 *
 * The protocol is one call of send(2), and its page asks those who need no more not to link
 * libsystemd for it: that would map four libraries of compression and cryptography into a process
 * which reads whatever somebody put into a source.
 *
 * A struct service does not change while there are threads: any thread may tell.
 */

#include <stdbool.h>

#include "base/attributes.h"

struct service {
	bool listens; /* NOTIFY_SOCKET is set */
	int socket; /* connected; -errno if it could not be */
};

/* Finds out who listens, and connects to it. Before threads are started. */
void service_init(struct service *service);

/* Closes the socket; from then on nobody listens. */
void service_deinit(struct service *service);

/* Says what must be heard, as "READY=1": waits until there is room for it, for some seconds. Warns
 * where it could not be said. */
void service_tell(const struct service *service, const char *message);

/* Says what is good to know. Never waits: a manager that is busy misses it. 0 or -errno. */
int service_mention(const struct service *service, const char *message);

#endif
