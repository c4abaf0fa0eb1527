/* SPDX-License-Identifier: MIT */
#include "partial/blocks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/descriptor.h"
#include "base/hash.h"
#include "base/new_file.h"
#include "base/sort.h"
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

/* ---- runs ----------------------------------------------------------------------------------- */

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

/* ---- reading files -------------------------------------------------------------------------- */

/* Bytes of a read, unless a block is larger. */
#define READ_BYTES ((size_t)1 << 20)

int block_reader_init(struct block_reader *reader, unsigned int block_bits)
{
	size_t block_bytes = (size_t)1 << block_bits;

	*reader = (struct block_reader){.block_bits = block_bits};
	reader->buffer_bytes = block_bytes > READ_BYTES ? block_bytes : READ_BYTES;
	reader->buffer = malloc(reader->buffer_bytes);
	reader->hashes = calloc(BLOCK_BATCH, sizeof(*reader->hashes));
	return reader->buffer && reader->hashes ? 0 : -ENOMEM;
}

void block_reader_deinit(struct block_reader *reader)
{
	free(reader->buffer);
	free(reader->hashes);
}

int block_reader_flush(struct block_reader *reader)
{
	int r = reader->count > 0 ? reader->take(reader->context, reader->first, reader->hashes,
						 reader->count)
				  : 0;

	memset(reader->hashes, 0, reader->count * sizeof(*reader->hashes));
	reader->count = 0;
	return r;
}

int block_reader_add(struct block_reader *reader, uint64_t block, uint64_t hash)
{
	uint64_t first = block - block % BLOCK_BATCH;
	int r = 0;

	if (hash == 0)
		return 0;
	if (reader->count > 0 && first != reader->first)
		r = block_reader_flush(reader);
	reader->first = first;
	reader->hashes[block - first] = hash;
	reader->count = (uint32_t)(block - first) + 1;
	return r;
}

static bool is_zero(const uint8_t *bytes, size_t length)
{
	return bytes[0] == 0 && memcmp(bytes, bytes + 1, length - 1) == 0;
}

/* Returns the hash of a block; 0 only for zeros. */
static uint64_t hash_block(const uint8_t *bytes, size_t length)
{
	uint64_t hash;

	if (is_zero(bytes, length))
		return 0;
	hash = hash64(bytes, length, 0);
	return hash ? hash : 1;
}

static int hash_bytes(struct block_reader *reader, uint64_t offset, size_t length)
{
	size_t block_bytes = (size_t)1 << reader->block_bits;
	int r = 0;

	for (size_t at = 0; r == 0 && at < length; at += block_bytes) {
		size_t rest = length - at < block_bytes ? length - at : block_bytes;

		r = block_reader_add(reader, (offset + at) >> reader->block_bits,
				     hash_block(reader->buffer + at, rest));
	}
	return r;
}

/* Reads a range that begins with a block, and ends with one or at the end of the file. */
static int read_range(struct block_reader *reader, int fd, uint64_t from, uint64_t to)
{
	int r = 0;

	for (uint64_t at = from; r == 0 && at < to;) {
		size_t wanted = reader->buffer_bytes;
		long got;

		if (wanted > to - at)
			wanted = (size_t)(to - at);
		got = read_fully_at(fd, reader->buffer, wanted, (off_t)at);
		if (got < 0)
			return (int)got;
		if ((size_t)got < wanted)
			return BLOCK_READER_CHANGED;
		r = hash_bytes(reader, at, wanted);
		at += wanted;
		reader->progress(reader->context, wanted);
		if (r == 0 && stop_requested())
			r = -EINTR;
	}
	return r;
}

/* Sets the next range with data, in whole blocks. Without support for holes, all bytes are data.
 * Returns false if only a hole follows. */
static bool find_data(const struct block_reader *reader, int fd, uint64_t size, uint64_t *from,
		      uint64_t *to)
{
	uint64_t block_bytes = UINT64_C(1) << reader->block_bits;
	off_t data = lseek(fd, (off_t)*from, SEEK_DATA);
	off_t hole;

	if (data < 0 && errno == ENXIO)
		return false;
	if (data > (off_t)*from)
		*from = (uint64_t)data / block_bytes * block_bytes;
	hole = data < 0 ? -1 : lseek(fd, data, SEEK_HOLE);
	*to = hole < 0 ? size : ((uint64_t)hole + block_bytes - 1) / block_bytes * block_bytes;
	if (*to > size)
		*to = size;
	return *from < size;
}

int block_reader_read(struct block_reader *reader, int fd, uint64_t size)
{
	uint64_t at = 0, from = 0, to;
	int r = 0;

	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	while (r == 0 && at < size) {
		from = at;
		if (!find_data(reader, fd, size, &from, &to)) {
			reader->progress(reader->context, size - at);
			break;
		}
		reader->progress(reader->context, from - at);
		r = read_range(reader, fd, from, to);
		at = to;
	}
	if (r != 0) {
		memset(reader->hashes, 0, reader->count * sizeof(*reader->hashes));
		reader->count = 0;
		return r;
	}
	return block_reader_flush(reader);
}
