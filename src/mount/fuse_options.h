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

/* Builds the arguments of fuse_session_new(). The caller frees them by fuse_opt_free_args(), also
 * after a failure. Returns 0 or -ENOMEM.
 *
 * rings	request io_uring */
MUST_CHECK int fuse_options_make(struct fuse_args *args, const struct session_settings *settings,
				 enum session_access access, bool rings);

/* Redirects libfuse's log to base/log.h. */
void fuse_options_log(void);

#endif
