/* SPDX-License-Identifier: MIT */
#include "partial/runs.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/sort.h"
#include "base/stop.h"

/* Places between two checks of the stop flag. */
#define STOP_PLACES 4096U

struct run_search {
	const struct block_table *table;
	uint32_t covered; /* all blocks below are decided */
};

void run_list_free(struct run_list *runs)
{
	free(runs->list);
	*runs = (struct run_list){0};
}

int run_list_add(struct run_list *runs, const struct block_run *run)
{
	int r = array_reserve(&runs->list, &runs->capacity, runs->count + 1, sizeof(*runs->list));

	if (r == 0)
		runs->list[runs->count++] = *run;
	return r;
}

/* ---- matches ------------------------------------------------------------------------- */

/* Returns the number of equal blocks from both places on. The ranges do not overlap. */
static uint32_t match_length(const struct block_table *table, uint32_t source, uint32_t at)
{
	const uint32_t *class_of = table->class_of;
	uint32_t limit = at - source, length = 1;

	if (limit > table->end - at)
		limit = table->end - at;
	while (length < limit && class_of[at + length] &&
	       class_of[source + length] == class_of[at + length])
		length++;
	return length;
}

/* Returns the index of the first member of a class that is not below a number. */
static uint32_t find_member(const struct block_table *table, uint32_t class, uint32_t number)
{
	uint32_t low = table->first[class - 1], high = table->first[class];

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (table->members[middle] < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Tries members of the class as sources, and keeps the longest match. */
static void try_members(const struct run_search *search, uint32_t from, uint32_t to,
			struct block_run *best)
{
	for (uint32_t i = from; i < to; i++) {
		uint32_t source = search->table->members[i];
		uint32_t length = match_length(search->table, source, best->destination);

		if (length > best->count) {
			best->source = source;
			best->count = length;
		}
	}
}

/* Sets *best to the longest match of a place. Its count is 0 if there is none. */
static void find_longest(const struct run_search *search, uint32_t at, struct block_run *best)
{
	const struct block_table *table = search->table;
	uint32_t class = table->class_of[at];
	uint32_t first = table->first[class - 1];
	uint32_t end = find_member(table, class, at);

	*best = (struct block_run){.destination = at};
	if (end - first <= RUN_CANDIDATES) {
		try_members(search, first, end, best);
		return;
	}
	try_members(search, first, first + RUN_CANDIDATES / 2, best);
	try_members(search, end - RUN_CANDIDATES / 2, end, best);
}

/* Extends a match to earlier blocks that are in no run. */
static void extend_back(const struct run_search *search, struct block_run *run)
{
	const uint32_t *class_of = search->table->class_of;

	while (run->destination > search->covered && run->source > 0 &&
	       run->destination - run->source > run->count && class_of[run->destination - 1] &&
	       class_of[run->destination - 1] == class_of[run->source - 1]) {
		run->destination--;
		run->source--;
		run->count++;
	}
}

/* ---- sources ------------------------------------------------------------------------- */

/* Returns the index of the first run whose destination ends behind a block. */
static size_t find_run(const struct run_list *runs, size_t end, uint32_t number)
{
	size_t low = 0, high = end;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (runs->list[middle].destination + runs->list[middle].count <= number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Appends a run, or extends the last run if both continue it. */
static int append(struct run_list *runs, size_t from, const struct block_run *run)
{
	struct block_run *last = runs->count > from ? &runs->list[runs->count - 1] : NULL;

	if (last && last->destination + last->count == run->destination &&
	    last->source + last->count == run->source) {
		last->count += run->count;
		return 0;
	}
	return run_list_add(runs, run);
}

/* Adds a match as runs whose sources are no destinations: a part of the source that is the
 * destination of an earlier run is replaced by the source of that run. */
static int add_match(struct run_list *runs, struct block_run match)
{
	size_t before = runs->count;
	size_t next = find_run(runs, before, match.source);
	int r = 0;

	while (r == 0 && match.count > 0) {
		const struct block_run *earlier = next < before ? &runs->list[next] : NULL;
		struct block_run part = match;

		if (earlier && earlier->destination <= match.source) {
			uint32_t offset = match.source - earlier->destination;

			part.source = earlier->source + offset;
			if (part.count > earlier->count - offset)
				part.count = earlier->count - offset;
			next++;
		} else if (earlier && part.count > earlier->destination - match.source) {
			part.count = earlier->destination - match.source;
		}
		r = append(runs, before, &part);
		match.source += part.count;
		match.destination += part.count;
		match.count -= part.count;
	}
	return r;
}

int runs_find(const struct block_table *table, uint32_t min_blocks, struct run_list *runs)
{
	struct run_search search = {.table = table};
	struct block_run best;
	uint32_t places = 0;
	int r = 0;

	for (uint32_t at = 0; r == 0 && at < table->end;) {
		if (places++ % STOP_PLACES == 0 && stop_requested())
			return -EINTR;
		best.count = 0;
		if (table->class_of[at])
			find_longest(&search, at, &best);
		if (best.count > 0)
			extend_back(&search, &best);
		if (best.count == 0 || best.count < min_blocks) {
			at++;
			continue;
		}
		r = add_match(runs, best);
		at = best.destination + best.count;
		search.covered = at;
	}
	return r;
}

uint64_t run_bytes(const struct block_table *table, const struct block_run *run)
{
	return block_table_bytes(table, run->destination, run->count);
}

static int compare_runs(const void *left, const void *right)
{
	const struct block_run *a = left, *b = right;

	return a->count != b->count ? numbers_compare(b->count, a->count)
				    : numbers_compare(a->destination, b->destination);
}

void runs_sort(struct run_list *runs)
{
	if (runs->count > 1)
		qsort(runs->list, runs->count, sizeof(*runs->list), compare_runs);
}
