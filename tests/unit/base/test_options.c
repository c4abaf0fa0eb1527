/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "base/options.h"
#include "capture.h"
#include "unit_test.h"

enum format {
	FORMAT_TEXT,
	FORMAT_JSON,
};

struct settings {
	int waits;
	bool week;
	uint64_t size;
	enum format format;
	bool format_given;
	int levels; /* without an argument */
	const char *level;
	const char *name;
};

static int count_wait(void *member, const char *value)
{
	assert_null(value);
	*(int *)member += 1;
	return 0;
}

static int set_size(void *member, const char *value)
{
	return size_parse(value, member);
}

static int set_level(void *member, const char *value)
{
	struct settings *settings = member;

	settings->levels += !value;
	settings->level = value;
	return value && strcmp(value, "high") == 0 ? -EINVAL : 0;
}

static int end(void *member, const char *value)
{
	(void)member;
	assert_null(value);
	return OPTIONS_DONE;
}

static int fail_for_memory(void *member, const char *value)
{
	(void)member;
	(void)value;
	return -ENOMEM;
}

static const struct option_spec own_options[] = {
	{.heading = "What is shown"},
	{.name = "wait",
	 .letter = 'w',
	 .help = "return when all is done",
	 .at = offsetof(struct settings, waits),
	 .set = count_wait},
	{.name = "week",
	 .help = "a name that begins like another",
	 .at = offsetof(struct settings, week)},
	{
		.name = "format",
		.letter = 'f',
		.argument = "text|json",
		.help = "how it is shown; a text that is long enough to be wrapped once or twice "
			"on any terminal that people use today",
		.at = offsetof(struct settings, format),
		.given = offsetof(struct settings, format_given),
	},
	{0},
};

static const struct option_spec common_options[] = {
	{.heading = "Other options"},
	{
		.name = "size",
		.letter = 's',
		.argument = "N",
		.help = "smallest size",
		.at = offsetof(struct settings, size),
		.set = set_size,
		.expects = SIZE_EXPECTED,
	},
	{.name = "level", .argument = "N", .can_omit = true, .help = "a level", .set = set_level},
	{.name = "name",
	 .argument = "NAME",
	 .help = "a text",
	 .at = offsetof(struct settings, name)},
	{.name = "version", .letter = 'V', .help = "show the version", .set = end},
	{
		.name = "a-name-too-long-to-stand-beside-its-text",
		.argument = "WORD",
		.help = "fails",
		.set = fail_for_memory,
	},
	{0},
};

static const struct option_table table = {
	.command = "twinfs list",
	.usage = {"SOURCE...", "MOUNTPOINT"},
	.summary = "Prints the groups.",
	.options = {own_options, common_options},
};

static struct capture captured;
static struct settings settings;
static char *arguments[16];
static int operands;

/* Parses "twinfs list" and these words and returns the result of options_parse(). captured holds
 * stderr. */
#define PARSE(...) parse((const char *[]){"list", __VA_ARGS__, NULL})

static int parse(const char *words[])
{
	int count = 0;
	int r;

	memset(&settings, 0, sizeof(settings));
	operands = -1;
	for (; words[count] != NULL; count++)
		arguments[count] = (char *)(uintptr_t)words[count];
	arguments[count] = NULL;
	capture_begin(&captured, STDERR_FILENO);
	r = options_parse(&table, count, arguments, &settings, &operands);
	(void)capture_end(&captured);
	return r;
}

static void assert_complaint(int r, const char *complaint)
{
	char line[512];

	assert_int_equal(r, -EINVAL);
	(void)snprintf(line, sizeof(line), "twinfs list: %s; see twinfs list --help\n", complaint);
	assert_string_equal(captured.text, line);
}

static void test_options_of_all_lists_are_applied_in_all_spellings(void **state)
{
	(void)state;
	assert_int_equal(PARSE("-w", "--wait", "--size=4k", "--format", "json"), 0);
	assert_int_equal(settings.waits, 2);
	assert_int_equal(settings.size, 4096);
	assert_int_equal(settings.format, FORMAT_JSON);
	assert_int_equal(PARSE("-wws2k", "-f", "text"), 0);
	assert_int_equal(settings.waits, 2);
	assert_int_equal(settings.size, 2048);
	assert_int_equal(settings.format, FORMAT_TEXT);
	assert_string_equal(captured.text, "");
}

static void test_option_without_function_sets_its_member_by_its_argument(void **state)
{
	(void)state;
	assert_int_equal(PARSE("--week"), 0);
	assert_true(settings.week);
	assert_false(settings.format_given);
	assert_int_equal(PARSE("--format=text", "--name=a|b"), 0);
	assert_true(settings.format_given);
	assert_int_equal(settings.format, FORMAT_TEXT);
	assert_string_equal(settings.name, "a|b");
	assert_false(settings.week);
	assert_complaint(PARSE("--name="), "option '--name' needs NAME, not ''");
	assert_complaint(PARSE("--format="), "option '--format' needs text or json, not ''");
	assert_complaint(PARSE("--format=tex"), "option '--format' needs text or json, not 'tex'");
	assert_complaint(PARSE("--format=text|json"),
			 "option '--format' needs text or json, not 'text|json'");
}

static void test_operands_between_options_are_accepted(void **state)
{
	(void)state;
	assert_int_equal(PARSE("a", "-w", "b", "--size", "1", "c"), 0);
	assert_int_equal(operands, 4);
	assert_string_equal(arguments[4], "a");
	assert_string_equal(arguments[5], "b");
	assert_string_equal(arguments[6], "c");
	assert_int_equal(settings.size, 1);
}

static void test_two_dashes_end_the_options(void **state)
{
	(void)state;
	assert_int_equal(PARSE("-w", "--", "-w", "--format"), 0);
	assert_int_equal(settings.waits, 1);
	assert_string_equal(arguments[operands], "-w");
	assert_string_equal(arguments[operands + 1], "--format");
}

static void test_empty_command_line_has_no_options_and_operands(void **state)
{
	(void)state;
	assert_int_equal(parse((const char *[]){"list", NULL}), 0);
	assert_int_equal(operands, 1);
}

static void test_unique_abbreviation_is_accepted(void **state)
{
	(void)state;
	assert_int_equal(PARSE("--form=json"), 0);
	assert_int_equal(settings.format, FORMAT_JSON);
}

static void test_unknown_option_is_named_without_its_value(void **state)
{
	(void)state;
	assert_complaint(PARSE("--foo"), "unknown option '--foo'");
	assert_complaint(PARSE("-w", "--foo=x\x1b", "a"), "unknown option '--foo'");
	assert_complaint(PARSE("--f\x1b[2Joo"), "unknown option '--f\\x1b[2Joo'");
	assert_complaint(PARSE("-wx"), "unknown option '-x'");
}

static void test_ambiguous_abbreviation_is_refused(void **state)
{
	(void)state;
	assert_complaint(PARSE("--w"), "ambiguous option '--w'");
}

static void test_missing_argument_is_named(void **state)
{
	(void)state;
	assert_complaint(PARSE("--size"), "option '--size' needs N");
	assert_complaint(PARSE("a", "-s"), "option '-s' needs N");
}

static void test_argument_that_can_be_omitted_needs_an_equals_sign(void **state)
{
	(void)state;
	assert_int_equal(PARSE("--level", "3", "--level"), 0);
	assert_int_equal(settings.levels, 2);
	assert_int_equal(operands, 3);
	assert_int_equal(PARSE("--level=3"), 0);
	assert_string_equal(settings.level, "3");
	assert_complaint(PARSE("--level=high"), "option '--level' needs N, not 'high'");
}

static void test_value_of_option_that_takes_none_is_refused(void **state)
{
	(void)state;
	assert_complaint(PARSE("--wait=1"), "option '--wait' takes no value");
}

static void test_wrong_value_is_shown_with_what_was_expected(void **state)
{
	(void)state;
	assert_complaint(
		PARSE("--size=big\n"),
		"option '--size' needs a size such as 4096, 64k, 10M or 2GiB, not 'big\\n'");
	assert_complaint(PARSE("-fxml"), "option '--format' needs text or json, not 'xml'");
}

static void test_value_that_is_too_large_has_a_message_of_its_own(void **state)
{
	(void)state;
	assert_int_equal(PARSE("--size=16E"), -ERANGE);
	assert_string_equal(captured.text,
			    "twinfs list: option '--size' with '16E': Numerical result "
			    "out of range; see twinfs list --help\n");
	assert_int_equal(PARSE("--a-name=x"), -ENOMEM);
	assert_non_null(strstr(captured.text, "Cannot allocate memory"));
}

static void test_option_can_end_the_parsing(void **state)
{
	(void)state;
	assert_int_equal(PARSE("-V", "--foo"), OPTIONS_DONE);
	assert_string_equal(captured.text, "");
}

/* Calls options_apply_item(); captured holds stderr. */
static int apply_item(const char *item)
{
	int r;

	memset(&settings, 0, sizeof(settings));
	capture_begin(&captured, STDERR_FILENO);
	r = options_apply_item(&table, item, &settings);
	(void)capture_end(&captured);
	return r;
}

static void test_item_of_a_mount_is_applied_as_the_long_option(void **state)
{
	(void)state;
	assert_int_equal(apply_item("wait"), 0);
	assert_int_equal(settings.waits, 1);
	assert_int_equal(apply_item("size=1M"), 0);
	assert_int_equal(settings.size, 1048576);
	assert_int_equal(apply_item("format=text"), 0);
	assert_int_equal(apply_item("level"), 0);
	assert_int_equal(settings.levels, 1);
}

static void test_item_that_is_no_option_is_ignored_without_a_message(void **state)
{
	static const char *const others[] = {
		"ro", "allow_other", "fsname=x", "",       "=",    "=x",
		"w",  "wai",         "waits",    "--wait", "help",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		assert_int_equal(apply_item(others[i]), OPTIONS_NOT_MINE);
		assert_string_equal(captured.text, "");
	}
}

static void test_wrong_item_is_named_as_given(void **state)
{
	(void)state;
	assert_complaint(apply_item("wait=1"), "option '-o wait' takes no value");
	assert_complaint(apply_item("size"), "option '-o size' needs N");
	assert_complaint(apply_item("format=xml"),
			 "option '-o format' needs text or json, not 'xml'");
}

static void test_error_of_a_command_points_to_its_help(void **state)
{
	(void)state;
	capture_begin(&captured, STDERR_FILENO);
	options_complain(&table, "no %s given", "source");
	(void)capture_end(&captured);
	assert_complaint(-EINVAL, "no source given");
}

static void test_help_shows_every_option_aligned_and_wrapped(void **state)
{
	static struct capture out;

	(void)state;
	capture_begin(&out, STDOUT_FILENO);
	assert_int_equal(PARSE("--help", "--foo"), OPTIONS_DONE);
	assert_string_equal(
		capture_end(&out),
		"Usage: twinfs list [OPTION...] SOURCE...\n"
		"   or: twinfs list [OPTION...] MOUNTPOINT\n"
		"\n"
		"Prints the groups.\n"
		"\n"
		"What is shown:\n"
		"  -w, --wait              return when all is done\n"
		"      --week              a name that begins like another\n"
		"  -f, --format=text|json  how it is shown; a text that is long enough to be\n"
		"                          wrapped once or twice on any terminal that people use\n"
		"                          today\n"
		"\n"
		"Other options:\n"
		"  -s, --size=N            smallest size\n"
		"      --level[=N]         a level\n"
		"      --name=NAME         a text\n"
		"  -V, --version           show the version\n"
		"      --a-name-too-long-to-stand-beside-its-text=WORD\n"
		"                          fails\n"
		"  -h, --help              show this help and exit\n"
		"\n"
		"See twinfs(1) for commands, options and exit statuses, and twinfs(5) for the\n"
		"contents of a view and the output formats.\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_options_of_all_lists_are_applied_in_all_spellings),
		cmocka_unit_test(test_option_without_function_sets_its_member_by_its_argument),
		cmocka_unit_test(test_operands_between_options_are_accepted),
		cmocka_unit_test(test_two_dashes_end_the_options),
		cmocka_unit_test(test_empty_command_line_has_no_options_and_operands),
		cmocka_unit_test(test_unique_abbreviation_is_accepted),
		cmocka_unit_test(test_unknown_option_is_named_without_its_value),
		cmocka_unit_test(test_ambiguous_abbreviation_is_refused),
		cmocka_unit_test(test_missing_argument_is_named),
		cmocka_unit_test(test_argument_that_can_be_omitted_needs_an_equals_sign),
		cmocka_unit_test(test_value_of_option_that_takes_none_is_refused),
		cmocka_unit_test(test_wrong_value_is_shown_with_what_was_expected),
		cmocka_unit_test(test_value_that_is_too_large_has_a_message_of_its_own),
		cmocka_unit_test(test_option_can_end_the_parsing),
		cmocka_unit_test(test_item_of_a_mount_is_applied_as_the_long_option),
		cmocka_unit_test(test_item_that_is_no_option_is_ignored_without_a_message),
		cmocka_unit_test(test_wrong_item_is_named_as_given),
		cmocka_unit_test(test_error_of_a_command_points_to_its_help),
		cmocka_unit_test(test_help_shows_every_option_aligned_and_wrapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
