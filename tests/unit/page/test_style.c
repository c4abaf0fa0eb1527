/* SPDX-License-Identifier: MIT */

/* The numbers of the layout that data/page/style.css has, too. */

#include <stdio.h>
#include <string.h>

#include "page/page_parts.h"
#include "unit_test.h"

static void test_nested_boxes_have_the_place_of_the_style(void **state)
{
	static const char area[] = "\n.area{position:absolute;", border[] = ";border:1px solid";
	const char *rule = strstr(page_style, area), *box = strstr(page_style, "\n.box{");
	char inset[64];

	(void)state;
	assert_non_null(rule);
	assert_non_null(box);
	(void)snprintf(inset, sizeof(inset), "inset:%dpx %dpx %dpx %dpx}", PAGE_BOX_HEAD - 1,
		       PAGE_BOX_BORDER, PAGE_BOX_BORDER, PAGE_BOX_BORDER);
	assert_memory_equal(rule + strlen(area), inset, strlen(inset));
	assert_true(strstr(box, border) && strstr(box, border) < strchr(box, '}'));
}

static void test_each_shade_has_a_rule(void **state)
{
	char rule[64];

	(void)state;
	for (int i = 1; i <= PAGE_SHADES + 1; i++) {
		(void)snprintf(rule, sizeof(rule), ".s%d{background:var(--s%d)}", i, i);
		assert_int_equal(strstr(page_style, rule) != NULL, i <= PAGE_SHADES);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nested_boxes_have_the_place_of_the_style),
		cmocka_unit_test(test_each_shade_has_a_rule),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
