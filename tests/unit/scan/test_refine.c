/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "base/stop.h"
#include "scan/colliding.h"
#include "scan/refine.h"
#include "unit_test.h"

#define STRANDS_MAX 1024
#define KIB ((size_t)1 << 10)

/* A file in memory that counts the reads of each byte. */
struct fake {
	struct strand strand;
	uint8_t *data, *times; /* times: how often each byte was read */
	uint64_t hole_from, hole_end;
	bool open, failed, refused, emitted; /* open: read, not yet finished or abandoned */
	unsigned int class; /* as emitted, from 1 */
};

struct case_state {
	struct refinement refinement;
	struct fake *list;
	size_t count; /* of the list */
	size_t length; /* of each file */
	unsigned int classes;
	int calls; /* of read and finish, for all files */
	int failing_call; /* the number of the read or finish that fails; -1: none */
	int emits;
	int failing_emit; /* the number of the emit that returns -EIO */
	int stop_at; /* the call at which a stop is requested, -1: none */
};

/* ---- calls --------------------------------------------------------------------------- */

static bool fails_now(struct case_state *p, struct fake *fake)
{
	bool fails = p->calls == p->failing_call;

	if (p->calls++ == p->stop_at)
		stop_request();
	fake->failed |= fails;
	return fails;
}

static uint64_t fake_hole(void *context, struct strand *strand, uint64_t offset)
{
	struct fake *fake = strand->file;
	struct case_state *p = context;

	assert_true(offset < p->length);
	return offset >= fake->hole_from && offset < fake->hole_end ? fake->hole_end - offset : 0;
}

static int fake_read(void *context, struct strand *strand, uint64_t offset, void *block,
		     size_t length)
{
	struct fake *fake = strand->file;
	struct case_state *p = context;
	uint8_t *memory = p->refinement.memory, *at = block;

	assert_true(length > 0 && offset + length <= p->length && !fake->failed);
	assert_true(at >= memory && at + length <= memory + p->refinement.budget_bytes);
	/* the kernel copies fastest to aligned memory */
	assert_int_equal((at - memory) % (4 * KIB), 0);
	if (fails_now(p, fake)) {
		memset(block, 0xee, length / 2);
		fake->open = false;
		return -EIO;
	}
	memcpy(block, fake->data + offset, length);
	for (size_t i = 0; i < length; i++)
		fake->times[offset + i]++;
	fake->open = true;
	return 0;
}

static int fake_finish(void *context, struct strand *strand)
{
	struct fake *fake = strand->file;

	assert_false(fake->failed);
	fake->open = false;
	return fails_now(context, fake) ? 1 : 0;
}

static void fake_abandon(void *context, struct strand *strand)
{
	struct fake *fake = strand->file;

	(void)context;
	fake->open = false;
}

static void fake_refuse(void *context, struct strand *strand)
{
	(void)context;
	for (; strand; strand = strand->equal)
		((struct fake *)strand->file)->refused = true;
}

static int fake_emit(void *context, struct strand *first, const struct hash128 *hash)
{
	const struct fake *fake = first->file;
	struct hash128 expected;
	struct case_state *p = context;

	if (p->emits++ == p->failing_emit)
		return -EIO;
	p->classes++;
	assert_true(hash || !first->equal);
	if (hash) {
		expected = hash128(fake->data, p->length);
		assert_true(hash->high == expected.high && hash->low == expected.low);
	}
	for (struct strand *strand = first; strand; strand = strand->equal) {
		struct fake *member = strand->file;

		assert_false(member->emitted || member->failed);
		member->emitted = true;
		member->class = p->classes;
	}
	return 0;
}

static const struct refine_calls fake_calls = {
	.hole = fake_hole,
	.read = fake_read,
	.finish = fake_finish,
	.abandon = fake_abandon,
	.refuse = fake_refuse,
	.emit = fake_emit,
};

/* ---- a set of files ------------------------------------------------------------------ */

static struct case_state *case_new(size_t count, size_t length, size_t budget)
{
	struct case_state *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	p->list = calloc(count, sizeof(*p->list));
	assert_non_null(p->list);
	p->count = count;
	p->length = length;
	p->failing_call = p->failing_emit = p->stop_at = -1;
	for (size_t i = 0; i < count; i++) {
		p->list[i].data = calloc(1, length ? length : 1);
		p->list[i].times = calloc(1, length ? length : 1);
		assert_true(p->list[i].data && p->list[i].times);
	}
	p->refinement = (struct refinement){.calls = &fake_calls,
					    .context = p,
					    .size_bytes = length,
					    .memory = malloc(budget),
					    .budget_bytes = budget};
	assert_non_null(p->refinement.memory);
	return p;
}

/* Makes the files ready to be refined (again). */
static void case_reset(struct case_state *p)
{
	for (size_t i = 0; i < p->count; i++) {
		struct fake *fake = &p->list[i];

		memset(fake->times, 0, p->length);
		fake->strand = (struct strand){.file = fake};
		fake->open = fake->failed = fake->refused = fake->emitted = false;
		fake->class = 0;
	}
	p->classes = 0;
	p->calls = p->emits = 0;
}

static void case_free(struct case_state *p)
{
	for (size_t i = 0; i < p->count; i++) {
		free(p->list[i].data);
		free(p->list[i].times);
	}
	free(p->list);
	free(p->refinement.memory);
	free(p);
}

static int run(struct case_state *p)
{
	struct strand **strands = calloc(p->count, sizeof(*strands));
	int r;

	assert_non_null(strands);
	case_reset(p);
	for (size_t i = 0; i < p->count; i++)
		strands[i] = &p->list[i].strand;
	r = refine(&p->refinement, strands, p->count);
	free(strands);
	return r;
}

static bool are_equal(const struct case_state *p, size_t a, size_t b)
{
	return memcmp(p->list[a].data, p->list[b].data, p->length) == 0;
}

static bool has_lost_twin(const struct case_state *p, size_t which)
{
	for (size_t i = 0; i < p->count; i++) {
		if (p->list[i].failed && are_equal(p, i, which))
			return true;
	}
	return false;
}

/* Each emitted file is in a class with exactly its equals. A file that was not emitted failed, or
 * an equal file failed that represented it in a set too large for lock-step. */
static void assert_right(const struct case_state *p, unsigned int reads_max)
{
	bool crowd = p->count > refine_capacity(&p->refinement);

	for (size_t i = 0; i < p->count; i++) {
		const struct fake *fake = &p->list[i];

		assert_false(fake->open);
		if (!fake->emitted)
			assert_true(fake->failed || (crowd && has_lost_twin(p, i)));
		for (size_t j = 0; fake->emitted && j < i; j++) {
			if (p->list[j].emitted)
				assert_int_equal(fake->class == p->list[j].class,
						 are_equal(p, i, j));
		}
		for (size_t at = 0; at < p->length; at++)
			assert_true(fake->times[at] <= reads_max);
	}
}

static void assert_refined(struct case_state *p, unsigned int reads_max)
{
	assert_int_equal(run(p), 0);
	assert_right(p, reads_max);
	for (size_t i = 0; i < p->count; i++)
		assert_true(p->list[i].emitted);
}

/* Few contents that differ at random places and are shared by many files. */
static void fill_random(struct case_state *p, size_t contents)
{
	for (size_t i = 0; i < p->count; i++) {
		size_t content = (size_t)random() % contents;

		memset(p->list[i].data, 'x', p->length);
		for (size_t bit = 0; p->length > 0 && bit < 8; bit++) {
			if (content >> bit & 1)
				p->list[i].data[bit * 7919 % p->length] ^= (uint8_t)(1 << bit);
		}
	}
}

/* ---- classes ------------------------------------------------------------------------- */

static void test_random_sets_are_split_as_by_comparing_each_byte(void **state)
{
	(void)state;
	srandom(1);
	for (int i = 0; i < 400; i++) {
		size_t count = 1 + (size_t)random() % 40;
		struct case_state *p = case_new(count, (size_t)random() % 60000, 160 * KIB);

		fill_random(p, 1 + (size_t)random() % 12);
		for (unsigned int how = 0; how < 4; how++) {
			p->refinement.hash_later = how % 2;
			p->refinement.end_first = how / 2 && p->length > 0;
			assert_refined(p, 1 + how % 2 + how / 2);
		}
		case_free(p);
	}
}

/* Returns a random number above capacity, up to its square: one round of parts suffices for it. */
static size_t random_file_count(size_t capacity)
{
	return capacity + 1 + (size_t)random() % (capacity * capacity - capacity);
}

static void test_many_files_are_split_as_by_comparing_each_byte(void **state)
{
	(void)state;
	srandom(2);
	for (int i = 0; i < 300; i++) {
		size_t capacity = 2 + (size_t)random() % 7;
		struct case_state *p = case_new(random_file_count(capacity),
						(size_t)random() % 20000, capacity * 4 * KIB);

		fill_random(p, 1 + (size_t)random() % 20);
		assert_int_equal(refine_capacity(&p->refinement), capacity);
		assert_refined(p, 3);
		case_free(p);
	}
}

static void test_files_that_differ_early_are_not_read_further(void **state)
{
	struct case_state *p = case_new(2, 4096 * KIB, 64 * KIB);

	(void)state;
	p->list[0].data[0] = 1;
	assert_refined(p, 1);
	assert_int_equal(p->list[0].times[32 * KIB], 0);
	assert_int_equal(p->classes, 2);
	case_free(p);
}

static void test_last_byte_is_compared(void **state)
{
	struct case_state *p = case_new(3, 300 * KIB + 1, 64 * KIB);

	(void)state;
	p->list[1].data[p->length - 1] = 1;
	for (unsigned int first = 0; first < 2; first++) {
		p->refinement.end_first = first;
		assert_refined(p, 1 + first);
		assert_int_equal(p->classes, 2);
		assert_int_equal(p->list[0].class, p->list[2].class);
		assert_int_equal(p->list[1].times[0], !first);
	}
	case_free(p);
}

static void test_empty_files_are_one_class(void **state)
{
	struct case_state *p = case_new(5, 0, 8 * KIB);

	(void)state;
	assert_refined(p, 0);
	assert_int_equal(p->classes, 1);
	case_free(p);
}

/* ---- holes --------------------------------------------------------------------------- */

static void make_hole(struct case_state *p, size_t which, uint64_t from, uint64_t end)
{
	p->list[which].hole_from = from;
	p->list[which].hole_end = end;
	memset(p->list[which].data + from, 0, end - from);
}

static void test_common_hole_is_not_read(void **state)
{
	struct case_state *p = case_new(4, 300 * KIB, 64 * KIB);

	(void)state;
	fill_random(p, 1);
	for (size_t i = 0; i < 4; i++)
		make_hole(p, i, 16 * KIB, 290 * KIB);
	p->list[3].data[299 * KIB] ^= 1;
	assert_refined(p, 1);
	assert_int_equal(p->classes, 2);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(p->list[i].times[290 * KIB - 1], 0);
		assert_int_equal(p->list[i].times[100 * KIB], 0);
	}
	case_free(p);
}

static void test_hole_equals_zeros(void **state)
{
	struct case_state *p = case_new(3, 100 * KIB, 64 * KIB);

	(void)state;
	fill_random(p, 1);
	make_hole(p, 0, 10 * KIB, 70 * KIB);
	make_hole(p, 1, 10 * KIB, 70 * KIB);
	make_hole(p, 2, 10 * KIB, 70 * KIB);
	p->list[1].hole_end = p->list[1].hole_from; /* stored zeros */
	p->list[2].hole_end = 50 * KIB;
	assert_refined(p, 1);
	assert_int_equal(p->classes, 1);
	p->refinement.hash_later = true;
	assert_refined(p, 2);
	assert_int_equal(p->classes, 1);
	case_free(p);
}

static void test_files_that_are_one_hole_are_equal_without_reading(void **state)
{
	struct case_state *p = case_new(10, 200 * KIB, 8 * KIB);

	(void)state;
	for (size_t i = 0; i < p->count; i++)
		make_hole(p, i, 0, p->length);
	assert_refined(p, 0);
	assert_int_equal(p->classes, 1);
	case_free(p);
}

static void test_random_holes_change_nothing(void **state)
{
	(void)state;
	srandom(3);
	for (int i = 0; i < 200; i++) {
		struct case_state *p = case_new(2 + (size_t)random() % 12, 40000, 40 * KIB);

		fill_random(p, 4);
		for (size_t n = 0; n < p->count; n++) {
			uint64_t from = (uint64_t)(random() % 3) * 10000;

			if (random() % 2)
				make_hole(p, n, from, from + (uint64_t)(random() % 3) * 5000);
		}
		p->refinement.hash_later = i % 2;
		assert_refined(p, i % 2 ? 4 : 3);
		case_free(p);
	}
}

/* ---- one hash, many contents --------------------------------------------------------- */

/* Makes copies of each of these contents of one hash, in random order. */
static struct case_state *new_collisions(size_t contents, size_t copies, size_t budget)
{
	struct case_state *p = case_new(contents * copies, 512, budget);
	uint8_t other[512];

	for (size_t i = 0; i < p->count; i++)
		colliding_fill(p->list[i].data, p->length, (uint32_t)(i % contents));
	for (size_t i = p->count; i > 1; i--) {
		size_t at = (size_t)random() % i;

		memcpy(other, p->list[i - 1].data, sizeof(other));
		memcpy(p->list[i - 1].data, p->list[at].data, sizeof(other));
		memcpy(p->list[at].data, other, sizeof(other));
	}
	for (size_t i = 1; i < p->count; i++)
		assert_true(hash128(p->list[0].data, p->length).low ==
			    hash128(p->list[i].data, p->length).low);
	return p;
}

static void test_thousand_contents_of_one_hash_are_distinguished(void **state)
{
	struct case_state *p = new_collisions(1000, 1, 4096 * KIB);

	(void)state;
	assert_refined(p, 1);
	assert_int_equal(p->classes, 1000);
	case_free(p);
}

static void test_more_files_of_one_hash_than_fit_are_distinguished(void **state)
{
	struct case_state *p = new_collisions(40, 20, 1024 * KIB);

	(void)state;
	assert_refined(p, 3);
	assert_int_equal(p->classes, 40);
	case_free(p);
}

static void test_more_contents_of_one_hash_than_fit_are_reported_alone(void **state)
{
	struct case_state *p = new_collisions(300, 3, 64 * KIB);
	size_t others = 0;

	(void)state;
	for (size_t i = 0; i < p->count; i += 9)
		memset(p->list[i].data, (int)(i % 4), p->length);
	assert_int_equal(run(p), -E2BIG);
	for (size_t i = 0; i < p->count; i++) {
		struct fake *fake = &p->list[i];

		assert_false(fake->open);
		fake->failed = i % 9 != 0 && !fake->emitted; /* reported as holes */
		others += fake->emitted;
	}
	assert_right(p, 6);
	assert_true(others >= 100);
	p->refinement.seed = 7; /* the contents do not collide with another seed */
	assert_refined(p, 3);
	case_free(p);
}

/* ---- failures ------------------------------------------------------------------------ */

/* Every call of read and finish fails once. */
static void fail_everywhere(struct case_state *p, unsigned int reads_max)
{
	int calls;

	assert_int_equal(run(p), 0);
	calls = p->calls;
	assert_true(calls > 0);
	for (p->failing_call = 0; p->failing_call < calls; p->failing_call++) {
		assert_int_equal(run(p), 0);
		assert_right(p, reads_max);
	}
}

static void test_file_that_fails_anywhere_is_left_out_and_no_other(void **state)
{
	(void)state;
	srandom(7);
	for (int i = 0; i < 30; i++) {
		struct case_state *p = case_new(2 + (size_t)random() % 6, 60000, 64 * KIB);

		fill_random(p, 1 + (size_t)random() % 4);
		p->refinement.end_first = i % 2;
		fail_everywhere(p, 3);
		case_free(p);
	}
}

static void test_file_that_fails_among_many_affects_only_its_equals(void **state)
{
	(void)state;
	srandom(8);
	for (int i = 0; i < 20; i++) {
		struct case_state *p = case_new(random_file_count(3), 9000, 12 * KIB);

		fill_random(p, 1 + (size_t)random() % 4);
		fail_everywhere(p, 4);
		case_free(p);
	}
}

static void test_all_files_may_fail(void **state)
{
	struct case_state *p = case_new(2, 1000, 64 * KIB);

	(void)state;
	p->failing_call = 0;
	assert_int_equal(run(p), 0);
	assert_int_equal(p->classes, 1);
	assert_true(p->list[1].emitted);
	case_free(p);
}

static void test_failure_to_emit_a_class_ends_the_work(void **state)
{
	struct case_state *p = case_new(12, 5000, 64 * KIB);

	(void)state;
	srandom(9);
	fill_random(p, 4);
	for (size_t budget = 64 * KIB; budget >= 8 * KIB; budget /= 8) {
		p->refinement.budget_bytes = budget;
		p->failing_emit = -1;
		assert_refined(p, 3);
		for (p->failing_emit = 0; (unsigned int)p->failing_emit < p->classes;) {
			assert_int_equal(run(p), -EIO);
			assert_int_equal(p->emits, ++p->failing_emit);
			p->classes = 4;
		}
	}
	case_free(p);
}

/* Must be the last test, because a stop cannot be undone. */
static void test_stop_ends_the_work(void **state)
{
	struct case_state *p = case_new(12, 500 * KIB, 64 * KIB);

	(void)state;
	fill_random(p, 3);
	p->stop_at = 20;
	assert_int_equal(run(p), -ECANCELED);
	assert_true(p->calls < 40);
	p->refinement.budget_bytes = 8 * KIB;
	assert_int_equal(run(p), -ECANCELED);
	case_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_sets_are_split_as_by_comparing_each_byte),
		cmocka_unit_test(test_many_files_are_split_as_by_comparing_each_byte),
		cmocka_unit_test(test_files_that_differ_early_are_not_read_further),
		cmocka_unit_test(test_last_byte_is_compared),
		cmocka_unit_test(test_empty_files_are_one_class),
		cmocka_unit_test(test_common_hole_is_not_read),
		cmocka_unit_test(test_hole_equals_zeros),
		cmocka_unit_test(test_files_that_are_one_hole_are_equal_without_reading),
		cmocka_unit_test(test_random_holes_change_nothing),
		cmocka_unit_test(test_thousand_contents_of_one_hash_are_distinguished),
		cmocka_unit_test(test_more_files_of_one_hash_than_fit_are_distinguished),
		cmocka_unit_test(test_more_contents_of_one_hash_than_fit_are_reported_alone),
		cmocka_unit_test(test_file_that_fails_anywhere_is_left_out_and_no_other),
		cmocka_unit_test(test_file_that_fails_among_many_affects_only_its_equals),
		cmocka_unit_test(test_all_files_may_fail),
		cmocka_unit_test(test_failure_to_emit_a_class_ends_the_work),
		cmocka_unit_test(test_stop_ends_the_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
