/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "base/sort.h"
#include "unit_test.h"

#define RECORDS_MAX 1000

/* The key has the first two fields only; last orders records with equal keys. */
struct record {
	uint64_t major, minor, last;
};

static unsigned int compared;

static int compare_records(const void *a, const void *b)
{
	const struct record *x = a, *y = b;
	int order = numbers_compare(x->major, y->major);

	compared++;
	if (order == 0)
		order = numbers_compare(x->minor, y->minor);
	return order ? order : numbers_compare(x->last, y->last);
}

static void set_record_key(const void *record, struct sort_key *key)
{
	key->major = ((const struct record *)record)->major;
	key->minor = ((const struct record *)record)->minor;
}

static const struct sort_order order = {set_record_key, compare_records};

/* Fills the list with records whose fields are below the limits. */
static void fill(struct record *list, size_t count, struct record limits)
{
	uint64_t state = 88172645463325252;

	for (size_t i = 0; i < 3 * count; i++) {
		uint64_t limit = i % 3 == 0   ? limits.major
				 : i % 3 == 1 ? limits.minor
					      : limits.last;

		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		((uint64_t *)list)[i] = state % limit;
	}
}

static void check_sorted(size_t count, struct record limits)
{
	struct record list[RECORDS_MAX], expected[RECORDS_MAX];

	fill(list, count, limits);
	memcpy(expected, list, sizeof(list));
	qsort(expected, count, sizeof(*expected), compare_records);
	key_sort(list, count, sizeof(*list), &order);
	assert_memory_equal(list, expected, count * sizeof(*list));
}

static void test_records_of_any_number_are_sorted_like_by_qsort(void **state)
{
	static const size_t counts[] = {1, 2, 63, 64, 65, 256, 257, RECORDS_MAX};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		check_sorted(counts[i], (struct record){UINT64_MAX, UINT64_MAX, UINT64_MAX});
		check_sorted(counts[i], (struct record){1, UINT64_MAX, 2});
		check_sorted(counts[i], (struct record){UINT64_C(1) << 33, 1, 2});
	}
}

/* A small record: the key is its upper half. */
static void set_number_key(const void *record, struct sort_key *key)
{
	*key = (struct sort_key){.major = *(const uint64_t *)record >> 32};
}

static void test_few_small_records_are_sorted_like_by_qsort(void **state)
{
	static const struct sort_order by_number = {set_number_key, numbers_by_value};
	uint64_t list[65], expected[65];

	(void)state;
	for (size_t count = 0; count <= ARRAY_SIZE(list); count++) {
		for (uint64_t keys = 1; keys < UINT64_C(1) << 32; keys *= 8) {
			for (size_t i = 0; i < count; i++)
				list[i] = (i * 2654435761U % keys) << 32 | (count - i);
			memcpy(expected, list, sizeof(list));
			qsort(expected, count, sizeof(*expected), numbers_by_value);
			key_sort(list, count, sizeof(*list), &by_number);
			assert_memory_equal(list, expected, count * sizeof(*list));
		}
	}
}

static void test_records_with_equal_keys_are_compared(void **state)
{
	(void)state;
	check_sorted(RECORDS_MAX, (struct record){3, 2, UINT64_MAX});
	check_sorted(RECORDS_MAX, (struct record){1, 1, UINT64_MAX});
}

static void test_sorted_records_are_not_compared(void **state)
{
	struct record list[RECORDS_MAX];

	(void)state;
	for (size_t i = 0; i < RECORDS_MAX; i++)
		list[i] = (struct record){i / 7, i, 0};
	compared = 0;
	key_sort(list, RECORDS_MAX, sizeof(*list), &order);
	assert_int_equal(compared, 0);
	for (size_t i = 0; i < RECORDS_MAX; i++)
		assert_int_equal(list[i].minor, i);
}

static void test_empty_list_is_not_read(void **state)
{
	(void)state;
	key_sort(NULL, 0, sizeof(struct record), &order);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records_of_any_number_are_sorted_like_by_qsort),
		cmocka_unit_test(test_few_small_records_are_sorted_like_by_qsort),
		cmocka_unit_test(test_records_with_equal_keys_are_compared),
		cmocka_unit_test(test_sorted_records_are_not_compared),
		cmocka_unit_test(test_empty_list_is_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
