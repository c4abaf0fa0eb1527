/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_DEVICE_H
#define MOUNT_DEVICE_H

/* The FUSE device of a mount (fuse(4)), from which requests are read and to which replies are
 * written. */

#include "base/attributes.h"

struct session;

/* Connects libfuse to fd, the device of a mount. From then on, libfuse owns the descriptor and
 * closes it.
 *
 * libfuse before 3.17 does not request FUSE_PARALLEL_DIROPS from the kernel. Without this flag, a
 * slow listing or lookup blocks all others in the same directory. For these versions the flag is
 * set in the reply to FUSE_INIT.
 *
 * Returns 0, or -EIO; after a failure the caller still owns fd. */
MUST_CHECK int device_use(struct session *session, int fd);

#endif
