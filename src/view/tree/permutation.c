/* SPDX-License-Identifier: MIT */
#include "view/tree/permutation.h"

#include "base/hash.h"
#include "twinfs/format.h"
#include "view/tree/view.h"

#define ROUNDS 4

static uint64_t mask_of(unsigned int half_bits)
{
	return (UINT64_C(1) << half_bits) - 1;
}

static uint64_t mix(uint64_t secret, uint64_t round, uint64_t half)
{
	const uint64_t input[] = {round, half};

	return hash64(input, sizeof(input), secret);
}

uint64_t permute(uint64_t secret, unsigned int half_bits, uint64_t number)
{
	uint64_t mask = mask_of(half_bits), left = number >> half_bits, right = number & mask;

	for (uint64_t round = 0; round < ROUNDS; round++) {
		uint64_t next = left ^ (mix(secret, round, right) & mask);

		left = right;
		right = next;
	}
	return left << half_bits | right;
}

uint64_t permute_back(uint64_t secret, unsigned int half_bits, uint64_t permuted)
{
	uint64_t mask = mask_of(half_bits), left = permuted >> half_bits, right = permuted & mask;

	for (uint64_t round = ROUNDS; round-- > 0;) {
		uint64_t previous = right ^ (mix(secret, round, left) & mask);

		right = left;
		left = previous;
	}
	return left << half_bits | right;
}

/* ---- listing cookie ------------------------------------------------------------------ */

#define HALF_BITS 31

uint64_t listing_cookie(uint64_t secret, uint64_t id)
{
	return VIEW_COOKIE_MIN + permute(secret, HALF_BITS, id);
}

uint64_t listing_id(uint64_t secret, uint64_t cookie)
{
	uint64_t number = cookie - VIEW_COOKIE_MIN, id;

	if (cookie < VIEW_COOKIE_MIN)
		return 0;
	if (number >> 2 * HALF_BITS)
		return UINT64_MAX - 1;
	id = permute_back(secret, HALF_BITS, number);
	return id > TWINFS_ID_MAX ? UINT64_MAX - 1 : id;
}
