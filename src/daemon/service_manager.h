/* SPDX-License-Identifier: MIT */
#ifndef DAEMON_SERVICE_MANAGER_H
#define DAEMON_SERVICE_MANAGER_H

/* Notifications for the service manager, as by sd_notify(3): datagrams to the socket that
 * NOTIFY_SOCKET names. Without NOTIFY_SOCKET all functions do nothing.
 *
 * service_manager_init() connects the socket, because a confined process cannot create a socket
 * (daemon/daemon.c).
 *
 * libsystemd is not linked. The protocol is one call of send(2), and sd_notify(3) itself advises
 * against a library only for it. libsystemd would map four libraries for compression and
 * cryptography into a process that reads untrusted files.
 *
 * A struct service_manager is constant while there are threads, so any thread may notify.
 */

#include <stdbool.h>

struct service_manager {
	bool has_manager; /* NOTIFY_SOCKET is set */
	int socket; /* connected; -errno if the connection failed */
};

/* Connects to the service manager, if there is one. Must be called before threads are started. */
void service_manager_init(struct service_manager *service);

/* Closes the socket. Later notifications do nothing. */
void service_manager_deinit(struct service_manager *service);

/* Sends a message that must arrive, such as "READY=1". If the socket is full, blocks for at most
 * five seconds. Logs a warning if the message could not be sent. */
void service_manager_notify(const struct service_manager *service, const char *message);

/* Sends a message whose loss does no harm. Never blocks. Returns 0, -EAGAIN if the socket is full,
 * or another -errno. */
int service_manager_try_notify(const struct service_manager *service, const char *message);

#endif
