/* SPDX-License-Identifier: MIT */
#include "view/listing_cookie.h"

#include "base/hash.h"
#include "twinfs/format.h"
#include "view/view.h"

/* A Feistel network permutes numbers of 62 bits, whatever its round function is. */
#define HALF_BITS 31
#define HALF_MASK ((UINT64_C(1) << HALF_BITS) - 1)
#define ROUNDS 4

static uint64_t mix(uint64_t secret, uint64_t round, uint64_t half)
{
	const uint64_t input[] = {round, half};

	return hash64(input, sizeof(input), secret) & HALF_MASK;
}

uint64_t listing_cookie(uint64_t secret, uint64_t id)
{
	uint64_t left = id >> HALF_BITS, right = id & HALF_MASK;

	for (uint64_t round = 0; round < ROUNDS; round++) {
		uint64_t next = left ^ mix(secret, round, right);

		left = right;
		right = next;
	}
	return VIEW_COOKIE_MIN + (left << HALF_BITS | right);
}

uint64_t listing_id(uint64_t secret, uint64_t cookie)
{
	uint64_t number = cookie - VIEW_COOKIE_MIN;
	uint64_t left = number >> HALF_BITS & HALF_MASK, right = number & HALF_MASK, id;

	if (cookie < VIEW_COOKIE_MIN)
		return 0;
	for (uint64_t round = ROUNDS; round-- > 0;) {
		uint64_t previous = right ^ mix(secret, round, left);

		right = left;
		left = previous;
	}
	id = left << HALF_BITS | right;
	return number >> 2 * HALF_BITS || id > TWINFS_ID_MAX ? UINT64_MAX - 1 : id;
}
