/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "index/kept.h"

/* What is not set is equal. */
struct given {
	const char *source_path; /* NULL: "/s" */
	uint32_t source;
	uint32_t first_seen;
	struct timespec mtime;
	struct timespec btime;
	const char *path;
};

static struct kept_rank rank(const struct given *given)
{
	const struct attributes attributes = {.mtime = given->mtime, .btime = given->btime};
	const struct location location = {.source = given->source};
	struct kept_rank rank;

	kept_rank_set_inode(&rank, given->first_seen, &attributes);
	kept_rank_set_name(&rank, &location, given->source_path ? given->source_path : "/s",
			   given->path, strlen(given->path));
	return rank;
}

static const struct keep_rules none;

static int sign(int order)
{
	return (order > 0) - (order < 0);
}

static void test_each_criterion_decides_where_those_before_it_are_equal(void **state)
{
	/* in order of preference; the criterion decides between an entry and the next entry */
	const struct {
		struct given given;
		enum kept_criterion by;
	} sorted[] = {
		{{.path = "b"}, KEPT_BY_PATH},
		{{.path = "c"}, KEPT_BY_DEPTH},
		{{.path = "a/b"}, KEPT_BY_PATH},
		{{.path = "a/bc"}, KEPT_BY_PATH},
		{{.path = "a/\xff"}, KEPT_BY_DEPTH},
		{{.path = "a/b/c"}, KEPT_BY_COPY_MARKS},
		{{.path = "old", .btime = {-2, 0}}, KEPT_BY_BIRTH},
		{{.path = "old", .btime = {1, 1}}, KEPT_BY_BIRTH},
		{{.path = "a/old", .btime = {1, 2}}, KEPT_BY_BIRTH},
		{{.path = "a (1)", .btime = {INT64_MAX, 0}}, KEPT_BY_PATH},
		{{.path = "old"}, KEPT_BY_COPY_MARKS},
		{{.path = ".a/old"}, KEPT_BY_MTIME},
		{{.path = "a", .mtime = {2, 0}}, KEPT_BY_MTIME},
		{{.path = "a", .mtime = {INT64_MAX, 0}}, KEPT_BY_FIRST_SEEN},
		{{.path = "a", .first_seen = 1, .mtime = {INT64_MIN, 0}}, KEPT_BY_FIRST_SEEN},
		{{.path = "a", .first_seen = UINT32_MAX, .mtime = {-1, 0}}, KEPT_BY_SOURCE},
		{{.path = "a", .source = 1}, KEPT_BY_SOURCE},
		{{.path = "a", .source = UINT32_MAX}, KEPT_BY_PLACE},
		{{.path = ".Trash-1/files/a"}, KEPT_BY_SOURCE},
		{{.path = "a", .source_path = "/m/.Trash-1/files", .source = 1}, KEPT_BY_PLACE},
	};
	struct kept_reason reason;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sorted); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(sorted); j++) {
			const struct kept_rank a = rank(&sorted[i].given);
			const struct kept_rank b = rank(&sorted[j].given);

			assert_int_equal(sign(kept_order(&none, &a, &b, &reason)),
					 (i > j) - (i < j));
			assert_int_equal(sign(kept_order(&none, &a, &b, NULL)), (i > j) - (i < j));
			if (j == i + 1)
				assert_int_equal(reason.by, sorted[i].by);
		}
	}
}

/* A file that one of the rules below prefers, and one that it does not prefer. Without rules, the
 * second one is preferred, as it has no copy mark. */
struct ranks {
	struct kept_rank by_rule, by_default;
};

static struct ranks ranks(const struct given *by_rule, uint32_t links)
{
	const struct given given = {.path = "bb", .mtime = {10, 5}};
	struct ranks made;

	made.by_rule = rank(by_rule);
	made.by_rule.links = links;
	made.by_default = rank(&given);
	made.by_default.links = 2;
	return made;
}

static void test_rules_decide_before_all_but_the_place(void **state)
{
	const struct {
		enum keep_by by;
		const char *glob;
		struct given given;
		uint32_t links;
	} cases[] = {
		{KEEP_OLDEST, NULL, {.path = ".b", .mtime = {10, 4}}, 2},
		{KEEP_NEWEST, NULL, {.path = ".b", .mtime = {10, 6}}, 2},
		{KEEP_NEWEST, NULL, {.path = ".b", .mtime = {11, 0}}, 2},
		{KEEP_SHORTEST_PATH, NULL, {.path = "~", .mtime = {10, 5}}, 2},
		{KEEP_SHORTEST_PATH, NULL, {"/", .path = ".b", .mtime = {10, 5}}, 2},
		{KEEP_LONGEST_PATH, NULL, {.path = ".bb", .mtime = {10, 5}}, 2},
		{KEEP_LONGEST_PATH, NULL, {"/long", .path = ".b", .mtime = {10, 5}}, 2},
		{KEEP_MOST_LINKED, NULL, {.path = ".b", .mtime = {10, 5}}, 3},
		{KEEP_PATH, ".?", {.path = ".b", .mtime = {10, 5}}, 2},
		{KEEP_PATH, ".b/", {.path = ".b/c", .mtime = {10, 5}}, 2},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP_KEEP_RULES struct keep_rules rules = {0};
		struct ranks given = ranks(&cases[i].given, cases[i].links);
		struct kept_reason reason;

		assert_int_equal(keep_rules_add(&rules, KEEP_SOURCE_ORDER, NULL), 0);
		assert_int_equal(keep_rules_add(&rules, cases[i].by, cases[i].glob), 0);
		assert_true(kept_order(&none, &given.by_default, &given.by_rule, NULL) < 0);
		assert_false(kept_displaces(&none, &given.by_default, &given.by_rule));
		assert_true(kept_order(&rules, &given.by_rule, &given.by_default, &reason) < 0);
		assert_int_equal(reason.by, KEPT_BY_RULE);
		assert_int_equal(reason.rule, 1);
		assert_true(kept_order_by_rule(&rules, 1, &given.by_default, &given.by_rule) > 0);
		assert_int_equal(kept_order_by_rule(&rules, 0, &given.by_default, &given.by_rule),
				 0);
		assert_true(kept_displaces(&rules, &given.by_rule, &given.by_default));
		assert_false(kept_displaces(&rules, &given.by_default, &given.by_rule));
		given.by_rule.place = PLACE_TRASH;
		assert_true(kept_displaces(&rules, &given.by_default, &given.by_rule));
	}
}

static void test_a_glob_can_have_another_form_in_another_source(void **state)
{
	CLEANUP_KEEP_RULES struct keep_rules rules = {0};
	const struct given first = {.path = "a/x"}, second = {.path = "a/x", .source = 1};
	const struct kept_rank a = rank(&first), b = rank(&second);

	(void)state;
	assert_int_equal(keep_rules_add(&rules, KEEP_PATH, "S/a"), 0);
	assert_int_equal(kept_order_by_rule(&rules, 0, &a, &b), 0);
	assert_int_equal(text_list_add(&rules.source_globs, "S/a", 3), 0);
	assert_int_equal(text_list_add(&rules.source_globs, "/a", 2), 0);
	assert_true(kept_order_by_rule(&rules, 0, &b, &a) < 0);
}

/* FAT stores an mtime in units of two seconds. The copy has a copy mark, so only its mtime could
 * make it the original. */
static void test_a_rounded_time_makes_no_copy_older(void **state)
{
	static const struct timespec times[] = {{7, 999999999}, {6, 1}, {-1, 5}, {-2, 3}, {0, 1}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		const struct given original = {.path = "a/b/c", .mtime = times[i]};
		const struct given copy = {.path = "copy",
					   .mtime = {times[i].tv_sec - (times[i].tv_sec & 1), 0}};
		const struct kept_rank a = rank(&original), b = rank(&copy);
		struct kept_reason reason;

		assert_true(kept_order(&none, &a, &b, &reason) < 0);
		assert_int_equal(reason.by, KEPT_BY_COPY_MARKS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_criterion_decides_where_those_before_it_are_equal),
		cmocka_unit_test(test_rules_decide_before_all_but_the_place),
		cmocka_unit_test(test_a_glob_can_have_another_form_in_another_source),
		cmocka_unit_test(test_a_rounded_time_makes_no_copy_older),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
