/* SPDX-License-Identifier: MIT */
#include "view/flips.h"

#include <errno.h>
#include <stdlib.h>

#include "base/numbers.h"

/* The news of a file and a group. The kept files of a group stand in it once more, behind all news
 * that they have: without any, they were in the group before and are now. */
struct candidate {
	uint64_t file;
	uint64_t group;
	size_t order;
	bool was_member, is_member;
};

static uint64_t group_of(const struct news_group *news)
{
	return news->now.id ? news->now.id : news->before.id;
}

static int compare_groups(const void *a, const void *b)
{
	const struct news_group *const *first = a, *const *second = b;

	return numbers_compare(group_of(*first), group_of(*second));
}

static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *first = a, *second = b;
	int order = numbers_compare(first->file, second->file);

	if (order == 0)
		order = numbers_compare(first->group, second->group);
	return order ? order : numbers_compare(first->order, second->order);
}

static int compare_to_group(const void *key, const void *element)
{
	const struct news_group *const *news = element;

	return numbers_compare(*(const uint64_t *)key, group_of(*news));
}

/* By id. */
struct groups {
	const struct news_group **list;
	size_t count;
};

static const struct news_group **sort_groups(const struct catalog_news *news)
{
	const struct news_group **groups = calloc(news->group_count + 1, sizeof(const void *));

	if (!groups)
		return NULL;
	for (size_t i = 0; i < news->group_count; i++)
		groups[i] = &news->groups[i];
	qsort(groups, news->group_count, sizeof(const void *), compare_groups);
	return groups;
}

static struct candidate *list_candidates(const struct catalog_news *news, size_t *count)
{
	struct candidate *list =
		calloc(news->member_count + 2 * news->group_count + 1, sizeof(*list));

	*count = 0;
	if (!list)
		return NULL;
	for (size_t i = 0; i < news->member_count; i++) {
		const struct news_member *member = &news->members[i];

		list[(*count)++] = (struct candidate){member->file, member->group, i,
						      !member->joined, member->joined};
	}
	for (size_t i = 0; i < news->group_count; i++) {
		const struct news_group *group = &news->groups[i];
		uint64_t id = group_of(group);

		if (group->before.kept)
			list[(*count)++] =
				(struct candidate){group->before.kept, id, SIZE_MAX, true, true};
		if (group->now.kept && group->now.kept != group->before.kept)
			list[(*count)++] =
				(struct candidate){group->now.kept, id, SIZE_MAX, true, true};
	}
	qsort(list, *count, sizeof(*list), compare_candidates);
	return list;
}

static bool is_redundant_in(const struct group_record *group, uint64_t file)
{
	return group_is_visible(group) && group->kept != file;
}

/* Takes all that is said of one file and group, which begins the list: how much that is. */
static size_t take_group(const struct candidate *list, size_t count, struct candidate *taken)
{
	size_t end = 1;

	*taken = list[0];
	while (end < count && list[end].file == list[0].file && list[end].group == list[0].group) {
		if (list[end].order != SIZE_MAX)
			taken->is_member = list[end].is_member;
		end++;
	}
	return end;
}

/* Finds out about the file that begins the list; the number of its candidates. The flip has no group
 * where there was none. */
static size_t take_file(const struct candidate *list, size_t count, const struct groups *groups,
			struct flip *flip)
{
	const struct group_record *before = NULL, *now = NULL;
	size_t at = 0;

	while (at < count && list[at].file == list[0].file) {
		struct candidate taken;
		const struct news_group *const *found;

		at += take_group(list + at, count - at, &taken);
		found = bsearch(&taken.group, groups->list, groups->count, sizeof(const void *),
				compare_to_group);
		if (!found)
			continue;
		if (taken.was_member && is_redundant_in(&(*found)->before, taken.file))
			before = &(*found)->before;
		if (taken.is_member && is_redundant_in(&(*found)->now, taken.file))
			now = &(*found)->now;
	}
	*flip = (struct flip){.file = list[0].file, .redundant = now != NULL};
	if (!before != !now)
		flip->group = now ? now : before;
	return at;
}

int flips_of_news(const struct catalog_news *news, struct flip **flips, size_t *count)
{
	const struct groups groups = {sort_groups(news), news->group_count};
	size_t left;
	struct candidate *list = list_candidates(news, &left), *at = list;
	struct flip *found = list && groups.list ? calloc(left + 1, sizeof(*found)) : NULL;

	*count = 0;
	*flips = found;
	while (found && left) {
		size_t taken = take_file(at, left, &groups, &found[*count]);

		at += taken;
		left -= taken;
		*count += found[*count].group != NULL;
	}
	free(groups.list);
	free(list);
	return found ? 0 : -ENOMEM;
}
