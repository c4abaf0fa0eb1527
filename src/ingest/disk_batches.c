/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "base/size.h"
#include "base/stop.h"
#include "ingest/contents_state.h"
#include "ingest/disk_order.h"

/* Files above this size are read in turns, as they can differ long before their end. So are classes
 * that do not fit in a batch. */
#define BATCHED_FILE_MAX (UINT64_C(16) << 20)

/* One batch gets an eighth of the budget. Two batches are in memory: one is compared and the next
 * one is prefetched. The pieces of one class of large files get a quarter. */
#define BATCH_PART 8
#define CLASS_PART 4

/* Number of bytes that are read from one file before the disk seeks to the next file. With
 * TURN_FIRST, seeks take about a tenth of the time. */
#define TURN_MIN (UINT64_C(1) << 20)
#define TURN_FIRST (UINT64_C(8) << 20)
#define TURN_MAX (UINT64_C(32) << 20)

/* ---- batches ------------------------------------------------------------------------- */

/* Returns the lowest position of the prefix's files. Sets the positions of files whose prefixes
 * were read before the order was enabled. */
static uint64_t first_place(struct contents *contents, struct catalog_reader *reader,
			    const struct prefix *prefix)
{
	struct candidate *window = contents->window.list, *candidate;
	uint64_t place = UINT64_MAX;

	for (const struct content *content = prefix->contents; content; content = content->next) {
		for (uint32_t at = content->first; at; at = candidate->next) {
			candidate = &window[at - 1];
			if (!candidate->place)
				candidate->place = disk_order_place(contents, reader, candidate);
			place = candidate->place < place ? candidate->place : place;
		}
	}
	return place;
}

static uint64_t class_bytes(const struct prefix *prefix)
{
	return size_multiply(prefix->files, prefix->key.size);
}

static int by_first_place(const void *a, const void *b)
{
	const struct prefix *x = *(struct prefix *const *)a, *y = *(struct prefix *const *)b;

	if (x->large != y->large)
		return x->large - y->large;
	return x->place < y->place ? -1 : x->place > y->place;
}

/* Divides the prefixes into batches that fit the budget. The large prefixes are the last batch. */
static int divide(struct contents *contents)
{
	struct prefix *const *list = contents->undecided;
	struct disk_order *order = &contents->order;
	uint32_t count = (uint32_t)contents->undecided_count;
	uint64_t bytes = 0;

	free(order->batches);
	order->batches = calloc(count + 1, sizeof(*order->batches));
	if (!order->batches)
		return -ENOMEM;
	order->batch_count = order->batch_now = 0;
	order->large = 0;
	while (order->large < count && !list[order->large]->large)
		order->large++;
	for (uint32_t i = 0; i < order->large; i++) {
		bytes = size_add(bytes, class_bytes(list[i]));
		if (i + 1 == order->large ||
		    size_add(bytes, class_bytes(list[i + 1])) > order->budget / BATCH_PART) {
			order->batches[order->batch_count++] = i + 1;
			bytes = 0;
		}
	}
	if (order->large < count)
		order->batches[order->batch_count++] = count;
	return 0;
}

int disk_batches_make(struct contents *contents)
{
	size_t count = contents->undecided_count;
	CLEANUP_READER struct catalog_reader *reader = NULL;
	int r = catalog_read_begin(contents->ingest->catalog, &reader);

	if (r < 0)
		return r;
	for (size_t i = 0; i < count; i++) {
		struct prefix *prefix = contents->undecided[i];

		prefix->place = first_place(contents, reader, prefix);
		prefix->large = prefix->key.size > BATCHED_FILE_MAX ||
				class_bytes(prefix) > contents->order.budget / BATCH_PART;
	}
	if (count > 1)
		qsort(contents->undecided, count, sizeof(struct prefix *), by_first_place);
	return divide(contents);
}

/* ---- prefetching --------------------------------------------------------------------- */

/* Returns the index in contents->undecided at which the batch begins. */
static uint32_t batch_first(const struct disk_order *order, uint32_t batch)
{
	return batch > 0 ? order->batches[batch - 1] : 0;
}

/* Appends pointers to the candidates of the prefix. */
static int add_files(const struct contents *contents, const struct prefix *prefix,
		     struct bytes *files)
{
	const struct candidate *window = contents->window.list;
	int r = 0;

	for (const struct content *content = prefix->contents; content; content = content->next) {
		for (uint32_t at = content->first; r == 0 && at; at = window[at - 1].next)
			r = bytes_append(files, &(const struct candidate *){&window[at - 1]},
					 sizeof(struct candidate *));
	}
	return r;
}

static int by_candidate_place(const void *a, const void *b)
{
	const struct candidate *x = *(struct candidate *const *)a;
	const struct candidate *y = *(struct candidate *const *)b;

	return x->place < y->place ? -1 : x->place > y->place;
}

/* Prefetches all files of a batch in the order of their positions. Errors are ignored: the
 * comparison meets and reports them. */
static void fetch_batch(struct contents *contents, uint32_t batch)
{
	struct disk_order *order = &contents->order;
	CLEANUP_READER struct catalog_reader *reader = NULL;
	CLEANUP_BYTES struct bytes files = {0};
	struct candidate **list;
	size_t count;
	int r = catalog_read_begin(contents->ingest->catalog, &reader);

	for (uint32_t i = batch_first(order, batch); r == 0 && i < order->batches[batch]; i++)
		r = add_files(contents, contents->undecided[i], &files);
	if (r < 0 || files.length == 0)
		return;
	list = (void *)files.data;
	count = files.length / sizeof(*list);
	qsort(list, count, sizeof(*list), by_candidate_place);
	for (size_t i = 0; i < count && !stop_requested(); i++)
		disk_order_fetch(contents, reader, list[i], list[i]->size);
}

static bool is_large(const struct disk_order *order, uint32_t batch)
{
	return batch_first(order, batch) >= order->large;
}

uint32_t disk_batches_next(struct contents *contents, uint32_t *first, unsigned int *threads)
{
	struct disk_order *order = &contents->order;
	uint32_t batch = order->batch_now++;

	if (batch >= order->batch_count)
		return 0;
	order->in_turns = is_large(order, batch);
	if (batch == 0 && !order->in_turns)
		fetch_batch(contents, 0);
	/* Two large classes at a time would make the disk seek between them. */
	*threads = order->in_turns ? 1 : contents->comparers;
	atomic_store(&order->batch_taken, false);
	*first = batch_first(order, batch);
	return order->batches[batch] - *first;
}

void disk_batches_fetch_next(struct contents *contents)
{
	struct disk_order *order = &contents->order;
	uint32_t next = order->batch_now;

	if (next < order->batch_count && !is_large(order, next) &&
	    !atomic_exchange(&order->batch_taken, true))
		fetch_batch(contents, next);
}

uint64_t disk_order_turn(const struct disk_order *order, uint64_t offset, size_t count)
{
	uint64_t turn = order->budget / CLASS_PART / (count ? count : 1);

	if (!disk_order_is_on(order) || !order->in_turns)
		return 0;
	if (turn > TURN_MAX)
		turn = TURN_MAX;
	/* most files that differ do so near their beginning */
	if (turn > TURN_FIRST && turn > offset)
		turn = offset > TURN_FIRST ? offset : TURN_FIRST;
	return turn < TURN_MIN ? TURN_MIN : turn;
}
