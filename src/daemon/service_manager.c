/* SPDX-License-Identifier: MIT */
#include "daemon/service_manager.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"

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

void service_manager_init(struct service_manager *service)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): called before threads are started */
	const char *name = getenv("NOTIFY_SOCKET");

	service->has_manager = name;
	service->socket = name ? connect_to(name) : -1;
}

void service_manager_deinit(struct service_manager *service)
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

void service_manager_notify(const struct service_manager *service, const char *message)
{
	int r = service->has_manager ? send_message(service, message, 0) : 0;

	if (r < 0)
		log_warning("cannot notify the service manager: %s", error_text(r));
}

int service_manager_try_notify(const struct service_manager *service, const char *message)
{
	return service->has_manager ? send_message(service, message, MSG_DONTWAIT) : 0;
}
