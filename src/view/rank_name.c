/* SPDX-License-Identifier: MIT */
#include "view/rank_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/numbers.h"
#include "base/text.h"

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

#define NO_BREAK "\xc2\xa0"

/* Room for two numbers, the words around them, and a NUL. */
#define FIGURES_SIZE 96

/* Writes what follows the name of the copy. */
static size_t write_figures(char text[static FIGURES_SIZE], const struct ranked_group *group)
{
	char size[SIZE_TEXT_MAX];
	size_t number = strcspn(size_format(size, group->reclaimable), " ");

	return (size_t)snprintf(text, FIGURES_SIZE,
				" (%" PRIu64 NO_BREAK "copies, frees" NO_BREAK "%.*s" NO_BREAK
				"%s)",
				group->copies, (int)number, size, size + number + 1);
}

void rank_name_make(char name[static RANK_NAME_SIZE], const struct rank_layout *layout,
		    const struct ranked_group *group)
{
	char figures[FIGURES_SIZE];
	size_t length = write_figures(figures, group);
	size_t used = (size_t)snprintf(name, RANK_NAME_SIZE, "%0*" PRIu64 " ", layout->digits,
				       group->rank);
	size_t shown =
		utf8_cut(group->name.bytes, group->name.length, NAME_BYTES_MAX - used - length);

	memcpy(name + used, group->name.bytes, shown);
	memcpy(name + used + shown, figures, length + 1);
}

uint64_t rank_name_parse(const char *name)
{
	uint64_t number;

	return number_read(name, strspn(name, "0123456789"), &number) < 0 ? 0 : number;
}
