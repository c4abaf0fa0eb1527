/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_TEST_H
#define TESTS_UNIT_TEST_H

/* cmocka, after the headers that must precede it. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

/* Returns whether the test must end because it lacks something, and prints what. meson counts such
 * a test as passed and keeps the line in its log; skip() of cmocka is a failure in TAP. */
static inline bool lacks(bool condition, const char *what)
{
	if (condition)
		print_message("# SKIP: lacks %s\n", what);
	return condition;
}

static inline bool lacks_root(void)
{
	return lacks(geteuid() != 0, "root");
}

#endif
