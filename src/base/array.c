/* SPDX-License-Identifier: MIT */
#include "base/array.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 16

int array_reserve(void *items, size_t *capacity, size_t count, size_t item_bytes)
{
	size_t wanted = *capacity > 0 ? *capacity : FIRST_CAPACITY;
	void *list;

	if (count <= *capacity)
		return 0;
	if (count > SIZE_MAX / 2 / item_bytes)
		return -ENOMEM;
	while (wanted < count)
		wanted *= 2;
	/* items points to a pointer of any type: only copying its bytes is allowed by the aliasing
	 * rules of C. */
	memcpy(&list, items, sizeof(list));
	list = reallocarray(list, wanted, item_bytes);
	if (!list)
		return -ENOMEM;
	memcpy(items, &list, sizeof(list));
	*capacity = wanted;
	return 0;
}
