/* SPDX-License-Identifier: MIT */
#ifndef TESTS_INGEST_COLLIDING_H
#define TESTS_INGEST_COLLIDING_H

/* Different contents with one XXH3-128 hash, made without a search. For inputs above 240 bytes, a
 * block is divided into stripes of eight 64-bit words. Word i of stripe n, called d, changes two
 * lanes of the hash. Its neighbour lane gets d added. Lane i gets lo32(d ^ s) * hi32(d ^ s) added,
 * where s is the word of the public secret at 8 * n + 8 * i.
 * If the lower half of d equals the lower half of s, the product is 0 for any upper half of d. If
 * the upper halves in two stripes change by +k and -k, the hash stays the same. */

#include <endian.h>
#include <stdint.h>
#include <string.h>

#define COLLIDING_BYTES_MIN 256

/* The lower halves of the secret's words at 24 and 32: lane 3 of stripes 0 and 1. */
#define COLLIDING_LOW_0 UINT32_C(0xa4a44072)
#define COLLIDING_LOW_1 UINT32_C(0x4ee679cb)

/* Makes one of the contents of this length that have the same hash. length is at least
 * COLLIDING_BYTES_MIN. */
static inline void colliding_fill(uint8_t *data, size_t length, uint32_t number)
{
	/* XXH3 reads little-endian words on every machine */
	const uint32_t low[] = {htole32(COLLIDING_LOW_0), htole32(COLLIDING_LOW_1)};
	const uint32_t high[] = {htole32(UINT32_C(1000) + number),
				 htole32(UINT32_C(4000000000) - number)};

	for (size_t i = 0; i < length; i++)
		data[i] = (uint8_t)(i * 7 + i / 256);
	for (size_t stripe = 0; stripe < 2; stripe++) {
		memcpy(data + stripe * 64 + 24, &low[stripe], sizeof(low[stripe]));
		memcpy(data + stripe * 64 + 28, &high[stripe], sizeof(high[stripe]));
	}
}

#endif
