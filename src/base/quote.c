/* SPDX-License-Identifier: MIT */
#include "base/quote.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

#define RING_SIZE 4
#define QUOTED_SIZE 4352

/* The end of a truncated path. */
#define CUT_MARK "…'"

/* Buffer size for the longest escape of a character, \U000e0001, including the NUL. */
#define SHOWN_SIZE 12

static void escape_code(char shown[static SHOWN_SIZE], uint32_t code)
{
	static const char short_forms[] = "\aa\bb\ff\nn\rr\tt\vv";

	for (size_t i = 0; short_forms[i] != '\0'; i += 2) {
		if (code == (unsigned char)short_forms[i]) {
			(void)snprintf(shown, SHOWN_SIZE, "\\%c", short_forms[i + 1]);
			return;
		}
	}
	if (code < 0x80)
		(void)snprintf(shown, SHOWN_SIZE, "\\x%02x", (unsigned int)code);
	else if (code <= 0xffff)
		(void)snprintf(shown, SHOWN_SIZE, "\\u%04x", (unsigned int)code);
	else
		(void)snprintf(shown, SHOWN_SIZE, "\\U%08x", (unsigned int)code);
}

/* Writes the first character of the bytes to shown, safe for a terminal. Returns the number of
 * bytes of the character.
 */
static size_t show_character(char shown[static SHOWN_SIZE], const char *bytes, size_t available)
{
	uint32_t code;
	size_t length = utf8_decode(bytes, available, &code);

	if (length == 0) {
		(void)snprintf(shown, SHOWN_SIZE, "\\x%02x", (unsigned char)bytes[0]);
		return 1;
	}
	if (utf8_is_unfit(code))
		escape_code(shown, code);
	else if (code == '\'' || code == '\\')
		(void)snprintf(shown, SHOWN_SIZE, "\\%c", (char)code);
	else
		(void)snprintf(shown, SHOWN_SIZE, "%.*s", (int)length, bytes);
	return length;
}

const char *quote_bytes(const char *bytes, size_t length)
{
	static _Thread_local char ring[RING_SIZE][QUOTED_SIZE];
	static _Thread_local unsigned int turn;
	char *quoted = ring[turn++ % RING_SIZE];
	size_t used = 0;

	quoted[used++] = '\'';
	for (size_t i = 0; i < length;) {
		char shown[SHOWN_SIZE];
		size_t shown_length;

		i += show_character(shown, bytes + i, length - i);
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
