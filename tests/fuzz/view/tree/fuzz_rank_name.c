/* SPDX-License-Identifier: MIT */

/* Names in by-size/. A rank is parsed from its name, and sorted names have the order of ranks.
 * An input has numbers in 36 bytes, then the name of a file, then any name. */

#include <stdbool.h>

#include "fuzz.h"
#include "twinfs/format.h"
#include "view/tree/names.h"

static bool has_zeros_only(const char *name)
{
	return name[strspn(name, "0")] < '1' || name[strspn(name, "0")] > '9';
}

/* This many digits can exceed a number of 64 bits. */
static void check_strange(const char *name)
{
	size_t zeros = strspn(name, "0"), digits = strspn(name + zeros, "0123456789");
	uint64_t number = rank_name_parse(name);
	char text[24];

	if (number == 0) {
		REQUIRE(has_zeros_only(name) || digits >= 20);
		return;
	}
	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	REQUIRE(strlen(text) == digits && strncmp(text, name + zeros, digits) == 0);
}

static void check_folder(const struct rank_layout *layout, uint64_t rank)
{
	uint64_t folder = (rank - 1) / RANKS_PER_FOLDER + 1;
	char name[RANK_NAME_SIZE];

	REQUIRE(folder <= layout->folders);
	REQUIRE(rank_folder_first(folder) <= rank && rank <= rank_folder_last(folder));
	rank_folder_name_make(name, layout, folder);
	REQUIRE(rank_name_parse(name) == rank_folder_first(folder));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = {data, size};
	const uint64_t groups = take_number(&input, 6) % TWINFS_ID_MAX + 1;
	const uint64_t ranks[] = {take_number(&input, 6) % groups + 1,
				  take_number(&input, 6) % groups + 1};
	struct ranked_group group = {
		.copies = take_number(&input, 6),
		.reclaimable = take_number(&input, 8),
	};
	const struct rank_layout layout = rank_layout_of(groups);
	char names[2][RANK_NAME_SIZE];
	char *file = take_text(&input), *strange = take_text(&input);
	int order;

	for (size_t i = 0; i < 2; i++) {
		group.rank = ranks[i];
		group.name = (struct name){file, (uint32_t)strlen(file)};
		rank_name_make(names[i], &layout, &group);
		REQUIRE(strnlen(names[i], RANK_NAME_SIZE) < RANK_NAME_SIZE);
		REQUIRE(rank_name_parse(names[i]) == ranks[i]);
		if (layout.folders > 0)
			check_folder(&layout, ranks[i]);
	}
	order = strcmp(names[0], names[1]);
	REQUIRE((order < 0) == (ranks[0] < ranks[1]) && (order > 0) == (ranks[0] > ranks[1]));
	check_strange(strange);
	free(file);
	free(strange);
	return 0;
}
