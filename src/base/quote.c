/* SPDX-License-Identifier: MIT */
#include "base/quote.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/attributes.h"

#define RING_SIZE 4
#define QUOTED_SIZE 4352

/* What may follow the last character that fits: the sign of the cut, the quote and the NUL. */
#define CUT_MARK "…'"

/* The longest that one character becomes: \U0010ffff would be, but only \uXXXX is needed. */
#define ESCAPE_SIZE 8

struct character {
	uint32_t code;
	size_t length; /* in bytes; 0: these bytes are not UTF-8 */
};

/* Decodes the first character of the bytes; overlong forms, surrogates and codes past U+10FFFF are
 * not UTF-8 (RFC 3629).
 */
static struct character decode(const unsigned char *bytes, size_t available)
{
	static const struct character invalid;
	/* by length: the smallest code that needs it */
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	struct character character;
	unsigned char first = bytes[0];

	if (first < 0x80)
		return (struct character){.code = first, .length = 1};
	if (first >= 0xc2 && first < 0xe0)
		character = (struct character){.code = first & 0x1f, .length = 2};
	else if (first >= 0xe0 && first < 0xf0)
		character = (struct character){.code = first & 0x0f, .length = 3};
	else if (first >= 0xf0 && first < 0xf5)
		character = (struct character){.code = first & 0x07, .length = 4};
	else
		return invalid;
	if (character.length > available)
		return invalid;
	for (size_t i = 1; i < character.length; i++) {
		if ((bytes[i] & 0xc0) != 0x80)
			return invalid;
		character.code = character.code << 6 | (bytes[i] & 0x3f);
	}
	if (character.code < smallest[character.length] || character.code > 0x10ffff ||
	    (character.code >= 0xd800 && character.code < 0xe000))
		return invalid;
	return character;
}

/* Whether a terminal would obey the character, or a reader be misled by it: C0 and C1 controls, line
 * and paragraph separators, invisible spaces, and what turns the direction of text (Unicode's
 * Bidi_Control).
 */
static bool is_unfit(uint32_t code)
{
	static const struct {
		uint32_t first, last;
	} unfit[] = {
		{0x0000, 0x001f}, {0x007f, 0x009f}, {0x00ad, 0x00ad}, {0x061c, 0x061c},
		{0x200b, 0x200b}, {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x2069},
		{0xfeff, 0xfeff}, {0xfff9, 0xfffb},
	};

	for (size_t i = 0; i < ARRAY_SIZE(unfit); i++) {
		if (code >= unfit[i].first && code <= unfit[i].last)
			return true;
	}
	return false;
}

static void escape_code(char text[static ESCAPE_SIZE], uint32_t code)
{
	static const char short_forms[] = "\aa\bb\ff\nn\rr\tt\vv";

	for (size_t i = 0; short_forms[i] != '\0'; i += 2) {
		if (code == (unsigned char)short_forms[i]) {
			(void)snprintf(text, ESCAPE_SIZE, "\\%c", short_forms[i + 1]);
			return;
		}
	}
	(void)snprintf(text, ESCAPE_SIZE, code < 0x80 ? "\\x%02x" : "\\u%04x", (unsigned int)code);
}

/* Puts the first character of the bytes into text, as it may be shown. Returns how many bytes it
 * took of them.
 */
static size_t show_character(char text[static ESCAPE_SIZE], const unsigned char *bytes,
			     size_t available)
{
	struct character character = decode(bytes, available);

	if (character.length == 0) {
		(void)snprintf(text, ESCAPE_SIZE, "\\x%02x", bytes[0]);
		return 1;
	}
	if (is_unfit(character.code)) {
		escape_code(text, character.code);
	} else if (character.code == '\'' || character.code == '\\') {
		(void)snprintf(text, ESCAPE_SIZE, "\\%c", (char)character.code);
	} else {
		memcpy(text, bytes, character.length);
		text[character.length] = '\0';
	}
	return character.length;
}

const char *quote_bytes(const char *bytes, size_t length)
{
	static _Thread_local char ring[RING_SIZE][QUOTED_SIZE];
	static _Thread_local unsigned int turn;
	char *quoted = ring[turn++ % RING_SIZE];
	size_t used = 0;

	quoted[used++] = '\'';
	for (size_t i = 0; i < length;) {
		char shown[ESCAPE_SIZE];
		size_t shown_length;

		i += show_character(shown, (const unsigned char *)bytes + i, length - i);
		shown_length = strlen(shown);
		if (used + shown_length + sizeof(CUT_MARK) > QUOTED_SIZE) {
			memcpy(quoted + used, CUT_MARK, sizeof(CUT_MARK));
			return quoted;
		}
		memcpy(quoted + used, shown, shown_length);
		used += shown_length;
	}
	memcpy(quoted + used, "'", sizeof("'"));
	return quoted;
}

const char *quote_path(const char *path)
{
	return quote_bytes(path, strlen(path));
}
