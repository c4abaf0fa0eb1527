/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <sys/mman.h>

#include "choose/figures.h"
#include "unit_test.h"

static void test_small_sizes_are_exact_and_large_ones_are_also_rounded(void **state)
{
	char text[FIGURE_SIZE_MAX];

	(void)state;
	assert_string_equal(figure_size(text, 0), "0 bytes");
	assert_string_equal(figure_size(text, 1), "1 byte");
	assert_string_equal(figure_size(text, 1023), "1,023 bytes");
	assert_string_equal(figure_size(text, 1536), "1.5 KiB (1,536 bytes)");
	assert_non_null(
		strstr(figure_size(text, UINT64_MAX), "(18,446,744,073,709,551,615 bytes)"));
}

static void check_printed(int fd, const char *expected)
{
	char text[1024] = "";

	assert_true(pread(fd, text, sizeof(text) - 1, 0) >= 0);
	assert_string_equal(text, expected);
}

static void test_figures_are_aligned(void **state)
{
	const struct report_summary summary = {
		.groups = 2,
		.redundant_files = 1,
		.redundant_bytes = 5,
		.reclaimable_bytes = 5,
		.files = 1234,
		.directories = 1,
		.bytes = 2048,
		.errors = 3,
	};
	CLEANUP_OUTPUT struct output output;
	AUTO_CLOSE int fd = memfd_create("figures", MFD_CLOEXEC);

	(void)state;
	output_init(&output, fd);
	figures_print(&output, &summary);
	assert_int_equal(output_flush(&output), 0);
	check_printed(fd, "files       1,234 in 1 directory, 2.0 KiB (2,048 bytes)\n"
			  "groups      2\n"
			  "redundant   1 file, 5 bytes\n"
			  "pending     0\n"
			  "errors      3\n");
}

static void test_odd_paths_are_quoted(void **state)
{
	CLEANUP_OUTPUT struct output output;
	AUTO_CLOSE int fd = memfd_create("figures", MFD_CLOEXEC);

	(void)state;
	output_init(&output, fd);
	assert_int_equal(figure_print_path(&output, "index", "/a\nb"), 0);
	assert_int_equal(output_flush(&output), 0);
	check_printed(fd, "index       $'/a\\nb'\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small_sizes_are_exact_and_large_ones_are_also_rounded),
		cmocka_unit_test(test_figures_are_aligned),
		cmocka_unit_test(test_odd_paths_are_quoted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
