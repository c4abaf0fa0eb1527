/* SPDX-License-Identifier: MIT */

#include "base/clock.h"
#include "scan/ingest.h"
#include "scan/walk.h"
#include "unit_test.h"

#define DIRS 200

/* Puts a directory before a list. */
static struct walk_dir *add(struct walk_dir *list, uint32_t filesystem, uint64_t inode)
{
	struct walk_dir *dir = walk_dir_new(NULL, (struct name){"d", 1});

	assert_non_null(dir);
	dir->attributes.filesystem = filesystem;
	dir->attributes.inode = inode;
	dir->next = list;
	return dir;
}

static void test_directories_are_sorted_by_file_system_and_inode(void **state)
{
	struct walk_dir *list = NULL;
	size_t count = 0;

	(void)state;
	for (uint32_t i = 0; i < DIRS; i++)
		list = add(list, 1 + i % 3, UINT64_C(7919) * i % DIRS);
	list = walk_dir_sort(list);
	for (const struct walk_dir *dir = list; dir; dir = dir->next) {
		const struct attributes *now = &dir->attributes;
		const struct attributes *next = dir->next ? &dir->next->attributes : NULL;

		count++;
		if (next)
			assert_true(
				now->filesystem < next->filesystem ||
				(now->filesystem == next->filesystem && now->inode <= next->inode));
	}
	assert_int_equal(count, DIRS);
	walk_dir_release_list(list);
}

static void test_lists_of_none_and_one_directory_are_sorted(void **state)
{
	struct walk_dir *one = add(NULL, 1, 1);

	(void)state;
	assert_null(walk_dir_sort(NULL));
	assert_ptr_equal(walk_dir_sort(one), one);
	assert_null(one->next);
	walk_dir_release_list(one);
}

static void test_moves_are_possible_if_the_clock_was_set_back(void **state)
{
	struct ingest_result result = {0};
	struct walk_moves moves;

	(void)state;
	walk_moves_begin(&moves, &(struct walk_start){0});
	walk_moves_report(&moves, &result);
	assert_false(result.moved);
	moves.start.wall_ns += SECOND_NS; /* so now it is a second behind */
	walk_moves_report(&moves, &result);
	assert_true(result.moved);
	moves.start.monotonic_ns -= 10000 * SECOND_NS; /* a long walk beside a slow clock */
	moves.start.wall_ns -= 9996 * SECOND_NS;
	walk_moves_report(&moves, &result);
	assert_false(result.moved);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_directories_are_sorted_by_file_system_and_inode),
		cmocka_unit_test(test_lists_of_none_and_one_directory_are_sorted),
		cmocka_unit_test(test_moves_are_possible_if_the_clock_was_set_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
