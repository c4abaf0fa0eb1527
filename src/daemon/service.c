/* SPDX-License-Identifier: MIT */
#include "daemon/service.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"

/* Time that a manager may take to have room for what must be heard. */
#define PATIENCE_S 5

/* Makes a socket and connects it. A name that begins with '@' is in no folder (unix(7), abstract).
 * Returns it, or -errno. */
static int connect_to(const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t length = strlen(name);
	const struct timeval patience = {.tv_sec = PATIENCE_S};
	int fd, r;

	if ((name[0] != '/' && name[0] != '@') || length < 2 || length >= sizeof(address.sun_path))
		return -EAFNOSUPPORT;
	memcpy(address.sun_path, name, length);
	if (address.sun_path[0] == '@')
		address.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (connect(fd, (const struct sockaddr *)&address,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)) == 0)
		return fd;
	r = -errno;
	(void)close(fd);
	return r;
}

void service_init(struct service *service)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): called before threads are started */
	const char *name = getenv("NOTIFY_SOCKET");

	service->listens = name;
	service->socket = name ? connect_to(name) : -1;
}

void service_deinit(struct service *service)
{
	if (service->socket >= 0)
		(void)close(service->socket);
	*service = (struct service){.listens = false, .socket = -1};
}

/* 0 or -errno. */
static int send_message(const struct service *service, const char *message, int flags)
{
	if (service->socket < 0)
		return service->socket;
	return send(service->socket, message, strlen(message), flags | MSG_NOSIGNAL) < 0 ? -errno
											 : 0;
}

void service_tell(const struct service *service, const char *message)
{
	int r = service->listens ? send_message(service, message, 0) : 0;

	if (r < 0)
		log_warning("cannot tell the service manager how the view is: %s", error_text(r));
}

int service_mention(const struct service *service, const char *message)
{
	return service->listens ? send_message(service, message, MSG_DONTWAIT) : 0;
}
