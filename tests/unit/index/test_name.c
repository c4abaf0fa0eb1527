/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "index/record.h"
#include "unit_test.h"

static void test_cookies_leave_room_for_every_slot(void **state)
{
	char text[16];

	(void)state;
	for (unsigned int i = 0; i < 100000; i++) {
		struct name name = {text, (uint32_t)snprintf(text, sizeof(text), "%u", i)};
		uint64_t cookie = name_cookie(i % 7, name);

		assert_true(cookie >= ENTRY_COOKIE_MIN);
		assert_int_equal(cookie % ENTRY_COOKIE_SLOTS, 0);
		assert_true(cookie + ENTRY_COOKIE_SLOTS - 1 < UINT64_C(1) << 48);
		assert_true(cookie == name_cookie(i % 7, name));
	}
}

static void test_cookie_depends_on_the_secret(void **state)
{
	struct name name = {"name", 4};

	(void)state;
	assert_true(name_cookie(1, name) != name_cookie(2, name));
}

static void test_names_are_equal_byte_by_byte(void **state)
{
	(void)state;
	assert_true(names_equal((struct name){"ab", 2}, (struct name){"abc", 2}));
	assert_false(names_equal((struct name){"ab", 2}, (struct name){"abc", 3}));
	assert_false(names_equal((struct name){"ab", 2}, (struct name){"aB", 2}));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cookies_leave_room_for_every_slot),
		cmocka_unit_test(test_cookie_depends_on_the_secret),
		cmocka_unit_test(test_names_are_equal_byte_by_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
