/* SPDX-License-Identifier: MIT */
#ifndef BASE_INOTIFY_LIMITS_H
#define BASE_INOTIFY_LIMITS_H

/* The inotify limits of a user, and their use (inotify(7), proc(5)). Any thread; each call reads
 * files of /proc. */

#include <stdint.h>
#include <sys/types.h>

/* A limit and the sysctl that sets it. */
struct inotify_limit {
	uint64_t max; /* UINT64_MAX if it cannot be read */
	const char *setting; /* static, for sysctl(8): "fs.inotify.max_user_watches" */
};

/* Return the maximum of watches and of instances of a user. The sysctl for all users and the one of
 * the user namespace both apply: the lower one is returned. */
struct inotify_limit inotify_watches_max(void);
struct inotify_limit inotify_instances_max(void);

/* Returns the maximum of queued events of an instance. */
struct inotify_limit inotify_events_max(void);

struct inotify_use {
	uint64_t watches;
	uint64_t instances;
};

/* Counts the watches and instances of the processes of a user, as far as this process may see them.
 * Without privileges, it sees only processes of its own user that are not set-user-ID. Counts an
 * instance once for each process that shares it, so the numbers can be too high. Reads a line for
 * each watch. */
void inotify_use_of(uid_t user, struct inotify_use *use);

/* Returns the power of two to which to raise the limit max. It allows `missing` more watches or
 * instances, with a reserve for other programs. */
uint64_t inotify_raised(uint64_t max, uint64_t missing);

#endif
