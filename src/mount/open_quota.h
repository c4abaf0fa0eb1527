/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_OPEN_QUOTA_H
#define MOUNT_OPEN_QUOTA_H

/* The number of files of a shared view that each user has open. Each file takes a descriptor of
 * this process, and one user must not exhaust them.
 *
 * A limit for all open files applies to users other than root. A user may open a further file while
 * the user has fewer open files than the limit leaves unused (dynamic thresholds: Choudhury and
 * Hahne, 1998). So the first user gets at most half of the limit, and the next user half of the
 * rest. Descriptors above the limit are for root and for twinfs itself. One thread at a time. */

#include <stddef.h>
#include <sys/types.h>

#include "base/attributes.h"

#define OPEN_QUOTAS_BUCKETS 256

/* The files that a user has open. */
struct open_quota {
	uid_t uid;
	size_t count;
	struct open_quota *next; /* next user in the bucket */
};

struct open_quotas {
	size_t most; /* with this many files open, only root can open another */
	size_t taken; /* open files of all users, including root */
	struct open_quota *buckets[OPEN_QUOTAS_BUCKETS];
};

/* Computes the limit from RLIMIT_NOFILE of this process. */
void open_quotas_init(struct open_quotas *quotas);

/* Counts a file before it is opened.
 *
 * uid	NULL: a user without limit, for whom *quota is set to NULL
 *
 * Returns 0, -EMFILE if the user has too many files open, or -ENOMEM. */
MUST_CHECK int open_quotas_take(struct open_quotas *quotas, const uid_t *uid,
				struct open_quota **quota);

/* Counts a closed file. quota is that of open_quotas_take(), and may be NULL. */
void open_quotas_return(struct open_quotas *quotas, struct open_quota *quota);

#endif
