/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit_test.h"
#include "view/tree/event_log.h"

#define LINE "{\"event\":\"group_gone\",\"hash\":\"00000000000000010000000000000002\",\"n\":%06u}\n"
#define LINE_LENGTH (sizeof("{\"event\":\"group_gone\",\"hash\":\"\",\"n\":}\n") - 1 + 32 + 6)

static void append(struct event_log *log, unsigned int first, unsigned int count)
{
	struct bytes lines CLEANUP_BYTES = {0};

	for (unsigned int i = 0; i < count; i++)
		assert_int_equal(bytes_format(&lines, LINE, first + i), 0);
	assert_int_equal(event_log_append(log, &lines, (struct timespec){first + 1, 0}), 0);
}

/* Returns the number at the end of a line. */
static unsigned int line_number(const char *line)
{
	unsigned int number = 0;

	assert_int_equal(sscanf(strstr(line, "\"n\":"), "\"n\":%u}", &number), 1);
	return number;
}

static void test_new_reader_gets_all_lines(void **state)
{
	struct event_reader reader = {0};
	struct event_log log;
	struct timespec changed;
	char text[4096];

	(void)state;
	event_log_init(&log);
	assert_int_equal(event_log_size(&log, &changed), 0);
	assert_false(event_log_has_more(&log, &reader));
	assert_int_equal(event_log_read(&log, &reader, text, sizeof(text), 0), 0);
	append(&log, 0, 3);
	assert_int_equal(event_log_size(&log, &changed), 3 * LINE_LENGTH);
	assert_int_equal(changed.tv_sec, 1);
	assert_true(event_log_has_more(&log, &reader));
	assert_int_equal(event_log_read(&log, &reader, text, sizeof(text), 0), 3 * LINE_LENGTH);
	assert_int_equal(line_number(text + 2 * LINE_LENGTH), 2);
	assert_false(event_log_has_more(&log, &reader));
	assert_int_equal(event_log_read(&log, &reader, text, sizeof(text), 3 * LINE_LENGTH), 0);
	append(&log, 3, 1);
	assert_true(event_log_has_more(&log, &reader));
	assert_int_equal(event_log_read(&log, &reader, text, sizeof(text), 3 * LINE_LENGTH),
			 LINE_LENGTH);
	assert_int_equal(line_number(text), 3);
	event_log_deinit(&log);
}

static void test_line_that_fits_is_returned_whole(void **state)
{
	struct event_reader reader = {0};
	struct event_log log;
	char text[4096];

	(void)state;
	event_log_init(&log);
	append(&log, 0, 3);
	assert_int_equal(event_log_read(&log, &reader, text, LINE_LENGTH + 20, 0), LINE_LENGTH);
	/* a line that does not fit is returned in parts */
	assert_int_equal(event_log_read(&log, &reader, text, 20, LINE_LENGTH), 20);
	assert_int_equal(event_log_read(&log, &reader, text, sizeof(text), LINE_LENGTH + 20),
			 2 * LINE_LENGTH - 20);
	event_log_deinit(&log);
}

static void test_slow_reader_gets_the_number_of_missed_lines(void **state)
{
	struct event_reader reader = {0};
	const unsigned int count = 5 * EVENT_LOG_BYTES_MAX / LINE_LENGTH;
	struct event_log log;
	struct timespec changed;
	unsigned int missed, next = 2;
	uint64_t offset;
	char text[4096];
	size_t length;

	(void)state;
	event_log_init(&log);
	append(&log, 0, 2);
	offset = event_log_read(&log, &reader, text, sizeof(text), 0);
	for (unsigned int i = 2; i < count; i++)
		append(&log, i, 1);
	assert_true(log.content.length <= EVENT_LOG_BYTES_MAX);
	length = event_log_read(&log, &reader, text, sizeof(text) - 1, offset);
	text[length] = '\0';
	assert_int_equal(sscanf(text, "{\"event\":\"missed\",\"count\":%u}\n", &missed), 1);
	assert_true(length < LINE_LENGTH);
	next += missed;
	offset += length;
	while ((length = event_log_read(&log, &reader, text, sizeof(text), offset)) > 0) {
		for (size_t at = 0; at < length; at += LINE_LENGTH)
			assert_int_equal(line_number(text + at), next++);
		offset += length;
	}
	assert_int_equal(next, count);
	/* a program that follows the file compares its offset with the size */
	assert_true(offset <= event_log_size(&log, &changed));
	append(&log, next, 1);
	assert_int_equal(event_log_read(&log, &reader, text, sizeof(text), offset), LINE_LENGTH);
	assert_int_equal(line_number(text), next);
	event_log_deinit(&log);
}

static void test_reader_in_a_discarded_line_continues_at_a_new_one(void **state)
{
	struct event_reader reader = {0};
	struct event_log log;
	char text[4096];
	size_t length;

	(void)state;
	event_log_init(&log);
	append(&log, 0, 1);
	assert_int_equal(event_log_read(&log, &reader, text, 20, 0), 20);
	append(&log, 1, EVENT_LOG_BYTES_MAX / LINE_LENGTH);
	/* the line about discarded lines is read in parts */
	length = event_log_read(&log, &reader, text, 10, 20);
	assert_int_equal(length, 10);
	assert_memory_equal(text, "\n{\"event\":", 10);
	length = event_log_read(&log, &reader, text, sizeof(text), 30);
	assert_memory_equal(text, "\"missed\",\"count\":", 17);
	/* a line that the reader has read in part is not counted */
	assert_int_equal(strtoull(text + 17, NULL, 10), log.discarded_lines - 1);
	assert_true(event_log_read(&log, &reader, text, sizeof(text), 30 + length) > 0);
	assert_int_equal(line_number(text), log.discarded_lines);
	event_log_deinit(&log);
}

static void test_reader_that_seeks_to_the_end_misses_nothing(void **state)
{
	struct event_reader reader = {0};
	struct event_log log;
	struct timespec changed;
	char text[4096];
	uint64_t size;

	(void)state;
	event_log_init(&log);
	append(&log, 0, 3 * EVENT_LOG_BYTES_MAX / LINE_LENGTH);
	size = event_log_size(&log, &changed);
	assert_int_equal(event_log_read(&log, &reader, text, sizeof(text), size), 0);
	assert_false(event_log_has_more(&log, &reader));
	append(&log, 77, 1);
	assert_true(event_log_has_more(&log, &reader));
	assert_int_equal(event_log_read(&log, &reader, text, sizeof(text), size), LINE_LENGTH);
	assert_int_equal(line_number(text), 77);
	event_log_deinit(&log);
}

static void test_line_longer_than_the_log_is_stored_alone(void **state)
{
	struct bytes line CLEANUP_BYTES = {0};
	struct event_reader reader = {0};
	struct event_log log;
	char text[256];

	(void)state;
	event_log_init(&log);
	append(&log, 0, 10);
	assert_int_equal(bytes_reserve(&line, EVENT_LOG_BYTES_MAX + 10), 0);
	memset(line.data, 'x', EVENT_LOG_BYTES_MAX + 9);
	line.data[EVENT_LOG_BYTES_MAX + 9] = '\n';
	line.length = EVENT_LOG_BYTES_MAX + 10;
	assert_int_equal(event_log_append(&log, &line, (struct timespec){1, 0}), 0);
	assert_int_equal(log.content.length, line.length);
	append(&log, 11, 1);
	assert_int_equal(log.content.length, LINE_LENGTH);
	assert_true(event_log_read(&log, &reader, text, sizeof(text), 0) > 0);
	assert_memory_equal(text, "{\"event\":\"missed\",\"count\":11}\n", 30);
	event_log_deinit(&log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_new_reader_gets_all_lines),
		cmocka_unit_test(test_line_that_fits_is_returned_whole),
		cmocka_unit_test(test_slow_reader_gets_the_number_of_missed_lines),
		cmocka_unit_test(test_reader_in_a_discarded_line_continues_at_a_new_one),
		cmocka_unit_test(test_reader_that_seeks_to_the_end_misses_nothing),
		cmocka_unit_test(test_line_longer_than_the_log_is_stored_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
