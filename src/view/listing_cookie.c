/* SPDX-License-Identifier: MIT */
#include "view/listing_cookie.h"

#include "twinfs/format.h"
#include "view/permutation.h"
#include "view/view.h"

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
