/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "capture.h"
#include "unit_test.h"

static struct capture captured;

/* Returns what write_lines() writes to stderr. Runs it in a child, because a process cannot change
 * its destination back, or whether its stderr is the journal. */
static const char *lines_of(void (*write_lines)(void))
{
	pid_t child;
	int status;

	capture_begin(&captured, STDERR_FILENO);
	child = fork();
	if (child == 0) {
		write_lines();
		_exit(0);
	}
	child = waitpid(child, &status, 0);
	(void)capture_end(&captured);
	assert_true(child > 0);
	assert_int_equal(status, 0);
	return captured.text;
}

static void write_all_levels(void)
{
	log_error("cannot read %s: %s", "'a'", "No such file");
	log_warning("%d skipped", 3);
	log_info("mounted");
	log_debug("detail");
}

static void test_messages_are_lines_with_a_word_for_their_level(void **state)
{
	(void)state;
	assert_string_equal(lines_of(write_all_levels), "twinfs: cannot read 'a': No such file\n"
							"twinfs: warning: 3 skipped\n"
							"twinfs: mounted\n");
}

static void write_all_levels_with_debug(void)
{
	log_set_level(LOG_LEVEL_DEBUG);
	write_all_levels();
}

static void write_errors_only(void)
{
	log_set_level(LOG_LEVEL_ERROR);
	write_all_levels();
}

static void test_messages_below_the_level_are_not_printed(void **state)
{
	(void)state;
	assert_non_null(strstr(lines_of(write_all_levels_with_debug), "\ntwinfs: debug: detail\n"));
	assert_string_equal(lines_of(write_errors_only), "twinfs: cannot read 'a': No such file\n");
}

static void write_as_command(void)
{
	log_error_as("twinfs list", "unknown option");
}

static void test_error_may_start_with_the_name_of_the_command(void **state)
{
	(void)state;
	assert_string_equal(lines_of(write_as_command), "twinfs list: unknown option\n");
}

static void write_control_bytes(void)
{
	log_info("a\nb\x1b[2Jc\x7f∕");
}

static void test_message_with_newlines_is_one_line(void **state)
{
	(void)state;
	assert_string_equal(lines_of(write_control_bytes), "twinfs: a?b?[2Jc?∕\n");
}

static void write_long_message(void)
{
	static char text[50000];

	memset(text, 'x', sizeof(text) - 1);
	log_info("%s", text);
	log_info("next");
}

static void test_long_message_is_marked_as_cut(void **state)
{
	static const char end[] = "xx…\ntwinfs: next\n";
	const char *lines = lines_of(write_long_message);

	(void)state;
	assert_in_range(strlen(lines), 8000, 12000);
	assert_string_equal(lines + strlen(lines) - strlen(end), end);
}

static void write_in_journal(void)
{
	char stream[64];
	struct stat status;

	if (fstat(STDERR_FILENO, &status) != 0)
		_exit(1);
	(void)snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)status.st_dev,
		       (uintmax_t)status.st_ino);
	(void)setenv("JOURNAL_STREAM", stream, 1);
	write_all_levels();
}

static void write_beside_journal(void)
{
	(void)setenv("JOURNAL_STREAM", "8:1", 1);
	write_all_levels();
}

static void test_journal_gets_level_prefixes_and_no_program_name(void **state)
{
	(void)state;
	assert_string_equal(lines_of(write_in_journal), "<3>cannot read 'a': No such file\n"
							"<4>warning: 3 skipped\n"
							"<6>mounted\n");
	assert_null(strchr(lines_of(write_beside_journal), '<'));
}

static void write_over_bar(void)
{
	log_set_bar_shown(true);
	log_info("one");
	log_set_bar_shown(false);
	log_info("two");
}

static void test_message_clears_the_progress_bar(void **state)
{
	(void)state;
	assert_string_equal(lines_of(write_over_bar), "\r\033[Ktwinfs: one\ntwinfs: two\n");
}

static void write_to_syslog(void)
{
	log_to_syslog();
	log_info("a line of twinfs's unit tests");
}

static void test_stderr_is_not_used_after_the_system_log_was_selected(void **state)
{
	(void)state;
	assert_string_equal(lines_of(write_to_syslog), "");
}

#define THREADS 8
#define LINES 500

static void *write_many(void *letter)
{
	char text[200];

	memset(text, *(const char *)letter, sizeof(text));
	for (int i = 0; i < LINES; i++)
		log_info("%.*s", (int)sizeof(text), text);
	return NULL;
}

/* The lines go through a pipe, which is the usual stderr of a service. */
static void test_lines_of_threads_do_not_mix(void **state)
{
	pthread_t threads[THREADS];
	char letters[THREADS];
	int counts[THREADS] = {0};
	int ends[2];
	pid_t child;
	int status;
	FILE *lines;
	char line[300];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (child == 0) {
		(void)dup2(ends[1], STDERR_FILENO);
		for (int i = 0; i < THREADS; i++) {
			letters[i] = (char)('a' + i);
			if (pthread_create(&threads[i], NULL, write_many, &letters[i]) != 0)
				_exit(1);
		}
		for (int i = 0; i < THREADS; i++)
			(void)pthread_join(threads[i], NULL);
		_exit(0);
	}
	(void)close(ends[1]);
	lines = fdopen(ends[0], "r");
	while (fgets(line, sizeof(line), lines) != NULL) {
		const char *text = line + strlen("twinfs: ");

		assert_int_equal(strlen(line), strlen("twinfs: ") + 200 + 1);
		assert_int_equal(strspn(text, (char[]){*text, '\0'}), 200);
		counts[*text - 'a']++;
	}
	(void)fclose(lines);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(counts[i], LINES);
}

static void test_errno_is_kept(void **state)
{
	(void)state;
	capture_begin(&captured, STDERR_FILENO);
	errno = EBUSY;
	log_info("something");
	log_debug("dropped");
	assert_int_equal(errno, EBUSY);
	(void)capture_end(&captured);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_messages_are_lines_with_a_word_for_their_level),
		cmocka_unit_test(test_messages_below_the_level_are_not_printed),
		cmocka_unit_test(test_error_may_start_with_the_name_of_the_command),
		cmocka_unit_test(test_message_with_newlines_is_one_line),
		cmocka_unit_test(test_long_message_is_marked_as_cut),
		cmocka_unit_test(test_journal_gets_level_prefixes_and_no_program_name),
		cmocka_unit_test(test_message_clears_the_progress_bar),
		cmocka_unit_test(test_stderr_is_not_used_after_the_system_log_was_selected),
		cmocka_unit_test(test_lines_of_threads_do_not_mix),
		cmocka_unit_test(test_errno_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
