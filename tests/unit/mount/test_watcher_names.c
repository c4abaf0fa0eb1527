/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mount/watcher_names.h"
#include "unit_test.h"

/* What was given, one letter and the name each; and how much more is taken. */
struct heard {
	char text[256];
	int room;
};

static bool hear(void *context, enum watcher_event_kind kind, const struct listed_name *name)
{
	static const char letters[] = {[WATCHER_EVENT_CREATED] = '+',
				       [WATCHER_EVENT_DELETED] = '-',
				       [WATCHER_EVENT_CHANGED] = '!'};
	struct heard *heard = context;
	size_t used = strlen(heard->text);

	if (heard->room-- == 0)
		return false;
	(void)snprintf(heard->text + used, sizeof(heard->text) - used, "%c%s ", letters[kind],
		       name->text);
	return true;
}

/* Of words; "name/" is a directory, "name=3" has this digest. */
static void build(struct watcher_names *list, const char *words)
{
	char text[256], *rest = text, *word;

	*list = (struct watcher_names){0};
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
		assert_int_equal(watcher_names_add(list, name), 0);
	}
	watcher_names_sort(list);
}

static void differ(const char *before, const char *now, const char *expected)
{
	struct heard heard = {.room = -1};
	struct watcher_names a, b, rest;

	build(&a, before);
	build(&b, now);
	assert_int_equal(watcher_names_differ(&a, &b, hear, &heard, &rest), 0);
	assert_string_equal(heard.text, expected);
	assert_int_equal(rest.count, 0);
	watcher_names_free(&a);
	watcher_names_free(&b);
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
	struct watcher_names a, b, rest;

	(void)state;
	build(&a, before);
	build(&b, now);
	assert_int_equal(watcher_names_differ(&a, &b, hear, &all, &rest), 0);
	for (int room = 1; room < 12; room++) {
		struct heard parts = {.room = room};
		struct watcher_names left;

		build(&left, before);
		for (int rounds = 0; rounds < 20; rounds++) {
			parts.room = room;
			assert_int_equal(watcher_names_differ(&left, &b, hear, &parts, &rest), 0);
			watcher_names_free(&left);
			if (rest.count == 0)
				break;
			left = rest;
		}
		assert_int_equal(rest.count, 0);
		assert_string_equal(parts.text, all.text);
	}
	watcher_names_free(&a);
	watcher_names_free(&b);
}

static void test_names_are_found(void **state)
{
	struct watcher_names list;

	(void)state;
	build(&list, "");
	assert_null(watcher_names_find(&list, "a"));
	build(&list, "b=5 a c/");
	assert_int_equal(watcher_names_find(&list, "b")->digest, 5);
	assert_true(watcher_names_find(&list, "c")->directory);
	assert_null(watcher_names_find(&list, "d"));
	watcher_names_free(&list);
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
