/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CATALOG_COLLIDING_H
#define TESTS_CATALOG_COLLIDING_H

#include <endian.h>

#include "index/fixture.h"
#include "index/writer.h"

struct colliding {
	char bytes[32];
};

/* Names whose hash with the index's secret does not depend on bytes 8 to 15. XXH3 multiplies
 * these with the sum of the eight bytes before, the seed and a constant; here the sum is 0. Such
 * names cannot be made without the secret. XXH3 reads little-endian numbers. */
static inline struct name colliding_name(const struct fixture *f, unsigned int number,
					 struct colliding *name)
{
	uint64_t zero = htole64(UINT64_C(0xbe4ba423396cfeb8) + f->catalog->name_seed);

	memset(name, 'x', sizeof(*name));
	memcpy(name->bytes, &zero, sizeof(zero));
	(void)snprintf(name->bytes + 8, 8, "%07u", number);
	return (struct name){name->bytes, sizeof(name->bytes)};
}

#endif
