/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_FUSE_OPTIONS_H
#define MOUNT_FUSE_OPTIONS_H

/* What libfuse is told before it mounts. Shared by the session and the process that mounts for it. */

#include <stdbool.h>

#include "base/attributes.h"
#include "mount/fuse.h"
#include "mount/mount.h"
#include "mount/session_access.h"

/* How the view is kept from being written. For a process that did not give up rights yet. */
enum session_access fuse_options_access(const struct session_settings *settings);

/* Makes the arguments of fuse_session_new(). The caller frees them by fuse_opt_free_args(), also
 * after a failure. Returns 0 or -ENOMEM.
 *
 * rings	whether requests shall arrive over io_uring */
MUST_CHECK int fuse_options_make(struct fuse_args *args, const struct session_settings *settings,
				 enum session_access access, bool rings);

/* Has libfuse log by base/log.h. */
void fuse_options_log(void);

#endif
