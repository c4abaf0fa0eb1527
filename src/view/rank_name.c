/* SPDX-License-Identifier: MIT */
#include "view/rank_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/numbers.h"
#include "base/size.h"
#include "base/utf8.h"

#define DIGITS_FLAT 4
#define DIGITS_IN_FOLDERS 5

struct rank_layout rank_layout_of(uint64_t groups)
{
	struct rank_layout layout = {.groups = groups, .digits = DIGITS_FLAT};

	if (groups <= RANKS_PER_FOLDER)
		return layout;
	layout.folders = (groups + RANKS_PER_FOLDER - 1) / RANKS_PER_FOLDER;
	layout.digits = 1;
	for (uint64_t rest = rank_folder_last(layout.folders); rest >= 10; rest /= 10)
		layout.digits++;
	if (layout.digits < DIGITS_IN_FOLDERS)
		layout.digits = DIGITS_IN_FOLDERS;
	return layout;
}

void rank_folder_name_make(char name[static RANK_NAME_SIZE], const struct rank_layout *layout,
			   uint64_t folder)
{
	(void)snprintf(name, RANK_NAME_SIZE, "%0*" PRIu64 "-%0*" PRIu64, layout->digits,
		       rank_folder_first(folder), layout->digits, rank_folder_last(folder));
}

void rank_name_make(char name[static RANK_NAME_SIZE], const struct rank_layout *layout,
		    const struct ranked_group *group)
{
	char size[SIZE_TEXT_MAX];
	int length = snprintf(name, RANK_NAME_SIZE, "%0*" PRIu64 "  %s  %" PRIu64 " copies  ",
			      layout->digits, group->rank, size_format(size, group->reclaimable),
			      group->copies);
	size_t used = (size_t)length;
	size_t shown = utf8_cut(group->name.bytes, group->name.length, NAME_BYTES_MAX - used);

	memcpy(name + used, group->name.bytes, shown);
	name[used + shown] = '\0';
}

uint64_t rank_name_parse(const char *name)
{
	uint64_t number;

	return number_read(name, strspn(name, "0123456789"), &number) < 0 ? 0 : number;
}
