/* SPDX-License-Identifier: MIT */
#ifndef DAEMON_DAEMON_H
#define DAEMON_DAEMON_H

/* The object that owns the parts of a mounted view and connects them. */

#include "base/attributes.h"
#include "daemon/daemon_settings.h"
#include "daemon/readiness.h"
#include "index/indexing.h"

/* Serves a view until it is unmounted or a signal ends it.
 *
 * settings	borrowed
 * indexing	located, not opened; the caller closes it afterwards
 * mount_point	as mount_point_prepare() gave it
 * readiness	told when the view answers, or, where that is wanted, when all is compared
 *
 * Blocks. Call it in the process that stays, before any thread is started.
 */
enum twinfs_exit daemon_run(const struct daemon_settings *settings, struct indexing *indexing,
			    const char *mount_point, struct readiness *readiness);

#endif
