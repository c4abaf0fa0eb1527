/* SPDX-License-Identifier: MIT */
#ifndef CLI_DAEMON_H
#define CLI_DAEMON_H

/* The object that owns the parts of a mounted view and connects them. */

#include "base/attributes.h"
#include "cli/indexing.h"
#include "cli/mount_settings.h"
#include "cli/readiness.h"

/* Serves a view until it is unmounted or a signal ends it.
 *
 * settings	borrowed
 * indexing	located, not opened; the caller closes it afterwards
 * mount_point	as mount_point_prepare() gave it
 * readiness	told when the view answers, or, where that is wanted, when all is compared
 *
 * Blocks. Call it in the process that stays, before any thread is started.
 */
enum twinfs_exit daemon_run(const struct mount_settings *settings, struct indexing *indexing,
			    const char *mount_point, struct readiness *readiness);

#endif
