/* SPDX-License-Identifier: MIT */
#include "index/kept_order.h"

#include <string.h>

#include "base/attributes.h"
#include "base/clock.h"
#include "base/path.h"
#include "base/sort.h"
#include "index/copy_marks.h"

void kept_rank_set_inode(struct kept_rank *rank, uint32_t first_seen,
			 const struct attributes *attributes)
{
	static const struct timespec unknown;

	rank->first_seen = first_seen;
	rank->links = attributes->links;
	rank->mtime = attributes->mtime;
	rank->birth =
		clock_equal(attributes->btime, unknown) ? INT64_MAX : clock_ns(attributes->btime);
}

void kept_rank_set_name(struct kept_rank *rank, const struct location *location,
			const char *source_path, const void *path, size_t length)
{
	const char *bytes = path;

	rank->source = location->source;
	rank->place = emptied_first(location->place, emptied_place_of(source_path, bytes, length));
	rank->copy_marks = count_copy_marks(bytes, length);
	/* a slash joins both paths, except after the source "/" */
	rank->absolute_length = strlen(source_path) + (source_path[1] != '\0') + length;
	rank->depth = 0;
	for (size_t i = 0; i < length; i++)
		rank->depth += bytes[i] == '/';
	rank->path = path;
	rank->path_length = length;
}

static int compare_paths(const struct kept_rank *a, const struct kept_rank *b)
{
	size_t common = a->path_length < b->path_length ? a->path_length : b->path_length;
	int order = common > 0 ? memcmp(a->path, b->path, common) : 0;

	return order ? order : numbers_compare(a->path_length, b->path_length);
}

static int compare_signed(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

/* Returns a time in units of two seconds, rounded down. FAT, zip and tar store times of this
 * resolution, or of one second: a copy in them must not seem to be older. */
static int64_t coarse(struct timespec time)
{
	return (time.tv_sec - (time.tv_sec & 1)) / 2;
}

static int compare_globs(const struct keep_rules *rules, const struct keep_rule *rule,
			 const struct kept_rank *a, const struct kept_rank *b)
{
	bool a_matches = glob_matches_within(keep_rules_glob(rules, rule, a->source), a->path);
	bool b_matches = glob_matches_within(keep_rules_glob(rules, rule, b->source), b->path);

	return (int)b_matches - (int)a_matches;
}

int kept_order_by_rule(const struct keep_rules *rules, size_t number, const struct kept_rank *a,
		       const struct kept_rank *b)
{
	const struct keep_rule *rule = &rules->list[number];

	switch (rule->by) {
	case KEEP_SOURCE_ORDER:
		return numbers_compare(a->source, b->source);
	case KEEP_FIRST_SEEN:
		return numbers_compare(a->first_seen, b->first_seen);
	case KEEP_OLDEST:
		return clock_compare(a->mtime, b->mtime);
	case KEEP_NEWEST:
		return clock_compare(b->mtime, a->mtime);
	case KEEP_SHORTEST_PATH:
		return numbers_compare(a->absolute_length, b->absolute_length);
	case KEEP_LONGEST_PATH:
		return numbers_compare(b->absolute_length, a->absolute_length);
	case KEEP_PATH:
		return compare_globs(rules, rule, a, b);
	case KEEP_MOST_LINKED:
		return numbers_compare(b->links, a->links);
	}
	return 0;
}

/* Sets *rule to the position of the rule that decides. */
static int compare_by_rules(const struct keep_rules *rules, const struct kept_rank *a,
			    const struct kept_rank *b, size_t *rule)
{
	int order = 0;

	for (size_t i = 0; order == 0 && i < rules->count; i++) {
		order = kept_order_by_rule(rules, i, a, b);
		*rule = i;
	}
	return order;
}

static int compare_by(enum kept_criterion criterion, const struct kept_rank *a,
		      const struct kept_rank *b)
{
	switch (criterion) {
	case KEPT_BY_PLACE:
		return (int)a->place - (int)b->place;
	case KEPT_BY_RULE: /* compare_by_rules() */
		return 0;
	case KEPT_BY_SOURCE:
		return numbers_compare(a->source, b->source);
	case KEPT_BY_FIRST_SEEN:
		return numbers_compare(a->first_seen, b->first_seen);
	case KEPT_BY_MTIME:
		return compare_signed(coarse(a->mtime), coarse(b->mtime));
	case KEPT_BY_COPY_MARKS:
		return numbers_compare(a->copy_marks, b->copy_marks);
	case KEPT_BY_BIRTH:
		return compare_signed(a->birth, b->birth);
	case KEPT_BY_DEPTH:
		return numbers_compare(a->depth, b->depth);
	case KEPT_BY_PATH:
		return compare_paths(a, b);
	}
	return 0;
}

int kept_order(const struct keep_rules *rules, const struct kept_rank *a, const struct kept_rank *b,
	       struct kept_reason *reason)
{
	size_t rule = 0;

	for (enum kept_criterion criterion = KEPT_BY_PLACE; criterion <= KEPT_BY_PATH;
	     criterion++) {
		int order = criterion == KEPT_BY_RULE ? compare_by_rules(rules, a, b, &rule)
						      : compare_by(criterion, a, b);

		if (order == 0)
			continue;
		if (reason)
			*reason = (struct kept_reason){criterion, rule};
		return order;
	}
	return 0;
}

bool kept_displaces(const struct keep_rules *rules, const struct kept_rank *candidate,
		    const struct kept_rank *kept)
{
	struct kept_reason reason;

	return kept_order(rules, candidate, kept, &reason) < 0 && reason.by <= KEPT_BY_RULE;
}
