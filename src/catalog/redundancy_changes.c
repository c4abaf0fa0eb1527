/* SPDX-License-Identifier: MIT */
#include "catalog/redundancy_changes.h"

#include <errno.h>
#include <stdlib.h>

#include "base/numbers.h"
#include "catalog/writer.h"

/* Only two kinds of files can become redundant or stop being redundant: files that joined or left a
 * group, and files that were or are the kept copy of a changed group. The files are examined group
 * by group. A file that moved between two groups is found in both groups. */

/* A changed group; or a file and a changed group in which it was or is redundant. */
struct change_place {
	uint64_t id; /* of the group, or of the file */
	size_t group; /* index in DELTA_GROUPS */
	bool before, now; /* whether the file was and is redundant in the group */
};

struct place_list {
	struct change_place *list;
	size_t count;
};

static uint64_t group_of(const struct delta_group *delta)
{
	return delta->now.id ? delta->now.id : delta->before.id;
}

static int compare_places(const void *a, const void *b)
{
	const struct change_place *first = a, *second = b;
	int order = numbers_compare(first->id, second->id);

	return order ? order : numbers_compare(first->group, second->group);
}

static int compare_members(const void *a, const void *b)
{
	const struct member_delta *first = a, *second = b;
	int order = numbers_compare(first->group, second->group);

	if (order == 0)
		order = numbers_compare(first->file, second->file);
	return order ? order : numbers_compare(first->order, second->order);
}

/* Sorts the members by group, then by file. The deltas of one file keep their order. */
static size_t sort_members(struct bytes *list)
{
	struct member_delta *members = (void *)list->data;
	size_t count = list->length / sizeof(*members);

	for (size_t i = 0; i < count; i++)
		members[i].order = i;
	sort_unless_sorted(members, count, sizeof(*members), compare_members);
	return count;
}

static struct change_place *sort_groups(const struct commit_delta *delta, size_t *count)
{
	const struct delta_group *groups = commit_delta_list(delta, DELTA_GROUPS, count);
	struct change_place *places = calloc(*count + 1, sizeof(*places));

	if (!places)
		return NULL;
	for (size_t i = 0; i < *count; i++)
		places[i] = (struct change_place){.id = group_of(&groups[i]), .group = i};
	sort_unless_sorted(places, *count, sizeof(*places), compare_places);
	return places;
}

/* ---- the files of one group ---------------------------------------------------------- */

/* The members that joined or left one group, sorted by file. */
struct group_members {
	const struct member_delta *list;
	size_t count;
	const struct delta_group *delta;
	size_t group; /* index in DELTA_GROUPS */
};

static bool is_redundant_in(const struct group_record *group, uint64_t file)
{
	return group_is_visible(group) && group->kept != file;
}

static void add_file(struct place_list *found, const struct group_members *members, uint64_t file,
		     bool was_member, bool is_member)
{
	struct change_place place = {
		.id = file,
		.group = members->group,
		.before = was_member && is_redundant_in(&members->delta->before, file),
		.now = is_member && is_redundant_in(&members->delta->now, file),
	};

	if (place.before || place.now)
		found->list[found->count++] = place;
}

/* Adds the former or present kept copy. If it is not in members, it was a member before the
 * transaction and still is a member. add_group() adds the files of members. */
static void add_kept(struct place_list *found, const struct group_members *members, uint64_t file)
{
	size_t low = 0, high = members->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (members->list[middle].file < file)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == members->count || members->list[low].file != file)
		add_file(found, members, file, true, true);
}

/* Adds each file of the group once. */
static void add_group(struct place_list *found, const struct group_members *members)
{
	uint64_t before = members->delta->before.kept, now = members->delta->now.kept;

	for (size_t i = 0, end; i < members->count; i = end) {
		const struct member_delta *first = &members->list[i];

		for (end = i + 1; end < members->count; end++) {
			if (members->list[end].file != first->file)
				break;
		}
		add_file(found, members, first->file, !first->joined,
			 members->list[end - 1].joined);
	}
	if (before)
		add_kept(found, members, before);
	if (now && now != before)
		add_kept(found, members, now);
}

/* ---- all files ----------------------------------------------------------------------- */

/* Finds the files that were or are redundant in changed groups, sorted by file. */
static int find_files(const struct commit_delta *delta, struct bytes *member_list,
		      struct place_list *found)
{
	size_t group_count, at = 0, member_count = sort_members(member_list);
	const struct member_delta *members = (const void *)member_list->data;
	const struct delta_group *changed = commit_delta_list(delta, DELTA_GROUPS, &group_count);
	AUTO_FREE struct change_place *groups = sort_groups(delta, &group_count);

	found->count = 0;
	found->list = calloc(member_count + 2 * group_count + 1, sizeof(*found->list));
	if (!groups || !found->list)
		return -ENOMEM;
	for (size_t i = 0; i < group_count; i++) {
		struct group_members of_group = {.delta = &changed[groups[i].group],
						 .group = groups[i].group};

		while (at < member_count && members[at].group < groups[i].id)
			at++;
		if (at < member_count)
			of_group.list = &members[at];
		for (; at < member_count && members[at].group == groups[i].id; at++)
			of_group.count++;
		add_group(found, &of_group);
	}
	sort_unless_sorted(found->list, found->count, sizeof(*found->list), compare_places);
	return 0;
}

int redundancy_changes_find(struct commit_delta *delta, struct bytes *members)
{
	struct place_list found = {0};
	int r = find_files(delta, members, &found);

	for (size_t i = 0, end; r == 0 && i < found.count; i = end) {
		const struct change_place *before = NULL, *now = NULL;
		struct delta_flip change = {.file = found.list[i].id};

		for (end = i; end < found.count && found.list[end].id == change.file; end++) {
			before = found.list[end].before ? &found.list[end] : before;
			now = found.list[end].now ? &found.list[end] : now;
		}
		if (!before == !now)
			continue;
		change.redundant = now;
		change.group = now ? now->group : before->group;
		r = commit_delta_add(delta, DELTA_REDUNDANCY, &change);
	}
	free(found.list);
	return r;
}
