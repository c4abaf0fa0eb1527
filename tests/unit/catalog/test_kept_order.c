/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "catalog/kept_order.h"

static struct kept_rank rank(uint32_t source, uint32_t first_seen, const char *path)
{
	return (struct kept_rank){source, first_seen, path, strlen(path)};
}

static void test_each_criterion_decides_where_those_before_it_are_equal(void **state)
{
	/* in order of preference; the criterion decides between an entry and the next entry */
	const struct {
		struct kept_rank rank;
		enum kept_criterion by;
	} sorted[] = {
		{rank(0, 1, "b"), KEPT_BY_PATH},
		{rank(0, 1, "c"), KEPT_BY_FIRST_SEEN},
		{rank(0, 2, ""), KEPT_BY_PATH},
		{rank(0, 2, "a"), KEPT_BY_PATH},
		{rank(0, 2, "a/b"), KEPT_BY_PATH},
		{rank(0, 2, "\xff"), KEPT_BY_SOURCE},
		{rank(1, 1, "a"), KEPT_BY_FIRST_SEEN},
		{rank(1, UINT32_MAX, "a"), KEPT_BY_SOURCE},
		{rank(UINT32_MAX, 0, "a"), KEPT_BY_SOURCE},
	};
	enum kept_criterion by;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sorted); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(sorted); j++) {
			int order = kept_order(&sorted[i].rank, &sorted[j].rank, &by);

			assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
			assert_int_equal(kept_order(&sorted[i].rank, &sorted[j].rank, NULL), order);
			if (j == i + 1)
				assert_int_equal(by, sorted[i].by);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_criterion_decides_where_those_before_it_are_equal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
