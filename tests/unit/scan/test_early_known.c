/* SPDX-License-Identifier: MIT */

/* Files that a walk reads in new directories, while the index has other files. */

#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>

#include "scan/candidates.h"
#include "scan/colliding.h"
#include "scan/early.h"

static void test_new_directory_beside_indexed_files_is_read(void **state)
{
	struct tree *t = *state;

	write_content(t, "lone", 100, 0);
	scan(t);
	make_dir(t, "d");
	write_content(t, "d/a", 100, 0);
	write_content(t, "d/b", 200, 1);
	write_content(t, "d/c", 200, 1);
	wait_for_guard(t, "d/c");
	walk(t);
	assert_true(are_grouped(t, "d/b", "d/c"));
	assert_false(is_read(t, "d/a")); /* the first file of its size */
	scan(t);
	assert_true(are_grouped(t, "d/a", "lone"));
	audit_index(t->index.catalog);
}

static void test_content_with_a_rival_is_left_unread(void **state)
{
	struct tree *t = *state;

	write_content(t, "a", 2 * SMALL_BYTES, 0);
	write_content(t, "b", 2 * SMALL_BYTES, 1);
	write_content(t, "c", 100, 0);
	write_content(t, "d", 100, 1);
	scan(t);
	make_dir(t, "new");
	/* the first file that is read has no rival, so the others are read, too */
	write_content(t, "new/first", 9, 0);
	write_content(t, "new/second", 9, 0);
	write_content(t, "new/a", 2 * SMALL_BYTES, 0);
	write_content(t, "new/b", 2 * SMALL_BYTES, 2); /* has the prefix of "a" */
	write_content(t, "new/c", 100, 0);
	write_content(t, "new/c too", 100, 0);
	write_content(t, "new/other", 100, 2);
	wait_for_guard(t, "new/other");
	walk(t);
	assert_true(are_grouped(t, "new/first", "new/second"));
	assert_true(is_read(t, "new/other"));
	assert_false(is_read(t, "new/a"));
	assert_false(is_read(t, "new/b"));
	assert_false(is_read(t, "new/c"));
	assert_false(is_read(t, "new/c too"));
	scan(t);
	assert_true(are_grouped(t, "a", "new/a"));
	assert_int_equal(group_of_path(t, "new/b"), 0);
	assert_true(are_grouped(t, "c", "new/c"));
	assert_true(are_grouped(t, "c", "new/c too"));
	audit_index(t->index.catalog);
}

/* Returns whether the kernel and the file system can read the file from the page cache only. */
static bool walk_can_read(const struct tree *t, const char *path)
{
	char byte;
	struct iovec block = {.iov_base = &byte, .iov_len = 1};
	int fd = openat(t->fd, path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	assert_true(fd >= 0);
	got = preadv2(fd, &block, 1, 0, RWF_NOWAIT);
	assert_int_equal(close(fd), 0);
	return got == 1;
}

static void test_first_rival_ends_reading_in_its_directory(void **state)
{
	struct tree *t = *state;

	write_content(t, "a", 100, 0);
	write_content(t, "b", 100, 1);
	scan(t);
	make_dir(t, "copy");
	write_content(t, "copy/a", 100, 0);
	write_content(t, "copy/b", 100, 0);
	write_content(t, "copy/c", 100, 2);
	write_content(t, "copy/d", 100, 2);
	wait_for_guard(t, "copy/d");
	/* the walk leaves other files to its end, and then does not judge by the first one */
	if (lacks(!walk_can_read(t, "copy/b"), "reads of the page cache that do not wait"))
		return;
	walk(t);
	assert_false(is_read(t, "copy/c"));
	assert_false(is_read(t, "copy/d"));
	scan(t);
	assert_true(are_grouped(t, "copy/c", "copy/d"));
	audit_index(t->index.catalog);
}

static void test_moved_file_keeps_its_content(void **state)
{
	struct tree *t = *state;
	uint64_t id;

	make_dir(t, "old");
	write_content(t, "old/a", 100, 0);
	write_content(t, "old/b", 100, 1);
	scan(t);
	id = id_of_path(t, "old/a");
	make_dir(t, "new");
	write_content(t, "new/first", 9, 0);
	write_content(t, "new/second", 9, 0);
	assert_int_equal(renameat(t->fd, "old/a", t->fd, "new/a"), 0);
	write_content(t, "new/b", 100, 0);
	write_content(t, "new/c", 100, 0);
	wait_for_guard(t, "new/c");
	walk(t);
	assert_int_equal(id_of_path(t, "new/a"), id);
	scan(t);
	assert_true(are_grouped(t, "new/a", "new/b"));
	assert_true(are_grouped(t, "new/a", "new/c"));
	audit_index(t->index.catalog);
}

/* ---- random directories ---------------------------------------------------------------- */

#define SEEDS 30
#define STEPS 4
#define PATH_BYTES 40

/* A tree whose files have names that tell their contents: "SIZE-CONTENT-NUMBER". */
struct random_tree {
	struct tree *t;
	unsigned int seed;
	unsigned int count; /* number of files */
	char paths[256][PATH_BYTES];
};

static unsigned int random_below(struct random_tree *r, unsigned int limit)
{
	return (unsigned int)rand_r(&r->seed) % limit;
}

static void write_random(struct random_tree *r, const char *dir)
{
	static const unsigned int sizes[] = {60, 100, COLLIDING_BYTES_MIN, 2 * SMALL_BYTES};
	unsigned int size = sizes[random_below(r, 4)], content = random_below(r, 6);
	uint8_t data[COLLIDING_BYTES_MIN];
	char *path = r->paths[r->count];

	(void)snprintf(path, PATH_BYTES, "%s/%u-%u-%u", dir, size, content, r->count);
	r->count++;
	if (size != COLLIDING_BYTES_MIN) {
		write_content(r->t, path, size, content);
		return;
	}
	colliding_fill(data, sizeof(data), content);
	write_bytes(r->t, path, data, sizeof(data));
}

static void link_or_move(struct random_tree *r, const char *dir)
{
	char *old = r->paths[random_below(r, r->count)], *new = r->paths[r->count];

	(void)snprintf(new, PATH_BYTES, "%s/%.20s-%u", dir, strchr(old, '/') + 1, r->count);
	if (random_below(r, 2)) {
		assert_int_equal(linkat(r->t->fd, old, r->t->fd, new, 0), 0);
		r->count++;
	} else {
		assert_int_equal(renameat(r->t->fd, old, r->t->fd, new), 0);
		memcpy(old, new, PATH_BYTES);
	}
}

static void fill_random(struct random_tree *r, const char *dir)
{
	unsigned int files = 2 + random_below(r, 24);

	make_dir(r->t, dir);
	for (unsigned int i = 0; i < files; i++) {
		if (r->count > 4 && random_below(r, 6) == 0)
			link_or_move(r, dir);
		else
			write_random(r, dir);
	}
}

static bool have_equal_bytes(const char *a, const char *b)
{
	unsigned int size[2], content[2];

	assert_int_equal(sscanf(strchr(a, '/'), "/%u-%u-", &size[0], &content[0]), 2);
	assert_int_equal(sscanf(strchr(b, '/'), "/%u-%u-", &size[1], &content[1]), 2);
	return size[0] == size[1] && content[0] == content[1];
}

static void check_groups(const struct random_tree *r, unsigned int seed)
{
	const struct tree *t = r->t;

	for (unsigned int i = 0; i < r->count; i++) {
		for (unsigned int k = 0; k < i; k++) {
			const char *a = r->paths[i], *b = r->paths[k];

			if (id_of_path(t, a) != id_of_path(t, b) &&
			    are_grouped(t, a, b) != have_equal_bytes(a, b))
				fail_msg("seed %u: %s, %s", seed, a, b);
		}
	}
}

static void remove_all(struct random_tree *r)
{
	char dir[8];

	for (unsigned int i = 0; i < r->count; i++)
		assert_int_equal(unlinkat(r->t->fd, r->paths[i], 0), 0);
	for (unsigned int i = 0; i < STEPS; i++) {
		(void)snprintf(dir, sizeof(dir), "%u", i);
		assert_int_equal(unlinkat(r->t->fd, dir, AT_REMOVEDIR), 0);
	}
}

/* Directories appear one after the other. Their files are new, copies, moved here or hard links.
 * Some walks follow each other without a comparison. */
static void test_random_directories_have_the_groups_of_their_bytes(void **state)
{
	char dir[8];

	for (unsigned int seed = 0; seed < SEEDS; seed++) {
		struct random_tree r = {.t = *state, .seed = seed};

		for (unsigned int i = 0; i < STEPS; i++) {
			(void)snprintf(dir, sizeof(dir), "%u", i);
			fill_random(&r, dir);
			wait_for_guard(r.t, r.paths[r.count - 1]);
			walk(r.t);
			if (i + 1 < STEPS && random_below(&r, 3) == 0)
				continue;
			scan(r.t);
			audit_index(r.t->index.catalog);
			check_groups(&r, seed);
		}
		remove_all(&r);
	}
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, tree_setup, tree_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_new_directory_beside_indexed_files_is_read),
		CASE(test_content_with_a_rival_is_left_unread),
		CASE(test_first_rival_ends_reading_in_its_directory),
		CASE(test_moved_file_keeps_its_content),
		CASE(test_random_directories_have_the_groups_of_their_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
