/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_OPEN_QUOTA_H
#define MOUNT_OPEN_QUOTA_H

/* How many files of a shared view each user has open. Each takes a descriptor of this process, and
 * one user must not take them all.
 *
 * A part of the descriptors is for users with limited rights. Each of them can have as many files open
 * as are left of that part (dynamic thresholds: Choudhury and Hahne, 1998). So the first one gets at
 * most half of it, the next one half of the rest, and there is always some left for another user.
 * The rest is for root and for twinfs itself. One thread at a time. */

#include <stddef.h>
#include <sys/types.h>

#include "base/attributes.h"

#define OPEN_QUOTAS_BUCKETS 256

/* The files that a user has open. */
struct open_quota {
	uid_t uid;
	size_t count;
	struct open_quota *next; /* in the bucket */
};

struct open_quotas {
	size_t most; /* for users with limited rights, all together */
	size_t taken; /* by all, root too */
	struct open_quota *buckets[OPEN_QUOTAS_BUCKETS];
};

/* Takes the part from the limit of descriptors of this process. */
void open_quotas_init(struct open_quotas *shares);

/* Counts a file that is to be opened.
 *
 * uid	NULL: a user without limit, for whom *share becomes NULL
 *
 * Returns 0; -EMFILE: the user has too many open; or -ENOMEM. */
MUST_CHECK int open_quotas_take(struct open_quotas *shares, const uid_t *uid,
				struct open_quota **share);

/* Counts one less. share may be NULL, as open_quotas_take() gave it. */
void open_quotas_give(struct open_quotas *shares, struct open_quota *share);

#endif
