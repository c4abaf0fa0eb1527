/* SPDX-License-Identifier: MIT */
#ifndef BASE_WORDS_H
#define BASE_WORDS_H

/* Numbers and names as people read them. Pure; any thread. */

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"

/* Room for any number that number_format() writes, with its NUL. */
#define NUMBER_TEXT_MAX 28

/* Writes a number with a comma between thousands, whatever the locale. Returns text. */
const char *number_format(char text[static NUMBER_TEXT_MAX], uint64_t number);

/* "file" or "files". */
static inline const char *plural(uint64_t number, const char *one, const char *many)
{
	return number == 1 ? one : many;
}

/* Appends a name so that a terminal shows it and a shell reads it back: as it is, or, where a
 * terminal would obey or hide some of it or where it would be read as something else, as $'...'
 * (POSIX.1-2024, 2.2.4). Never cut. 0 or -ENOMEM. */
MUST_CHECK int shell_name_append(struct bytes *text, const char *name, size_t length);

#endif
