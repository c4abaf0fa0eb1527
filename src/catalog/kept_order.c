/* SPDX-License-Identifier: MIT */
#include "catalog/kept_order.h"

#include <string.h>

#include "base/attributes.h"
#include "base/clock.h"
#include "base/copy_marks.h"
#include "base/in_trash.h"
#include "base/numbers.h"

/* Returns the time in ns, or the nearest number. */
static int64_t nanoseconds(struct timespec time)
{
	int64_t ns;

	if (__builtin_mul_overflow(time.tv_sec, (int64_t)SECOND_NS, &ns) ||
	    __builtin_add_overflow(ns, time.tv_nsec, &ns))
		return time.tv_sec < 0 ? INT64_MIN : INT64_MAX;
	return ns;
}

void kept_rank_set_inode(struct kept_rank *rank, uint32_t first_seen,
			 const struct attributes *attributes)
{
	static const struct timespec unknown;
	int64_t seconds = attributes->mtime.tv_sec;

	rank->first_seen = first_seen;
	rank->mtime = (seconds - (seconds & 1)) / 2;
	rank->birth = clock_equal(attributes->btime, unknown) ? INT64_MAX
							      : nanoseconds(attributes->btime);
}

void kept_rank_set_name(struct kept_rank *rank, uint32_t source, const char *source_path,
			const void *path, size_t length)
{
	const char *bytes = path;

	rank->source = source;
	rank->trashed = is_in_trash(source_path, bytes, length);
	rank->copy_marks = count_copy_marks(bytes, length);
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

static int compare_by(enum kept_criterion criterion, const struct kept_rank *a,
		      const struct kept_rank *b)
{
	switch (criterion) {
	case KEPT_BY_TRASH:
		return (int)a->trashed - (int)b->trashed;
	case KEPT_BY_SOURCE:
		return numbers_compare(a->source, b->source);
	case KEPT_BY_FIRST_SEEN:
		return numbers_compare(a->first_seen, b->first_seen);
	case KEPT_BY_MTIME:
		return compare_signed(a->mtime, b->mtime);
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

int kept_order(const struct kept_rank *a, const struct kept_rank *b, enum kept_criterion *by)
{
	for (enum kept_criterion criterion = KEPT_BY_TRASH; criterion <= KEPT_BY_PATH;
	     criterion++) {
		int order = compare_by(criterion, a, b);

		if (order == 0)
			continue;
		if (by)
			*by = criterion;
		return order;
	}
	return 0;
}
