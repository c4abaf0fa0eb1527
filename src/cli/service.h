/* SPDX-License-Identifier: MIT */
#ifndef CLI_SERVICE_H
#define CLI_SERVICE_H

/* What the service manager that started us is told, as by sd_notify(3): a datagram to the socket
 * that NOTIFY_SOCKET names. Where there is none, nothing is said and nothing costs anything.
 *
 * The protocol is one call of sendmsg(2), and its page asks those who need no more not to link
 * libsystemd for it: that would map four libraries of compression and cryptography into a process
 * which reads whatever somebody put into a source.
 *
 * A struct service does not change once it is made: any thread may tell.
 */

#include "base/attributes.h"

struct service {
	const char *socket; /* borrowed of the environment; NULL: nobody listens */
};

/* Finds out who listens. Before threads are started. */
void service_init(struct service *service);

/* Says what must be heard, as "READY=1": waits until there is room for it, for some seconds. Warns
 * where it could not be said. */
void service_tell(const struct service *service, const char *message);

/* Says what is good to know. Never waits: a manager that is busy misses it. 0 or -errno. */
int service_mention(const struct service *service, const char *message);

#endif
