/* SPDX-License-Identifier: MIT */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

/* Characters in names that may be any bytes. Pure functions; any thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decodes the first character of available bytes (one or more).
 *
 * Returns how many bytes it has, or 0 where they do not begin with UTF-8: overlong
 * forms, surrogates and codes past U+10FFFF are none (RFC 3629).
 */
size_t utf8_decode(const void *bytes, size_t available, uint32_t *code);

/* How many of length bytes stay so that no more than limit do and no character is split. Bytes that
 * are not UTF-8 are cut anywhere. */
size_t utf8_cut(const void *bytes, size_t length, size_t limit);

/* Whether a terminal would obey the character, or a reader be misled by it: C0 and C1
 * controls, line and paragraph separators, invisible characters, and what turns the
 * direction of text (Unicode's Bidi_Control). The joiners U+200C and U+200D are
 * fit: scripts and emoji need them.
 */
bool utf8_is_unfit(uint32_t code);

#endif
