/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_FUSE_OPTIONS_H
#define MOUNT_FUSE_OPTIONS_H

/* Options of libfuse, shared by the session and the mounter process. */

#include <stdbool.h>

#include "base/attributes.h"
#include "mount/fuse.h"
#include "mount/mount.h"
#include "mount/session_access.h"

/* Returns how writes to the view are refused. Must be called before permissions are dropped. */
enum session_access fuse_options_access(const struct session_settings *settings);

/* Creates a session of libfuse with these settings and the callbacks of mount/callbacks.h. The
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
