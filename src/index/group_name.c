/* SPDX-License-Identifier: MIT */
#include "index/group_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/numbers.h"

void group_name_make(char name[static GROUP_NAME_SIZE], struct hash128 hash, uint32_t ordinal)
{
	hash128_format(hash, name);
	if (ordinal > 1)
		(void)snprintf(name + HASH128_DIGITS, GROUP_NAME_SIZE - HASH128_DIGITS, "~%" PRIu32,
			       ordinal);
}

bool group_name_parse(const char *name, struct hash128 *hash, uint32_t *ordinal)
{
	const char *at = name + HASH128_DIGITS;
	uint64_t number;
	size_t digits;

	if (!hash128_parse(name, hash))
		return false;
	*ordinal = 1;
	if (*at == '\0')
		return true;
	if (*at++ != '~' || *at == '0')
		return false;
	digits = strspn(at, "0123456789");
	if (at[digits] != '\0' || number_read(at, digits, &number) < 0)
		return false;
	*ordinal = (uint32_t)number;
	return number >= 2 && number <= UINT32_MAX;
}
