/* SPDX-License-Identifier: MIT */
#include "base/human_text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/utf8.h"

const char *number_format(char text[static NUMBER_TEXT_MAX], uint64_t number)
{
	char digits[NUMBER_TEXT_MAX];
	int count = snprintf(digits, sizeof(digits), "%" PRIu64, number);
	char *end = text;

	for (int i = 0; i < count; i++) {
		if (i > 0 && (count - i) % 3 == 0)
			*end++ = ',';
		*end++ = digits[i];
	}
	*end = '\0';
	return text;
}

/* Returns whether a terminal shows all of the name, and the name cannot be mistaken for a quoted
 * name. */
static bool is_plain(const char *name, size_t length)
{
	if (length == 0 || name[0] == ' ' || name[length - 1] == ' ' || name[0] == '$')
		return false;
	for (size_t i = 0; i < length;) {
		uint32_t code;
		size_t taken = utf8_decode(name + i, length - i, &code);

		if (taken == 0 || utf8_is_unfit(code))
			return false;
		i += taken;
	}
	return true;
}

static int append_escaped(struct bytes *text, const char *bytes, size_t length)
{
	/* three octal digits: unlike \x, the escape ends before a digit that follows */
	for (size_t i = 0; i < length; i++) {
		int r = bytes_format(text, "\\%03o", (unsigned char)bytes[i]);

		if (r < 0)
			return r;
	}
	return 0;
}

/* Appends one character of a quoted name. length is the number of bytes of the character, or 0 for
 * a byte that is not UTF-8. */
static int append_character(struct bytes *text, const char *bytes, size_t length, uint32_t code)
{
	if (length == 0)
		return append_escaped(text, bytes, 1);
	if (code == '\n')
		return bytes_append_text(text, "\\n");
	if (code == '\t')
		return bytes_append_text(text, "\\t");
	if (utf8_is_unfit(code))
		return append_escaped(text, bytes, length);
	if (code == '\'' || code == '\\') {
		int r = bytes_append_text(text, "\\");

		if (r < 0)
			return r;
	}
	return bytes_append(text, bytes, length);
}

int shell_name_append(struct bytes *text, const char *name, size_t length)
{
	int r;

	if (is_plain(name, length))
		return bytes_append(text, name, length);

	r = bytes_append_text(text, "$'");
	for (size_t i = 0; r == 0 && i < length;) {
		uint32_t code = 0;
		size_t taken = utf8_decode(name + i, length - i, &code);

		r = append_character(text, name + i, taken, code);
		i += taken > 0 ? taken : 1;
	}
	return r < 0 ? r : bytes_append_text(text, "'");
}

/* Returns whether a shell takes each character of a word literally. */
static bool is_literal(const char *word, size_t length)
{
	static const char literal[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789/._-,:=+%@";

	for (size_t i = 0; i < length; i++) {
		if (word[i] == '\0' || !strchr(literal, word[i]))
			return false;
	}
	return length > 0;
}

int shell_word_append(struct bytes *text, const char *word, size_t length)
{
	int r;

	if (is_literal(word, length))
		return bytes_append(text, word, length);
	if (!is_plain(word, length))
		return shell_name_append(text, word, length);
	r = bytes_append_text(text, "'");
	for (size_t i = 0; r == 0 && i < length; i++)
		r = word[i] == '\'' ? bytes_append_text(text, "'\\''")
				    : bytes_append(text, word + i, 1);
	return r < 0 ? r : bytes_append_text(text, "'");
}
