/* SPDX-License-Identifier: MIT */
#ifndef BASE_NUMBERS_H
#define BASE_NUMBERS_H

/* Parsing and formatting of numbers and sizes, and sums of sizes. Any thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

/* Parses count decimal digits. Returns 0, or -ERANGE without setting *number. */
MUST_CHECK int number_read(const char *digits, size_t count, uint64_t *number);

/* Parses count digits, at most 16, of a hexadecimal number in lower case. Returns false for other
 * characters, and does not look behind them. */
MUST_CHECK bool number_read_hex(const char *digits, size_t count, uint64_t *number);

/* Returns the decimal number at the beginning of a file of proc(5) or cgroups(7), or UINT64_MAX if
 * the file cannot be read or has other text, such as "max". */
uint64_t number_read_file(const char *path);

/* Buffer size for number_format(), including the NUL. */
#define NUMBER_TEXT_MAX 28

/* Formats a number with a comma between thousands in every locale. Returns text. */
const char *number_format(char text[static NUMBER_TEXT_MAX], uint64_t number);

/* Returns the form of a word for this number: "file" or "files". */
static inline const char *plural(uint64_t number, const char *one, const char *many)
{
	return number == 1 ? one : many;
}

/* Buffer size for size_format(), including the NUL. */
#define SIZE_TEXT_MAX 16

/* The input of size_parse(), for messages. */
#define SIZE_EXPECTED "a size such as 4096, 64k, 10M or 2GiB"

/* Parses a size: digits, then optionally a unit in upper or lower case. k, M, G, T, P, E and KiB,
 * MiB ... are powers of 1024; kB, MB ... are powers of 1000; B is 1.
 *
 * text		borrowed
 * bytes	set only on success
 *
 * Returns 0, -EINVAL if text is no size, or -ERANGE above 2^64 - 1.
 */
MUST_CHECK int size_parse(const char *text, uint64_t *bytes);

/* Formats a size for people, with at most three digits: "0 B", "999 B", "0.98 KiB", "1.5 KiB",
 * "12 MiB". Rounds to the nearest. A number that would need four digits has the next unit. Returns
 * text.
 */
const char *size_format(char text[static SIZE_TEXT_MAX], uint64_t bytes);

/* Adds two sizes. Returns 2^64 - 1 for a larger sum, which sparse files can reach. */
static inline uint64_t size_add(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* Subtracts a size. Returns 0 if b is larger. */
static inline uint64_t size_subtract(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Multiplies a size. Returns 2^64 - 1 for a larger product. */
static inline uint64_t size_multiply(uint64_t count, uint64_t bytes)
{
	uint64_t product;

	return __builtin_mul_overflow(count, bytes, &product) ? UINT64_MAX : product;
}

/* A sum of sizes that stays exact above 2^64, so that sizes can be subtracted again. */
struct size_sum {
	uint64_t low;
	uint64_t high; /* in units of 2^64 */
};

static inline void size_sum_add(struct size_sum *sum, uint64_t bytes)
{
	sum->high += __builtin_add_overflow(sum->low, bytes, &sum->low);
}

/* Subtracts a size that was added before. */
static inline void size_sum_subtract(struct size_sum *sum, uint64_t bytes)
{
	sum->high -= __builtin_sub_overflow(sum->low, bytes, &sum->low);
}

/* Returns the sum, or 2^64 - 1 if it is larger. */
static inline uint64_t size_sum_bytes(const struct size_sum *sum)
{
	return sum->high > 0 ? UINT64_MAX : sum->low;
}

static inline bool size_sum_equals(const struct size_sum *a, const struct size_sum *b)
{
	return a->low == b->low && a->high == b->high;
}

#endif
