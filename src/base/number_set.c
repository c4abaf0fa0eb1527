/* SPDX-License-Identifier: MIT */
#include "base/number_set.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_CAPACITY 64

/* Returns the slot of a number, or the free slot in which it would be. */
static uint64_t *find_slot(uint64_t *slots, size_t capacity, uint64_t number)
{
	size_t i = (size_t)number & (capacity - 1);

	while (slots[i] && slots[i] != number)
		i = (i + 1) & (capacity - 1);
	return &slots[i];
}

/* Makes room for another number: at most three quarters of the slots are in use. */
static int reserve(struct number_set *set)
{
	size_t capacity = set->capacity ? 2 * set->capacity : FIRST_CAPACITY;
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
	int r = reserve(set);
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
