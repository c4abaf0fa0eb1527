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

/* ---- sets of numbers --------------------------------------------------------------- */

#define FIRST_SLOTS 64

/* Returns the slot of a number, or the free slot in which it would be. */
static uint64_t *find_slot(uint64_t *slots, size_t capacity, uint64_t number)
{
	size_t i = (size_t)number & (capacity - 1);

	while (slots[i] && slots[i] != number)
		i = (i + 1) & (capacity - 1);
	return &slots[i];
}

/* Makes room for another number: at most three quarters of the slots are in use. */
static int reserve_slot(struct number_set *set)
{
	size_t capacity = set->capacity ? 2 * set->capacity : FIRST_SLOTS;
	uint64_t *slots;

	if (set->count < set->capacity / 4 * 3)
		return 0;
	slots = calloc(capacity, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < set->capacity; i++) {
		if (set->slots[i])
			*find_slot(slots, capacity, set->slots[i]) = set->slots[i];
	}
	free(set->slots);
	set->slots = slots;
	set->capacity = capacity;
	return 0;
}

int number_set_add(struct number_set *set, uint64_t number)
{
	int r = reserve_slot(set);
	uint64_t *slot;

	if (r < 0)
		return r;
	slot = find_slot(set->slots, set->capacity, number);
	if (*slot)
		return 0;
	*slot = number;
	set->count++;
	return 1;
}

bool number_set_has(const struct number_set *set, uint64_t number)
{
	/* 0 marks a free slot */
	return number != 0 && set->capacity > 0 &&
	       *find_slot(set->slots, set->capacity, number) == number;
}

void number_set_free(struct number_set *set)
{
	free(set->slots);
	*set = (struct number_set){.slots = NULL};
}
