/* SPDX-License-Identifier: MIT */
#ifndef BASE_HUMAN_TEXT_H
#define BASE_HUMAN_TEXT_H

/* Numbers and names for people. Pure; any thread. */

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"

/* Buffer size for number_format(), including the NUL. */
#define NUMBER_TEXT_MAX 28

/* Formats a number with a comma between thousands in every locale. Returns text. */
const char *number_format(char text[static NUMBER_TEXT_MAX], uint64_t number);

/* Returns the form of a word for this number: "file" or "files". */
static inline const char *plural(uint64_t number, const char *one, const char *many)
{
	return number == 1 ? one : many;
}

/* Appends a name in a form that a terminal can show. Some names are quoted as $'...' (POSIX.1-2024,
 * 2.2.4), which a shell reads back. These are names with characters that a terminal would interpret
 * or hide, names that are not UTF-8, empty names, names that begin with '$', and names that begin
 * or end with a space. Other names are appended unchanged, even if a shell would need quotes. Never
 * truncates. Returns 0 or -ENOMEM. */
MUST_CHECK int shell_name_append(struct bytes *text, const char *name, size_t length);

/* Appends a word of a command for people to copy: unquoted if no shell interprets any of its
 * characters, else in single quotes, or as shell_name_append() quotes names. Never truncates.
 * Returns 0 or -ENOMEM. */
MUST_CHECK int shell_word_append(struct bytes *text, const char *word, size_t length);

#endif
