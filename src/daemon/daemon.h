/* SPDX-License-Identifier: MIT */
#ifndef DAEMON_DAEMON_H
#define DAEMON_DAEMON_H

/* The object that owns the parts of a mounted view and connects them. */

#include "daemon/daemon_settings.h"
#include "daemon/readiness.h"
#include "index/indexing.h"

/* Serves a view until it is unmounted or a signal ends it.
 *
 * settings	borrowed
 * indexing	located, not opened; the caller closes it after this function returns
 * mount_point	from mount_point_prepare()
 * readiness	reports when the view answers or, with --wait, when all files are compared
 *
 * Blocks. The caller must be the process that serves the view and have no other threads. Returns
 * TWINFS_EXIT_COMPLETE, or TWINFS_EXIT_FAILED after an error, which is logged.
 */
enum twinfs_exit daemon_run(const struct daemon_settings *settings, struct indexing *indexing,
			    const char *mount_point, struct readiness *readiness);

#endif
