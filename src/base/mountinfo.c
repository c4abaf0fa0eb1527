/* SPDX-License-Identifier: MIT */
#include "base/mountinfo.h"

#include <stdbool.h>

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

void mountinfo_decode(char *word)
{
	char *out = word;

	while (*word) {
		if (word[0] == '\\' && is_octal(word[1]) && is_octal(word[2]) &&
		    is_octal(word[3])) {
			*out++ = (char)((word[1] - '0') << 6 | (word[2] - '0') << 3 |
					(word[3] - '0'));
			word += 4;
		} else {
			*out++ = *word++;
		}
	}
	*out = '\0';
}
