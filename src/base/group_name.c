/* SPDX-License-Identifier: MIT */
#include "base/group_name.h"

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

bool group_name_parse(const char *name, struct hash128 *hash, uint32_t *ordinal)
{
	uint64_t number = 0;
	const char *at;

	if (strnlen(name, HASH128_DIGITS) < HASH128_DIGITS || !hash128_parse(name, hash))
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
