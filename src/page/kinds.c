/* SPDX-License-Identifier: MIT */
#include "page/kinds.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/numbers.h"
#include "base/size.h"

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
