/* SPDX-License-Identifier: MIT */
#include "choose/sorter.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/descriptor.h"
#include "base/new_file.h"
#include "base/output.h"
#include "base/sort.h"

/* Bytes of a run that are read at once. The merge takes one block of each run. Half a gigabyte of
 * keys in runs of 8 MiB makes 64 runs, so their merge takes 4 MiB. */
#define BLOCK_BYTES (64UL * 1024)

/* Header that is written before each key. */
struct record_header {
	uint64_t number;
	uint64_t length; /* length of the key */
};

/* A sorted part of the file. */
struct sorter_run {
	off_t at; /* offset in the file of the first byte that is not read yet */
	off_t end;
	struct bytes block; /* bytes that are read */
	size_t position; /* position in block of the next record */
};

struct sorter {
	size_t memory_bytes;
	struct bytes records; /* each is a header and its key */
	size_t *order; /* offsets of the records */
	size_t count;
	size_t capacity;
	size_t next; /* index in order of the next record that sorter_next() returns */
	int spool; /* -1: all records are in memory */
	off_t end; /* size of the file */
	struct sorter_run *runs;
	size_t run_count, run_capacity;
	/* binary heap of runs that have a next record, the lowest record first */
	struct sorter_run **heap;
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

static struct record_header header_at(const uint8_t *record)
{
	struct record_header header;

	memcpy(&header, record, sizeof(header));
	return header;
}

static int compare_records(const uint8_t *left, const uint8_t *right)
{
	struct record_header a = header_at(left);
	struct record_header b = header_at(right);
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

		output_bytes(&output, record,
			     sizeof(struct record_header) + header_at(record).length);
	}
	return output_flush(&output);
}

/* Writes the records in memory to the file, as a new run. */
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
	sorter->runs[sorter->run_count++] = (struct sorter_run){
		.at = sorter->end,
		.end = sorter->end + (off_t)sorter->records.length,
	};
	sorter->end += (off_t)sorter->records.length;
	sorter->records.length = 0;
	sorter->count = 0;
	return 0;
}

int sorter_add(struct sorter *sorter, const void *key, size_t length, uint64_t number)
{
	const struct record_header header = {number, length};
	size_t used = sorter->records.length + sorter->count * sizeof(*sorter->order);
	size_t place;
	int r = 0;

	if (sorter->count > 0 && used + sizeof(header) + length > sorter->memory_bytes)
		r = spill(sorter);
	if (r == 0)
		r = array_reserve(&sorter->order, &sorter->capacity, sorter->count + 1,
				  sizeof(*sorter->order));
	if (r < 0)
		return r;
	place = sorter->records.length;
	r = bytes_append(&sorter->records, &header, sizeof(header));
	if (r == 0)
		r = bytes_append(&sorter->records, key, length);
	if (r < 0)
		return r;
	sorter->order[sorter->count++] = place;
	return 0;
}

/* ---- merging ------------------------------------------------------------------------------ */

/* Ensures that the block of the run has the given number of bytes from its position on. */
static int load(const struct sorter *sorter, struct sorter_run *run, size_t bytes)
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
	return run->block.length < bytes ? -EIO : 0; /* the file was truncated */
}

static const uint8_t *record_of(const struct sorter_run *run)
{
	return run->block.data + run->position;
}

/* Ensures that the next record of a run is in its block. The run must have a next record. */
static int load_record(const struct sorter *sorter, struct sorter_run *run)
{
	int r = load(sorter, run, sizeof(struct record_header));

	if (r < 0)
		return r;
	return load(sorter, run, sizeof(struct record_header) + header_at(record_of(run)).length);
}

/* Restores the heap order below this index. */
static void sink(const struct sorter *sorter, size_t place)
{
	struct sorter_run **heap = sorter->heap;

	for (;;) {
		size_t lowest = place;
		struct sorter_run *moved = heap[place];

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
	sorter->heap = calloc(sorter->run_count, sizeof(struct sorter_run *));
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

/* Moves to the next record of the lowest run. */
static int advance(struct sorter *sorter)
{
	struct sorter_run *run = sorter->heap[0];

	run->position += sizeof(struct record_header) + header_at(record_of(run)).length;
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

/* Returns the next record, or NULL at the end. */
static const uint8_t *next_record(const struct sorter *sorter)
{
	if (sorter->spool >= 0)
		return sorter->heap_count > 0 ? record_of(sorter->heap[0]) : NULL;
	return sorter->next < sorter->count ? sorter->records.data + sorter->order[sorter->next]
					    : NULL;
}

/* Goes past the record that next_record() returned. */
static int pass(struct sorter *sorter)
{
	if (sorter->spool >= 0)
		return advance(sorter);
	sorter->next++;
	return 0;
}

int sorter_next_key(struct sorter *sorter, void *key, size_t length, uint64_t *number)
{
	const uint8_t *record = next_record(sorter);

	if (!record)
		return -ENOENT;
	*number = header_at(record).number;
	if (length > 0) {
		assert(header_at(record).length == length);
		memcpy(key, record + sizeof(struct record_header), length);
	}
	return pass(sorter);
}

int sorter_next_bytes(struct sorter *sorter, struct bytes *key, uint64_t *number)
{
	const uint8_t *record = next_record(sorter);
	int r;

	if (!record)
		return -ENOENT;
	*number = header_at(record).number;
	key->length = 0;
	r = bytes_append(key, record + sizeof(struct record_header), header_at(record).length);
	return r < 0 ? r : pass(sorter);
}

int sorter_next(struct sorter *sorter, uint64_t *number)
{
	return sorter_next_key(sorter, NULL, 0, number);
}
