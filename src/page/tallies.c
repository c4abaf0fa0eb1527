/* SPDX-License-Identifier: MIT */
#include "page/tallies.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/numbers.h"
#include "base/sort.h"

#define DAY_SECONDS INT64_C(86400)
#define YEAR_SECONDS (DAY_SECONDS * 1461 / 4)

static const struct {
	int64_t seconds; /* upper bound, excluded */
	const char *name;
} ages_known[] = {
	[AGE_FUTURE] = {0, "in the future"},
	[AGE_DAY] = {DAY_SECONDS, "a day"},
	[AGE_WEEK] = {7 * DAY_SECONDS, "a week"},
	[AGE_MONTH] = {30 * DAY_SECONDS, "a month"},
	[AGE_QUARTER] = {91 * DAY_SECONDS, "3 months"},
	[AGE_YEAR] = {YEAR_SECONDS, "a year"},
	[AGE_2_YEARS] = {2 * YEAR_SECONDS, "2 years"},
	[AGE_5_YEARS] = {5 * YEAR_SECONDS, "5 years"},
	[AGE_10_YEARS] = {10 * YEAR_SECONDS, "10 years"},
	[AGE_OLDER] = {INT64_MAX, "more"},
};

enum age age_of(struct timespec then, struct timespec now)
{
	int64_t past;
	enum age age = AGE_DAY;

	if (__builtin_sub_overflow(clock_ns(now), clock_ns(then), &past))
		return AGE_OLDER; /* the time is hundreds of years before 1970 */
	if (past < 0)
		return AGE_FUTURE;
	while (age < AGE_OLDER && past / SECOND_NS >= ages_known[age].seconds)
		age++;
	return age;
}

const char *age_name(enum age age)
{
	return ages_known[age].name;
}

void ages_add(struct ages *ages, enum age age, uint64_t bytes)
{
	ages->files[age]++;
	ages->bytes[age] = size_add(ages->bytes[age], bytes);
}

/* ---- kinds ---------------------------------------------------------------------------------- */

void kinds_free(struct kinds *kinds)
{
	free(kinds->list);
	memset(kinds, 0, sizeof(*kinds));
}

void kind_name(char name[static KIND_NAME_MAX + 1], const char *file, size_t length)
{
	const char *dot = memrchr(file, '.', length);
	size_t count = dot && dot != file ? (size_t)(file + length - dot) - 1 : 0;
	bool has_letter = false;

	name[0] = '\0';
	if (count > KIND_NAME_MAX)
		return;
	for (size_t i = 0; i < count; i++) {
		char byte = dot[1 + i];
		char lower = (char)(byte | 0x20);
		bool letter = lower >= 'a' && lower <= 'z';

		if (!letter && !(byte >= '0' && byte <= '9')) {
			name[0] = '\0';
			return;
		}
		name[i] = letter ? lower : byte;
		has_letter |= letter;
	}
	name[has_letter ? count : 0] = '\0';
}

/* Returns the place of the first kind whose name is not before the given one. */
static size_t find_place(const struct kinds *kinds, const char *name)
{
	size_t low = 0;
	size_t high = kinds->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(kinds->list[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int find_kind(struct kinds *kinds, const char *name, struct kind **kind)
{
	size_t at = find_place(kinds, name);
	int r;

	*kind = kinds->list + at;
	if (at < kinds->count && strcmp(kinds->list[at].name, name) == 0)
		return 0;
	/* the last place is for files without an extension */
	if (kinds->count >= KINDS_MAX - 1 && *name != '\0')
		return find_kind(kinds, "", kind);
	r = array_reserve(&kinds->list, &kinds->capacity, kinds->count + 1, sizeof(*kinds->list));
	if (r < 0)
		return r;
	*kind = kinds->list + at;
	memmove(*kind + 1, *kind, (kinds->count++ - at) * sizeof(**kind));
	**kind = (struct kind){0};
	memcpy((*kind)->name, name, strlen(name));
	return 0;
}

int kinds_add_file(struct kinds *kinds, const char *name, uint64_t bytes)
{
	struct kind *kind;
	int r = find_kind(kinds, name, &kind);

	if (r == 0)
		kind->bytes = size_add(kind->bytes, bytes);
	return r;
}

int kinds_add_copy(struct kinds *kinds, const char *name, uint64_t bytes)
{
	struct kind *kind;
	int r = find_kind(kinds, name, &kind);

	if (r < 0)
		return r;
	kind->redundant = size_add(kind->redundant, bytes);
	kind->copies++;
	return 0;
}

static int compare_redundant(const void *left, const void *right)
{
	const struct kind *a = left;
	const struct kind *b = right;
	int by_bytes = numbers_compare(b->redundant, a->redundant);

	return by_bytes != 0 ? by_bytes : strcmp(a->name, b->name);
}

void kinds_rank(struct kinds *kinds)
{
	sort_unless_sorted(kinds->list, kinds->count, sizeof(*kinds->list), compare_redundant);
}
