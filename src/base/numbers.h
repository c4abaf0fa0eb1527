/* SPDX-License-Identifier: MIT */
#ifndef BASE_NUMBERS_H
#define BASE_NUMBERS_H

/* Parses and sorts numbers. Any thread. */

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

/* Parses count decimal digits. Returns 0, or -ERANGE without setting *number. */
MUST_CHECK int number_read(const char *digits, size_t count, uint64_t *number);

/* Returns the decimal number at the beginning of a file of proc(5) or cgroups(7), or UINT64_MAX if
 * the file cannot be read or has other text, such as "max". */
uint64_t number_read_file(const char *path);

/* Compares two numbers. Returns a value below, equal to or above 0. */
static inline int numbers_compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* Compares two uint64_t, for qsort(3) and bsearch(3). */
int numbers_by_value(const void *a, const void *b);

/* Sorts a list of numbers and removes duplicates. Returns the new count. list may be NULL if count
 * is 0. */
size_t numbers_sort_once(uint64_t *list, size_t count);

/* Sorts like qsort(3), but is fast for a list that is already sorted. list may be NULL if count is
 * 0.
 */
void sort_unless_sorted(void *list, size_t count, size_t element_bytes,
			int (*order)(const void *a, const void *b));

#endif
