/* SPDX-License-Identifier: MIT */
#ifndef VIEW_TREE_CALLER_H
#define VIEW_TREE_CALLER_H

/* The caller: the user behind a request. These functions read the identity of a caller, and
 * impersonate the caller for a moment, so that the kernel itself checks the permissions. Any
 * thread; only root can impersonate other users.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"

struct caller {
	uid_t uid;
	bool reads_all; /* root with a capability to read every file */
	gid_t gid;
	gid_t *groups; /* supplementary groups */
	size_t count;
};

void caller_free(struct caller *caller);
#define CLEANUP_CALLER CLEANUP(caller_free)

/* Reads the identity of the thread that made a request as this user and group.
 *
 * thread	id of the thread in /proc; 0 if the thread is in another pid_namespaces(7) and
 *		cannot be seen here
 *
 * User 0 reads everything only with CAP_DAC_OVERRIDE or CAP_DAC_READ_SEARCH, and only in a user
 * namespace that maps every id to itself. The kernel has the same rule for files.
 *
 * A thread cannot change its ids while it waits for an answer. If the ids in /proc differ, another
 * thread made the request. The groups of the caller must be known, because membership in a group
 * can remove a permission.
 *
 * Returns 0, -EACCES if the ids differ or the thread cannot be found, or another -errno. */
MUST_CHECK int caller_read(struct caller *caller, pid_t thread, uid_t uid, gid_t gid);

/* Parses the text of /proc/PID/status (proc(5)), whose ids are all of the same moment. Does not
 * check the user namespace for reads_all. Returns 0, -EACCES if the ids differ or the text is
 * incomplete, or -ENOMEM. Pure code. */
MUST_CHECK int caller_parse(struct caller *caller, const char *status, uid_t uid, gid_t gid);

/* Returns a number for the ids and groups of a caller, without reads_all. Two callers with
 * different ids or groups have the same number with a probability of 2^-64.
 */
uint64_t caller_digest(const struct caller *caller);

/* Gives this thread the permissions of the caller, and no others, until caller_revert(). Other
 * threads are unaffected. During the impersonation, user 0 has no capability, and files are opened
 * as the caller. Impersonate for short pieces of code only. Returns 0, or -errno; the thread then
 * has its own identity, as after caller_revert(). */
MUST_CHECK int caller_impersonate(const struct caller *caller);

/* Restores the identity of the thread, without supplementary groups. Aborts the process on
 * failure. */
void caller_revert(void);

/* Checks that this process can impersonate another user with no more than the permissions of that
 * user. Returns 0 or -EPERM.
 */
MUST_CHECK int caller_try_impersonation(void);

#endif
