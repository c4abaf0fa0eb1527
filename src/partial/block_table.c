/* SPDX-License-Identifier: MIT */
#include "partial/block_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/descriptor.h"
#include "base/sort.h"
#include "base/spool.h"
#include "base/stop.h"

/* Multiplier that mixes the volume into a hash: 2^64 divided by the golden ratio. */
#define VOLUME_FACTOR UINT64_C(0x9e3779b97f4a7c15)

/* A block that is being sorted by its hash. */
struct block_entry {
	uint64_t hash; /* with the volume */
	uint32_t number;
};

/* The part of the blocks that is sorted at once. */
struct block_pass {
	uint64_t number, passes; /* takes the hashes with hash % passes == number */
	struct block_entry *entries;
	size_t count, capacity;
};

int block_table_init(struct block_table *table, unsigned int block_bits)
{
	*table = (struct block_table){.block_bits = block_bits, .sort_bytes = SORT_BYTES};
	pthread_mutex_init(&table->lock, NULL);
	table->spool = spool_open();
	return table->spool < 0 ? table->spool : 0;
}

static void forget_classes(struct block_table *table)
{
	free(table->class_of);
	free(table->members);
	free(table->first);
	table->class_of = NULL;
	table->members = NULL;
	table->first = NULL;
	table->classes = 0;
	table->end = 0;
	table->range_count = 0;
}

void block_table_deinit(struct block_table *table)
{
	if (table->spool >= 0)
		(void)close(table->spool);
	forget_classes(table);
	free(table->files);
	free(table->batches);
	free(table->ranges);
	pthread_mutex_destroy(&table->lock);
}

long block_table_add_file(struct block_table *table, const struct block_file *file)
{
	int r = array_reserve(&table->files, &table->file_capacity, table->file_count + 1,
			      sizeof(*table->files));

	if (r < 0)
		return r;
	table->files[table->file_count] = *file;
	return (long)table->file_count++;
}

/* Reserves a place in the spool. Returns 0 or -ENOMEM. */
static int add_batch(struct block_table *table, struct block_batch *batch, uint64_t hashed)
{
	int r;

	pthread_mutex_lock(&table->lock);
	r = array_reserve(&table->batches, &table->batch_capacity, table->batch_count + 1,
			  sizeof(*table->batches));
	if (r == 0) {
		batch->spooled = table->spooled;
		table->spooled += batch->count * sizeof(uint64_t);
		table->batches[table->batch_count++] = *batch;
		table->hashed += hashed;
	}
	pthread_mutex_unlock(&table->lock);
	return r;
}

static int write_at(int fd, const void *data, size_t length, uint64_t offset)
{
	const uint8_t *at = data;

	while (length > 0) {
		ssize_t written = pwrite(fd, at, length, (off_t)offset);

		if (written < 0 && errno != EINTR)
			return -errno;
		if (written > 0) {
			at += written;
			length -= (size_t)written;
			offset += (uint64_t)written;
		}
	}
	return 0;
}

int block_table_add(struct block_table *table, uint32_t file, uint64_t first,
		    const uint64_t *hashes, uint32_t count)
{
	struct block_batch batch = {.file = file, .count = count, .first = first};
	uint64_t hashed = 0;
	int r;

	for (uint32_t i = 0; i < count; i++)
		hashed += hashes[i] != 0;
	if (hashed == 0)
		return 0;
	r = add_batch(table, &batch, hashed);
	return r < 0 ? r : write_at(table->spool, hashes, count * sizeof(*hashes), batch.spooled);
}

/* ---- numbers ------------------------------------------------------------------------- */

static int compare_batches(const void *left, const void *right)
{
	const struct block_batch *a = left, *b = right;

	return a->file != b->file ? numbers_compare(a->file, b->file)
				  : numbers_compare(a->first, b->first);
}

/* Appends a block to the last range, or to a new one. Returns 0 or -errno. */
static int number_block(struct block_table *table, uint32_t file, uint64_t block)
{
	struct block_range *last =
		table->range_count > 0 ? &table->ranges[table->range_count - 1] : NULL;
	bool follows = last && last->file == file && last->first + last->count == block;
	int r;

	if (table->end >= BLOCKS_MAX - 2)
		return -EOVERFLOW;
	if (!follows) {
		r = array_reserve(&table->ranges, &table->range_capacity, table->range_count + 1,
				  sizeof(*table->ranges));
		if (r < 0)
			return r;
		table->end += table->range_count > 0;
		last = &table->ranges[table->range_count++];
		*last = (struct block_range){.first = block, .base = table->end, .file = file};
	}
	last->count++;
	table->end++;
	return 0;
}

/* Calls a function for each hash of a batch other than 0. */
typedef int hash_fn(struct block_table *table, void *context, const struct block_batch *batch,
		    uint32_t index, uint64_t hash);

static int for_each_hash(struct block_table *table, hash_fn *call, void *context)
{
	AUTO_FREE uint64_t *hashes = calloc(BLOCK_BATCH, sizeof(*hashes));
	int r = hashes ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < table->batch_count; i++) {
		const struct block_batch *batch = &table->batches[i];
		size_t bytes = batch->count * sizeof(*hashes);
		long got;

		if (table->files[batch->file].dropped)
			continue;
		got = read_fully_at(table->spool, hashes, bytes, (off_t)batch->spooled);
		if (got != (long)bytes)
			return got < 0 ? (int)got : -EIO;
		for (uint32_t j = 0; r == 0 && j < batch->count; j++)
			r = hashes[j] ? call(table, context, batch, j, hashes[j]) : 0;
		if (r == 0 && stop_requested())
			r = -EINTR;
	}
	return r;
}

static int number_one(struct block_table *table, void *context, const struct block_batch *batch,
		      uint32_t index, uint64_t hash)
{
	(void)context;
	(void)hash;
	return number_block(table, batch->file, batch->first + index);
}

/* ---- classes ------------------------------------------------------------------------- */

static int compare_entries(const void *left, const void *right)
{
	const struct block_entry *a = left, *b = right;

	return a->hash != b->hash ? numbers_compare(a->hash, b->hash)
				  : numbers_compare(a->number, b->number);
}

/* The place of the next block, while all blocks are visited in their order. */
struct block_visit {
	struct block_pass *pass;
	size_t range;
	uint32_t in_range;
};

static int collect_one(struct block_table *table, void *context, const struct block_batch *batch,
		       uint32_t index, uint64_t hash)
{
	struct block_visit *visit = context;
	struct block_pass *pass = visit->pass;
	const struct block_range *range = &table->ranges[visit->range];
	uint64_t mixed = hash ^ (table->files[batch->file].volume * VOLUME_FACTOR);
	uint32_t number = range->base + visit->in_range;
	int r;

	(void)index;
	if (++visit->in_range == range->count) {
		visit->range++;
		visit->in_range = 0;
	}
	if (mixed % pass->passes != pass->number)
		return 0;
	r = array_reserve(&pass->entries, &pass->capacity, pass->count + 1, sizeof(*pass->entries));
	if (r == 0)
		pass->entries[pass->count++] = (struct block_entry){mixed, number};
	return r;
}

/* Makes a class of sorted entries with one hash. */
static int add_class(struct block_table *table, const struct block_entry *entries, size_t count)
{
	uint32_t at = table->first[table->classes];
	int r = array_reserve(&table->first, &table->first_capacity, (size_t)table->classes + 2,
			      sizeof(*table->first));

	if (r < 0)
		return r;
	table->classes++;
	for (size_t i = 0; i < count; i++) {
		table->class_of[entries[i].number] = table->classes;
		table->members[at++] = entries[i].number;
	}
	table->first[table->classes] = at;
	return 0;
}

static int add_classes(struct block_table *table, const struct block_pass *pass)
{
	size_t end;
	int r = 0;

	for (size_t i = 0; r == 0 && i < pass->count; i = end) {
		for (end = i + 1; end < pass->count; end++) {
			if (pass->entries[end].hash != pass->entries[i].hash)
				break;
		}
		if (end - i > 1)
			r = add_class(table, &pass->entries[i], end - i);
	}
	return r;
}

static int find_classes(struct block_table *table, struct block_pass *pass)
{
	int r = 0;

	for (; r == 0 && pass->number < pass->passes; pass->number++) {
		struct block_visit visit = {.pass = pass};

		pass->count = 0;
		r = for_each_hash(table, collect_one, &visit);
		if (r == 0 && pass->count > 1)
			qsort(pass->entries, pass->count, sizeof(*pass->entries), compare_entries);
		if (r == 0)
			r = add_classes(table, pass);
	}
	return r;
}

int block_table_classify(struct block_table *table)
{
	struct block_pass pass = {.passes = 1 + table->hashed * sizeof(struct block_entry) /
							table->sort_bytes};
	int r;

	forget_classes(table);
	if (table->batch_count > 1)
		qsort(table->batches, table->batch_count, sizeof(*table->batches), compare_batches);
	r = for_each_hash(table, number_one, NULL);
	if (r < 0)
		return r;
	/* pages that are never written take no memory */
	table->class_of = calloc((size_t)table->end + 1, sizeof(*table->class_of));
	table->members = calloc(table->hashed + 1, sizeof(*table->members));
	table->first = calloc(1, sizeof(*table->first));
	table->first_capacity = 1;
	if (!table->class_of || !table->members || !table->first)
		return -ENOMEM;
	r = find_classes(table, &pass);
	free(pass.entries);
	return r;
}

static const struct block_range *find_range(const struct block_table *table, uint32_t number)
{
	size_t low = 0, high = table->range_count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (table->ranges[middle].base <= number)
			low = middle;
		else
			high = middle;
	}
	return &table->ranges[low];
}

bool block_table_has(const struct block_table *table, uint32_t number)
{
	const struct block_range *range = find_range(table, number);

	return number < range->base + range->count;
}

struct block_place block_table_locate(const struct block_table *table, uint32_t number)
{
	const struct block_range *range = find_range(table, number);

	return (struct block_place){
		.file = range->file,
		.offset = (range->first + (number - range->base)) << table->block_bits,
	};
}

uint64_t block_table_bytes(const struct block_table *table, uint32_t number, uint32_t count)
{
	struct block_place place = block_table_locate(table, number);
	uint64_t bytes = (uint64_t)count << table->block_bits;
	uint64_t left = table->files[place.file].size - place.offset;

	return bytes < left ? bytes : left;
}
