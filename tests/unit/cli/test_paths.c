/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "cli/paths.h"
#include "unit_test.h"

static void test_files_outside_of_views_have_no_source(void **state)
{
	CLEANUP_BYTES struct bytes path = {0};

	(void)state;
	assert_int_equal(path_in_source("/proc/self/status", &path), -ENODATA);
	assert_int_equal(path_in_source("/nonexistent/file", &path), -ENOENT);
}

static void check_printed(enum path_ending ending, const char *expected, size_t length)
{
	CLEANUP_OUTPUT struct output output;
	AUTO_CLOSE int fd = memfd_create("paths", MFD_CLOEXEC);
	char text[64];

	output_init(&output, fd);
	path_print(&output, ending, "a\nb", 3);
	path_print(&output, ending, "c", 1);
	assert_int_equal(output_flush(&output), 0);
	assert_int_equal(pread(fd, text, sizeof(text), 0), length);
	assert_memory_equal(text, expected, length);
}

static void test_paths_are_printed_unchanged_if_not_to_a_terminal(void **state)
{
	(void)state;
	check_printed(PATH_LINES, "a\nb\nc\n", 6);
	check_printed(PATH_NULS, "a\nb\0c", 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files_outside_of_views_have_no_source),
		cmocka_unit_test(test_paths_are_printed_unchanged_if_not_to_a_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
