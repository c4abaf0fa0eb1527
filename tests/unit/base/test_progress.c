/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/progress.h"
#include "capture.h"
#include "unit_test.h"

#define SECOND_NS UINT64_C(1000000000)
#define MIB UINT64_C(1048576)

static const struct progress_counts half_done = {
	.files_done = 1204,
	.files_total = 2510,
	.bytes_done = 512 * MIB,
	.bytes_total = 1024 * MIB,
};

static struct capture captured;

static void test_line_shows_all_that_is_known(void **state)
{
	char line[PROGRESS_LINE_MAX];

	(void)state;
	progress_format(line, 100, "comparing", &half_done, 4 * SECOND_NS);
	assert_string_equal(line, "comparing  [============>            ]   50%  "
				  "1204/2510 files  512 MiB/1.0 GiB  128 MiB/s  0:04 left");
	assert_int_equal(strlen(line), 100);
}

static void test_all_of_a_large_work_fits_80_columns(void **state)
{
	static const struct progress_counts large = {
		.files_done = 194012,
		.files_total = 388003,
		.bytes_done = 512 * MIB,
		.bytes_total = 999 * MIB,
	};
	char line[PROGRESS_LINE_MAX];

	(void)state;
	progress_format(line, 79, "comparing", &large, 4 * SECOND_NS);
	assert_string_equal(line, "comparing [=====>    ]  50% 194012/388003 files 512/999 MiB "
				  "128 MiB/s 0:04 left");
}

static void test_work_without_totals_has_neither_bar_nor_time_left(void **state)
{
	const struct progress_counts names = {.files_done = 70000};
	const struct progress_counts bytes = {.files_done = 3, .bytes_done = 3 * MIB};
	char line[PROGRESS_LINE_MAX];

	(void)state;
	progress_format(line, 80, "walking", &names, 2 * SECOND_NS);
	assert_string_equal(line, "walking  70000 files  35000 files/s");
	progress_format(line, 80, "reading", &bytes, SECOND_NS);
	assert_string_equal(line, "reading  3 files  3.0 MiB  3.0 MiB/s");
}

static void test_rate_is_not_shown_before_time_has_passed(void **state)
{
	const struct progress_counts begun = {.files_total = 5, .bytes_total = 5 * MIB};
	char line[PROGRESS_LINE_MAX];

	(void)state;
	progress_format(line, 60, "comparing", &begun, 0);
	assert_string_equal(line, "comparing  [>                ]    0%  0/5 files  0 B/5.0 MiB");
}

static void test_narrow_line_omits_the_least_important_parts(void **state)
{
	char line[PROGRESS_LINE_MAX];

	(void)state;
	progress_format(line, 60, "comparing", &half_done, 4 * SECOND_NS);
	assert_string_equal(line, "comparing [========>        ]  50% 512 MiB/1.0 GiB 0:04 left");
	progress_format(line, 42, "comparing", &half_done, 4 * SECOND_NS);
	assert_string_equal(line, "comparing  50% 512 MiB/1.0 GiB 0:04 left");
	progress_format(line, 30, "comparing", &half_done, 4 * SECOND_NS);
	assert_string_equal(line, "comparing  50% 0:04 left");
	progress_format(line, 10, "comparing", &half_done, 4 * SECOND_NS);
	assert_string_equal(line, "comparing");
	progress_format(line, 3, "comparing", &half_done, 4 * SECOND_NS);
	assert_string_equal(line, "");
}

static void test_line_never_passes_the_width(void **state)
{
	const struct progress_counts extremes[] = {
		{0},
		{UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX},
		{UINT64_MAX, 1, UINT64_MAX, 1},
		{1, UINT64_MAX, 1, UINT64_MAX},
		{UINT64_MAX, 0, UINT64_MAX, 0},
		half_done,
	};
	static const uint64_t times[] = {0, 1, SECOND_NS, 5000 * SECOND_NS, UINT64_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof(extremes) / sizeof(extremes[0]); i++) {
		for (unsigned int width = 0; width < 300; width++) {
			for (size_t t = 0; t < sizeof(times) / sizeof(times[0]); t++) {
				char line[PROGRESS_LINE_MAX];

				progress_format(line, width, "comparing", &extremes[i], times[t]);
				assert_true(strlen(line) <= width);
			}
		}
	}
}

static void test_time_left_is_shown_up_to_a_limit_of_days(void **state)
{
	struct progress_counts counts = {.files_done = 1, .files_total = 7201};
	char line[PROGRESS_LINE_MAX];

	(void)state;
	progress_format(line, 200, "x", &counts, 2 * SECOND_NS);
	assert_non_null(strstr(line, "  4:00:00 left"));
	counts.files_total = UINT64_MAX;
	progress_format(line, 200, "x", &counts, SECOND_NS);
	assert_null(strstr(line, "left"));
}

static void test_part_done_never_passes_the_whole(void **state)
{
	const struct progress_counts counts = {.files_done = 9, .files_total = 3};
	char line[PROGRESS_LINE_MAX];

	(void)state;
	progress_format(line, 70, "x", &counts, SECOND_NS);
	assert_non_null(strstr(line, "=]  100%  9/3 files"));
}

static void test_time_left_is_unknown_before_anything_is_done(void **state)
{
	const struct progress_counts begun = {.files_total = 4};
	const struct progress_counts half = {.files_done = 2, .files_total = 4};
	const struct progress_counts unknown = {.files_done = 2};
	uint64_t seconds = 99;

	(void)state;
	assert_false(progress_seconds_left(&begun, SECOND_NS, &seconds));
	assert_false(progress_seconds_left(&unknown, SECOND_NS, &seconds));
	assert_true(progress_seconds_left(&half, 7 * SECOND_NS, &seconds));
	assert_int_equal(seconds, 7);
}

static void test_time_left_is_unknown_in_the_first_moments(void **state)
{
	const struct progress_counts few = {.files_done = 2, .files_total = 100};
	uint64_t seconds = 99;

	(void)state;
	assert_false(progress_seconds_left(&few, 2 * SECOND_NS - 1, &seconds));
	assert_true(progress_seconds_left(&few, 2 * SECOND_NS, &seconds));
	assert_int_equal(seconds, 98);
}

static void test_files_count_as_well_as_their_bytes(void **state)
{
	/* small files are first, as in a scan */
	const struct progress_counts small_ones = {.files_done = 65536,
						   .files_total = 131072,
						   .bytes_done = 26 * MIB,
						   .bytes_total = 726 * MIB};
	const struct progress_counts large_ones = {.files_done = 1,
						   .files_total = 4,
						   .bytes_done = 512 * MIB,
						   .bytes_total = 1024 * MIB};

	(void)state;
	assert_in_range((uintmax_t)(progress_part(&small_ones) * 100), 45, 50);
	assert_in_range((uintmax_t)(progress_part(&large_ones) * 1000), 499, 500);
}

static size_t count_lines(const char *text)
{
	size_t count = 0;

	for (; (text = strchr(text, '\r')) != NULL; text++)
		count++;
	return count;
}

static void test_nothing_is_drawn_if_progress_is_off(void **state)
{
	/* the capture is not a terminal */
	static const enum progress_when never[] = {PROGRESS_NEVER, PROGRESS_AUTO};
	struct progress progress;

	(void)state;
	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++) {
		capture_begin(&captured, STDERR_FILENO);
		progress_start(&progress, never[i], "comparing");
		progress_update_at(&progress, &half_done, progress.start_ns + 9 * SECOND_NS);
		progress_end(&progress, &half_done);
		assert_string_equal(capture_end(&captured), "");
	}
}

/* Makes stderr a terminal of 60 columns. Returns the former stderr and the other end of the
 * terminal. */
static int become_terminal(int *other_end)
{
	const struct winsize size = {.ws_col = 60, .ws_row = 24};
	int original = dup(STDERR_FILENO);
	int terminal;

	(void)fflush(NULL);
	*other_end = posix_openpt(O_RDWR | O_NOCTTY);
	assert_int_equal(grantpt(*other_end), 0);
	assert_int_equal(unlockpt(*other_end), 0);
	terminal = open(ptsname(*other_end), O_RDWR | O_NOCTTY);
	assert_int_equal(ioctl(terminal, TIOCSWINSZ, &size), 0);
	assert_int_equal(dup2(terminal, STDERR_FILENO), STDERR_FILENO);
	(void)close(terminal);
	return original;
}

/* Reads output that arrives in pieces. If the terminal is closed and all output was read, read(2)
 * fails with EIO. */
static void read_to_end(int fd, char *text, size_t size)
{
	size_t length = 0;
	ssize_t got;

	while ((got = read(fd, text + length, size - length)) > 0)
		length += (size_t)got;
	assert_true(length > 0);
}

/* Returns what an action writes to a terminal of the kind that TERM names. */
static const char *shown_on_terminal(const char *term, void (*act)(void))
{
	static char text[8192];
	int other_end;
	int original = become_terminal(&other_end);

	memset(text, 0, sizeof(text));
	assert_int_equal(setenv("TERM", term, 1), 0);
	act();
	(void)dup2(original, STDERR_FILENO);
	(void)close(original);
	read_to_end(other_end, text, sizeof(text) - 1);
	(void)close(other_end);
	return text;
}

static void draw_short_and_long_work(void)
{
	struct progress progress;

	progress_start(&progress, PROGRESS_AUTO, "short");
	progress_update_at(&progress, &half_done, progress.start_ns + 1);
	progress_end(&progress, &half_done);
	progress_start(&progress, PROGRESS_AUTO, "comparing");
	progress_update_at(&progress, &half_done, progress.start_ns + 4 * SECOND_NS);
	progress_end(&progress, &half_done);
}

static void test_terminal_gets_lines_of_its_width_and_none_for_short_work(void **state)
{
	(void)state;
	assert_string_equal(shown_on_terminal("xterm", draw_short_and_long_work),
			    "\rcomparing [=======>        ]  50% 512 MiB/1.0 GiB 0:04 left\033[K"
			    "\r\033[K");
}

static void draw_for_two_seconds(void)
{
	struct progress progress;

	progress_start(&progress, PROGRESS_AUTO, "comparing");
	/* nothing in the first fifth of a second */
	for (uint64_t t = 0; t < 2 * SECOND_NS; t += SECOND_NS / 1000)
		progress_update_at(&progress, &half_done, progress.start_ns + t);
	progress_end(&progress, &half_done);
}

static void test_at_most_five_lines_are_drawn_in_a_second(void **state)
{
	(void)state;
	assert_int_equal(count_lines(shown_on_terminal("xterm", draw_for_two_seconds)), 9 + 1);
}

static void show_for_twelve_seconds(void)
{
	struct progress progress;

	progress_start(&progress, PROGRESS_AUTO, "comparing");
	for (uint64_t t = 0; t <= 12 * SECOND_NS; t += SECOND_NS / 10)
		progress_update_at(&progress, &half_done, progress.start_ns + t);
	progress_end(&progress, &half_done);
}

static void test_terminal_that_cannot_redraw_gets_plain_lines_at_intervals(void **state)
{
	(void)state;
	assert_string_equal(shown_on_terminal("dumb", show_for_twelve_seconds),
			    "twinfs: comparing   50%  1204/2510 files  512 MiB/1.0 GiB  "
			    "102 MiB/s  0:05 left\r\n"
			    "twinfs: comparing   50%  1204/2510 files  512 MiB/1.0 GiB  "
			    "51 MiB/s  0:10 left\r\n");
}

static void test_plain_lines_are_printed_without_a_terminal_on_request(void **state)
{
	struct progress_counts counts = {.files_done = 3, .files_total = 4};
	struct progress progress;

	(void)state;
	progress_start(&progress, PROGRESS_ALWAYS, "walking");
	capture_begin(&captured, STDERR_FILENO);
	progress_update_at(&progress, &counts, progress.start_ns + 5 * SECOND_NS - 1);
	progress_update_at(&progress, &counts, progress.start_ns + 5 * SECOND_NS);
	progress_update_at(&progress, &counts, progress.start_ns + 6 * SECOND_NS);
	(void)capture_end(&captured);
	assert_string_equal(captured.text,
			    "twinfs: walking   75%  3/4 files  1 files/s  0:02 left\n");
	capture_begin(&captured, STDERR_FILENO);
	counts.files_done = 4;
	progress_end(&progress, &counts);
	(void)capture_end(&captured);
	assert_ptr_equal(strstr(captured.text, "twinfs: walking  100%  4/4 files"), captured.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_line_shows_all_that_is_known),
		cmocka_unit_test(test_all_of_a_large_work_fits_80_columns),
		cmocka_unit_test(test_work_without_totals_has_neither_bar_nor_time_left),
		cmocka_unit_test(test_rate_is_not_shown_before_time_has_passed),
		cmocka_unit_test(test_narrow_line_omits_the_least_important_parts),
		cmocka_unit_test(test_line_never_passes_the_width),
		cmocka_unit_test(test_time_left_is_shown_up_to_a_limit_of_days),
		cmocka_unit_test(test_time_left_is_unknown_before_anything_is_done),
		cmocka_unit_test(test_time_left_is_unknown_in_the_first_moments),
		cmocka_unit_test(test_files_count_as_well_as_their_bytes),
		cmocka_unit_test(test_part_done_never_passes_the_whole),
		cmocka_unit_test(test_nothing_is_drawn_if_progress_is_off),
		cmocka_unit_test(test_terminal_gets_lines_of_its_width_and_none_for_short_work),
		cmocka_unit_test(test_at_most_five_lines_are_drawn_in_a_second),
		cmocka_unit_test(test_terminal_that_cannot_redraw_gets_plain_lines_at_intervals),
		cmocka_unit_test(test_plain_lines_are_printed_without_a_terminal_on_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
