/* SPDX-License-Identifier: MIT */
#ifndef BASE_SORT_H
#define BASE_SORT_H

/* Sorts numbers and records. Pure code, any thread. A list may be NULL if its count is 0. */

#include <stddef.h>
#include <stdint.h>

/* Compares two numbers. Returns a value below, equal to or above 0. */
static inline int numbers_compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* Compares two uint64_t, for qsort(3) and bsearch(3). */
int numbers_by_value(const void *a, const void *b);

/* Compares two const char * by bytes, for qsort(3) and bsearch(3). */
int texts_by_bytes(const void *a, const void *b);

/* Sorts a list of numbers and removes duplicates. Returns the new count. */
size_t numbers_sort_once(uint64_t *list, size_t count);

/* Sorts like qsort(3), but is fast for a list that is already sorted. */
void sort_unless_sorted(void *list, size_t count, size_t element_bytes,
			int (*order)(const void *a, const void *b));

/* Returns the index of the first element of a sorted list that does not precede the wanted one, or
 * count. order gets an element and the wanted one. */
size_t sorted_place(const void *wanted, const void *list, size_t count, size_t element_bytes,
		    int (*order)(const void *element, const void *wanted));

/* The key of a record, compared in this order, and the index of the record in its list. */
struct sort_key {
	uint64_t major, minor;
	size_t index;
};

struct sort_order {
	/* Sets major and minor. */
	void (*set_key)(const void *record, struct sort_key *key);
	/* Compares two records, for qsort(3). If two keys differ, they order their records. */
	int (*compare)(const void *a, const void *b);
};

/* Sorts count records of record_bytes each by numbers, several times faster than qsort(3). Uses
 * memory for two keys of each record, unless the records are few and small. If memory is short,
 * uses qsort(3). */
void key_sort(void *list, size_t count, size_t record_bytes, const struct sort_order *order);

#endif
