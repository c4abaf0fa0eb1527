/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include <jansson.h>

#include "base/output.h"
#include "unit_test.h"

static void test_output_is_written_by_the_flush(void **state)
{
	CLEANUP_OUTPUT struct output output;
	char text[16] = "";
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	output_init(&output, ends[1]);
	output_text(&output, "a");
	output_bytes(&output, "b\0c", 3);
	output_format(&output, "%d", 7);
	assert_int_equal(read(ends[0], text, sizeof(text)), -1);
	assert_int_equal(output_flush(&output), 0);
	assert_int_equal(read(ends[0], text, sizeof(text)), 5);
	assert_memory_equal(text, "ab\0c7", 5);
	assert_int_equal(output_flush(&output), 0);
	assert_int_equal(read(ends[0], text, sizeof(text)), -1);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static void check_written(bool terminal, const char *expected)
{
	CLEANUP_OUTPUT struct output output;
	AUTO_CLOSE int fd = memfd_create("output", MFD_CLOEXEC);
	const char *json = "{\"a\\u0001\u00e9\302\233\x7f\":\n\"\U000e0041\"}";
	char text[128] = "";

	assert_true(fd >= 0);
	output_init(&output, fd);
	assert_false(output.terminal);
	output.terminal = terminal;
	output_name(&output, "a\033b", 3);
	output_json(&output, json, strlen(json));
	assert_int_equal(output_flush(&output), 0);
	assert_true(pread(fd, text, sizeof(text) - 1, 0) > 0);
	assert_string_equal(text, expected);
}

static void test_control_bytes_are_not_written_to_a_terminal(void **state)
{
	(void)state;
	check_written(false, "a\033b{\"a\\u0001\u00e9\302\233\x7f\":\n\"\U000e0041\"}");
	check_written(true, "$'a\\033b'{\"a\\u0001\u00e9\\u009b\\u007f\":\n"
			    "\"\\udb40\\udc41\"}");
}

static void test_object_is_written_compact_and_null_is_a_lack_of_memory(void **state)
{
	CLEANUP_OUTPUT struct output output;
	AUTO_CLOSE int fd = memfd_create("output", MFD_CLOEXEC);
	char text[32] = "";

	(void)state;
	output_init(&output, fd);
	assert_int_equal(output_json_object(&output, json_pack("{s:s, s:i}", "a", "b", "c", 1)), 0);
	assert_int_equal(output_json_object(&output, NULL), -ENOMEM);
	assert_int_equal(output_flush(&output), 0);
	assert_true(pread(fd, text, sizeof(text) - 1, 0) > 0);
	assert_string_equal(text, "{\"a\":\"b\",\"c\":1}");
}

static void test_full_buffer_is_written_before_the_flush(void **state)
{
	CLEANUP_OUTPUT struct output output;
	AUTO_CLOSE int fd = memfd_create("output", MFD_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	output_init(&output, fd);
	for (int i = 0; i < 100000; i++)
		output_text(&output, "0123456789");
	assert_true(output.waiting.length < 100000);
	assert_int_equal(output_flush(&output), 0);
	assert_int_equal(lseek(fd, 0, SEEK_END), 1000000);
}

static void test_full_disk_is_reported_by_the_flush(void **state)
{
	CLEANUP_OUTPUT struct output output;
	AUTO_CLOSE int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

	(void)state;
	output_init(&output, fd);
	output_text(&output, "text");
	assert_int_equal(output.error, 0);
	assert_int_equal(output_flush(&output), -ENOSPC);
	assert_int_equal(output_flush(&output), -ENOSPC);
}

static void test_first_failure_is_kept_and_later_output_discarded(void **state)
{
	CLEANUP_OUTPUT struct output output;
	AUTO_CLOSE int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	AUTO_CLOSE int file = memfd_create("output", MFD_CLOEXEC);

	(void)state;
	output_init(&output, full);
	for (int i = 0; i < 100000; i++)
		output_text(&output, "0123456789");
	assert_int_equal(output.error, -ENOSPC);
	output.fd = file;
	output_text(&output, "more");
	assert_int_equal(output_flush(&output), -ENOSPC);
	assert_int_equal(lseek(file, 0, SEEK_END), 0);
}

static void test_closed_pipe_is_reported(void **state)
{
	CLEANUP_OUTPUT struct output output;
	int ends[2];

	(void)state;
	(void)signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	(void)close(ends[0]);
	output_init(&output, ends[1]);
	output_text(&output, "text");
	assert_int_equal(output_flush(&output), -EPIPE);
	(void)close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_output_is_written_by_the_flush),
		cmocka_unit_test(test_control_bytes_are_not_written_to_a_terminal),
		cmocka_unit_test(test_object_is_written_compact_and_null_is_a_lack_of_memory),
		cmocka_unit_test(test_full_buffer_is_written_before_the_flush),
		cmocka_unit_test(test_full_disk_is_reported_by_the_flush),
		cmocka_unit_test(test_first_failure_is_kept_and_later_output_discarded),
		cmocka_unit_test(test_closed_pipe_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
