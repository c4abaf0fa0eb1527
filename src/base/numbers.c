/* SPDX-License-Identifier: MIT */
#include "base/numbers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

int number_read(const char *digits, size_t count, uint64_t *number)
{
	uint64_t read = 0;

	for (size_t i = 0; i < count; i++) {
		if (__builtin_mul_overflow(read, 10, &read) ||
		    __builtin_add_overflow(read, (uint64_t)(digits[i] - '0'), &read))
			return -ERANGE;
	}
	*number = read;
	return 0;
}

uint64_t number_read_file(const char *path)
{
	AUTO_FCLOSE FILE *file = fopen(path, "re");
	char text[32] = "", *end = text;
	uint64_t number = file && fgets(text, sizeof(text), file) ? strtoull(text, &end, 10) : 0;

	return end > text ? number : UINT64_MAX;
}

int numbers_by_value(const void *a, const void *b)
{
	return numbers_compare(*(const uint64_t *)a, *(const uint64_t *)b);
}

size_t numbers_sort_once(uint64_t *list, size_t count)
{
	size_t kept = 0;

	if (count > 1)
		qsort(list, count, sizeof(*list), numbers_by_value);
	for (size_t i = 0; i < count; i++) {
		if (kept == 0 || list[kept - 1] != list[i])
			list[kept++] = list[i];
	}
	return kept;
}

void sort_unless_sorted(void *list, size_t count, size_t element_bytes,
			int (*order)(const void *a, const void *b))
{
	const char *at = list;
	size_t i = 1;

	for (; i < count; i++, at += element_bytes) {
		if (order(at, at + element_bytes) > 0)
			break;
	}
	if (i < count)
		qsort(list, count, element_bytes, order);
}
