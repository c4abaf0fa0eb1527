/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_FUSE_H
#define MOUNT_FUSE_H

/* libfuse, in the version of its interface that this code is written for. */

#include <stdbool.h>

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>

/* libfuse can hand files to the kernel since 3.17 (which can do it since 6.9), and get requests
 * over io_uring since 3.18. Where we build it, we know whether it was built with the latter. */
#define PASSTHROUGH_KNOWN (FUSE_VERSION >= FUSE_MAKE_VERSION(3, 17))
#ifndef RINGS_KNOWN
#define RINGS_KNOWN (FUSE_VERSION >= FUSE_MAKE_VERSION(3, 18))
#endif

/* libfuse tells the kernel FUSE_PARALLEL_DIROPS since 3.17, too. */
#define PARALLEL_DIROPS_KNOWN (FUSE_VERSION >= FUSE_MAKE_VERSION(3, 17))

/* Did the request come over io_uring? */
static inline bool request_is_ringed(fuse_req_t request)
{
#if RINGS_KNOWN
	return fuse_req_is_uring(request);
#else
	(void)request;
	return false;
#endif
}

#endif
