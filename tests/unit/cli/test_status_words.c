/* SPDX-License-Identifier: MIT */
#include <unistd.h>

#include "scan/status_file.h"
#include "unit_test.h"

#define SYSCTL "sysctl fs.inotify.max_user_watches=65536"

static void assert_remedy(const char *watch, bool verbose, const char *expected)
{
	json_auto_t *status = json_pack("{ss ss}", "watch", watch, "remedy", SYSCTL);
	CLEANUP_BYTES struct bytes text = {0};

	assert_int_equal(status_words_watch_remedy(status, verbose, &text), 0);
	assert_string_equal(bytes_text(&text), expected);
}

static void test_setting_of_the_kernel_is_for_those_who_can_change_it(void **state)
{
	bool root = geteuid() == 0;

	(void)state;
	assert_remedy("inotify", false, root ? SYSCTL : "");
	assert_remedy("inotify", true, root ? SYSCTL : "ask the administrator: " SYSCTL);
	assert_remedy("fanotify", false, SYSCTL);
}

/* Takes the status. */
static void assert_state(json_t *status, const char *expected)
{
	CLEANUP_BYTES struct bytes text = {0};

	assert_non_null(status);
	assert_int_equal(status_words_state(status, &text), 0);
	assert_string_equal(bytes_text(&text), expected);
	json_decref(status);
}

static json_t *scanning(int percent, int seconds)
{
	return json_pack("{ss si si}", "state", "comparing", "percent", percent, "seconds_left",
			 seconds);
}

static void test_progress_is_a_sentence(void **state)
{
	(void)state;
	assert_state(json_pack("{ss si}", "state", "comparing", "percent", 0),
		     "scanning: 0 % done");
	assert_state(scanning(43, 118), "scanning: 43 % done, 2 minutes left");
	assert_state(scanning(99, 1), "scanning: 99 % done, less than a minute left");
	assert_state(json_pack("{ss}", "state", "comparing"), "comparing new and changed files");
}

static void test_stuck_view_has_a_remedy(void **state)
{
	json_auto_t *full =
		json_pack("{ss ss}", "state", "stuck", "problem", "No space left on device");
	json_auto_t *deleted =
		json_pack("{ss ss}", "state", "stuck", "problem", "No such file or directory");

	(void)state;
	assert_state(json_incref(full),
		     "stuck: cannot bring the index up to date: No space left on device");
	assert_string_equal(status_words_stuck_remedy(full),
			    "free space on the disk of the index:");
	assert_string_equal(status_words_stuck_remedy(deleted),
			    "unmount the view and mount it again, as its index was deleted:");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_setting_of_the_kernel_is_for_those_who_can_change_it),
		cmocka_unit_test(test_progress_is_a_sentence),
		cmocka_unit_test(test_stuck_view_has_a_remedy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
