/* SPDX-License-Identifier: MIT */
#include "catalog/name.h"

#include <string.h>

#include "base/hash.h"
#include "catalog/catalog.h"
#include "catalog/internal.h"

uint64_t name_cookie(uint64_t seed, struct name name)
{
	uint64_t cookie = hash64(name.bytes, name.length, seed) << 4 & (UINT64_MAX >> 1);

	return cookie ? cookie : ENTRY_COOKIE_MIN;
}

bool names_equal(struct name a, struct name b)
{
	return a.length == b.length && memcmp(a.bytes, b.bytes, a.length) == 0;
}

/* From this one nobody learns the seed, by which names could be made to collide. */
uint64_t catalog_secret(const struct catalog *catalog)
{
	return hash64("secret", strlen("secret"), catalog_name_seed(catalog));
}
