/* SPDX-License-Identifier: MIT */

/* Formatting and parsing of names of groups. An input has a hash and an ordinal in 20 bytes,
 * then a name. */

#include "fuzz.h"
#include "index/query.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = {data, size};
	struct hash128 hash = {0}, found = {0};
	uint32_t ordinal, found_ordinal;
	char made[GROUP_NAME_SIZE];
	char *name;

	hash.high = take_number(&input, 8);
	hash.low = take_number(&input, 8);
	ordinal = (uint32_t)take_number(&input, 4);
	if (ordinal == 0)
		ordinal = 1;
	group_name_make(made, hash, ordinal);
	REQUIRE(strnlen(made, sizeof(made)) < sizeof(made));
	REQUIRE(group_name_parse(made, &found, &found_ordinal));
	REQUIRE(hash128_equal(hash, found) && ordinal == found_ordinal);

	name = take_text(&input);
	if (group_name_parse(name, &found, &found_ordinal)) {
		group_name_make(made, found, found_ordinal);
		REQUIRE(strcmp(made, name) == 0);
	}
	free(name);
	return 0;
}
