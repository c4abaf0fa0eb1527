/* SPDX-License-Identifier: MIT */
#include "unit_test.h"
#include "view/fuse/loop.h"

static void test_half_of_the_started_workers_may_wait_for_the_others(void **state)
{
	struct loop loop = {.count = LOOP_THREADS_MAX};

	(void)state;
	assert_int_equal(loop_waits_max(&loop), LOOP_THREADS_MAX / 2);
	loop.count = 3; /* lack of memory at the start */
	assert_int_equal(loop_waits_max(&loop), 1);
}

static void test_single_worker_never_waits(void **state)
{
	struct loop loop = {.count = 1};

	(void)state;
	assert_int_equal(loop_waits_max(&loop), 0);
}

static void test_thread_of_io_uring_never_waits(void **state)
{
	struct loop loop = {.count = LOOP_THREADS_MAX, .rings = true};

	(void)state;
	assert_int_equal(loop_waits_max(&loop), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_half_of_the_started_workers_may_wait_for_the_others),
		cmocka_unit_test(test_single_worker_never_waits),
		cmocka_unit_test(test_thread_of_io_uring_never_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
