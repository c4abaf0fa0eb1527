/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_DEVICE_H
#define MOUNT_DEVICE_H

/* The device of a mount (fuse(4)), from which requests are read and to which answers are written. */

#include "base/attributes.h"

struct session;

/* Has libfuse answer to fd, the device of a mount, which libfuse closes from now on.
 *
 * libfuse before 3.17 does not tell the kernel FUSE_PARALLEL_DIROPS: without it one listing or lookup
 * that takes long holds up everybody else in that folder. There the flag is put into the first answer.
 *
 * 0, or -errno: the caller still owns fd. */
MUST_CHECK int device_use(struct session *session, int fd);

#endif
