/* SPDX-License-Identifier: MIT */
#include "report/similar_common.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/numbers.h"

/* A directory of a content. */
struct similar_place {
	uint32_t dir;
	uint32_t content; /* number */
};

void similar_common_free(struct similar_common *common)
{
	free(common->places);
	free(common->sizes);
	free(common->in_first);
	free(common->in_both);
	*common = (struct similar_common){0};
}

int similar_common_add(struct similar_common *common, const struct similar_content *content)
{
	int r = array_reserve(&common->sizes, &common->size_capacity, common->size_count + 1,
			      sizeof(*common->sizes));

	if (r == 0)
		r = array_reserve(&common->places, &common->capacity,
				  common->count + content->count, sizeof(*common->places));
	if (r == 0 && common->size_count == UINT32_MAX)
		r = -EOVERFLOW;
	if (r < 0)
		return r;
	for (size_t i = 0; i < content->count; i++)
		common->places[common->count++] = (struct similar_place){
			.dir = content->dirs[i],
			.content = (uint32_t)common->size_count,
		};
	common->sizes[common->size_count++] = content->size;
	return 0;
}

static int compare_places(const void *left, const void *right)
{
	const struct similar_place *a = left;
	const struct similar_place *b = right;

	return numbers_compare(a->dir, b->dir);
}

int similar_common_finish(struct similar_common *common)
{
	sort_unless_sorted(common->places, common->count, sizeof(*common->places), compare_places);
	common->in_first = calloc(common->size_count + 1, sizeof(*common->in_first));
	common->in_both = calloc(common->size_count + 1, sizeof(*common->in_both));
	return common->in_first && common->in_both ? 0 : -ENOMEM;
}

/* Returns the first place in a directory with this number or a higher one. */
static size_t find_place(const struct similar_common *common, uint32_t dir)
{
	size_t low = 0, high = common->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (common->places[middle].dir < dir)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void mark_first(struct similar_common *common, const struct similar_tree *tree, uint32_t dir)
{
	for (size_t i = find_place(common, dir);
	     i < common->count && common->places[i].dir <= tree->list[dir].last; i++)
		common->in_first[common->places[i].content] = dir;
	common->first = dir;
}

void similar_common_share(struct similar_common *common, const struct similar_tree *tree,
			  const uint32_t pair[static 2], uint64_t *contents, uint64_t *bytes)
{
	if (common->first != pair[0])
		mark_first(common, tree, pair[0]);
	common->pairs++;
	for (size_t i = find_place(common, pair[1]);
	     i < common->count && common->places[i].dir <= tree->list[pair[1]].last; i++) {
		uint32_t content = common->places[i].content;

		if (common->in_first[content] != pair[0] ||
		    common->in_both[content] == common->pairs)
			continue;
		common->in_both[content] = common->pairs;
		++*contents;
		*bytes += common->sizes[content];
	}
}
