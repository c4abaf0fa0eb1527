/* SPDX-License-Identifier: MIT */
#include "report/retained.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/numbers.h"
#include "catalog/extents.h"
#include "catalog/query.h"

/* The extents of the redundant files of a group. */
struct redundant {
	struct bytes sharing; /* of struct extent_record: of the files that share extents */
	uint64_t freed; /* own bytes */
};

/* Returns whether a redundant file has hard links that are not among the copies. */
static bool any_is_held_outside(const struct copies *copies)
{
	bool any = false;

	for (size_t i = 0, end; !any && i < copies->count; i = end) {
		end = copies_inode_end(copies, i);
		any = copies->list[i].fate == FATE_REDUNDANT &&
		      copies_are_held_outside(copies, i, end);
	}
	return any;
}

/* Lists the redundant files whose removal can free bytes, each once. */
static uint64_t *list_redundant(const struct copies *copies, size_t *count)
{
	uint64_t *list = calloc(copies->count ? copies->count : 1, sizeof(*list));

	*count = 0;
	for (size_t i = 0, end; list && i < copies->count; i = end) {
		end = copies_inode_end(copies, i);
		if (copies->list[i].fate == FATE_REDUNDANT &&
		    !copies_are_held_outside(copies, i, end))
			list[(*count)++] = copies->list[i].file;
	}
	return list;
}

static int add_file(struct redundant *redundant, struct catalog_reader *reader, uint64_t file,
		    uint64_t size)
{
	struct extent_record extents = {.own = size};
	int r = catalog_get_extents(reader, file, &extents);

	if (r < 0 && r != -ENOENT)
		return r;
	redundant->freed = size_add(redundant->freed, extents.own);
	return extents.sharing ? bytes_append(&redundant->sharing, &extents, sizeof(extents)) : 0;
}

static int by_sharing(const void *a, const void *b)
{
	const struct extent_record *x = a, *y = b;

	return numbers_compare(x->sharing, y->sharing);
}

/* Adds what files hold together that are all redundant. */
static void add_joint(struct redundant *redundant)
{
	struct extent_record *list = (void *)redundant->sharing.data;
	size_t count = redundant->sharing.length / sizeof(*list), next;

	sort_unless_sorted(list, count, sizeof(*list), by_sharing);
	for (size_t i = 0; i < count; i = next) {
		for (next = i + 1; next < count && list[next].sharing == list[i].sharing; next++)
			continue;
		if (next - i == list[i].sharers)
			redundant->freed = size_add(redundant->freed, list[i].joint);
	}
}

/* Returns whether the redundant copies are those of the index. */
static bool is_choice_of_index(const struct group_record *indexed, const struct copies *copies)
{
	return copies->redundant == indexed->inodes - 1 && copies->list[0].file == indexed->kept &&
	       !copies->share_in_places;
}

int retained_find(struct catalog_reader *reader, struct group_record *group,
		  const struct copies *copies)
{
	AUTO_FREE uint64_t *files = NULL;
	struct redundant redundant = {0};
	struct group_record indexed;
	bool held = any_is_held_outside(copies);
	size_t count;
	int r;

	if (copies->redundant == 0 || (!group->maps && !held))
		return 0;
	r = catalog_get_group(reader, group->id, &indexed);
	if (r < 0)
		return r;
	if (!held && is_choice_of_index(&indexed, copies)) {
		group->retained = indexed.retained;
		return 0;
	}
	files = list_redundant(copies, &count);
	r = files ? 0 : -ENOMEM;
	for (size_t i = 0; r == 0 && i < count; i++)
		r = add_file(&redundant, reader, files[i], group->size);
	add_joint(&redundant);
	group->retained = size_subtract(copies_redundant_bytes(copies, group), redundant.freed);
	bytes_free(&redundant.sharing);
	return r;
}
