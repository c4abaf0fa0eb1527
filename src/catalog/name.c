/* SPDX-License-Identifier: MIT */
#include "catalog/name.h"

#include <string.h>

#include "base/hash.h"

uint64_t name_cookie(uint64_t seed, struct name name)
{
	uint64_t cookie = hash64(name.bytes, name.length, seed) << 4 & (UINT64_MAX >> 1);

	return cookie ? cookie : ENTRY_COOKIE_MIN;
}

bool names_equal(struct name a, struct name b)
{
	return a.length == b.length && memcmp(a.bytes, b.bytes, a.length) == 0;
}
