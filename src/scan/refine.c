/* SPDX-License-Identifier: MIT */
#include "scan/refine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/stop.h"

/* Two blocks of this size stay in the second-level cache while they are compared and hashed. */
#define BLOCK_MAX ((size_t)256 << 10)
#define BLOCK_MIN ((size_t)4 << 10)
#define ZEROS_BYTES ((size_t)64 << 10)

/* Longer holes are not hashed, as hashing them would take minutes. */
#define HASHED_HOLES_MAX (UINT64_C(4) << 40)

/* An unfinished class: strands [first, first + count) are equal up to offset. */
struct range {
	size_t first;
	size_t count;
	uint64_t offset;
	uint64_t hole_bytes;
	struct hash_state *hash; /* NULL: no hash is computed during the comparison */
};

struct range_stack {
	struct range *list;
	size_t count;
	size_t capacity;
};

/* A strand's block while a range is compared. */
struct block {
	const uint8_t *data;
	size_t length;
	struct strand *strand;
};

size_t refine_capacity(const struct refinement *refinement)
{
	size_t capacity = refinement->budget_bytes / BLOCK_MIN;

	return capacity < 2 ? 2 : capacity;
}

static int push(struct range_stack *stack, const struct range *range)
{
	int r = array_reserve(&stack->list, &stack->capacity, stack->count + 1,
			      sizeof(*stack->list));

	if (r == 0)
		stack->list[stack->count++] = *range;
	return r;
}

static void stack_free(struct range_stack *stack)
{
	while (stack->count > 0)
		hash_state_free(stack->list[--stack->count].hash);
	free(stack->list);
}

/* Links strands and reports them as a class, or gathers them as one strand. */
static int emit(struct refinement *refinement, struct strand **strands, size_t count,
		const struct hash128 *hash)
{
	struct strand *last;

	if (count == 0)
		return 0;
	for (size_t i = 0; i + 1 < count; i++) {
		for (last = strands[i]; last->equal; last = last->equal)
			continue;
		last->equal = strands[i + 1];
	}
	if (!refinement->gathered)
		return refinement->calls->emit(refinement->context, strands[0], hash);
	refinement->gathered[refinement->gathered_count++] = strands[0];
	return 0;
}

/* Removes one strand from the range. */
static void drop(struct strand **strands, struct range *range, size_t which)
{
	strands[range->first + which] = strands[range->first + range->count - 1];
	range->count--;
}

/* ---- blocks and holes ---------------------------------------------------------------- */

/* Returns the length of the hole that all files of the range have at its offset; 0: none. */
static uint64_t common_hole(struct refinement *refinement, struct strand **strands,
			    const struct range *range)
{
	uint64_t least = refinement->size_bytes - range->offset, hole;

	for (size_t i = 0; least > 0 && i < range->count; i++) {
		hole = refinement->calls->hole(refinement->context, strands[range->first + i],
					       range->offset);
		if (hole < least)
			least = hole;
	}
	return least;
}

static int skip_zeros(struct range *range, uint64_t length)
{
	static const uint8_t zeros[ZEROS_BYTES];

	range->offset += length;
	range->hole_bytes += length;
	while (range->hash && length > 0) {
		size_t piece = length < sizeof(zeros) ? (size_t)length : sizeof(zeros);

		if (stop_requested())
			return -ECANCELED;
		hash_state_update(range->hash, zeros, piece);
		length -= piece;
	}
	return 0;
}

static size_t block_length(const struct refinement *refinement, const struct range *range)
{
	uint64_t left = refinement->size_bytes - range->offset;
	size_t length = refinement->budget_bytes / range->count / BLOCK_MIN * BLOCK_MIN;

	if (length > BLOCK_MAX)
		length = BLOCK_MAX;
	if (length < BLOCK_MIN)
		length = BLOCK_MIN;
	return left < length ? (size_t)left : length;
}

/* ---- a single file ------------------------------------------------------------------- */

/* Outcome: the strand is in no class. */
enum {
	STRAND_LEFT_OUT = 1
};

/* Hashes a whole file into strand->digest, with a state that was reset. Returns 0, or another value
 * if the strand must be left out. */
static int digest(struct refinement *refinement, struct strand *strand, struct hash_state *state)
{
	struct range range = {.count = 1, .hash = state};
	uint64_t hole;
	size_t length;
	int r = 0;

	while (r == 0 && range.offset < refinement->size_bytes) {
		if (stop_requested())
			return -ECANCELED;
		hole = common_hole(refinement, &strand, &range);
		if (range.hole_bytes + hole > HASHED_HOLES_MAX) {
			refinement->calls->refuse(refinement->context, strand);
			return STRAND_LEFT_OUT;
		}
		if (hole > 0) {
			r = skip_zeros(&range, hole);
			continue;
		}
		length = block_length(refinement, &range);
		r = refinement->calls->read(refinement->context, strand, range.offset,
					    refinement->memory, length);
		hash_state_update(state, refinement->memory, length);
		range.offset += length;
	}
	if (r == 0)
		r = refinement->calls->finish(refinement->context, strand);
	strand->digest = hash_state_digest(state);
	return r;
}

/* Computes the hash of a strand that equals others, into strand->digest. Returns 0, STRAND_LEFT_OUT
 * or -errno. */
static int hash_later(struct refinement *refinement, struct strand *strand)
{
	struct hash_state *state = hash_state_new();
	int r;

	if (!state)
		return -ENOMEM;
	r = digest(refinement, strand, state);
	hash_state_free(state);
	if (r && stop_requested())
		return -ECANCELED;
	return r ? STRAND_LEFT_OUT : 0;
}

static int emit_alone(struct refinement *refinement, struct strand *strand)
{
	int r;

	refinement->calls->abandon(refinement->context, strand);
	if (!strand->equal || refinement->gathered)
		return emit(refinement, &strand, 1, NULL);
	/* an earlier part found other strands equal to this one */
	r = hash_later(refinement, strand);
	if (r)
		return r == STRAND_LEFT_OUT ? 0 : r;
	return emit(refinement, &strand, 1, &strand->digest);
}

/* ---- one step of one range ----------------------------------------------------------- */

/* Reads the next block of each strand, and removes strands that fail. Each block begins at a page
 * boundary, as does the memory (see memory_pages()). */
static void read_blocks(struct refinement *refinement, struct strand **strands, struct range *range,
			struct block *blocks, size_t length)
{
	size_t i = 0, apart = (length + BLOCK_MIN - 1) / BLOCK_MIN * BLOCK_MIN;
	struct strand *strand;
	uint8_t *data;

	while (i < range->count) {
		strand = strands[range->first + i];
		data = (uint8_t *)refinement->memory + i * apart;
		blocks[i] = (struct block){data, length, strand};
		if (refinement->calls->read(refinement->context, strand, range->offset, data,
					    length) == 0)
			i++;
		else
			drop(strands, range, i);
	}
}

static int compare_blocks(const void *a, const void *b)
{
	const struct block *x = a, *y = b;

	/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): data is always set */
	return memcmp(x->data, y->data, x->length);
}

/* Sorts blocks so that equal ones are adjacent. Returns true if all are equal. This usual case
 * takes one comparison for each block. */
static bool sort_blocks(struct block *blocks, size_t count)
{
	size_t i = 1;

	while (i < count && compare_blocks(&blocks[0], &blocks[i]) == 0)
		i++;
	if (i >= count)
		return true;
	qsort(blocks, count, sizeof(*blocks), compare_blocks);
	return false;
}

/* Advances a range past a block that all its files share. */
static void advance(struct range *range, const struct block *block)
{
	if (range->hash)
		hash_state_update(range->hash, block->data, block->length);
	range->offset += block->length;
}

static int fork_hash(struct range *part, const struct range *range)
{
	part->hash = NULL;
	if (!range->hash)
		return 0;
	part->hash = hash_state_new();
	if (!part->hash)
		return -ENOMEM;
	hash_state_copy(part->hash, range->hash);
	return 0;
}

/* Returns true if this is the last block of a single file, and the hash of the blocks before it is
 * known. If the split leaves the strand alone, its hash can then be computed. */
static bool is_whole(const struct refinement *refinement, const struct range *range,
		     const struct block *block)
{
	return range->hash && !block->strand->equal &&
	       range->offset + block->length == refinement->size_bytes;
}

/* Computes the hash of a strand whose last block is this block, into strand->digest. */
static int hash_whole(const struct range *range, const struct block *block)
{
	struct range whole;
	int r = fork_hash(&whole, range);

	if (r < 0)
		return r;
	hash_state_update(whole.hash, block->data, block->length);
	block->strand->digest = hash_state_digest(whole.hash);
	hash_state_free(whole.hash);
	return 0;
}

/* Reports a strand that a split left alone. */
static int emit_left(struct refinement *refinement, const struct range *range,
		     const struct block *block)
{
	struct strand *strand = block->strand;

	if (!is_whole(refinement, range, block))
		return emit_alone(refinement, strand);
	if (refinement->calls->finish(refinement->context, strand) != 0)
		return 0;
	return emit(refinement, &strand, 1, &strand->digest);
}

/* Pushes each run of equal blocks on the stack as a range of its own. Strands that are left alone
 * are reported last, as hashing them uses the memory of the blocks. */
static int split(struct refinement *refinement, struct strand **strands, const struct range *range,
		 struct block *blocks, struct range_stack *stack)
{
	struct range part;
	int r = 0;

	for (size_t i = 0; i < range->count; i++)
		strands[range->first + i] = blocks[i].strand;
	for (size_t i = 0, end; r == 0 && i < range->count; i = end) {
		end = i + 1;
		while (end < range->count && compare_blocks(&blocks[i], &blocks[end]) == 0)
			end++;
		if (end - i == 1) {
			r = is_whole(refinement, range, &blocks[i]) ? hash_whole(range, &blocks[i])
								    : 0;
			blocks[i].data = NULL;
			continue;
		}
		part = *range;
		part.first = range->first + i;
		part.count = end - i;
		r = fork_hash(&part, range);
		if (r < 0)
			return r;
		advance(&part, &blocks[i]);
		r = push(stack, &part);
		if (r < 0)
			hash_state_free(part.hash);
	}
	for (size_t i = 0; r == 0 && i < range->count; i++) {
		if (!blocks[i].data)
			r = emit_left(refinement, range, &blocks[i]);
	}
	return r;
}

/* Outcome of a step: the range was split, and its parts are on the stack. */
enum {
	RANGE_SPLIT = 1
};

static int compare_step(struct refinement *refinement, struct strand **strands, struct range *range,
			struct range_stack *stack)
{
	size_t length = block_length(refinement, range);
	AUTO_FREE struct block *blocks = calloc(range->count, sizeof(*blocks));
	int r;

	if (!blocks)
		return -ENOMEM;
	read_blocks(refinement, strands, range, blocks, length);
	if (range->count < 2)
		return 0;
	if (sort_blocks(blocks, range->count)) {
		advance(range, &blocks[0]);
		return 0;
	}
	r = split(refinement, strands, range, blocks, stack);
	return r < 0 ? r : RANGE_SPLIT;
}

/* ---- the end of a range -------------------------------------------------------------- */

/* Reports the strands of a range that was compared to its end without a hash. */
static int emit_hashed_later(struct refinement *refinement, struct strand **strands,
			     const struct range *range)
{
	struct strand **first = strands + range->first;
	int r;

	if (refinement->gathered || (range->count == 1 && !(*first)->equal))
		return emit(refinement, first, range->count, NULL);
	if (range->hole_bytes > HASHED_HOLES_MAX) {
		for (size_t i = 0; i < range->count; i++)
			refinement->calls->refuse(refinement->context, first[i]);
		return 0;
	}
	r = hash_later(refinement, *first);
	if (r)
		return r == STRAND_LEFT_OUT ? 0 : r;
	return emit(refinement, first, range->count, &(*first)->digest);
}

static int finish_range(struct refinement *refinement, struct strand **strands, struct range *range)
{
	struct hash128 hash;
	size_t i = 0;

	while (i < range->count) {
		if (refinement->calls->finish(refinement->context, strands[range->first + i]) == 0)
			i++;
		else
			drop(strands, range, i);
	}
	if (range->count == 0)
		return 0;
	if (!range->hash)
		return emit_hashed_later(refinement, strands, range);
	hash = hash_state_digest(range->hash);
	return emit(refinement, strands + range->first, range->count, &hash);
}

static int follow_range(struct refinement *refinement, struct strand **strands, struct range *range,
			struct range_stack *stack)
{
	uint64_t hole;
	int r = 0;

	while (r == 0 && range->count > 1 && range->offset < refinement->size_bytes) {
		if (stop_requested())
			return -ECANCELED;
		hole = common_hole(refinement, strands, range);
		r = hole > 0 ? skip_zeros(range, hole)
			     : compare_step(refinement, strands, range, stack);
	}
	if (r)
		return r == RANGE_SPLIT ? 0 : r;
	if (range->count > 1)
		return finish_range(refinement, strands, range);
	return range->count == 1 ? emit_alone(refinement, strands[range->first]) : 0;
}

/* Compares the last block of each strand. Leaves the classes on the stack. */
static int compare_ends(struct refinement *refinement, struct strand **strands, size_t count,
			struct range_stack *stack)
{
	struct range range = {.count = count,
			      .offset = (refinement->size_bytes - 1) / BLOCK_MIN * BLOCK_MIN};
	int r = compare_step(refinement, strands, &range, stack);

	if (r == 0)
		r = push(stack, &range);
	return r < 0 ? r : 0;
}

/* Begins a range at the first byte of its files. */
static int begin_range(const struct refinement *refinement, struct range *range)
{
	range->offset = 0;
	if (refinement->hash_later)
		return 0;
	range->hash = hash_state_new();
	return range->hash ? 0 : -ENOMEM;
}

static int refine_together(struct refinement *refinement, struct strand **strands, size_t count)
{
	struct range range = {.count = count};
	struct range_stack stack = {0};
	int r;

	if (refinement->end_first)
		r = compare_ends(refinement, strands, count, &stack);
	else
		r = push(&stack, &range);
	for (size_t i = 0; r == 0 && i < stack.count; i++)
		r = begin_range(refinement, &stack.list[i]);
	while (r == 0 && stack.count > 0) {
		range = stack.list[--stack.count];
		r = follow_range(refinement, strands, &range, &stack);
		hash_state_free(range.hash);
	}
	stack_free(&stack);
	return r;
}

/* ---- too many files for the memory --------------------------------------------------- */

/* Hashes all strands. Moves the strands that could be read to the front, and sets *count to their
 * number. */
static int digest_all(struct refinement *refinement, struct strand **strands, size_t *count)
{
	struct hash_state *state = hash_state_new();
	size_t left = 0;
	int r = state ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < *count; i++) {
		hash_state_reset_seeded(state, refinement->seed);
		if (digest(refinement, strands[i], state) == 0)
			strands[left++] = strands[i];
		else if (stop_requested())
			r = -ECANCELED;
	}
	hash_state_free(state);
	*count = left;
	return r;
}

static int by_digest(const void *a, const void *b)
{
	const struct hash128 *x = &(*(struct strand *const *)a)->digest;
	const struct hash128 *y = &(*(struct strand *const *)b)->digest;

	if (x->high != y->high)
		return x->high < y->high ? -1 : 1;
	return x->low < y->low ? -1 : x->low > y->low;
}

/* Compares all strands once, in parts that fit. Moves one strand of each class to the front, and
 * sets *count to the number of classes. */
static int merge_parts(struct refinement *refinement, struct strand **strands, size_t *count)
{
	struct refinement part = *refinement;
	size_t capacity = refine_capacity(refinement), length;
	AUTO_FREE struct strand **copy = calloc(capacity, sizeof(struct strand *));
	int r = copy ? 0 : -ENOMEM;

	/* strands are gathered from the front, never beyond those that were copied */
	part.gathered = strands;
	part.hash_later = true;
	for (size_t i = 0; r == 0 && i < *count; i += length) {
		length = *count - i < capacity ? *count - i : capacity;
		memcpy(copy, strands + i, length * sizeof(struct strand *));
		r = refine_together(&part, copy, length);
	}
	*count = part.gathered_count;
	return r;
}

/* Splits strands with the same seeded hash. Such strands are nearly always all equal. */
static int refine_same_digest(struct refinement *refinement, struct strand **strands, size_t count)
{
	size_t capacity = refine_capacity(refinement), before = count;
	int r = 0;

	if (count == 1)
		return emit(refinement, strands, 1, NULL);
	while (r == 0 && count > capacity) {
		before = count;
		r = merge_parts(refinement, strands, &count);
		if (r == 0 && count == before)
			r = -E2BIG;
	}
	return r < 0 ? r : refine_together(refinement, strands, count);
}

int refine(struct refinement *refinement, struct strand **strands, size_t count)
{
	size_t end;
	int r, worst = 0;

	if (count <= refine_capacity(refinement))
		return refine_together(refinement, strands, count);
	if (refinement->hash_later)
		return refine_same_digest(refinement, strands, count);
	r = digest_all(refinement, strands, &count);
	if (r < 0)
		return r;
	qsort(strands, count, sizeof(struct strand *), by_digest);
	for (size_t i = 0; r == 0 && i < count; i = end) {
		end = i + 1;
		while (end < count && by_digest(&strands[i], &strands[end]) == 0)
			end++;
		r = refine_same_digest(refinement, strands + i, end - i);
		if (r == -E2BIG) {
			worst = r;
			r = 0;
		}
	}
	return r < 0 ? r : worst;
}
