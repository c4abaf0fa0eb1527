/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "capture.h"
#include "cli/cmd_mount.h"
#include "cli/command.h"
#include "unit_test.h"

#define WORDS_MAX 16

/* Parses words, which end with NULL. */
static int parse(struct mount_settings *settings, const struct command *command,
		 const char *const *words)
{
	static char *argv[WORDS_MAX + 1];
	int argc = 0, operands, r;

	for (; words[argc] != NULL; argc++) {
		free(argv[argc]);
		argv[argc] = strdup(words[argc]);
	}
	free(argv[argc]);
	argv[argc] = NULL;
	memset(settings, 0, sizeof(*settings));
	common_settings_init(&settings->common);
	command->init(settings);
	r = options_parse(&command->options, argc, argv, settings, &operands);
	return r != 0 ? r
		      : mount_settings_complete(settings, argv + operands,
						(size_t)(argc - operands));
}

static void deinit(struct mount_settings *settings)
{
	mount_command.deinit(settings);
	common_settings_deinit(&settings->common);
}

#define PARSE(settings, command, ...) \
	parse(settings, command, (const char *const[]){"mount", __VA_ARGS__, NULL})

static void test_last_operand_is_the_mount_point(void **state)
{
	struct mount_settings settings;

	(void)state;
	assert_int_equal(PARSE(&settings, &mount_command, "a", "-f", "b", "m"), 0);
	assert_int_equal(settings.sources.count, 2);
	assert_string_equal(settings.sources.items[0], "a");
	assert_string_equal(settings.sources.items[1], "b");
	assert_string_equal(settings.daemon.mount_point, "m");
	assert_true(settings.daemon.foreground);
	deinit(&settings);
}

static void test_sources_of_options_follow_the_operands(void **state)
{
	struct mount_settings settings;

	(void)state;
	assert_int_equal(PARSE(&settings, &mount_command, "-o", "source=/a\\,b c:d,source=e",
			       "--source=f", "s", "m"),
			 0);
	assert_int_equal(settings.sources.count, 4);
	assert_string_equal(settings.sources.items[0], "s");
	assert_string_equal(settings.sources.items[1], "f");
	assert_string_equal(settings.sources.items[2], "/a,b c:d");
	assert_string_equal(settings.sources.items[3], "e");
	assert_string_equal(settings.daemon.mount_point, "m");
	deinit(&settings);
}

static void test_items_of_o_are_long_options(void **state)
{
	struct mount_settings settings;

	(void)state;
	assert_int_equal(PARSE(&settings, &mount_command, "s", "m", "-o",
			       "wait,min-size=4k,exclude=*.o,index=/a b", "-o", "foreground"),
			 0);
	assert_true(settings.daemon.wait);
	assert_true(settings.daemon.foreground);
	assert_int_equal(settings.common.index.min_size, 4096);
	assert_string_equal(settings.common.index.excludes.items[0], "*.o");
	assert_string_equal(settings.common.index.folder, "/a b");
	assert_int_equal(settings.daemon.session.fuse.count, 0);
	deinit(&settings);
}

static void test_generic_words_of_fstab_are_ignored(void **state)
{
	struct mount_settings settings;

	(void)state;
	assert_int_equal(PARSE(&settings, &mount_command, "s", "m", "-o",
			       "defaults,noauto,user,nofail,_netdev,x-systemd.automount,rw,,"),
			 0);
	assert_int_equal(settings.daemon.session.fuse.count, 0);
	deinit(&settings);
}

static void test_options_of_fuse_are_passed_on(void **state)
{
	struct mount_settings settings;

	(void)state;
	assert_int_equal(PARSE(&settings, &mount_command, "s", "m", "-o",
			       "max_read=65536,nonempty"),
			 0);
	assert_int_equal(settings.daemon.session.fuse.count, 1);
	assert_string_equal(settings.daemon.session.fuse.items[0], "max_read=65536");
	assert_true(settings.daemon.session.nonempty);
	deinit(&settings);
}

static void test_backslash_makes_a_comma_part_of_a_value(void **state)
{
	struct mount_settings settings;

	(void)state;
	assert_int_equal(PARSE(&settings, &mount_command, "s", "m", "-o",
			       "index=/a\\,b\\\\c,exclude=\\x\\\\\\"),
			 0);
	assert_string_equal(settings.common.index.folder, "/a,b\\c");
	assert_string_equal(settings.common.index.excludes.items[0], "x\\\\");
	deinit(&settings);
}

static void test_helper_takes_the_letters_of_mount_8(void **state)
{
	struct mount_settings settings;

	(void)state;
	assert_int_equal(PARSE(&settings, &mount_helper_command, "s", "m", "-n", "-v", "-r", "-w",
			       "-t", "fuse.twinfs", "-N", "ns", "-o", "wait"),
			 0);
	assert_true(settings.daemon.wait);
	assert_false(settings.daemon.foreground);
	assert_false(settings.fake);
	deinit(&settings);
	assert_int_equal(PARSE(&settings, &mount_helper_command, "s", "m", "-f", "-s", "-o",
			       "what"),
			 0);
	assert_true(settings.fake);
	assert_false(settings.daemon.foreground);
	assert_false(settings.daemon.session.single_threaded);
	deinit(&settings);
}

/* Parses "-o item", which is invalid, and checks that the message contains words. */
static void check_refused(const char *item, const char *words)
{
	struct mount_settings settings;
	struct capture capture;
	int r;

	capture_begin(&capture, STDERR_FILENO);
	r = PARSE(&settings, &mount_command, "s", "m", "-o", item);
	(void)capture_end(&capture);
	assert_int_equal(r, -EINVAL);
	assert_non_null(strstr(capture.text, words));
	deinit(&settings);
}

static void test_unknown_and_wrong_items_are_refused(void **state)
{
	(void)state;
	check_refused("wait,frobnicate", "'frobnicate'");
	check_refused("min-size=many", "'many'");
	check_refused("wait=yes", "wait");
	check_refused("index", "index");
	check_refused("options=wait", "'options=wait'");
}

static void check_missing(const char *const *words, const char *missing)
{
	struct mount_settings settings;
	struct capture capture;
	int r;

	capture_begin(&capture, STDERR_FILENO);
	r = parse(&settings, &mount_command, words);
	(void)capture_end(&capture);
	assert_int_equal(r, -EINVAL);
	assert_non_null(strstr(capture.text, missing));
	deinit(&settings);
}

static void test_missing_operands_are_named(void **state)
{
	(void)state;
	check_missing((const char *const[]){"mount", NULL}, "SOURCE");
	check_missing((const char *const[]){"mount", "source", NULL}, "MOUNTPOINT");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_last_operand_is_the_mount_point),
		cmocka_unit_test(test_sources_of_options_follow_the_operands),
		cmocka_unit_test(test_items_of_o_are_long_options),
		cmocka_unit_test(test_generic_words_of_fstab_are_ignored),
		cmocka_unit_test(test_options_of_fuse_are_passed_on),
		cmocka_unit_test(test_backslash_makes_a_comma_part_of_a_value),
		cmocka_unit_test(test_helper_takes_the_letters_of_mount_8),
		cmocka_unit_test(test_unknown_and_wrong_items_are_refused),
		cmocka_unit_test(test_missing_operands_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
