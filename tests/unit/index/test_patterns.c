/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folder.h"
#include "index/patterns.h"
#include "index/source.h"
#include "unit_test.h"

/* The folder of the source has the directory "own". The path of the source is not the path of that
 * folder: patterns read the path as text only. */
struct case_state {
	char folder[64];
	int fd;
	struct source list[2];
	struct sources sources;
};

static int setup_case(void **state)
{
	struct case_state *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	folder_make(p->folder, "/var/tmp");
	p->fd = open(p->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(p->fd >= 0);
	assert_int_equal(mkdirat(p->fd, "own", 0755), 0);
	p->sources = (struct sources){.list = p->list, .count = 2};
	for (size_t i = 0; i < 2; i++)
		p->list[i] = (struct source){.fd = p->fd};
	p->list[0].path = (char *)(uintptr_t) "/srv/data/Photos";
	p->list[1].path = (char *)(uintptr_t) "/";
	*state = p;
	return 0;
}

static int teardown_case(void **state)
{
	struct case_state *p = *state;

	(void)close(p->fd);
	folder_remove(p->folder);
	free(p);
	return 0;
}

/* Checks the form of a glob in the first source. */
static void assert_form(const struct case_state *p, const char *glob, enum pattern_use use,
			const char *expected)
{
	char *globs[] = {(char *)(uintptr_t)glob, NULL};
	CLEANUP(patterns_free) struct patterns patterns = {0};
	char *const *list;

	assert_int_equal(patterns_make(&patterns, globs, &p->sources, use), 0);
	assert_int_equal(patterns.count, 1);
	assert_ptr_equal(patterns_of(&patterns, 0), patterns.of_source[0]);
	list = patterns.of_source[0];
	assert_string_equal(list[0], expected);
	assert_null(list[1]);
	assert_null(patterns_of(&patterns, 2));
}

static void test_other_globs_stay_as_they_are(void **state)
{
	static const char *const globs[] = {"2019",   "2019/",   "*.jpg",        "a/b",
					    "/a/b/",  "Photos",  "/*/*/x",       "/*/data/x",
					    "*/x",    "/srv",    "/srv/other/x", "Photo/x",
					    "data/x", "hotos/x", "[a/"};

	for (size_t i = 0; i < sizeof(globs) / sizeof(*globs); i++)
		assert_form(*state, globs[i], PATTERN_TO_EXCLUDE, globs[i]);
}

static void test_absolute_path_becomes_relative_to_its_source(void **state)
{
	assert_form(*state, "/srv/data/Photos/2019", PATTERN_TO_EXCLUDE, "/2019");
	assert_form(*state, "/srv/data/Photos/2019/", PATTERN_TO_EXCLUDE, "/2019/");
	assert_form(*state, "/srv//data/Photos//a/*.jpg", PATTERN_TO_EXCLUDE, "/a/*.jpg");
	assert_form(*state, "/srv/*/Photos/2019", PATTERN_TO_EXCLUDE, "/2019");
	assert_form(*state, "/srv/data/P*/2019", PATTERN_TO_SELECT, "/2019");
}

static void test_name_of_the_source_in_front_is_removed(void **state)
{
	assert_form(*state, "Photos/2019", PATTERN_TO_EXCLUDE, "/2019");
	assert_form(*state, "Photos/2019/", PATTERN_TO_EXCLUDE, "/2019/");
	assert_form(*state, "data/Photos/*.jpg", PATTERN_TO_EXCLUDE, "/*.jpg");
	assert_form(*state, "srv/data/Photos/a", PATTERN_TO_SELECT, "/a");
	assert_form(*state, "./2019", PATTERN_TO_EXCLUDE, "/2019");
	assert_form(*state, "./2019/", PATTERN_TO_EXCLUDE, "/2019/");
}

static void test_names_in_the_source_come_before_its_own_name(void **state)
{
	struct case_state *p = *state;

	assert_int_equal(mkdirat(p->fd, "Photos", 0755), 0);
	assert_form(p, "Photos/2019", PATTERN_TO_EXCLUDE, "Photos/2019");
	assert_form(p, "Photos/", PATTERN_TO_SELECT, "Photos/");
	assert_int_equal(mkdirat(p->fd, "srv", 0755), 0);
	assert_form(p, "/srv/*/Photos/2019", PATTERN_TO_EXCLUDE, "/srv/*/Photos/2019");
	assert_form(p, "/srv/data/Photos/2019", PATTERN_TO_EXCLUDE, "/2019");
	assert_int_equal(mkdirat(p->fd, "srv/data", 0755), 0);
	assert_int_equal(mkdirat(p->fd, "srv/data/Photos", 0755), 0);
	assert_form(p, "/srv/data/Photos/2019", PATTERN_TO_EXCLUDE, "/srv/data/Photos/2019");
}

static void test_whole_source_is_selected_but_never_excluded(void **state)
{
	static const char *const globs[] = {"/srv/data/Photos", "/srv/data/Photos/",
					    "/srv/data",        "/srv/",
					    "Photos/",          "data/Photos/",
					    "data/Photos"};

	for (size_t i = 0; i < sizeof(globs) / sizeof(*globs); i++) {
		assert_form(*state, globs[i], PATTERN_TO_SELECT, "/*");
		assert_form(*state, globs[i], PATTERN_TO_EXCLUDE, globs[i]);
	}
}

static void test_each_source_has_its_own_form(void **state)
{
	struct case_state *p = *state;
	char one[] = "/srv/data/Photos/2019", other[] = "*.o", *globs[] = {one, other, NULL};
	CLEANUP(patterns_free) struct patterns patterns = {0};

	assert_int_equal(patterns_make(&patterns, globs, &p->sources, PATTERN_TO_EXCLUDE), 0);
	assert_string_equal(patterns_of(&patterns, 0)[0], "/2019");
	assert_string_equal(patterns_of(&patterns, 1)[0], "/srv/data/Photos/2019");
	assert_string_equal(patterns_of(&patterns, 1)[1], "*.o");
	patterns_mark(&patterns, 1);
	assert_false(patterns.matched[0]);
	assert_true(patterns.matched[1]);
}

static void test_without_globs_there_are_no_patterns(void **state)
{
	struct case_state *p = *state;
	CLEANUP(patterns_free) struct patterns patterns = {0};

	assert_int_equal(patterns_make(&patterns, NULL, &p->sources, PATTERN_TO_SELECT), 0);
	assert_int_equal(patterns.count, 0);
	assert_null(patterns_of(&patterns, 0));
	assert_null(patterns_of(NULL, 0));
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup_case, teardown_case)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_other_globs_stay_as_they_are),
		CASE(test_absolute_path_becomes_relative_to_its_source),
		CASE(test_name_of_the_source_in_front_is_removed),
		CASE(test_names_in_the_source_come_before_its_own_name),
		CASE(test_whole_source_is_selected_but_never_excluded),
		CASE(test_each_source_has_its_own_form),
		CASE(test_without_globs_there_are_no_patterns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
