/* SPDX-License-Identifier: MIT */

#include "base/attributes.h"
#include "base/in_trash.h"
#include "unit_test.h"

struct claim {
	const char *source;
	const char *path;
};

static void test_trashed_files_are_in_a_trash(void **state)
{
	static const struct claim claims[] = {
		{"/home/me", ".local/share/Trash/files/a"},
		{"/home/me/.local/share/Trash", "files/folder/a"},
		{"/home/me/.local/share/Trash/files/photos", "a"},
		{"/", "Trash/files/a"},
		{"/disk", ".Trash-1000/files/a"},
		{"/disk/.Trash", "1000/files/a"},
		{"/disk", ".Trashes/501/a"},
		{"/disk", "$RECYCLE.BIN/S-1-5/$R1.jpg"},
		{"/disk", ".Trash/.Trash-0/files/a"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(claims); i++)
		assert_true(is_in_trash(claims[i].source, claims[i].path, strlen(claims[i].path)));
}

static void test_other_files_are_in_no_trash_whatever_their_names(void **state)
{
	static const struct claim claims[] = {
		{"/home/me", "Trash"},
		{"/home/me", "Trash/a"},
		{"/home/me", "Trash/files"},
		{"/home/me", "Trash/info/files/a"},
		{"/home/me", "MyTrash/files/a"},
		{"/disk", ".Trash-/files/a"},
		{"/disk", ".Trash-me/files/a"},
		{"/disk", ".Trash/files/a"},
		{"/disk", ".Trash/1000x/files/a"},
		{"/disk/files", "a"},
		{"/disk", "$RECYCLE.BIN"},
		{"/", "a"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(claims); i++)
		assert_false(is_in_trash(claims[i].source, claims[i].path, strlen(claims[i].path)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_trashed_files_are_in_a_trash),
		cmocka_unit_test(test_other_files_are_in_no_trash_whatever_their_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
