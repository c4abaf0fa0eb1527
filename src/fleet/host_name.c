/* SPDX-License-Identifier: MIT */
#include "fleet/host_name.h"

#include <string.h>

#define LETTERS_AND_DIGITS           \
	"abcdefghijklmnopqrstuvwxyz" \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ" \
	"0123456789"

bool host_name_is_valid(const char *name)
{
	size_t length = strspn(name, LETTERS_AND_DIGITS "._-");

	return name[length] == '\0' && length <= HOST_NAME_BYTES_MAX &&
	       strspn(name, LETTERS_AND_DIGITS) > 0;
}
