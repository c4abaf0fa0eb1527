/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "folder.h"
#include "scan/status_file.h"
#include "unit_test.h"

/* Makes a folder that looks like a view with this status. */
static void make_view(const struct folder *folder, const char *text)
{
	AUTO_CLOSE int control = -1;

	assert_int_equal(mkdirat(folder->fd, ".twinfs", 0700), 0);
	control = openat(folder->fd, ".twinfs", O_PATH | O_DIRECTORY | O_CLOEXEC);
	make_file(control, "status.json", text, strlen(text));
}

static void test_status_is_read_with_its_numbers_and_texts(void **state)
{
	const struct folder *folder = *state;
	json_auto_t *status = NULL;

	make_view(folder, "{\"pending\": 7, \"state\": \"comparing\"}\n");
	assert_int_equal(status_file_read(folder->path, &status), 0);
	assert_int_equal(status_file_number(status, "pending"), 7);
	assert_string_equal(status_file_text(status, "state"), "comparing");
	assert_int_equal(status_file_number(status, "state"), 0);
	assert_string_equal(status_file_text(status, "missing"), "unknown");
}

/* Any program can mount a file system that calls itself a view. */
static void test_status_that_is_no_object_is_refused_and_freed_once(void **state)
{
	const struct folder *folder = *state;
	json_auto_t *status = NULL;

	make_view(folder, "[1]\n");
	assert_int_equal(status_file_read(folder->path, &status), -EPROTO);
	assert_null(status);
}

static void test_status_that_is_missing_is_an_error(void **state)
{
	const struct folder *folder = *state;
	json_auto_t *status = NULL;

	assert_int_equal(status_file_read(folder->path, &status), -ENOENT);
	assert_null(status);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(test_status_is_read_with_its_numbers_and_texts),
		TEST_IN_FOLDER(test_status_that_is_no_object_is_refused_and_freed_once),
		TEST_IN_FOLDER(test_status_that_is_missing_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
