/* SPDX-License-Identifier: MIT */
#include "catalog/redundancy_changes.h"

#include <errno.h>
#include <stdlib.h>

#include "base/numbers.h"

/* Only two kinds of files can become redundant or stop being redundant: files that joined or left a
 * group, and files that were or are the kept copy of a changed group. The files are examined group
 * by group. A file that moved between two groups is found in both groups. */

/* A file that joined or left a group. */
struct event {
	uint64_t group;
	uint64_t file;
	size_t order; /* index in the builder's members */
	bool joined;
};

/* A changed group; or a file and a changed group in which it was or is redundant. */
struct place {
	uint64_t id; /* of the group, or of the file */
	size_t group; /* index in the builder's groups */
	bool before, now; /* whether the file was and is redundant in the group */
};

struct place_list {
	struct place *list;
	size_t count;
};

static uint64_t group_of(const struct delta_group *delta)
{
	return delta->now.id ? delta->now.id : delta->before.id;
}

static int compare_places(const void *a, const void *b)
{
	const struct place *first = a, *second = b;
	int order = numbers_compare(first->id, second->id);

	return order ? order : numbers_compare(first->group, second->group);
}

static int compare_events(const void *a, const void *b)
{
	const struct event *first = a, *second = b;
	int order = numbers_compare(first->group, second->group);

	if (order == 0)
		order = numbers_compare(first->file, second->file);
	return order ? order : numbers_compare(first->order, second->order);
}

static struct event *sort_members(const struct delta_builder *builder, size_t *count)
{
	const struct member_delta *members = (const void *)builder->members.data;
	struct event *events;

	*count = builder->members.length / sizeof(*members);
	events = calloc(*count + 1, sizeof(*events));
	if (!events)
		return NULL;
	for (size_t i = 0; i < *count; i++)
		events[i] = (struct event){members[i].group, members[i].file, i, members[i].joined};
	sort_unless_sorted(events, *count, sizeof(*events), compare_events);
	return events;
}

static struct place *sort_groups(const struct delta_builder *builder, size_t *count)
{
	const struct delta_group *groups = (const void *)builder->groups.data;
	struct place *places;

	*count = builder->groups.length / sizeof(*groups);
	places = calloc(*count + 1, sizeof(*places));
	if (!places)
		return NULL;
	for (size_t i = 0; i < *count; i++)
		places[i] = (struct place){.id = group_of(&groups[i]), .group = i};
	sort_unless_sorted(places, *count, sizeof(*places), compare_places);
	return places;
}

/* ---- the files of one group ---------------------------------------------------------- */

/* The events of one group, sorted by file. */
struct group_events {
	const struct event *list;
	size_t count;
	const struct delta_group *delta;
	size_t group; /* index in the builder's groups */
};

static bool is_redundant_in(const struct group_record *group, uint64_t file)
{
	return group_is_visible(group) && group->kept != file;
}

static void add_file(struct place_list *found, const struct group_events *events, uint64_t file,
		     bool was_member, bool is_member)
{
	struct place place = {
		.id = file,
		.group = events->group,
		.before = was_member && is_redundant_in(&events->delta->before, file),
		.now = is_member && is_redundant_in(&events->delta->now, file),
	};

	if (place.before || place.now)
		found->list[found->count++] = place;
}

/* Adds the former or present kept copy. If it has no events, it was a member before the transaction
 * and still is a member. add_group() adds files with events. */
static void add_kept(struct place_list *found, const struct group_events *events, uint64_t file)
{
	size_t low = 0, high = events->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (events->list[middle].file < file)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == events->count || events->list[low].file != file)
		add_file(found, events, file, true, true);
}

/* Adds each file of the group once. */
static void add_group(struct place_list *found, const struct group_events *events)
{
	uint64_t before = events->delta->before.kept, now = events->delta->now.kept;

	for (size_t i = 0, end; i < events->count; i = end) {
		const struct event *first = &events->list[i];

		for (end = i + 1; end < events->count; end++) {
			if (events->list[end].file != first->file)
				break;
		}
		add_file(found, events, first->file, !first->joined, events->list[end - 1].joined);
	}
	if (before)
		add_kept(found, events, before);
	if (now && now != before)
		add_kept(found, events, now);
}

/* ---- all files ----------------------------------------------------------------------- */

/* Finds the files that were or are redundant in changed groups, sorted by file. */
static int find_files(const struct delta_builder *builder, struct place_list *found)
{
	const struct delta_group *delta = (const void *)builder->groups.data;
	size_t event_count, group_count, at = 0;
	AUTO_FREE struct event *events = sort_members(builder, &event_count);
	AUTO_FREE struct place *groups = sort_groups(builder, &group_count);

	found->count = 0;
	found->list = calloc(event_count + 2 * group_count + 1, sizeof(*found->list));
	if (!events || !groups || !found->list)
		return -ENOMEM;
	for (size_t i = 0; i < group_count; i++) {
		struct group_events of_group = {.delta = &delta[groups[i].group],
						.group = groups[i].group};

		while (at < event_count && events[at].group < groups[i].id)
			at++;
		of_group.list = &events[at];
		while (at < event_count && events[at].group == groups[i].id)
			at++;
		of_group.count = (size_t)(&events[at] - of_group.list);
		add_group(found, &of_group);
	}
	sort_unless_sorted(found->list, found->count, sizeof(*found->list), compare_places);
	return 0;
}

int redundancy_changes_find(struct delta_builder *builder)
{
	struct place_list found = {0};
	int r = find_files(builder, &found);

	for (size_t i = 0, end; r == 0 && i < found.count; i = end) {
		const struct place *before = NULL, *now = NULL;
		struct delta_flip change = {.file = found.list[i].id};

		for (end = i; end < found.count && found.list[end].id == change.file; end++) {
			before = found.list[end].before ? &found.list[end] : before;
			now = found.list[end].now ? &found.list[end] : now;
		}
		if (!before == !now)
			continue;
		change.redundant = now;
		change.group = now ? now->group : before->group;
		r = bytes_append(&builder->redundancy, &change, sizeof(change));
	}
	free(found.list);
	return r;
}
