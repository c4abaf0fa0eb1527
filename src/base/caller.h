/* SPDX-License-Identifier: MIT */
#ifndef BASE_CALLER_H
#define BASE_CALLER_H

/* Another user, for whom something is done: who that is, and being that user for a moment, so that
 * the kernel itself says what he may do. Any thread; only root can be somebody else. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"

struct caller {
	uid_t uid;
	bool reads_all; /* root, with a capability to read every file */
	gid_t gid;
	gid_t *groups; /* further ones */
	size_t count;
};

void caller_free(struct caller *caller);
#define CLEANUP_CALLER CLEANUP(caller_free)

/* Finds out who the thread is that asks for something as this user and group.
 *
 * thread	its id in /proc; 0: it lives where it cannot be seen from here (in another
 *		pid_namespaces(7))
 *
 * User 0 reads all only with CAP_DAC_OVERRIDE or CAP_DAC_READ_SEARCH, and only in a user namespace
 * that has all ids as they are: that is how the kernel decides for files.
 *
 * A thread cannot change what it is while it waits for an answer. So one that is not who asked is
 * another one, and nothing is known of the asker: -EACCES, as groups can take a right as well as
 * give it. Else 0 or -errno. */
MUST_CHECK int caller_read(struct caller *caller, pid_t thread, uid_t uid, gid_t gid);

/* The same from the text of /proc/PID/status (proc(5)), in which all ids are of one moment. Pure
 * code. */
MUST_CHECK int caller_parse(struct caller *caller, const char *status, uid_t uid, gid_t gid);

/* A number that stands for this user with these groups, but for a chance of 2^-64. */
uint64_t caller_digest(const struct caller *caller);

/* From here to caller_doff this thread has the rights of the caller and no others; the other
 * threads keep theirs. User 0 has no capability meanwhile. Short pieces of code only: whatever is opened meanwhile is opened as him. 0,
 * or -errno: nothing has changed then. */
MUST_CHECK int caller_wear(const struct caller *caller);

/* The thread is what it was, without further groups. */
void caller_doff(void);

/* Can this process be another user, with no more than that user's rights? 0 or -EPERM. */
MUST_CHECK int caller_try(void);

#endif
