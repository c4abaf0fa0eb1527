/* SPDX-License-Identifier: MIT */
#include "cli/counted.h"

#include <stdio.h>
#include <string.h>

#include "base/numbers.h"
#include "choose/figures.h"

struct number_text number_text(uint64_t number)
{
	struct number_text made;

	(void)number_format(made.text, number);
	return made;
}

struct number_text counted(uint64_t number, const char *one, const char *many)
{
	struct number_text made = number_text(number);
	size_t length = strlen(made.text);

	(void)snprintf(made.text + length, sizeof(made.text) - length, " %s",
		       plural(number, one, many));
	return made;
}

struct number_text size_text(uint64_t bytes)
{
	struct number_text made;

	(void)size_format(made.text, bytes);
	return made;
}

struct number_text figure_text(uint64_t bytes)
{
	struct number_text made;

	(void)figure_size(made.text, bytes);
	return made;
}
