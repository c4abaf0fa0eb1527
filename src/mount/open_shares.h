/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_OPEN_SHARES_H
#define MOUNT_OPEN_SHARES_H

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

#define OPEN_SHARES_BUCKETS 256

/* The files that a user has open. */
struct open_share {
	uid_t uid;
	size_t count;
	struct open_share *next; /* in the bucket */
};

struct open_shares {
	size_t most; /* for users with limited rights, all together */
	size_t taken; /* by all, root too */
	struct open_share *buckets[OPEN_SHARES_BUCKETS];
};

/* Takes the part from the limit of descriptors of this process. */
void open_shares_init(struct open_shares *shares);

/* Counts a file that is to be opened.
 *
 * uid	NULL: a user without limit, for whom *share becomes NULL
 *
 * Returns 0; -EMFILE: the user has too many open; or -ENOMEM. */
MUST_CHECK int open_shares_take(struct open_shares *shares, const uid_t *uid,
				struct open_share **share);

/* Counts one less. share may be NULL, as open_shares_take() gave it. */
void open_shares_give(struct open_shares *shares, struct open_share *share);

#endif
