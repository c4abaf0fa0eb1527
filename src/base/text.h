/* SPDX-License-Identifier: MIT */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

/* Text in names, which can have any bytes: UTF-8, base64, and quotes for terminals and shells; and
 * lists of strings. Pure functions; any thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"

/* Decodes the first character of available bytes (one or more).
 *
 * Returns the number of bytes of the character, or 0 if the bytes do not begin with valid UTF-8.
 * Overlong forms, surrogates and codes above U+10FFFF are invalid (RFC 3629).
 */
size_t utf8_decode(const void *bytes, size_t available, uint32_t *code);

/* Returns how many of length bytes to keep, so that at most limit bytes remain and no character is
 * split. Text that is not UTF-8 is cut anywhere. */
size_t utf8_cut(const void *bytes, size_t length, size_t limit);

/* Returns whether a terminal would interpret the character, or a reader could be misled by it. Such
 * characters are C0 and C1 controls, line and paragraph separators, invisible characters, and
 * characters that change the direction of text (Bidi_Control of Unicode). The joiners U+200C and
 * U+200D are allowed: scripts and emoji need them.
 */
bool utf8_is_unfit(uint32_t code);

/* Appends the base64 text (RFC 4648, section 4, with padding) of length bytes of data. Returns 0 or
 * -ENOMEM. */
MUST_CHECK int base64_encode(struct bytes *text, const void *data, size_t length);

/* Decodes length characters of text and appends the bytes. Returns 0, -EPROTO if text is not
 * base64, or -ENOMEM. On failure data is unchanged. */
MUST_CHECK int base64_decode(struct bytes *data, const char *text, size_t length);

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

/* ---- lists of strings -------------------------------------------------------------- */

/* A list of strings. All zeros is an empty list. One thread at a time. */

struct text_list {
	char **items; /* ends with a NULL; NULL if nothing was added */
	size_t count, capacity;
};

/* Appends a copy of the first length bytes of text, which contain no NUL. Returns 0 or -ENOMEM. */
MUST_CHECK int text_list_add(struct text_list *list, const char *text, size_t length);

/* Appends copies of all items of a list that ends with a NULL; NULL has no item. Returns 0 or
 * -ENOMEM. */
MUST_CHECK int text_list_add_all(struct text_list *list, char *const *items);

/* Returns whether the list has this text. Linear. */
bool text_list_has(const struct text_list *list, const char *text);

/* Returns the length of the first item of a comma-separated list. A comma after a backslash does
 * not end an item. */
size_t list_item_length(const char *list);

void text_list_free(struct text_list *list);
#define CLEANUP_TEXT_LIST CLEANUP(text_list_free)

#endif
