/* SPDX-License-Identifier: MIT */
#include "report/sorter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/descriptor.h"
#include "base/numbers.h"
#include "base/output.h"
#include "base/spool.h"

/* What is read of a run at once: 8 MiB of keys make one of 64 for half a gigabyte of them. */
#define BLOCK_BYTES (64UL * 1024)

/* In front of each key. */
struct head {
	uint64_t number;
	uint64_t length; /* of the key */
};

/* A part that is sorted, in the file; the next record of it stands at position in block. */
struct run {
	long at; /* in the file, of what was not read yet */
	long end;
	struct bytes block;
	size_t position;
};

struct sorter {
	size_t memory_bytes;
	struct bytes records; /* each is a head and its key */
	size_t *order; /* where they begin */
	size_t count;
	size_t capacity;
	size_t next; /* in order, of what sorter_next() gives */
	int spool; /* -1: all is in memory */
	long end; /* of the file */
	struct run *runs;
	size_t run_count, run_capacity;
	struct run **heap; /* runs that have a next record, the one with the lowest first */
	size_t heap_count;
};

int sorter_new(struct sorter **sorter, size_t memory_bytes)
{
	*sorter = calloc(1, sizeof(**sorter));
	if (!*sorter)
		return -ENOMEM;
	(*sorter)->memory_bytes = memory_bytes;
	(*sorter)->spool = -1;
	return 0;
}

void sorter_free(struct sorter *sorter)
{
	if (!sorter)
		return;
	for (size_t i = 0; i < sorter->run_count; i++)
		bytes_free(&sorter->runs[i].block);
	if (sorter->spool >= 0)
		(void)close(sorter->spool);
	bytes_free(&sorter->records);
	free(sorter->order);
	free(sorter->runs);
	free(sorter->heap);
	free(sorter);
}

static struct head head_at(const uint8_t *record)
{
	struct head head;

	memcpy(&head, record, sizeof(head));
	return head;
}

static int compare_records(const uint8_t *left, const uint8_t *right)
{
	struct head a = head_at(left);
	struct head b = head_at(right);
	size_t common = a.length < b.length ? a.length : b.length;
	int order = memcmp(left + sizeof(a), right + sizeof(b), common);

	if (order == 0)
		order = numbers_compare(a.length, b.length);
	return order != 0 ? order : numbers_compare(a.number, b.number);
}

/* ---- in memory ---------------------------------------------------------------------------- */

/* For qsort_r(3). */
static int compare_places(const void *left, const void *right, void *context)
{
	const uint8_t *records = context;
	const size_t *a = left;
	const size_t *b = right;

	return compare_records(records + *a, records + *b);
}

static void sort_records(struct sorter *sorter)
{
	if (sorter->count > 1)
		qsort_r(sorter->order, sorter->count, sizeof(*sorter->order), compare_places,
			sorter->records.data);
}

/* ---- in the file -------------------------------------------------------------------------- */

static int write_records(struct sorter *sorter)
{
	CLEANUP_OUTPUT struct output output;

	output_init(&output, sorter->spool);
	for (size_t i = 0; i < sorter->count; i++) {
		const uint8_t *record = sorter->records.data + sorter->order[i];

		output_bytes(&output, record, sizeof(struct head) + head_at(record).length);
	}
	return output_flush(&output);
}

/* Moves what is in memory to the file, as one more run. */
static int spill(struct sorter *sorter)
{
	int r = array_reserve(&sorter->runs, &sorter->run_capacity, sorter->run_count + 1,
			      sizeof(*sorter->runs));

	if (r < 0)
		return r;
	if (sorter->spool < 0)
		sorter->spool = spool_open();
	if (sorter->spool < 0)
		return sorter->spool;
	sort_records(sorter);
	r = write_records(sorter);
	if (r < 0)
		return r;
	sorter->runs[sorter->run_count++] = (struct run){
		.at = sorter->end,
		.end = sorter->end + (long)sorter->records.length,
	};
	sorter->end += (long)sorter->records.length;
	sorter->records.length = 0;
	sorter->count = 0;
	return 0;
}

int sorter_add(struct sorter *sorter, const void *key, size_t length, uint64_t number)
{
	const struct head head = {number, length};
	size_t used = sorter->records.length + sorter->count * sizeof(*sorter->order);
	size_t place;
	int r = 0;

	if (sorter->count > 0 && used + sizeof(head) + length > sorter->memory_bytes)
		r = spill(sorter);
	if (r == 0)
		r = array_reserve(&sorter->order, &sorter->capacity, sorter->count + 1,
				  sizeof(*sorter->order));
	if (r < 0)
		return r;
	place = sorter->records.length;
	r = bytes_append(&sorter->records, &head, sizeof(head));
	if (r == 0)
		r = bytes_append(&sorter->records, key, length);
	if (r < 0)
		return r;
	sorter->order[sorter->count++] = place;
	return 0;
}

/* ---- merging ------------------------------------------------------------------------------ */

/* Has so many bytes of the run in memory from its position on. */
static int load(const struct sorter *sorter, struct run *run, size_t bytes)
{
	size_t there = run->block.length - run->position;
	size_t wanted = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
	size_t left = (size_t)(run->end - run->at);
	size_t missing;
	long got;
	int r;

	if (there >= bytes)
		return 0;
	missing = wanted - there < left ? wanted - there : left;
	if (there > 0)
		memmove(run->block.data, run->block.data + run->position, there);
	run->block.length = there;
	run->position = 0;
	r = bytes_reserve(&run->block, missing);
	if (r < 0)
		return r;
	got = read_fully_at(sorter->spool, run->block.data + there, missing, run->at);
	if (got < 0)
		return (int)got;
	run->block.length += (size_t)got;
	run->at += got;
	return run->block.length < bytes ? -EIO : 0; /* somebody else cut it short */
}

static const uint8_t *record_of(const struct run *run)
{
	return run->block.data + run->position;
}

/* Has the next record of a run in memory, of which there is one. */
static int load_record(const struct sorter *sorter, struct run *run)
{
	int r = load(sorter, run, sizeof(struct head));

	if (r < 0)
		return r;
	return load(sorter, run, sizeof(struct head) + head_at(record_of(run)).length);
}

/* Lets the run at this place of the heap sink to where it belongs. */
static void sink(const struct sorter *sorter, size_t place)
{
	struct run **heap = sorter->heap;

	for (;;) {
		size_t lowest = place;
		struct run *moved = heap[place];

		for (size_t child = 2 * place + 1;
		     child <= 2 * place + 2 && child < sorter->heap_count; child++) {
			if (compare_records(record_of(heap[child]), record_of(heap[lowest])) < 0)
				lowest = child;
		}
		if (lowest == place)
			return;
		heap[place] = heap[lowest];
		heap[lowest] = moved;
		place = lowest;
	}
}

static int begin_merge(struct sorter *sorter)
{
	sorter->heap = calloc(sorter->run_count, sizeof(struct run *));
	if (!sorter->heap)
		return -ENOMEM;
	for (size_t i = 0; i < sorter->run_count; i++) {
		int r = load_record(sorter, &sorter->runs[i]);

		if (r < 0)
			return r;
		sorter->heap[sorter->heap_count++] = &sorter->runs[i];
	}
	for (size_t i = sorter->heap_count; i > 0; i--)
		sink(sorter, i - 1);
	return 0;
}

int sorter_finish(struct sorter *sorter)
{
	int r;

	if (sorter->spool < 0) {
		sort_records(sorter);
		return 0;
	}
	r = spill(sorter);
	if (r < 0)
		return r;
	bytes_free(&sorter->records);
	return begin_merge(sorter);
}

static int next_merged(struct sorter *sorter, uint64_t *number)
{
	struct head head;
	struct run *run;

	if (sorter->heap_count == 0)
		return -ENOENT;
	run = sorter->heap[0];
	head = head_at(record_of(run));
	*number = head.number;
	run->position += sizeof(head) + head.length;
	if (run->position == run->block.length && run->at == run->end) {
		sorter->heap[0] = sorter->heap[--sorter->heap_count];
	} else {
		int r = load_record(sorter, run);

		if (r < 0)
			return r;
	}
	if (sorter->heap_count > 0)
		sink(sorter, 0);
	return 0;
}

int sorter_next(struct sorter *sorter, uint64_t *number)
{
	if (sorter->spool >= 0)
		return next_merged(sorter, number);
	if (sorter->next == sorter->count)
		return -ENOENT;
	*number = head_at(sorter->records.data + sorter->order[sorter->next++]).number;
	return 0;
}
