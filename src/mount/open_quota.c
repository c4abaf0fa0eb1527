/* SPDX-License-Identifier: MIT */
#include "mount/open_quota.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>

/* The part of the descriptors that is for users with limited rights. The comparison of files takes up
 * to half of them (ingest/compare.c). */
#define PART_FOR_USERS 2

void open_quotas_init(struct open_quotas *shares)
{
	struct rlimit limit;

	*shares = (struct open_quotas){.most = SIZE_MAX};
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
		shares->most = (size_t)(limit.rlim_cur / PART_FOR_USERS);
}

/* Where the share of a user is linked, or would be. */
static struct open_quota **find(struct open_quotas *shares, uid_t uid)
{
	struct open_quota **at = &shares->buckets[uid % OPEN_QUOTAS_BUCKETS];

	while (*at && (*at)->uid != uid)
		at = &(*at)->next;
	return at;
}

int open_quotas_take(struct open_quotas *shares, const uid_t *uid, struct open_quota **share)
{
	struct open_quota **at;

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

void open_quotas_give(struct open_quotas *shares, struct open_quota *share)
{
	struct open_quota **at;

	shares->taken--;
	if (!share || --share->count > 0)
		return;
	at = find(shares, share->uid);
	*at = share->next;
	free(share);
}
