/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "backup/tree_walk.h"
#include "folder.h"
#include "unit_test.h"

/* The steps of a walk as words: +directory, -directory, or an item. */
struct trace {
	struct bytes text;
	const char *pass_over;
	int depth;
	int deepest;
};

static int note(struct trace *trace, const char *mark, const char *path, const char *name)
{
	return bytes_format(&trace->text, "%s%s%s%s ", mark, path,
			    path[0] != '\0' && name[0] != '\0' ? "/" : "", name);
}

static int enter(void *context, const struct tree_dir *dir)
{
	struct trace *trace = context;

	assert_true(S_ISDIR(dir->status.st_mode));
	if (trace->pass_over != NULL && strcmp(dir->path, trace->pass_over) == 0)
		return TREE_PASS_OVER;
	trace->depth++;
	if (trace->depth > trace->deepest)
		trace->deepest = trace->depth;
	return trace->deepest > 100 ? 0 : note(trace, "+", dir->path, "");
}

static int item(void *context, const struct tree_dir *dir, const char *name,
		const struct stat *status)
{
	assert_false(S_ISDIR(status->st_mode));
	return note(context, "", dir->path, name);
}

static int leave(void *context, const struct tree_dir *dir)
{
	struct trace *trace = context;

	trace->depth--;
	return trace->deepest > 100 ? 0 : note(trace, "-", dir->path, "");
}

static int failed(void *context, const char *path, int error)
{
	(void)error;
	return note(context, "!", path, "");
}

static const struct tree_visitor *visitor_of(struct trace *trace)
{
	static struct tree_visitor visitor;

	visitor = (struct tree_visitor){
		.enter = enter,
		.item = item,
		.leave = leave,
		.failed = failed,
		.context = trace,
	};
	return &visitor;
}

static void check_walk(const struct folder *folder, const char *pass_over, const char *expected)
{
	struct trace trace = {.pass_over = pass_over};

	assert_int_equal(tree_walk(folder->fd, visitor_of(&trace)), 0);
	assert_string_equal(bytes_text(&trace.text), expected);
	assert_int_equal(trace.depth, 0);
	bytes_free(&trace.text);
}

static void test_directory_is_left_after_its_items(void **state)
{
	const struct folder *folder = *state;

	assert_int_equal(mkdirat(folder->fd, "a", 0700), 0);
	assert_int_equal(mkdirat(folder->fd, "a/b", 0700), 0);
	make_file(folder->fd, "a/b/file", "", 0);
	check_walk(folder, NULL, "+ +a +a/b a/b/file -a/b -a - ");
}

static void test_names_are_in_the_order_of_a_manifest(void **state)
{
	static const char *const folders[] = {"b", "b/c", "b\xff", "z"};
	static const char *const files[] = {"b-", "b/a", "b/c/x", "b/c-", "b/d", "\xff", "A"};
	const struct folder *folder = *state;

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		assert_int_equal(mkdirat(folder->fd, folders[i], 0700), 0);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		make_file(folder->fd, files[i], "", 0);
	check_walk(folder, NULL,
		   "+ A +b b/a +b/c b/c/x -b/c b/c- b/d -b b- +b\xff -b\xff +z -z \xff - ");
	check_walk(folder, "b/c", "+ A +b b/a b/c- b/d -b b- +b\xff -b\xff +z -z \xff - ");
}

static void test_symlink_is_an_item_and_not_followed(void **state)
{
	const struct folder *folder = *state;

	assert_int_equal(symlinkat("/", folder->fd, "root"), 0);
	check_walk(folder, NULL, "+ root - ");
}

static void test_skipped_directory_is_not_left(void **state)
{
	const struct folder *folder = *state;

	assert_int_equal(mkdirat(folder->fd, "a", 0700), 0);
	make_file(folder->fd, "a/file", "", 0);
	check_walk(folder, "a", "+ - ");
}

static int fail_to_enter(void *context, const struct tree_dir *dir)
{
	(void)context;
	return dir->path[0] != '\0' ? -EXDEV : 0;
}

static void test_failure_of_the_visitor_ends_the_walk(void **state)
{
	const struct folder *folder = *state;
	struct tree_visitor visitor = {.enter = fail_to_enter, .failed = failed};

	assert_int_equal(mkdirat(folder->fd, "a", 0700), 0);
	assert_int_equal(tree_walk(folder->fd, &visitor), -EXDEV);
}

static void test_any_depth_is_walked_with_few_descriptors(void **state)
{
	const struct folder *folder = *state;
	struct trace trace = {0};
	int at = dup(folder->fd);

	for (int i = 0; i < 3000; i++) {
		int next;

		assert_int_equal(mkdirat(at, "directory", 0700), 0);
		next = openat(at, "directory", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		(void)close(at);
		at = next;
	}
	(void)close(at);
	assert_int_equal(tree_walk(folder->fd, visitor_of(&trace)), 0);
	assert_int_equal(trace.deepest, 3001);
	assert_int_equal(trace.depth, 0);
	bytes_free(&trace.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(test_directory_is_left_after_its_items),
		TEST_IN_FOLDER(test_names_are_in_the_order_of_a_manifest),
		TEST_IN_FOLDER(test_symlink_is_an_item_and_not_followed),
		TEST_IN_FOLDER(test_skipped_directory_is_not_left),
		TEST_IN_FOLDER(test_failure_of_the_visitor_ends_the_walk),
		TEST_IN_FOLDER(test_any_depth_is_walked_with_few_descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
