/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "scan/candidates.h"
#include "scan/colliding.h"
#include "unit_test.h"

#define FILES_MAX 400

struct case_state {
	struct prefixes prefixes;
	struct candidate window[FILES_MAX];
	uint8_t *bytes[FILES_MAX];
	size_t count;
};

static void case_init(struct case_state *p, size_t budget)
{
	memset(p, 0, sizeof(*p));
	p->prefixes.window = p->window;
	p->prefixes.budget_bytes = budget;
	p->prefixes.seed = 1;
}

/* Adds a file of size bytes whose prefix was read. */
static void add(struct case_state *p, uint64_t size, const uint8_t *bytes)
{
	size_t length = prefix_length(size);
	struct candidate *candidate = &p->window[p->count];

	assert_true(p->count < FILES_MAX);
	p->bytes[p->count] = malloc(length ? length : 1);
	assert_non_null(p->bytes[p->count]);
	memcpy(p->bytes[p->count], bytes, length);
	*candidate =
		(struct candidate){.file = p->count, .size = size, .hash = hash128(bytes, length)};
	assert_int_equal(prefixes_add(&p->prefixes, (uint32_t)p->count, p->bytes[p->count]), 0);
	p->count++;
}

static void case_free(struct case_state *p)
{
	for (size_t i = 0; i < p->count; i++)
		free(p->bytes[i]);
	prefixes_reset(&p->prefixes);
	arena_free(&p->prefixes.memory);
}

static bool are_equal(const struct case_state *p, uint32_t a, uint32_t b)
{
	return p->window[a].size == p->window[b].size &&
	       memcmp(p->bytes[a], p->bytes[b], (size_t)p->window[a].size) == 0;
}

/* Computes the class of each file, after the undecided prefixes were compared completely. */
static void refine_all(const struct case_state *p, unsigned int *classes)
{
	unsigned int class = 0;
	const struct prefix *prefix, *next;

	HASH_ITER(hh, p->prefixes.table, prefix, next)
	{
		for (const struct content *c = prefix->contents; c; c = c->next) {
			unsigned int this = ++class;

			/* as refinement does for the first file of each content */
			for (const struct content *o = prefix->contents;
			     prefix->undecided && o != c; o = o->next) {
				if (are_equal(p, o->first - 1, c->first - 1))
					this = classes[o->first - 1];
			}
			for (uint32_t at = c->first; at; at = p->window[at - 1].next) {
				assert_int_equal(classes[at - 1], 0);
				classes[at - 1] = this;
			}
		}
	}
}

static void assert_classes_are_right(const struct case_state *p)
{
	unsigned int classes[FILES_MAX] = {0};

	refine_all(p, classes);
	for (uint32_t i = 0; i < p->count; i++) {
		assert_true(classes[i] != 0);
		for (uint32_t j = 0; j < i; j++)
			assert_int_equal(classes[i] == classes[j], are_equal(p, i, j));
	}
}

/* Checks that each file is in the chain of one content, under the prefix of its size and hash. */
static void assert_counts_agree(const struct case_state *p)
{
	const struct prefix *prefix, *next;
	uint32_t files = 0;

	HASH_ITER(hh, p->prefixes.table, prefix, next)
	{
		uint32_t in_prefix = 0;

		for (const struct content *c = prefix->contents; c; c = c->next) {
			uint32_t in_content = 0;

			for (uint32_t at = c->first; at; at = p->window[at - 1].next, in_content++)
				assert_true(p->window[at - 1].size == prefix->key.size);
			assert_int_equal(in_content, c->count);
			in_prefix += in_content;
		}
		assert_int_equal(in_prefix, prefix->files);
		files += in_prefix;
	}
	assert_int_equal(files, p->count);
}

static unsigned int count_undecided(const struct case_state *p)
{
	const struct prefix *prefix, *next;
	unsigned int count = 0;

	HASH_ITER(hh, p->prefixes.table, prefix, next)
	count += prefix->undecided;
	return count;
}

/* ---- cases --------------------------------------------------------------------------- */

/* Many small files of few contents, hash collisions among them. */
static void add_small_files(struct case_state *p)
{
	uint8_t block[600];

	for (int i = 0; i < 300; i++) {
		uint64_t size = 256 + (uint64_t)(random() % 2) * 300;

		colliding_fill(block, sizeof(block), (uint32_t)random() % 5);
		if (random() % 2)
			block[200] = (uint8_t)(random() % 4);
		add(p, size, block);
	}
}

static void test_memory_for_bytes_affects_only_the_time_of_decisions(void **state)
{
	static const size_t budgets[] = {0, 1, 500, 1000, 3000, 5000, (size_t)1 << 20};

	(void)state;
	for (size_t i = 0; i < sizeof(budgets) / sizeof(*budgets); i++) {
		struct case_state p;

		srandom(1);
		case_init(&p, budgets[i]);
		add_small_files(&p);
		assert_counts_agree(&p);
		assert_classes_are_right(&p);
		assert_true(p.prefixes.cached_bytes <= budgets[i]);
		if (budgets[i] == 0)
			assert_true(count_undecided(&p) > 0);
		if (i + 1 == sizeof(budgets) / sizeof(*budgets))
			assert_int_equal(count_undecided(&p), 0);
		case_free(&p);
	}
}

static void test_collisions_are_distinguished_at_once(void **state)
{
	uint8_t block[512];
	struct case_state p;

	(void)state;
	case_init(&p, (size_t)1 << 20);
	for (uint32_t i = 0; i < 100; i++) {
		colliding_fill(block, sizeof(block), i % 10);
		add(&p, sizeof(block), block);
	}
	assert_int_equal(HASH_COUNT(p.prefixes.table), 1);
	assert_int_equal(HASH_COUNT(p.prefixes.marks), 10);
	assert_false(p.prefixes.table->undecided);
	assert_classes_are_right(&p);
	case_free(&p);
}

static void test_collisions_of_the_second_hash_are_compared_later(void **state)
{
	uint8_t block[512];
	struct case_state p;

	(void)state;
	case_init(&p, (size_t)1 << 20);
	p.prefixes.seed = 0; /* the seed with which the contents collide */
	for (uint32_t i = 0; i < 100; i++) {
		colliding_fill(block, sizeof(block), i % 10);
		add(&p, sizeof(block), block);
	}
	assert_int_equal(HASH_COUNT(p.prefixes.marks), 1);
	assert_true(p.prefixes.table->undecided);
	assert_classes_are_right(&p);
	case_free(&p);
}

static void test_large_files_of_one_prefix_are_undecided(void **state)
{
	static uint8_t block[SMALL_BYTES];
	struct case_state p;

	(void)state;
	case_init(&p, (size_t)1 << 20);
	add(&p, SMALL_BYTES + 1, block);
	assert_int_equal(count_undecided(&p), 0); /* the only file with this prefix */
	add(&p, SMALL_BYTES + 2, block);
	assert_int_equal(count_undecided(&p), 0); /* the sizes differ */
	add(&p, SMALL_BYTES + 1, block);
	assert_int_equal(count_undecided(&p), 1);
	add(&p, SMALL_BYTES, block); /* the largest small file */
	add(&p, SMALL_BYTES, block);
	assert_int_equal(count_undecided(&p), 1);
	assert_counts_agree(&p);
	assert_int_equal(p.prefixes.cached_bytes, SMALL_BYTES);
	case_free(&p);
}

static void test_empty_files_are_equal_without_memory(void **state)
{
	struct case_state p;

	(void)state;
	case_init(&p, 0);
	add(&p, 0, (const uint8_t *)"");
	add(&p, 0, (const uint8_t *)"");
	assert_int_equal(count_undecided(&p), 0);
	assert_int_equal(p.prefixes.table->contents->count, 2);
	case_free(&p);
}

static void test_reset_leaves_nothing(void **state)
{
	uint8_t block[256];
	struct case_state p;

	(void)state;
	case_init(&p, 1000);
	for (int round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < 50; i++) {
			memset(block, (int)(i % 20), sizeof(block));
			add(&p, sizeof(block), block);
		}
		assert_counts_agree(&p);
		assert_int_equal(HASH_COUNT(p.prefixes.table), 20);
		prefixes_reset(&p.prefixes);
		assert_null(p.prefixes.table);
		assert_int_equal(p.prefixes.cached_bytes, 0);
		for (; p.count > 0; p.count--)
			free(p.bytes[p.count - 1]);
	}
	case_free(&p);
}

static void test_listed_prefix_is_never_zero(void **state)
{
	(void)state;
	assert_int_equal(prefix_of((struct hash128){5, 0}), 1);
	assert_int_equal(prefix_of((struct hash128){5, 7}), 7);
	assert_int_equal(prefix_of((struct hash128){5, UINT64_C(1) << PREFIX_HASH_BITS}), 1);
	assert_int_equal(prefix_of((struct hash128){5, UINT64_MAX}),
			 (UINT64_C(1) << PREFIX_HASH_BITS) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory_for_bytes_affects_only_the_time_of_decisions),
		cmocka_unit_test(test_collisions_are_distinguished_at_once),
		cmocka_unit_test(test_collisions_of_the_second_hash_are_compared_later),
		cmocka_unit_test(test_large_files_of_one_prefix_are_undecided),
		cmocka_unit_test(test_empty_files_are_equal_without_memory),
		cmocka_unit_test(test_reset_leaves_nothing),
		cmocka_unit_test(test_listed_prefix_is_never_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
