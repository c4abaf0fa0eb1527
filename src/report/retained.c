/* SPDX-License-Identifier: MIT */
#include "report/retained.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/numbers.h"
#include "catalog/extents.h"
#include "catalog/query.h"
#include "catalog/scan.h"

/* A member of the group that shares extents with others. */
struct sharer {
	uint64_t sharing; /* as in struct extent_record */
	uint64_t joint;
	bool is_redundant;
};

/* The members of a group, as they are passed. */
struct members {
	const uint64_t *redundant; /* ids of the redundant files, ascending */
	size_t redundant_count;
	struct bytes sharers; /* of struct sharer */
	uint64_t freed; /* own bytes of the redundant files */
};

/* Lists the redundant files, each once. */
static uint64_t *list_redundant(const struct copies *copies, size_t *count)
{
	uint64_t *list = calloc(copies->count ? copies->count : 1, sizeof(*list));

	*count = 0;
	for (size_t i = 0; list && i < copies->count; i++) {
		if (copies->list[i].fate == FATE_REDUNDANT)
			list[(*count)++] = copies->list[i].file;
	}
	if (list)
		*count = numbers_sort_once(list, *count);
	return list;
}

static int pass_member(struct members *members, struct catalog_reader *reader, uint64_t file,
		       uint64_t size)
{
	struct extent_record extents = {.own = size};
	struct sharer sharer;
	int r = catalog_get_extents(reader, file, &extents);

	if (r < 0 && r != -ENOENT)
		return r;
	sharer.sharing = extents.sharing;
	sharer.joint = extents.joint;
	sharer.is_redundant = bsearch(&file, members->redundant, members->redundant_count,
				      sizeof(file), numbers_by_value);
	if (sharer.is_redundant)
		members->freed = size_add(members->freed, extents.own);
	return extents.sharing ? bytes_append(&members->sharers, &sharer, sizeof(sharer)) : 0;
}

static int by_sharing(const void *a, const void *b)
{
	const struct sharer *x = a, *y = b;

	return numbers_compare(x->sharing, y->sharing);
}

/* Adds what files hold together that are all redundant. */
static void add_joint(struct members *members)
{
	struct sharer *list = (void *)members->sharers.data;
	size_t count = members->sharers.length / sizeof(*list), next;
	bool all;

	sort_unless_sorted(list, count, sizeof(*list), by_sharing);
	for (size_t i = 0; i < count; i = next) {
		all = true;
		for (next = i; next < count && list[next].sharing == list[i].sharing; next++)
			all &= list[next].is_redundant;
		if (all)
			members->freed = size_add(members->freed, list[i].joint);
	}
}

static int pass_members(struct members *members, struct catalog_reader *reader,
			const struct group_record *group)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	uint64_t file;
	int r = catalog_scan_members(reader, group->id, 0, &scan);

	while (r == 0 && (r = catalog_next_member(scan, &file)) == 0)
		r = pass_member(members, reader, file, group->size);
	return r == -ENOENT ? 0 : r;
}

/* Returns whether the redundant copies are those of the index. */
static bool is_choice_of_index(const struct group_record *indexed, const struct copies *copies)
{
	return copies->redundant == indexed->inodes - 1 && copies->list[0].file == indexed->kept;
}

int retained_find(struct catalog_reader *reader, struct group_record *group,
		  const struct copies *copies)
{
	AUTO_FREE uint64_t *redundant = NULL;
	struct members members = {0};
	struct group_record indexed;
	int r;

	if (!group->maps || copies->redundant == 0)
		return 0;
	r = catalog_get_group(reader, group->id, &indexed);
	if (r < 0)
		return r;
	if (is_choice_of_index(&indexed, copies)) {
		group->retained = indexed.retained;
		return 0;
	}
	redundant = list_redundant(copies, &members.redundant_count);
	if (!redundant)
		return -ENOMEM;
	members.redundant = redundant;
	r = pass_members(&members, reader, group);
	if (r == 0)
		add_joint(&members);
	group->retained = size_subtract(copies_redundant_bytes(copies, group), members.freed);
	bytes_free(&members.sharers);
	return r;
}
