/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "unit_test.h"

static char root[] = "/tmp/twinfs-memory-limit-XXXXXX";

static void write_text(const char *name, const char *text)
{
	char path[256];
	FILE *file;

	assert_true(snprintf(path, sizeof(path), "%s/%s", root, name) < (int)sizeof(path));
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void make_folder(const char *name)
{
	char path[256];

	assert_true(snprintf(path, sizeof(path), "%s/%s", root, name) < (int)sizeof(path));
	assert_true(mkdir(path, 0700) == 0 || access(path, F_OK) == 0);
}

static uint64_t limit_of(const char *groups)
{
	char path[256];

	write_text("groups", groups);
	assert_true(snprintf(path, sizeof(path), "%s/groups", root) < (int)sizeof(path));
	return memory_limit_of_groups(path, root);
}

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(root))
		return -1;
	make_folder("user");
	make_folder("user/service");
	make_folder("memory");
	make_folder("memory/job");
	write_text("memory.max", "max\n");
	write_text("user/memory.max", "268435456\n");
	write_text("user/service/memory.max", "max\n");
	write_text("memory/memory.limit_in_bytes", "9223372036854771712\n");
	write_text("memory/job/memory.limit_in_bytes", "67108864\n");
	return 0;
}

static int tear_down(void **state)
{
	static const char *const names[] = {"groups",
					    "user/service/memory.max",
					    "user/memory.max",
					    "memory.max",
					    "memory/job/memory.limit_in_bytes",
					    "memory/memory.limit_in_bytes",
					    "user/service",
					    "user",
					    "memory/job",
					    "memory",
					    ""};
	char path[256];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", root, names[i]);
		if (remove(path) != 0)
			return -1;
	}
	return 0;
}

static void test_limit_of_an_outer_group_holds(void **state)
{
	(void)state;
	assert_int_equal(limit_of("0::/user/service\n"), 268435456);
	assert_int_equal(limit_of("0::/user/service/\n"), 268435456);
}

static void test_least_limit_of_all_hierarchies_holds(void **state)
{
	(void)state;
	assert_int_equal(limit_of("4:memory:/job\n3:cpu:/other\n0::/user\n"), 67108864);
	assert_int_equal(limit_of("4:cpu:/job\n0::/user\n"), 268435456);
}

static void test_path_outside_of_the_namespace_is_the_root_group(void **state)
{
	(void)state;
	write_text("memory.max", "1048576\n");
	assert_int_equal(limit_of("0::/docker/0123\n"), 1048576);
	write_text("memory.max", "max\n");
}

static void test_without_a_limit_there_is_none(void **state)
{
	(void)state;
	assert_true(limit_of("0::/\n") == UINT64_MAX);
	assert_true(limit_of("") == UINT64_MAX);
	assert_true(limit_of("not a line\n:\n") == UINT64_MAX);
	assert_true(memory_limit_of_groups("/nonexistent", root) == UINT64_MAX);
}

static void test_buffer_is_limited_to_a_part_of_the_memory(void **state)
{
	(void)state;
	assert_true(memory_limit() > 0);
	assert_int_equal(memory_at_most(1, 2), 1);
	assert_true(memory_at_most(UINT64_MAX, 16) == memory_limit() / 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limit_of_an_outer_group_holds),
		cmocka_unit_test(test_least_limit_of_all_hierarchies_holds),
		cmocka_unit_test(test_path_outside_of_the_namespace_is_the_root_group),
		cmocka_unit_test(test_without_a_limit_there_is_none),
		cmocka_unit_test(test_buffer_is_limited_to_a_part_of_the_memory),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
