/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/attributes.h"
#include "page/page_parts.h"
#include "unit_test.h"

/* Part of a pixel that is not visible. */
#define NOTHING 1e-6

static const struct treemap_box whole = {0, 0, 600, 400};

static bool overlap(const struct treemap_box *a, const struct treemap_box *b)
{
	return a->x + a->width > b->x + NOTHING && b->x + b->width > a->x + NOTHING &&
	       a->y + a->height > b->y + NOTHING && b->y + b->height > a->y + NOTHING;
}

static bool is_within(const struct treemap_box *box, const struct treemap_box *area)
{
	return box->x >= area->x - NOTHING && box->y >= area->y - NOTHING &&
	       box->x + box->width <= area->x + area->width + NOTHING &&
	       box->y + box->height <= area->y + area->height + NOTHING;
}

/* Checks that each area is proportional to its size, that all boxes are in the whole area, and that
 * no two boxes overlap. Such boxes fill the whole area. */
static void check_boxes(const uint64_t *sizes, size_t count, const struct treemap_box *area)
{
	AUTO_FREE struct treemap_box *boxes = calloc(count, sizeof(*boxes));
	double total = 0;

	assert_non_null(boxes);
	treemap_lay_out(sizes, count, *area, boxes);
	for (size_t i = 0; i < count; i++)
		total += (double)sizes[i];
	for (size_t i = 0; i < count; i++) {
		double wanted = area->width * area->height * (double)sizes[i] / total;

		assert_true(fabs(boxes[i].width * boxes[i].height - wanted) <
			    NOTHING * (1 + wanted));
		assert_true(is_within(&boxes[i], area));
		for (size_t j = 0; j < i; j++)
			assert_false(overlap(&boxes[i], &boxes[j]));
	}
}

static void check_box(const struct treemap_box *box, double x, double y, double width,
		      double height)
{
	assert_true(fabs(box->x - x) < NOTHING && fabs(box->y - y) < NOTHING);
	assert_true(fabs(box->width - width) < NOTHING && fabs(box->height - height) < NOTHING);
}

/* Figure 4 of the paper: a rectangle of 6 x 4 for sizes of 6, 6, 4, 3, 2, 2 and 1. */
static void test_example_of_the_paper_has_the_layout_of_the_paper(void **state)
{
	static const uint64_t sizes[] = {6, 6, 4, 3, 2, 2, 1};
	struct treemap_box boxes[ARRAY_SIZE(sizes)];

	(void)state;
	treemap_lay_out(sizes, ARRAY_SIZE(sizes), (struct treemap_box){0, 0, 6, 4}, boxes);
	check_box(&boxes[0], 0, 0, 3, 2);
	check_box(&boxes[1], 0, 2, 3, 2);
	check_box(&boxes[2], 3, 0, 12.0 / 7, 7.0 / 3);
	check_box(&boxes[3], 3 + 12.0 / 7, 0, 9.0 / 7, 7.0 / 3);
	check_box(&boxes[4], 3, 7.0 / 3, 1.2, 5.0 / 3);
	check_box(&boxes[5], 4.2, 7.0 / 3, 1.2, 5.0 / 3);
	check_box(&boxes[6], 5.4, 7.0 / 3, 0.6, 5.0 / 3);
}

static void test_single_box_is_the_whole(void **state)
{
	static const uint64_t size = UINT64_MAX;
	struct treemap_box box;

	(void)state;
	treemap_lay_out(&size, 1, whole, &box);
	check_box(&box, 0, 0, 600, 400);
}

static void test_boxes_fill_the_whole_without_overlap(void **state)
{
	static const struct treemap_box shapes[] = {{0, 0, 600, 400},
						    {7, 9, 400, 600},
						    {0, 0, 1000, 1},
						    {0, 0, 1, 1000},
						    {0, 0, 5, 5}};
	uint64_t sizes[200];

	(void)state;
	for (size_t count = 1; count <= ARRAY_SIZE(sizes); count += 17) {
		for (size_t i = 0; i < count; i++)
			sizes[i] = 1 + (count - i) * (count - i) * (i % 3 == 0 ? 1 : 2);
		for (size_t i = 0; i < ARRAY_SIZE(shapes); i++)
			check_boxes(sizes, count, &shapes[i]);
	}
}

static void test_extremely_different_sizes_have_boxes(void **state)
{
	static const uint64_t sizes[] = {UINT64_MAX, 1ULL << 40, 1ULL << 20, 2, 1, 1};
	struct treemap_box boxes[ARRAY_SIZE(sizes)];

	(void)state;
	treemap_lay_out(sizes, ARRAY_SIZE(sizes), whole, boxes);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		assert_true(isfinite(boxes[i].width) && isfinite(boxes[i].height));
		assert_true(boxes[i].width >= 0 && boxes[i].height >= 0);
		assert_true(is_within(&boxes[i], &whole));
	}
}

static void test_boxes_of_equal_sizes_are_nearly_square(void **state)
{
	enum {
		COUNT = 100
	};
	uint64_t sizes[COUNT];
	struct treemap_box boxes[COUNT];
	double ratios = 0;

	(void)state;
	for (size_t i = 0; i < COUNT; i++)
		sizes[i] = 10;
	treemap_lay_out(sizes, COUNT, whole, boxes);
	for (size_t i = 0; i < COUNT; i++) {
		double ratio = boxes[i].width / boxes[i].height;

		ratios += ratio < 1 ? 1 / ratio : ratio;
	}
	assert_true(ratios < 1.25 * COUNT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_example_of_the_paper_has_the_layout_of_the_paper),
		cmocka_unit_test(test_single_box_is_the_whole),
		cmocka_unit_test(test_boxes_fill_the_whole_without_overlap),
		cmocka_unit_test(test_extremely_different_sizes_have_boxes),
		cmocka_unit_test(test_boxes_of_equal_sizes_are_nearly_square),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
