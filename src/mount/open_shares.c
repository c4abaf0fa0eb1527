/* SPDX-License-Identifier: MIT */
#include "mount/open_shares.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>

/* The part of the descriptors that is for users with limited rights. The comparison of files takes up
 * to half of them (ingest/compare.c). */
#define PART_FOR_USERS 2

void open_shares_init(struct open_shares *shares)
{
	struct rlimit limit;

	*shares = (struct open_shares){.most = SIZE_MAX};
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
		shares->most = (size_t)(limit.rlim_cur / PART_FOR_USERS);
}

/* Where the share of a user is linked, or would be. */
static struct open_share **find(struct open_shares *shares, uid_t uid)
{
	struct open_share **at = &shares->buckets[uid % OPEN_SHARES_BUCKETS];

	while (*at && (*at)->uid != uid)
		at = &(*at)->next;
	return at;
}

int open_shares_take(struct open_shares *shares, const uid_t *uid, struct open_share **share)
{
	struct open_share **at;

	*share = NULL;
	if (uid) {
		at = find(shares, *uid);
		if (shares->taken >= shares->most ||
		    (*at ? (*at)->count : 0) >= shares->most - shares->taken)
			return -EMFILE;
		if (!*at)
			*at = calloc(1, sizeof(**at));
		if (!*at)
			return -ENOMEM;
		(*at)->uid = *uid;
		(*at)->count++;
		*share = *at;
	}
	shares->taken++;
	return 0;
}

void open_shares_give(struct open_shares *shares, struct open_share *share)
{
	struct open_share **at;

	shares->taken--;
	if (!share || --share->count > 0)
		return;
	at = find(shares, share->uid);
	*at = share->next;
	free(share);
}
