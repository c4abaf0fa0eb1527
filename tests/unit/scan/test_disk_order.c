/* SPDX-License-Identifier: MIT */
#include "index/fixture.h"
#include "index/source.h"
#include "scan/contents.h"

#define MIB (UINT64_C(1) << 20)
#define PREFIXES_MAX 40
#define FILES_MAX 4
/* A batch is an eighth of the budget; the largest class in a batch is a fourth. */
#define BUDGET (80 * MIB)

/* Prefixes of a window. The files do not exist, but have positions on the disk. */
struct case_state {
	struct fixture *f;
	struct ingest_settings settings;
	struct sources sources;
	struct ingest ingest;
	struct contents contents;
	struct prefix prefixes[PREFIXES_MAX];
	struct content prefix_contents[PREFIXES_MAX];
	struct candidate candidates[PREFIXES_MAX * FILES_MAX];
};

static int setup(void **state)
{
	struct case_state *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	fixture_setup((void **)&p->f);
	p->settings = (struct ingest_settings){.disk = INGEST_DISK_ROTATING};
	p->sources.catalog = p->f->catalog;
	p->ingest = (struct ingest){.catalog = p->f->catalog,
				    .sources = &p->sources,
				    .settings = &p->settings};
	p->contents = (struct contents){.ingest = &p->ingest, .comparers = 3};
	p->contents.window.list = p->candidates;
	p->contents.undecided = calloc(PREFIXES_MAX, sizeof(struct prefix *));
	disk_order_init(&p->contents.order, &p->ingest, false);
	p->contents.order.budget = BUDGET;
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	struct case_state *p = *state;

	disk_order_deinit(&p->contents.order);
	free(p->contents.undecided);
	fixture_teardown((void **)&p->f);
	free(p);
	return 0;
}

/* Adds a class of files of one size. The first file is at place, the other files are far behind
 * it. */
static void add_class(struct case_state *p, uint64_t size, uint32_t files, uint64_t place)
{
	size_t number = p->contents.undecided_count++;
	struct content *content = &p->prefix_contents[number];
	struct prefix *prefix = &p->prefixes[number];

	*content = (struct content){.count = files};
	for (uint32_t i = 0; i < files; i++) {
		uint32_t at = (uint32_t)p->contents.window.count++;

		p->candidates[at] = (struct candidate){.file = 1000000 + at,
						       .size = size,
						       .place = place + UINT64_C(1000000) * i,
						       .next = content->first};
		content->first = at + 1;
	}
	*prefix = (struct prefix){.contents = content, .files = files, .undecided = true};
	prefix->key.size = size;
	p->contents.undecided[number] = prefix;
}

static uint64_t place_of(const struct case_state *p, uint32_t which)
{
	const struct content *content = p->contents.undecided[which]->contents;
	uint32_t at = content->first;

	while (p->candidates[at - 1].next)
		at = p->candidates[at - 1].next;
	return p->candidates[at - 1].place;
}

static uint64_t bytes_of(const struct case_state *p, uint32_t which)
{
	return p->contents.undecided[which]->files * p->contents.undecided[which]->key.size;
}

/* ---- cases --------------------------------------------------------------------------- */

static void test_size_limit_follows_from_the_budget(void **state)
{
	struct size_sums sums = {0};

	(void)state;
	assert_true(size_sums_limit(&sums, 0) >= UINT64_C(1) << 62);
	for (int i = 0; i < 100; i++)
		size_sums_add(&sums, 5000); /* 4096 to 8191 */
	for (int i = 0; i < 10; i++)
		size_sums_add(&sums, 100000); /* 65536 to 131071 */
	assert_int_equal(size_sums_limit(&sums, 499999), 4096);
	assert_int_equal(size_sums_limit(&sums, 500000), 65536);
	assert_int_equal(size_sums_limit(&sums, 1499999), 65536);
	assert_true(size_sums_limit(&sums, 1500000) > 100000);
}

static void test_empty_files_take_no_room(void **state)
{
	struct size_sums sums = {0};

	(void)state;
	size_sums_add(&sums, 0);
	size_sums_add(&sums, 1);
	assert_int_equal(size_sums_limit(&sums, 0), 1);
}

static void test_classes_are_taken_in_the_order_of_their_first_files(void **state)
{
	struct case_state *p = *state;
	uint64_t before = 0;
	unsigned int threads;
	uint32_t first, count, seen = 0;

	for (uint32_t i = 0; i < 30; i++)
		add_class(p, MIB, 2 + i % 3, 1 + i * 7919 % 30);
	assert_int_equal(disk_batches_make(&p->contents), 0);
	while ((count = disk_batches_next(&p->contents, &first, &threads)) > 0) {
		assert_int_equal(first, seen);
		assert_int_equal(threads, 3);
		for (; count > 0; count--, seen++) {
			assert_true(place_of(p, seen) >= before);
			before = place_of(p, seen);
		}
	}
	assert_int_equal(seen, 30);
}

static void test_batches_fill_their_part_of_the_budget(void **state)
{
	struct case_state *p = *state;
	uint64_t bytes, last_bytes = BUDGET;
	unsigned int threads;
	uint32_t first, count;

	for (uint32_t i = 0; i < 30; i++)
		add_class(p, MIB, 2 + i % 3, i + 1);
	assert_int_equal(disk_batches_make(&p->contents), 0);
	while ((count = disk_batches_next(&p->contents, &first, &threads)) > 0) {
		bytes = 0;
		for (uint32_t i = first; i < first + count; i++)
			bytes += bytes_of(p, i);
		assert_true(bytes <= BUDGET / 8);
		assert_true(last_bytes + bytes_of(p, first) > BUDGET / 8);
		last_bytes = bytes;
	}
}

static void test_large_classes_are_last_and_read_in_turns_by_one_thread(void **state)
{
	struct case_state *p = *state;
	struct disk_order *order = &p->contents.order;
	unsigned int threads;
	uint32_t first;

	add_class(p, 100 * MIB, 2, 1); /* a large file */
	add_class(p, 11 * MIB, 2, 2); /* a large class */
	add_class(p, 5 * MIB, 2, 3);
	assert_int_equal(disk_batches_make(&p->contents), 0);
	assert_int_equal(disk_batches_next(&p->contents, &first, &threads), 1);
	assert_int_equal(place_of(p, first), 3);
	assert_int_equal(disk_order_turn(order, 0, 2), 0);
	assert_int_equal(disk_batches_next(&p->contents, &first, &threads), 2);
	assert_int_equal(first, 1);
	assert_int_equal(threads, 1);
	assert_true(disk_order_turn(order, 0, 2) > 0);
	assert_int_equal(disk_batches_next(&p->contents, &first, &threads), 0);
}

static void test_turns_grow_and_share_the_budget(void **state)
{
	struct disk_order order = {.is_on = true, .in_turns = true, .budget = 1024 * MIB};

	(void)state;
	assert_int_equal(disk_order_turn(&order, 0, 2), 8 * MIB);
	assert_int_equal(disk_order_turn(&order, 16 * MIB, 2), 16 * MIB);
	assert_int_equal(disk_order_turn(&order, 1000 * MIB, 2), 32 * MIB);
	assert_int_equal(disk_order_turn(&order, 1000 * MIB, 64), 4 * MIB);
	assert_int_equal(disk_order_turn(&order, 1000 * MIB, 10000), MIB);
	order.is_on = false;
	assert_int_equal(disk_order_turn(&order, 0, 2), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_size_limit_follows_from_the_budget),
		cmocka_unit_test(test_empty_files_take_no_room),
		TEST(test_classes_are_taken_in_the_order_of_their_first_files),
		TEST(test_batches_fill_their_part_of_the_budget),
		TEST(test_large_classes_are_last_and_read_in_turns_by_one_thread),
		cmocka_unit_test(test_turns_grow_and_share_the_budget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
