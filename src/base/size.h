/* SPDX-License-Identifier: MIT */

/* Sizes as people write and read them. Any thread; nothing blocks. */
#ifndef BASE_SIZE_H
#define BASE_SIZE_H

#include <stdint.h>

#include "base/attributes.h"

/* Room for any size that size_format() writes, with its NUL. */
#define SIZE_TEXT_MAX 16

/* What size_parse() understands, for messages. */
#define SIZE_EXPECTED "a size such as 4096, 64k, 10M or 2GiB"

/* Reads a size: digits, then nothing or a unit in upper or lower case. k, M, G,
 * T, P, E and KiB, MiB ... are powers of 1024; kB, MB ... powers of 1000; B is one.
 *
 * text		borrowed
 * bytes	set only on success
 *
 * Returns 0, -EINVAL where this is no size, or -ERANGE where it is past 2^64 - 1.
 */
MUST_CHECK int size_parse(const char *text, uint64_t *bytes);

/* Writes a size for people, with three digits or so: "0 B", "1023 B", "1.5 KiB",
 * "12 MiB". Rounded to the nearest. Returns text.
 */
const char *size_format(char text[static SIZE_TEXT_MAX], uint64_t bytes);

#endif
