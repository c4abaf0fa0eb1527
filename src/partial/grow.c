/* SPDX-License-Identifier: MIT */
#include "partial/grow.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "base/dedupe_range.h"
#include "base/descriptor.h"
#include "partial/block_table.h"
#include "partial/runs.h"

/* Largest step. File systems with larger blocks are rare, and their runs do not grow. */
#define STEP_MAX 4096U

/* Returns the step, or 0 if runs cannot grow. */
static uint64_t find_step(const struct block_table *table, int fd)
{
	struct stat status;

	if (table->block_bits < 13 || fstat(fd, &status) < 0 ||
	    (uint64_t)status.st_blksize > STEP_MAX)
		return 0;
	return STEP_MAX;
}

/* Returns whether the blocks exist and equal no other block. A number that is not used has no
 * place. */
static bool is_free(const struct block_table *table, uint32_t number)
{
	return number < table->end && table->class_of[number] == 0 &&
	       block_table_has(table, number);
}

static bool is_equal(const struct dedupe_range *range, uint64_t source, uint64_t destination)
{
	uint8_t a[STEP_MAX], b[STEP_MAX];

	return read_fully_at(range->source, a, STEP_MAX, (off_t)source) == STEP_MAX &&
	       read_fully_at(range->destination, b, STEP_MAX, (off_t)destination) == STEP_MAX &&
	       memcmp(a, b, STEP_MAX) == 0;
}

static void grow_back(struct dedupe_range *range, uint64_t step, uint64_t limit)
{
	while (limit >= step &&
	       is_equal(range, range->source_offset - step, range->destination_offset - step)) {
		range->source_offset -= step;
		range->destination_offset -= step;
		range->length += step;
		limit -= step;
	}
}

static void grow_forward(struct dedupe_range *range, uint64_t step, uint64_t limit)
{
	while (limit >= step && is_equal(range, range->source_offset + range->length,
					 range->destination_offset + range->length)) {
		range->length += step;
		limit -= step;
	}
}

/* Returns the bytes by which the run can grow at most: less than a block, as the blocks differ. In
 * one file, both ranges must not meet. */
static uint64_t find_limit(const struct block_table *table, const struct dedupe_range *range)
{
	uint64_t block_bytes = UINT64_C(1) << table->block_bits;

	if (range->source == range->destination &&
	    range->destination_offset - range->source_offset < range->length + 2 * block_bytes)
		return 0;
	return block_bytes - 1;
}

void run_grow(const struct block_table *table, const struct block_run *run,
	      struct dedupe_range *range)
{
	uint64_t step = find_step(table, range->destination);
	uint64_t limit = step ? find_limit(table, range) : 0;

	if (limit > 0 && run->source > 0 && is_free(table, run->source - 1) &&
	    is_free(table, run->destination - 1))
		grow_back(range, step, limit);
	if (limit > 0 && is_free(table, run->source + run->count) &&
	    is_free(table, run->destination + run->count))
		grow_forward(range, step, limit);
}
