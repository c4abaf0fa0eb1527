/* SPDX-License-Identifier: MIT */
#include "view/group_marks.h"

#include <errno.h>
#include <stdlib.h>

/* A cookie has the ordinal in its lower half. Numbers of listings come again after 2^30 of them. */
#define ORDINAL_BITS 32
#define LISTING_MASK ((UINT64_C(1) << 30) - 1)

static void marks_free(struct group_marks *marks)
{
	if (!marks)
		return;
	free(marks->calls);
	free(marks->last);
	free(marks);
}

void group_listings_init(struct group_listings *listings)
{
	*listings = (struct group_listings){.lock = PTHREAD_MUTEX_INITIALIZER};
}

void group_listings_deinit(struct group_listings *listings)
{
	for (size_t i = 0; i < GROUP_LISTINGS_MAX; i++)
		marks_free(listings->kept[i]);
	(void)pthread_mutex_destroy(&listings->lock);
}

/* Those of this listing; NULL: they are not remembered. */
static struct group_marks *take_kept(struct group_listings *listings, uint64_t group,
				     uint64_t holder, uint64_t listing)
{
	struct group_marks **slot = &listings->kept[listing % GROUP_LISTINGS_MAX], *marks = NULL;

	(void)pthread_mutex_lock(&listings->lock);
	if (*slot && (*slot)->listing == listing && (*slot)->group == group &&
	    (*slot)->holder == holder)
		marks = TAKE(*slot);
	(void)pthread_mutex_unlock(&listings->lock);
	return marks;
}

static uint64_t next_number(struct group_listings *listings)
{
	uint64_t number;

	(void)pthread_mutex_lock(&listings->lock);
	number = ++listings->last & LISTING_MASK;
	(void)pthread_mutex_unlock(&listings->lock);
	return number;
}

uint64_t group_marks_ordinal(uint64_t cookie)
{
	return cookie & ((UINT64_C(1) << ORDINAL_BITS) - 1);
}

int group_marks_take(struct group_listings *listings, uint64_t group, uint64_t holder,
		     uint64_t cookie, struct group_marks **marks)
{
	uint64_t listing = cookie >> ORDINAL_BITS;

	*marks = cookie ? take_kept(listings, group, holder, listing) : NULL;
	if (*marks)
		return 0;
	*marks = calloc(1, sizeof(**marks));
	if (!*marks)
		return -ENOMEM;
	(*marks)->group = group;
	(*marks)->holder = holder;
	(*marks)->listing = cookie ? listing : next_number(listings);
	return 0;
}

void group_marks_keep(struct group_listings *listings, struct group_marks *marks)
{
	struct group_marks **slot;

	if (!marks)
		return;
	(void)pthread_mutex_lock(&listings->lock);
	slot = &listings->kept[marks->listing % GROUP_LISTINGS_MAX];
	marks_free(*slot);
	*slot = marks;
	(void)pthread_mutex_unlock(&listings->lock);
}

uint64_t group_marks_cookie(const struct group_marks *marks, uint64_t ordinal)
{
	return marks->listing << ORDINAL_BITS | ordinal;
}

/* Makes room for one element more; 0 or -ENOMEM. */
static int grow(void **array, size_t count, size_t *capacity, size_t element_size)
{
	size_t wanted = *capacity ? *capacity * 2 : 8;
	void *grown;

	if (count < *capacity)
		return 0;
	grown = reallocarray(*array, wanted, element_size);
	if (!grown)
		return -ENOMEM;
	*array = grown;
	*capacity = wanted;
	return 0;
}

int group_marks_name(struct group_marks *marks, const struct position *position)
{
	void *array = marks->last;
	int r = grow(&array, marks->last_count, &marks->last_capacity, sizeof(*marks->last));

	if (r < 0)
		return r;
	marks->last = array;
	marks->last[marks->last_count++] = *position;
	return 0;
}

/* What it walks back over is known already. */
int group_marks_call(struct group_marks *marks, const struct mark *mark)
{
	void *array = marks->calls;
	int r;

	marks->last_base = mark->ordinal;
	marks->last_count = 0;
	if (marks->calls_count && marks->calls[marks->calls_count - 1].ordinal >= mark->ordinal)
		return 0;
	r = grow(&array, marks->calls_count, &marks->calls_capacity, sizeof(*marks->calls));
	if (r < 0)
		return r;
	marks->calls = array;
	marks->calls[marks->calls_count++] = *mark;
	return 0;
}

struct mark group_marks_nearest(const struct group_marks *marks, uint64_t ordinal)
{
	size_t low = 0, high = marks->calls_count;

	if (ordinal > marks->last_base && ordinal - marks->last_base <= marks->last_count)
		return (struct mark){ordinal, marks->last[ordinal - marks->last_base - 1]};
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (marks->calls[middle].ordinal <= ordinal)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? marks->calls[low - 1] : (struct mark){0};
}
