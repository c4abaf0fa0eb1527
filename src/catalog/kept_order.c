/* SPDX-License-Identifier: MIT */
#include "catalog/kept_order.h"

#include <string.h>

#include "base/numbers.h"

static int compare_paths(const struct kept_rank *a, const struct kept_rank *b)
{
	size_t common = a->path_length < b->path_length ? a->path_length : b->path_length;
	int order = common > 0 ? memcmp(a->path, b->path, common) : 0;

	return order ? order : numbers_compare(a->path_length, b->path_length);
}

int kept_order(const struct kept_rank *a, const struct kept_rank *b, enum kept_criterion *by)
{
	enum kept_criterion criterion = KEPT_BY_SOURCE;
	int order = numbers_compare(a->source, b->source);

	if (order == 0) {
		criterion = KEPT_BY_FIRST_SEEN;
		order = numbers_compare(a->first_seen, b->first_seen);
	}
	if (order == 0) {
		criterion = KEPT_BY_PATH;
		order = compare_paths(a, b);
	}
	if (by && order)
		*by = criterion;
	return order;
}
