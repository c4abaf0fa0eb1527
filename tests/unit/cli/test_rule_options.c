/* SPDX-License-Identifier: MIT */
#include "capture.h"
#include "cli/selection.h"
#include "index/fixture.h"
#include "index/source.h"

static const struct option_table table = {
	.command = "twinfs test",
	.usage = {""},
	.summary = "A test.",
	.options = {keep_option, rule_options},
};

static struct capture captured;

/* Parses one option. captured holds stderr. */
static int parse(struct selection_settings *selection, const char *option)
{
	char command[] = "test";
	char *argument = strdup(option);
	char *argv[] = {command, argument, NULL};
	int operands;
	int r;

	assert_non_null(argument);
	capture_begin(&captured, STDERR_FILENO);
	r = options_parse(&table, 2, argv, selection, &operands);
	(void)capture_end(&captured);
	free(argument);
	return r;
}

static void test_rules_keep_their_order(void **state)
{
	static const enum keep_by expected[] = {
		KEEP_SOURCE_ORDER, KEEP_FIRST_SEEN,  KEEP_OLDEST, KEEP_NEWEST, KEEP_SHORTEST_PATH,
		KEEP_LONGEST_PATH, KEEP_MOST_LINKED, KEEP_PATH,   KEEP_OLDEST,
	};
	CLEANUP(selection_free) struct selection_settings selection = {0};

	(void)state;
	assert_int_equal(selection.rules.keep.count, 0);
	assert_int_equal(parse(&selection, "--keep=source-order,first-seen,oldest,newest"), 0);
	assert_int_equal(parse(&selection,
			       "--keep=shortest-path,longest-path,most-linked,path:*.jpg"),
			 0);
	assert_int_equal(parse(&selection, "--keep=oldest"), 0);
	assert_int_equal(selection.rules.keep.count, ARRAY_SIZE(expected));
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
		assert_int_equal(selection.rules.keep.list[i].by, expected[i]);
	assert_string_equal(selection.rules.keep.globs.items[0], "*.jpg");
}

static void test_backslash_makes_a_comma_part_of_a_glob(void **state)
{
	CLEANUP(selection_free) struct selection_settings selection = {0};

	(void)state;
	assert_int_equal(parse(&selection, "--keep=path:a\\,b,path:\\*,path:c:d,newest"), 0);
	assert_int_equal(selection.rules.keep.count, 4);
	assert_string_equal(selection.rules.keep.globs.items[0], "a\\,b");
	assert_string_equal(selection.rules.keep.globs.items[1], "\\*");
	assert_string_equal(selection.rules.keep.globs.items[2], "c:d");
	assert_int_equal(selection.rules.keep.list[3].by, KEEP_NEWEST);
}

static void test_unknown_rule_is_refused(void **state)
{
	static const char *const wrong[] = {
		"--keep=",        "--keep=,",
		"--keep=oldest,", "--keep=,oldest",
		"--keep=Oldest",  "--keep=oldestx",
		"--keep=old",     "--keep=path:",
		"--keep=path",    "--keep=oldest newest",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		CLEANUP(selection_free) struct selection_settings selection = {0};

		assert_int_equal(parse(&selection, wrong[i]), -EINVAL);
		assert_non_null(
			strstr(captured.text, "option '--keep' needs comma-separated rules"));
	}
}

/* An existing folder, a symlink to it and a file. */
struct places {
	char folder[64];
	char link[80];
	char file[80];
};

static void make_places(struct places *places)
{
	FILE *file;

	fixture_make_folder(places->folder);
	(void)snprintf(places->link, sizeof(places->link), "%s/link", places->folder);
	(void)snprintf(places->file, sizeof(places->file), "%s/file", places->folder);
	assert_int_equal(symlink(places->folder, places->link), 0);
	file = fopen(places->file, "we");
	assert_non_null(file);
	assert_int_equal(fclose(file), 0);
}

static void check_place(const char *given, const char *expected)
{
	CLEANUP(selection_free) struct selection_settings selection = {0};
	char option[128];

	assert_null(selection.rules.rules.protect);
	(void)snprintf(option, sizeof(option), "--protect=%s", given);
	assert_int_equal(parse(&selection, option), 0);
	assert_string_equal(selection.rules.rules.protect[0], expected);
	assert_null(selection.rules.rules.protect[1]);
	assert_null(selection.rules.rules.only);
	(void)snprintf(option, sizeof(option), "--only=%s", given);
	assert_int_equal(parse(&selection, option), 0);
	assert_int_equal(parse(&selection, "--only=/"), 0);
	assert_string_equal(selection.rules.rules.only[0], expected);
	assert_string_equal(selection.rules.rules.only[1], "/");
	assert_null(selection.rules.rules.only[2]);
}

static void test_paths_are_resolved(void **state)
{
	char before[4096];
	struct places places;
	char longer[128];

	(void)state;
	make_places(&places);
	assert_non_null(getcwd(before, sizeof(before)));
	assert_int_equal(chdir(places.folder), 0);
	(void)snprintf(longer, sizeof(longer), "%s/./link//../%s/", places.link,
		       strrchr(places.folder, '/') + 1);
	check_place(places.folder, places.folder);
	check_place(places.link, places.folder);
	check_place(".", places.folder);
	check_place("link", places.folder);
	check_place(longer, places.folder);
	check_place(places.file, places.file);
	assert_int_equal(chdir(before), 0);
	folder_remove(places.folder);
}

static void check_refused(const char *given, int expected, const char *message)
{
	static const char *const names[] = {"--protect", "--only"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		CLEANUP(selection_free) struct selection_settings selection = {0};
		char option[128];

		(void)snprintf(option, sizeof(option), "%s=%s", names[i], given);
		assert_int_equal(parse(&selection, option), expected);
		assert_non_null(strstr(captured.text, message));
		assert_non_null(strstr(captured.text, given));
		assert_non_null(strstr(captured.text, names[i]));
	}
}

static void test_missing_folder_and_missing_file_are_refused(void **state)
{
	struct places places;
	char missing[128];

	(void)state;
	make_places(&places);
	(void)snprintf(missing, sizeof(missing), "%s/missing", places.folder);
	check_refused(missing, -ENOENT, "No such file or directory");
	check_refused("/dev/null", -EINVAL, "needs a folder or a file");
	check_refused("", -EINVAL, "needs a folder or a file");
	folder_remove(places.folder);
}

static int check(const struct fixture *f, struct rule_settings *settings, size_t count)
{
	struct catalog_reader *reader = fixture_read(f);
	char one[] = "/one";
	char two[] = "/two";
	struct source list[2] = {{.path = one, .root = f->roots[0]},
				 {.path = two, .root = f->roots[1]}};
	const struct sources sources = {.list = list, .count = count};
	int r;

	capture_begin(&captured, STDERR_FILENO);
	r = rule_settings_prepare(settings, reader, &sources);
	(void)capture_end(&captured);
	catalog_read_end(reader);
	return r;
}

static void test_folder_outside_of_the_sources_is_named(void **state)
{
	struct fixture *f = *state;
	CLEANUP(selection_free) struct selection_settings selection = {0};

	assert_int_equal(parse(&selection, "--protect=/"), 0);
	assert_int_equal(check(f, &selection.rules, 2), 0);
	assert_string_equal(captured.text, "");
	assert_int_equal(parse(&selection, "--protect=/proc/self/fd"), 0);
	assert_true(check(f, &selection.rules, 2) < 0);
	assert_non_null(strstr(captured.text, "/fd'"));
	assert_non_null(strstr(captured.text, "--protect or --only"));
}

static void test_between_sources_needs_two(void **state)
{
	struct fixture *f = *state;
	CLEANUP(selection_free) struct selection_settings selection = {0};

	assert_int_equal(parse(&selection, "--between-sources"), 0);
	assert_true(selection.rules.rules.between_sources);
	assert_int_equal(check(f, &selection.rules, 2), 0);
	assert_true(check(f, &selection.rules, 1) < 0);
	assert_non_null(strstr(captured.text, "two sources"));
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rules_keep_their_order),
		cmocka_unit_test(test_backslash_makes_a_comma_part_of_a_glob),
		cmocka_unit_test(test_unknown_rule_is_refused),
		cmocka_unit_test(test_paths_are_resolved),
		cmocka_unit_test(test_missing_folder_and_missing_file_are_refused),
		CASE(test_folder_outside_of_the_sources_is_named),
		CASE(test_between_sources_needs_two),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
