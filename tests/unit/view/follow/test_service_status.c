/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "unit_test.h"
#include "view/follow/service.h"

#define SECOND_NS UINT64_C(1000000000)

static void assert_status(const struct service_figures *figures, const char *expected)
{
	CLEANUP_BYTES struct bytes text = {0};

	assert_int_equal(service_status_format(&text, figures), 0);
	assert_string_equal(bytes_text(&text), expected);
}

static void test_names_are_counted(void **state)
{
	(void)state;
	assert_status(&(struct service_figures){.phase = SERVICE_READS_NAMES,
						.counts.files_done = 12345},
		      "reading names, 12,345 so far");
}

static struct service_figures comparing(uint64_t done, uint64_t total, uint64_t seconds)
{
	return (struct service_figures){
		.phase = SERVICE_COMPARES,
		.counts = {.files_done = done, .files_total = total},
		.elapsed_ns = seconds * SECOND_NS,
	};
}

static void test_comparing_view_reports_the_part_done_and_the_time_left(void **state)
{
	struct service_figures figures = comparing(0, 0, 1);

	(void)state;
	assert_status(&figures, "comparing");
	figures = comparing(0, 100, 1);
	assert_status(&figures, "comparing 0 %");
	figures = comparing(43, 100, 86);
	assert_status(&figures, "comparing 43 %, 2 minutes left");
	figures = comparing(50, 100, 60);
	assert_status(&figures, "comparing 50 %, 1 minute left");
	figures = comparing(50, 100, 10);
	assert_status(&figures, "comparing 50 %, less than a minute left");
	figures = comparing(10, 100, 1200);
	assert_status(&figures, "comparing 10 %, 3 hours left");
	figures = comparing(100, 100, 9);
	assert_status(&figures, "comparing 99 %, less than a minute left");
}

static void test_current_view_reports_the_reclaimable_bytes(void **state)
{
	struct service_figures figures = {.phase = SERVICE_IS_CURRENT,
					  .groups = 4372,
					  .reclaimable_bytes = UINT64_C(159326958)};

	(void)state;
	assert_status(&figures, "current: 4,372 groups, 152 MiB reclaimable");
	figures.phase = SERVICE_COMPARES_CHANGES;
	figures.groups = 1;
	assert_status(&figures, "comparing changed files: 1 group, 152 MiB reclaimable");
}

static void test_problems_are_reported(void **state)
{
	struct service_figures figures = {.phase = SERVICE_IS_CURRENT, .errors = 3};

	(void)state;
	assert_status(&figures, "current: 0 groups, 0 B reclaimable; 3 could not be read, see "
				".twinfs/errors");
	figures.errors = 0;
	figures.problem = ENOSPC;
	assert_status(&figures, "cannot update (No space left on device): current: 0 groups, 0 B "
				"reclaimable");
	figures.problem = 0;
	figures.missing = true;
	assert_status(&figures, "a source is missing: current: 0 groups, 0 B reclaimable");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_are_counted),
		cmocka_unit_test(test_comparing_view_reports_the_part_done_and_the_time_left),
		cmocka_unit_test(test_current_view_reports_the_reclaimable_bytes),
		cmocka_unit_test(test_problems_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
