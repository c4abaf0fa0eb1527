/* SPDX-License-Identifier: MIT */
#ifndef BASE_NUMBERS_H
#define BASE_NUMBERS_H

/* Reading numbers, and putting them and what is ordered by them in order. Any thread. */

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

/* The number that so many decimal digits stand for. 0 or -ERANGE, then *number is not set. */
MUST_CHECK int number_read(const char *digits, size_t count, uint64_t *number);

/* The decimal number that a file of proc(5) begins with; UINT64_MAX where it cannot be read. */
uint64_t number_read_file(const char *path);

/* Below, at or above 0, as qsort(3) wants it. */
static inline int numbers_compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* The same of two uint64_t in a list, for qsort(3) and bsearch(3). */
int numbers_by_value(const void *a, const void *b);

/* Sorts a list of numbers and leaves each once; returns how many are left. list may be NULL where
 * count is 0. */
size_t numbers_sort_once(uint64_t *list, size_t count);

/* As qsort(3), for what often stands in order already. list may be NULL where count is 0. */
void sort_unless_sorted(void *list, size_t count, size_t element_bytes,
			int (*order)(const void *a, const void *b));

#endif
