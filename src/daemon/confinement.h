/* SPDX-License-Identifier: MIT */
#ifndef DAEMON_CONFINEMENT_H
#define DAEMON_CONFINEMENT_H

/* Confines the daemon with Landlock, seccomp and a reduced set of capabilities. While the view is
 * mounted, the daemon reads untrusted files, and needs only these rights:
 *
 *	writing		only below its index folder (Landlock), and no attribute of any file
 *			(seccomp), so the daemon cannot write to the sources
 *	system calls	those that reading files needs (seccomp): no new socket, no new process
 *	programs	none (Landlock, seccomp), and no new rights by them (no_new_privs)
 *	capabilities	those that root needs to read all files (see confinement.c)
 *
 * If the kernel lacks or refuses Landlock or seccomp, the daemon runs without that part. A separate
 * process, which is started before the confinement, mounts and unmounts (mount/mounter.h). The
 * index is opened before the confinement, as opening can need other folders.
 */

#include "base/attributes.h"
#include "base/bytes.h"
#include "daemon/daemon_settings.h"
#include "source/source.h"

/* Confines the process, which must not have other threads yet. If it runs in the background, first
 * connects to syslog.
 *
 * folder	of the index, must exist
 * sources	open; whether they can be written to decides on a capability
 * summary	receives the active parts as text, for status.json
 *
 * Returns 0, or -errno (logged) if the process could not drop its privileges. */
MUST_CHECK int confinement_begin(const struct daemon_settings *settings, const char *folder,
				 const struct sources *sources, struct bytes *summary);

#endif
