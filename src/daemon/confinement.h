/* SPDX-License-Identifier: MIT */
#ifndef DAEMON_CONFINEMENT_H
#define DAEMON_CONFINEMENT_H

/* What a daemon keeps of the rights of who started it. It reads files that anybody may have put
 * there, for as long as the view is mounted, and needs little for that:
 *
 *	writing		only below its index folder, where the kernel has Landlock; no attribute of
 *			any file, where it has seccomp. So the sources are never written to.
 *	system calls	those that reading files takes, where the kernel has seccomp: no socket,
 *			no other process
 *	programs	none
 *	capabilities	of root's, to read what root reads (see confinement.c)
 *
 * Mounting and unmounting is for a process of its own, which is there before (mount/mounter.h). So
 * is everything that an index may need of other folders when it is opened.
 */

#include "base/attributes.h"
#include "base/bytes.h"
#include "daemon/daemon_settings.h"

/* Confines the process, which has no other threads yet.
 *
 * folder	of the index, which is there
 * said		gets what came of it, for status.json: what the kernel has not is not there
 *
 * 0, or -errno (logged) where rights that are there to be given up could not be. */
MUST_CHECK int confinement_begin(const struct daemon_settings *settings, const char *folder,
				 struct bytes *said);

#endif
