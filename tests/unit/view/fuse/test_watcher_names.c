/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit_test.h"
#include "view/fuse/watcher_event.h"

/* The emitted differences, each as a letter and a name, and the number of further differences that
 * emit() accepts. */
struct emitted {
	char text[256];
	int room;
};

static int emit(void *context, const struct watched_difference *difference)
{
	static const char letters[] = {[WATCHER_EVENT_CREATED] = '+',
				       [WATCHER_EVENT_DELETED] = '-',
				       [WATCHER_EVENT_CHANGED] = '!'};
	struct emitted *emitted = context;
	size_t used = strlen(emitted->text);

	if (emitted->room-- == 0)
		return -ENOMEM;
	(void)snprintf(emitted->text + used, sizeof(emitted->text) - used, "%s%c%s ",
		       difference->replaced ? "*" : "", letters[difference->kind],
		       difference->name->text);
	return 0;
}

/* Makes a list of words; "name/" is a directory, "name=3" has this node, and a file this digest. */
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
			name.node = name.digest = strtoull(equals + 1, NULL, 10);
		}
		if (word[strlen(word) - 1] == '/') {
			name.directory = true;
			name.digest = 0;
			word[strlen(word) - 1] = '\0';
		}
		assert_int_equal(watcher_names_add(list, name), 0);
	}
	watcher_names_sort(list);
}

static void assert_differences(const char *before, const char *now, const char *expected)
{
	struct emitted emitted = {.room = -1};
	struct watcher_names a, b;

	build(&a, before);
	build(&b, now);
	assert_int_equal(watcher_names_differ(&a, &b, emit, &emitted), 0);
	assert_string_equal(emitted.text, expected);
	watcher_names_free(&a);
	watcher_names_free(&b);
}

static void test_added_removed_and_changed_names_are_emitted_in_order(void **state)
{
	(void)state;
	assert_differences("", "", "");
	assert_differences("a b c", "c b a", "");
	assert_differences("", "b a", "+a +b ");
	assert_differences("b a", "", "-a -b ");
	assert_differences("a c d", "b c e", "-a +b -d +e ");
	assert_differences("a=1 b=2 c=3", "a=1 b=3 c=3", "!b ");
}

static void test_name_that_became_a_directory_is_removed_and_added(void **state)
{
	(void)state;
	assert_differences("a b/", "a/ b", "*-a *+a *-b *+b ");
	assert_differences("a/ b/", "a/ b/", "");
}

static void test_name_of_another_directory_is_removed_and_added(void **state)
{
	(void)state;
	assert_differences("a/=1 b/=2 c/", "a/=3 b/=2 c/=3", "*-a *+a ");
}

static void test_refused_difference_ends_the_report(void **state)
{
	const char *before = "a=1 b=1 c/ d=1 f=1 g h=2", *now = "a=2 c d=1 e=1 f=3 h=2 i j/";
	struct emitted all = {.room = -1};
	struct watcher_names a, b;

	(void)state;
	build(&a, before);
	build(&b, now);
	assert_int_equal(watcher_names_differ(&a, &b, emit, &all), 0);
	for (int room = 0; room < 9; room++) {
		struct emitted part = {.room = room};

		assert_int_equal(watcher_names_differ(&a, &b, emit, &part), -ENOMEM);
		assert_memory_equal(part.text, all.text, strlen(part.text));
	}
	watcher_names_free(&a);
	watcher_names_free(&b);
}

struct changes {
	struct watched_difference list[16];
	size_t count;
};

static int collect(void *context, const struct watched_difference *difference)
{
	struct changes *changes = context;

	changes->list[changes->count++] = *difference;
	return 0;
}

static void test_list_without_its_differences_has_them_again(void **state)
{
	const char *before = "a=1 b=1 c/=1 d=1 f=1 g h=2 k/=1",
		   *now = "a=2 c d=1 e=1 f=3 h=2 i j/ k/=2";
	struct emitted first = {.room = -1}, again = {.room = -1};
	struct changes changes = {.count = 0};
	struct watcher_names a, b, reverted;

	(void)state;
	build(&a, before);
	build(&b, now);
	build(&reverted, now);
	assert_int_equal(watcher_names_differ(&a, &b, emit, &first), 0);
	assert_int_equal(watcher_names_differ(&a, &b, collect, &changes), 0);
	assert_int_equal(watcher_names_revert(&reverted, changes.list, changes.count), 0);
	assert_int_equal(watcher_names_differ(&reverted, &b, emit, &again), 0);
	assert_string_equal(again.text, first.text);
	watcher_names_free(&a);
	watcher_names_free(&b);
	watcher_names_free(&reverted);
}

static void test_deleted_name_that_was_replaced_is_not_added(void **state)
{
	const struct listed_name name = {.text = "a"};
	const struct watched_difference deleted = {.kind = WATCHER_EVENT_DELETED, .name = &name};
	struct watcher_names list;

	(void)state;
	build(&list, "a/=2");
	assert_int_equal(watcher_names_revert(&list, &deleted, 1), 0);
	assert_int_equal(list.count, 1);
	assert_true(list.names[0].directory);
	watcher_names_free(&list);
}

static void test_added_name_is_found(void **state)
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
		cmocka_unit_test(test_added_removed_and_changed_names_are_emitted_in_order),
		cmocka_unit_test(test_name_that_became_a_directory_is_removed_and_added),
		cmocka_unit_test(test_name_of_another_directory_is_removed_and_added),
		cmocka_unit_test(test_refused_difference_ends_the_report),
		cmocka_unit_test(test_list_without_its_differences_has_them_again),
		cmocka_unit_test(test_deleted_name_that_was_replaced_is_not_added),
		cmocka_unit_test(test_added_name_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
