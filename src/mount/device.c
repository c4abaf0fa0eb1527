/* SPDX-License-Identifier: MIT */
#include "mount/device.h"

#include <errno.h>
#include <linux/fuse.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

#include "mount/session.h"

#if PARALLEL_DIROPS_KNOWN

int device_use(struct session *session, int fd)
{
	/* for a mount point of this form, libfuse uses the open descriptor */
	char device[sizeof("/dev/fd/") + 10];

	(void)snprintf(device, sizeof(device), "/dev/fd/%d", fd);
	return fuse_session_mount(session->fuse, device) == 0 ? 0 : -EIO;
}

#else

/* The first reply answers FUSE_INIT. Notifications, whose field unique is 0, can precede this
 * reply. */
static bool is_first_reply(struct session *session, const struct fuse_out_header *header)
{
	return header->unique != 0 && !atomic_load(&session->replied) &&
	       !atomic_exchange(&session->replied, true);
}

static ssize_t write_reply(int fd, struct iovec *parts, int count, void *userdata)
{
	struct fuse_init_out *answer;

	if (is_first_reply(userdata, parts[0].iov_base) && count == 2 &&
	    parts[1].iov_len == sizeof(*answer)) {
		answer = parts[1].iov_base;
		answer->flags |= FUSE_PARALLEL_DIROPS;
	}
	return writev(fd, parts, count);
}

/* libfuse requires this function but never calls it, as workers read the device (loop.c). */
static ssize_t read_request(int fd, void *memory, size_t size, void *userdata)
{
	(void)userdata;
	return read(fd, memory, size);
}

int device_use(struct session *session, int fd)
{
	static const struct fuse_custom_io calls = {.writev = write_reply, .read = read_request};

	return fuse_session_custom_io(session->fuse, &calls, fd) == 0 ? 0 : -EIO;
}

#endif
