/* SPDX-License-Identifier: MIT */
#include "view/known_shares.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define BELIEVED_TIMES 20

struct known_share {
	struct share_key key; /* group 0: none */
	struct share share;
	uint64_t until_ns;
};

void known_shares_init(struct known_shares *shares)
{
	*shares = (struct known_shares){.lock = PTHREAD_MUTEX_INITIALIZER};
}

void known_shares_deinit(struct known_shares *shares)
{
	free(shares->list);
	(void)pthread_mutex_destroy(&shares->lock);
}

/* The place where it is, or where it belongs. */
static struct known_share *place_of(const struct known_shares *shares, const struct share_key *key)
{
	const uint64_t numbers[] = {key->caller, key->group};

	return &shares->list[hash64(numbers, sizeof(numbers), 0) % KNOWN_SHARES_MAX];
}

static bool keys_equal(const struct share_key *a, const struct share_key *b)
{
	return a->caller == b->caller && a->group == b->group &&
	       a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

bool known_shares_get(struct known_shares *shares, const struct share_key *key, struct share *share,
		      uint64_t now_ns)
{
	const struct known_share *known;
	bool is_known = false;

	(void)pthread_mutex_lock(&shares->lock);
	if (shares->list) {
		known = place_of(shares, key);
		is_known = keys_equal(&known->key, key) && now_ns < known->until_ns;
		*share = known->share;
	}
	(void)pthread_mutex_unlock(&shares->lock);
	return is_known;
}

void known_shares_put(struct known_shares *shares, const struct share_key *key,
		      const struct share *share, uint64_t began_ns, uint64_t now_ns)
{
	(void)pthread_mutex_lock(&shares->lock);
	if (!shares->list)
		shares->list = calloc(KNOWN_SHARES_MAX, sizeof(*shares->list));
	if (shares->list) {
		*place_of(shares, key) = (struct known_share){
			.key = *key,
			.share = *share,
			.until_ns = now_ns + BELIEVED_TIMES * (now_ns - began_ns),
		};
	}
	(void)pthread_mutex_unlock(&shares->lock);
}
