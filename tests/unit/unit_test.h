/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_TEST_H
#define TESTS_UNIT_TEST_H

/* cmocka, after the headers that must precede it. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
