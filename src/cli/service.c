/* SPDX-License-Identifier: MIT */
#include "cli/service.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/log.h"

void service_init(struct service *service)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): called before threads are started */
	service->socket = getenv("NOTIFY_SOCKET");
}

/* So long a manager may take to have room for what must be heard. */
#define PATIENCE_S 5

/* 0 or -errno. A name that begins with '@' is in no folder (unix(7), abstract). */
static int send_message(const char *path, const char *message, int flags)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t length = strlen(path);
	const struct timeval patience = {.tv_sec = PATIENCE_S};
	int fd AUTO_CLOSE = -1;

	if ((path[0] != '/' && path[0] != '@') || length < 2 || length >= sizeof(address.sun_path))
		return -EAFNOSUPPORT;
	memcpy(address.sun_path, path, length);
	if (address.sun_path[0] == '@')
		address.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	return sendto(fd, message, strlen(message), flags | MSG_NOSIGNAL,
		      (const struct sockaddr *)&address,
		      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)) < 0
		       ? -errno
		       : 0;
}

void service_tell(const struct service *service, const char *message)
{
	int r = service->socket ? send_message(service->socket, message, 0) : 0;

	if (r < 0)
		log_warning("cannot tell the service manager how the view is: %s", error_text(r));
}

int service_mention(const struct service *service, const char *message)
{
	return service->socket ? send_message(service->socket, message, MSG_DONTWAIT) : 0;
}
