/* SPDX-License-Identifier: MIT */
#include "view/group_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void group_name_make(char name[static GROUP_NAME_SIZE], struct hash128 hash, uint32_t ordinal)
{
	hash128_format(hash, name);
	if (ordinal > 1)
		(void)snprintf(name + HASH128_DIGITS, GROUP_NAME_SIZE - HASH128_DIGITS, "~%" PRIu32,
			       ordinal);
}

/* Reads half of the digits, in lower case. */
static bool parse_half(const char *text, uint64_t *half)
{
	static const char digits[16] = "0123456789abcdef";

	*half = 0;
	for (int i = 0; i < HASH128_DIGITS / 2; i++) {
		const char *digit = memchr(digits, text[i], sizeof(digits));

		if (!digit)
			return false;
		*half = *half << 4 | (uint64_t)(digit - digits);
	}
	return true;
}

bool group_name_parse(const char *name, struct hash128 *hash, uint32_t *ordinal)
{
	uint64_t number = 0;
	const char *at;

	if (strnlen(name, HASH128_DIGITS) < HASH128_DIGITS || !parse_half(name, &hash->high) ||
	    !parse_half(name + HASH128_DIGITS / 2, &hash->low))
		return false;
	*ordinal = 1;
	at = name + HASH128_DIGITS;
	if (*at == '\0')
		return true;
	if (*at++ != '~' || *at == '0')
		return false;
	for (; *at >= '0' && *at <= '9' && number <= UINT32_MAX; at++)
		number = number * 10 + (uint64_t)(*at - '0');
	*ordinal = (uint32_t)number;
	return *at == '\0' && number >= 2 && number <= UINT32_MAX;
}
