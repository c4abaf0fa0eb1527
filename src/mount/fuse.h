/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_FUSE_H
#define MOUNT_FUSE_H

/* libfuse, with the API version that this code uses. */

#include <stdbool.h>

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>

/* libfuse supports passthrough since 3.17 (the kernel since 6.9), and io_uring since 3.18.
 * meson.build sets RINGS_KNOWN to 0 if libfuse was built without liburing. */
#define PASSTHROUGH_KNOWN (FUSE_VERSION >= FUSE_MAKE_VERSION(3, 17))
#ifndef RINGS_KNOWN
#define RINGS_KNOWN (FUSE_VERSION >= FUSE_MAKE_VERSION(3, 18))
#endif

/* libfuse requests FUSE_PARALLEL_DIROPS from the kernel since 3.17. */
#define PARALLEL_DIROPS_KNOWN (FUSE_VERSION >= FUSE_MAKE_VERSION(3, 17))

/* Did the request arrive over io_uring? */
static inline bool request_is_io_uring(fuse_req_t request)
{
#if RINGS_KNOWN
	return fuse_req_is_uring(request);
#else
	(void)request;
	return false;
#endif
}

#endif
