/* SPDX-License-Identifier: MIT */
#ifndef BASE_INOTIFY_LIMITS_H
#define BASE_INOTIFY_LIMITS_H

/* How much the kernel lets a user watch, and how much of that is taken (inotify(7), proc(5)). Any
 * thread; files of /proc are read for each question. */

#include <stdint.h>
#include <sys/types.h>

/* A limit and the setting that makes it. */
struct inotify_limit {
	uint64_t max; /* UINT64_MAX where it cannot be read */
	const char *setting; /* static, for sysctl(8): "fs.inotify.max_user_watches" */
};

/* The watches, and the instances, that a user may have; of the setting for all users and that of
 * the user namespace the lower one, as both hold. */
struct inotify_limit inotify_watches_max(void);
struct inotify_limit inotify_instances_max(void);

/* The events that may wait in an instance. */
struct inotify_limit inotify_events_max(void);

struct inotify_use {
	uint64_t watches;
	uint64_t instances;
};

/* What the processes of a user have, as far as this process may see: one without rights sees what
 * is its user's, and of that not what is set-uid. Reads a line for each watch. */
void inotify_use_of(uid_t user, struct inotify_use *use);

/* What to set a limit to so that so many more fit, and something for others: a power of two. */
uint64_t inotify_raised(uint64_t max, uint64_t missing);

#endif
