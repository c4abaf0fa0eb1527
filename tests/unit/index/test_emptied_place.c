/* SPDX-License-Identifier: MIT */

#include <string.h>

#include "base/attributes.h"
#include "index/emptied_place.h"
#include "unit_test.h"

struct claim {
	const char *source;
	const char *path;
	enum emptied_place place;
};

static void test_names_of_folders_tell_the_place_of_a_file(void **state)
{
	static const struct claim claims[] = {
		{"/home/me", ".local/share/Trash/files/a", PLACE_TRASH},
		{"/home/me", ".local/share/Trash/expunged/12/a", PLACE_TRASH},
		{"/home/me/.local/share/Trash", "files/folder/a", PLACE_TRASH},
		{"/home/me/.local/share/Trash/files/photos", "a", PLACE_TRASH},
		{"/", "Trash/files/a", PLACE_TRASH},
		{"/disk", ".Trash-1000/files/a", PLACE_TRASH},
		{"/disk", ".Trash-1000/expunged/a", PLACE_TRASH},
		{"/disk/.Trash", "1000/files/a", PLACE_TRASH},
		{"/home/me", ".Trash/a", PLACE_TRASH},
		{"/disk", ".Trashes/501/a", PLACE_TRASH},
		{"/disk", "$RECYCLE.BIN/S-1-5/$R1.jpg", PLACE_TRASH},
		{"/disk", "$Recycle.Bin/S-1-5/$R1.jpg", PLACE_TRASH},
		{"/disk", "Recycler/S-1-5/Dc1.jpg", PLACE_TRASH},
		{"/disk", "recycled/Dc1.jpg", PLACE_TRASH},
		{"/share", "#recycle/a", PLACE_TRASH},
		{"/share", "@Recycle/a", PLACE_TRASH},
		{"/share", "Network Recycle Bin 1/a", PLACE_TRASH},
		{"/share", ".recycle/me/a", PLACE_TRASH},
		{"/cloud/data/me", "files_trashbin/files/a.d17", PLACE_TRASH},
		{"/cloud/data", "__groupfolders/trash/1/a", PLACE_TRASH},
		{"/sync", ".stversions/a", PLACE_TRASH},
		{"/sync", ".sync/Archive/a", PLACE_TRASH},
		{"/disk", "a/.stversions/.snapshot/a", PLACE_TRASH},
		{"/", ".snapshots/12/snapshot/home/a", PLACE_SNAPSHOT},
		{"/.snapshots/12", "snapshot/a", PLACE_SNAPSHOT},
		{"/tank", ".zfs/snapshot/daily/a", PLACE_SNAPSHOT},
		{"/share", "#snapshot/GMT-2026/a", PLACE_SNAPSHOT},
		{"/net/.snapshot/hourly.0", "a", PLACE_SNAPSHOT},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(claims); i++)
		assert_int_equal(emptied_place_of(claims[i].source, claims[i].path,
						  strlen(claims[i].path)),
				 claims[i].place);
}

static void test_other_folders_and_files_last_whatever_their_names(void **state)
{
	static const struct claim claims[] = {
		{"/home/me", "Trash", PLACE_LASTS},
		{"/home/me", "Trash/a", PLACE_LASTS},
		{"/home/me", "Trash/files", PLACE_LASTS},
		{"/home/me", "Trash/a/files/a", PLACE_LASTS},
		{"/home/me", "MyTrash/files/a", PLACE_LASTS},
		{"/home/me", "trash/files/a", PLACE_LASTS},
		{"/home/me", ".Trash", PLACE_LASTS},
		{"/disk", ".Trash-/files/a", PLACE_LASTS},
		{"/disk", ".Trash-me/files/a", PLACE_LASTS},
		{"/disk", "a/.stversions", PLACE_LASTS},
		{"/disk/files", "a", PLACE_LASTS},
		{"/disk", "$RECYCLE.BIN", PLACE_LASTS},
		{"/disk", "RECYCLER2/a", PLACE_LASTS},
		{"/backup", ".snapshots/daily.0/a", PLACE_LASTS},
		{"/backup", ".snapshots/12/a", PLACE_LASTS},
		{"/backup", ".snapshots/12/a/snapshot/a", PLACE_LASTS},
		{"/share", "recycle/a", PLACE_LASTS},
		{"/share", "Network Recycle Bin/a", PLACE_LASTS},
		{"/", "a", PLACE_LASTS},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(claims); i++)
		assert_int_equal(emptied_place_of(claims[i].source, claims[i].path,
						  strlen(claims[i].path)),
				 claims[i].place);
}

static void test_folder_has_the_place_of_its_files(void **state)
{
	(void)state;
	assert_int_equal(emptied_place_in("/disk", ".Trash-0", strlen(".Trash-0")), PLACE_TRASH);
	assert_int_equal(emptied_place_in("/disk/.Trash-0", ".", 1), PLACE_TRASH);
	assert_int_equal(emptied_place_in("/disk", "Trash", strlen("Trash")), PLACE_LASTS);
	assert_int_equal(emptied_place_in("/disk", "", 0), PLACE_LASTS);
}

static uint32_t number_of(const char *path)
{
	return emptied_place_state("/disk", path, strlen(path));
}

static void test_number_changes_if_a_move_changes_the_place_of_a_file_below(void **state)
{
	(void)state;
	assert_int_equal(number_of("a"), number_of("b/c"));
	assert_int_not_equal(number_of("a"), number_of("Trash"));
	assert_int_not_equal(number_of("a"), number_of(".stversions"));
	assert_int_not_equal(number_of(".snapshots"), number_of(".snapshots/1"));
	assert_int_not_equal(number_of("a/1"), number_of(".snapshots/1"));
	assert_int_not_equal(number_of(".snapshot"), number_of(".stversions"));
	assert_int_equal(number_of(".stversions/a"), number_of("$Recycle.bin/b"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_of_folders_tell_the_place_of_a_file),
		cmocka_unit_test(test_other_folders_and_files_last_whatever_their_names),
		cmocka_unit_test(test_folder_has_the_place_of_its_files),
		cmocka_unit_test(test_number_changes_if_a_move_changes_the_place_of_a_file_below),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
