/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mount/name_list.h"

/* What was given, one letter and the name each; and how much more is taken. */
struct heard {
	char text[256];
	int room;
};

static bool hear(void *context, enum nudge_kind kind, const struct listed_name *name)
{
	static const char letters[] =
		{[NUDGE_CAME] = '+', [NUDGE_WENT] = '-', [NUDGE_CHANGED] = '!'};
	struct heard *heard = context;
	size_t used = strlen(heard->text);

	if (heard->room-- == 0)
		return false;
	(void)snprintf(heard->text + used, sizeof(heard->text) - used, "%c%s ", letters[kind],
		       name->text);
	return true;
}

/* Of words; "name/" is a directory, "name=3" has this digest. */
static void build(struct name_list *list, const char *words)
{
	char text[256], *rest = text, *word;

	*list = (struct name_list){0};
	(void)snprintf(text, sizeof(text), "%s", words);
	while ((word = strsep(&rest, " "))) {
		struct listed_name name = {.text = word};
		char *equals = strchr(word, '=');

		if (!*word)
			continue;
		if (equals) {
			*equals = '\0';
			name.digest = strtoull(equals + 1, NULL, 10);
		}
		if (word[strlen(word) - 1] == '/') {
			name.directory = true;
			word[strlen(word) - 1] = '\0';
		}
		assert_int_equal(name_list_add(list, name), 0);
	}
	name_list_sort(list);
}

static void differ(const char *before, const char *now, const char *expected)
{
	struct heard heard = {.room = -1};
	struct name_list a, b, rest;

	build(&a, before);
	build(&b, now);
	assert_int_equal(name_list_differ(&a, &b, hear, &heard, &rest), 0);
	assert_string_equal(heard.text, expected);
	assert_int_equal(rest.count, 0);
	name_list_free(&a);
	name_list_free(&b);
}

static void test_what_came_went_and_changed_is_given_by_name(void **state)
{
	(void)state;
	differ("", "", "");
	differ("a b c", "c b a", "");
	differ("", "b a", "+a +b ");
	differ("b a", "", "-a -b ");
	differ("a c d", "b c e", "-a +b -d +e ");
	differ("a=1 b=2 c=3", "a=1 b=3 c=3", "!b ");
}

static void test_what_became_a_directory_goes_and_comes(void **state)
{
	(void)state;
	differ("a b/", "a/ b", "-a +a -b +b ");
	differ("a/ b/", "a/ b/", "");
}

/* However much is taken at a time, all that is given is what differs, each once, as if in one go. */
static void test_what_was_not_taken_is_given_later(void **state)
{
	const char *before = "a=1 b=1 c/ d=1 f=1 g h=2", *now = "a=2 c d=1 e=1 f=3 h=2 i j/";
	struct heard all = {.room = -1};
	struct name_list a, b, rest;

	(void)state;
	build(&a, before);
	build(&b, now);
	assert_int_equal(name_list_differ(&a, &b, hear, &all, &rest), 0);
	for (int room = 1; room < 12; room++) {
		struct heard parts = {.room = room};
		struct name_list left;

		build(&left, before);
		for (int rounds = 0; rounds < 20; rounds++) {
			parts.room = room;
			assert_int_equal(name_list_differ(&left, &b, hear, &parts, &rest), 0);
			name_list_free(&left);
			if (rest.count == 0)
				break;
			left = rest;
		}
		assert_int_equal(rest.count, 0);
		assert_string_equal(parts.text, all.text);
	}
	name_list_free(&a);
	name_list_free(&b);
}

static void test_names_are_found(void **state)
{
	struct name_list list;

	(void)state;
	build(&list, "");
	assert_null(name_list_find(&list, "a"));
	build(&list, "b=5 a c/");
	assert_int_equal(name_list_find(&list, "b")->digest, 5);
	assert_true(name_list_find(&list, "c")->directory);
	assert_null(name_list_find(&list, "d"));
	name_list_free(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_came_went_and_changed_is_given_by_name),
		cmocka_unit_test(test_what_became_a_directory_goes_and_comes),
		cmocka_unit_test(test_what_was_not_taken_is_given_later),
		cmocka_unit_test(test_names_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
