/* SPDX-License-Identifier: MIT */
#ifndef VIEW_FOLLOW_DAEMON_H
#define VIEW_FOLLOW_DAEMON_H

/* The object that owns the parts of a mounted view and connects them. */

#include <stdbool.h>
#include <stdint.h>

#include "scan/indexing.h"
#include "view/follow/service.h"
#include "view/follow/source_state.h"
#include "view/fuse/mount.h"

/* ---- daemon settings ----------------------------------------------------------------- */

/* Settings of a served view. The options of the mount command set these fields
 * (cli/cmd_mount.h). Constant while the daemon runs. */

struct daemon_settings {
	const char *mount_point; /* as given, for messages */
	bool foreground;
	bool wait; /* report readiness only when all contents are compared */
	bool trusted_xattrs; /* root sees extended attributes named trusted.* */
	enum follower_mode watch;
	uint64_t interval_ms; /* between walks of sources that are not wholly watched */
	uint64_t rescan_ms; /* between walks of all sources; 0: never */
	struct session_options session;
};

/* ---- daemon -------------------------------------------------------------------------- */

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
