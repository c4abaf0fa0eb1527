/* SPDX-License-Identifier: MIT */
#include "capture.h"
#include "scan/tree.h"
#include "view/follow/source_state.h"

/* Checks the sources and the logged line; expected "": no line is logged. Returns the sources to
 * walk. */
static uint64_t check(const struct tree *t, const char *expected)
{
	struct capture capture;
	uint64_t walk;

	capture_begin(&capture, STDERR_FILENO);
	walk = source_roots_check(&t->sources, NULL);
	(void)capture_end(&capture);
	if (*expected)
		assert_non_null(strstr(capture.text, expected));
	else
		assert_string_equal(capture.text, "");
	return walk;
}

static bool is_missing(const struct tree *t)
{
	return atomic_load(&t->sources.list[0].missing);
}

static void move_away(const struct tree *t, char away[128])
{
	(void)snprintf(away, 128, "%s.away", t->source);
	assert_int_equal(rename(t->source, away), 0);
}

static void test_source_at_its_path_needs_no_walk(void **state)
{
	struct tree *t = *state;

	assert_int_equal(check(t, ""), 0);
	assert_false(is_missing(t));
}

static void test_source_that_was_moved_is_missing_until_it_is_back(void **state)
{
	struct tree *t = *state;
	char away[128];

	move_away(t, away);
	assert_int_equal(check(t, "cannot find source"), 0);
	assert_true(is_missing(t));
	assert_int_equal(check(t, ""), 0); /* logged once */
	assert_true(is_missing(t));
	assert_int_equal(rename(away, t->source), 0);
	assert_int_equal(check(t, "is back"), 1);
	assert_false(is_missing(t));
	assert_int_equal(check(t, ""), 0);
}

static void test_source_that_was_removed_is_missing(void **state)
{
	struct tree *t = *state;

	assert_int_equal(rmdir(t->source), 0);
	assert_int_equal(check(t, "cannot find source"), 0);
	assert_true(is_missing(t));
}

static void test_symlink_or_fifo_at_the_path_of_a_source_is_refused(void **state)
{
	struct tree *t = *state;
	char away[128];

	move_away(t, away);
	assert_int_equal(symlink(away, t->source), 0);
	assert_int_equal(check(t, "cannot find source"), 0);
	assert_int_equal(unlink(t->source), 0);
	assert_int_equal(mkfifo(t->source, 0600), 0);
	assert_int_equal(check(t, ""), 0);
	assert_true(is_missing(t));
}

static void test_source_that_was_recreated_is_opened(void **state)
{
	struct tree *t = *state;
	int fd = t->sources.list[0].fd;
	ino_t before = inode_of(fd);
	char away[128];
	struct stat now;

	move_away(t, away);
	assert_int_equal(mkdir(t->source, 0755), 0);
	assert_int_equal(check(t, ""), 1);
	assert_false(is_missing(t));
	assert_int_equal(t->sources.list[0].fd, fd);
	assert_int_equal(stat(t->source, &now), 0);
	assert_int_equal(inode_of(fd), now.st_ino);
	assert_int_not_equal(inode_of(fd), before);
	assert_int_equal(check(t, ""), 0);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, tree_setup, tree_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_source_at_its_path_needs_no_walk),
		CASE(test_source_that_was_moved_is_missing_until_it_is_back),
		CASE(test_source_that_was_removed_is_missing),
		CASE(test_symlink_or_fifo_at_the_path_of_a_source_is_refused),
		CASE(test_source_that_was_recreated_is_opened),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
