/* SPDX-License-Identifier: MIT */
#include "mount/open_quota.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>

/* The limit for users other than root is this part of all descriptors. File comparison uses up to
 * half of the descriptors (ingest/compare.c). */
#define USERS_DIVISOR 2

void open_quotas_init(struct open_quotas *quotas)
{
	struct rlimit limit;

	*quotas = (struct open_quotas){.most = SIZE_MAX};
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
		quotas->most = (size_t)(limit.rlim_cur / USERS_DIVISOR);
}

/* Returns the link to a user's quota. If the user has none, returns the link where the quota must
 * be inserted. */
static struct open_quota **find(struct open_quotas *quotas, uid_t uid)
{
	struct open_quota **at = &quotas->buckets[uid % OPEN_QUOTAS_BUCKETS];

	while (*at && (*at)->uid != uid)
		at = &(*at)->next;
	return at;
}

int open_quotas_take(struct open_quotas *quotas, const uid_t *uid, struct open_quota **quota)
{
	struct open_quota **at;

	*quota = NULL;
	if (uid) {
		at = find(quotas, *uid);
		if (quotas->taken >= quotas->most ||
		    (*at ? (*at)->count : 0) >= quotas->most - quotas->taken)
			return -EMFILE;
		if (!*at)
			*at = calloc(1, sizeof(**at));
		if (!*at)
			return -ENOMEM;
		(*at)->uid = *uid;
		(*at)->count++;
		*quota = *at;
	}
	quotas->taken++;
	return 0;
}

void open_quotas_return(struct open_quotas *quotas, struct open_quota *quota)
{
	struct open_quota **at;

	quotas->taken--;
	if (!quota || --quota->count > 0)
		return;
	at = find(quotas, quota->uid);
	*at = quota->next;
	free(quota);
}
