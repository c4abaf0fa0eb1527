/* SPDX-License-Identifier: MIT */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

/* Decoding of UTF-8 in names, which can have any bytes. Pure functions; any thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
