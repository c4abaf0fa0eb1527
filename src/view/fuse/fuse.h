/* SPDX-License-Identifier: MIT */
#ifndef VIEW_FUSE_FUSE_H
#define VIEW_FUSE_FUSE_H

/* libfuse, with the API version that this code uses, and its options, which the session and the
 * mounter process share. */

#include <stdbool.h>

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>

#include "base/attributes.h"
#include "view/fuse/mount.h"

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

/* Returns how writes to the view are refused. Must be called before permissions are dropped. */
enum session_access fuse_options_access(const struct session_settings *settings);

/* Creates a session of libfuse with these settings and the callbacks of view/fuse/callbacks.c. The
 * caller destroys it by fuse_session_destroy(). Returns 0, -ENOMEM or -EINVAL.
 *
 * rings	request io_uring
 * session	user data of the requests; borrowed, or NULL */
MUST_CHECK int fuse_options_session(struct fuse_session **fuse,
				    const struct session_settings *settings,
				    enum session_access access, bool rings,
				    struct session *session);

/* Returns the value of the option max_read, or 0. libfuse requires it again at FUSE_INIT. */
unsigned int fuse_options_max_read(const struct session_settings *settings);

/* Redirects libfuse's log to base/log.h. */
void fuse_options_log(void);

#endif
