/* SPDX-License-Identifier: MIT */
#include "fixture.h"
#include "view/tree/names.h"

#define INODES 40

/* The names before and after a change. */
static struct fixture_listing before, after;

/* Creates a group of INODES files. File i has i % 7 + 1 names "i-n" in two directories. Returns the
 * node of the group. */
static uint64_t make_group(struct fixture *fixture, struct attributes members[static INODES],
			   uint64_t dirs[static 2])
{
	dirs[0] = fixture_add_dir(fixture, root_of(fixture), "d", 0);
	dirs[1] = fixture_add_dir(fixture, root_of(fixture), "e", 0);
	for (int i = 0; i < INODES; i++) {
		members[i] = fixture_file(fixture, S_IFREG | 0644, 5);
		for (int n = 0; n < i % 7 + 1; n++) {
			char name[32];

			(void)snprintf(name, sizeof(name), "%d-%d", i, n);
			fixture_add_file(fixture, dirs[(i + n) % 2], name, &members[i]);
		}
	}
	return node_make(NODE_GROUP, fixture_add_group(fixture, group_hash, members, INODES));
}

static size_t count_of_names(void)
{
	size_t count = 0;

	for (int i = 0; i < INODES; i++)
		count += (size_t)(i % 7) + 1;
	return count;
}

static void assert_same_names(const struct fixture_listing *a, const struct fixture_listing *b)
{
	assert_int_equal(a->count, b->count);
	for (size_t i = 0; i < a->count; i++) {
		assert_string_equal(a->names[i].name, b->names[i].name);
		assert_int_equal(a->names[i].node, b->names[i].node);
	}
}

static void test_listing_in_calls_of_any_length_has_each_name_once(void **state)
{
	struct attributes members[INODES];
	struct fixture fixture;
	uint64_t dirs[2], group;

	(void)state;
	fixture_open(&fixture, one_source);
	group = make_group(&fixture, members, dirs);
	fixture_list(&fixture, group, FIXTURE_NAMES_MAX, &before);
	assert_int_equal(before.count, count_of_names());
	for (size_t i = 0; i < before.count; i++)
		assert_int_equal(fixture_count(&before, before.names[i].name), 1);
	for (size_t step = 1; step < 10; step++) {
		fixture_list(&fixture, group, step, &after);
		assert_same_names(&before, &after);
	}
	fixture_close(&fixture);
}

static void test_listed_name_is_found(void **state)
{
	struct attributes members[INODES];
	struct fixture fixture;
	uint64_t dirs[2], group;

	(void)state;
	fixture_open(&fixture, one_source);
	group = make_group(&fixture, members, dirs);
	fixture_list(&fixture, group, 16, &before);
	for (size_t i = 0; i < before.count; i++) {
		char path[512];

		(void)snprintf(path, sizeof(path), "dups/" HASH_NAME "/%s", before.names[i].name);
		assert_int_equal(fixture_find(&fixture, path), before.names[i].node);
	}
	assert_int_equal(fixture_find(&fixture, "dups/" HASH_NAME "/d∕nothing"), -ENOENT);
	assert_int_equal(fixture_find(&fixture, "dups/" HASH_NAME "/d"), -ENOENT);
	assert_int_equal(fixture_find(&fixture, "dups/" HASH_NAME "~2"), -ENOENT);
	fixture_close(&fixture);
}

static void test_folder_has_only_the_copies_of_its_group(void **state)
{
	static const char *const names[] = {"a", "b∕b", "c", "d∕d"};
	const char *folder = "dups/" HASH_NAME;
	struct attributes members[4];
	struct fixture fixture;
	char path[512];

	(void)state;
	fixture_open(&fixture, one_source);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		members[i] = fixture_file(&fixture, S_IFREG | 0644, 5);
		fixture_add_file(&fixture, root_of(&fixture), names[i], &members[i]);
	}
	(void)fixture_add_group(&fixture, group_hash, members, 2);
	(void)fixture_add_group(&fixture, (struct hash128){3, 4}, members + 2, 2);
	fixture_list(&fixture, (uint64_t)fixture_find(&fixture, folder), 16, &before);
	assert_int_equal(before.count, 2);
	assert_int_equal(fixture_find(&fixture, "dups/" HASH_NAME "/c"), -ENOENT);
	fixture_list(&fixture,
		     (uint64_t)fixture_find(&fixture, "dups/00000000000000030000000000000004"), 16,
		     &after);
	for (size_t i = 0; i < after.count; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", folder, after.names[i].name);
		assert_int_equal(fixture_find(&fixture, path), -ENOENT);
	}
	/* a short form with the right id must have the right beginning, too */
	for (size_t i = 0; i < before.count; i++) {
		(void)snprintf(path, sizeof(path), "%s/x%s", folder, before.names[i].name);
		assert_int_equal(fixture_find(&fixture, path), -ENOENT);
	}
	fixture_close(&fixture);
}

/* Checks that a listing from the cookie of name i in "before" continues after that name. */
static void assert_continues(struct fixture *fixture, uint64_t group, size_t i)
{
	size_t left = before.count - 1 - i;

	after.count = 0;
	after.limit = 3;
	assert_int_equal(view_list(&fixture->call, group, before.names[i].cookie, fixture_emit,
				   &after),
			 0);
	assert_int_equal(after.count, left < 3 ? left : 3);
	if (left > 0)
		assert_string_equal(after.names[0].name, before.names[i + 1].name);
}

static void test_listing_continues_after_any_of_its_cookies(void **state)
{
	struct attributes members[INODES];
	struct fixture fixture;
	uint64_t dirs[2], group;

	(void)state;
	fixture_open(&fixture, one_source);
	group = make_group(&fixture, members, dirs);
	fixture_list(&fixture, group, 16, &before);
	for (size_t i = before.count; i-- > 0;)
		assert_continues(&fixture, group, i);
	for (size_t i = 0; i < before.count; i++)
		assert_continues(&fixture, group, i);
	fixture_close(&fixture);
}

/* Removes all names of the files with numbers below files. */
static void remove_files(struct fixture *fixture, const uint64_t dirs[static 2], int files)
{
	for (int i = 0; i < files; i++) {
		for (int n = 0; n < i % 7 + 1; n++) {
			char name[32];

			(void)snprintf(name, sizeof(name), "%d-%d", i, n);
			fixture_remove(fixture, dirs[(i + n) % 2], name);
		}
	}
}

/* Returns the name without the mark of the kept copy, which another copy gets. */
static const char *plain(const char *name)
{
	const char *rest = copy_name_skip_mark(name);

	return rest ? rest : name;
}

static bool is_listed(const struct fixture_listing *names, const char *name)
{
	for (size_t i = 0; i < names->count; i++) {
		if (strcmp(plain(names->names[i].name), plain(name)) == 0)
			return true;
	}
	return false;
}

static void test_cookie_resumes_at_its_name_after_many_other_listings_and_removals(void **state)
{
	struct attributes members[INODES];
	struct fixture fixture;
	uint64_t dirs[2], group;

	(void)state;
	fixture_open(&fixture, one_source);
	group = make_group(&fixture, members, dirs);
	fixture_list(&fixture, group, 16, &before);
	remove_files(&fixture, dirs, 15);
	for (size_t n = 0; n < 100; n++)
		fixture_list(&fixture, group, FIXTURE_NAMES_MAX, &after);
	for (size_t i = 0; i + 1 < before.count; i++) {
		size_t next = i + 1;

		fixture_list(&fixture, group, FIXTURE_NAMES_MAX, &after);
		while (next < before.count && !is_listed(&after, before.names[next].name))
			next++;
		after.count = 0;
		after.limit = 1;
		assert_int_equal(view_list(&fixture.call, group, before.names[i].cookie,
					   fixture_emit, &after),
				 0);
		assert_int_equal(after.count, next < before.count);
		if (after.count)
			assert_string_equal(plain(after.names[0].name),
					    plain(before.names[next].name));
	}
	fixture_close(&fixture);
}

/* Between the calls, the first names of files are removed, so that another name becomes the first,
 * and new names are added. A name that exists all the time must be listed once. */
static void test_unchanged_name_is_listed_once_while_others_change(void **state)
{
	(void)state;
	for (size_t step = 1; step <= 5; step++) {
		struct attributes members[INODES];
		struct fixture fixture;
		uint64_t dirs[2], group;
		size_t listed;
		int turn = 0;

		fixture_open(&fixture, one_source);
		group = make_group(&fixture, members, dirs);
		after.count = 0;
		do {
			char name[32];
			int i = turn++;

			listed = after.count;
			after.limit = listed + step;
			assert_int_equal(view_list(&fixture.call, group,
						   fixture_last_cookie(&after), fixture_emit,
						   &after),
					 0);
			if (i < INODES && i % 7 > 0) {
				(void)snprintf(name, sizeof(name), "%d-0", i);
				fixture_remove(&fixture, dirs[i % 2], name);
				(void)snprintf(name, sizeof(name), "%d-new", i);
				fixture_add_file(&fixture, dirs[i % 2], name, &members[i]);
			}
		} while (after.count > listed);
		for (int i = 0; i < INODES; i++) {
			for (int n = 1; n < i % 7 + 1; n++) {
				char name[32];

				(void)snprintf(name, sizeof(name), "%s∕%d-%d",
					       (i + n) % 2 ? "e" : "d", i, n);
				assert_int_equal(fixture_count(&after, name), 1);
			}
		}
		for (size_t i = 0; i < after.count; i++)
			assert_int_equal(fixture_count(&after, after.names[i].name), 1);
		fixture_close(&fixture);
	}
}

static void test_dissolved_group_has_no_names(void **state)
{
	struct attributes members[2];
	struct fixture fixture;
	struct stat attributes;
	uint64_t root, group;

	(void)state;
	fixture_open(&fixture, one_source);
	root = root_of(&fixture);
	fixture_add_pair(&fixture, members);
	group = node_make(NODE_GROUP, fixture_add_group(&fixture, group_hash, members, 2));
	assert_int_equal(fixture_find(&fixture, "dups/" HASH_NAME "/b"),
			 node_make(NODE_FILE, fixture_file_id(&fixture, &members[1])));
	fixture_list(&fixture, group, 1, &before);
	assert_int_equal(before.count, 2);
	fixture_remove(&fixture, root, "a");
	for (size_t i = 0; i <= before.count; i++) {
		after.count = 0;
		after.limit = 10;
		assert_int_equal(view_list(&fixture.call, group, i ? before.names[i - 1].cookie : 0,
					   fixture_emit, &after),
				 -ENOENT);
		assert_int_equal(after.count, 0);
	}
	assert_int_equal(view_getattr(&fixture.call, group, &attributes), -ESTALE);
	assert_int_equal(fixture_find(&fixture, "dups/" HASH_NAME), -ENOENT);
	fixture_list(&fixture, (uint64_t)fixture_find(&fixture, "dups"), 10, &before);
	assert_int_equal(before.count, 0);
	fixture_close(&fixture);
}

static void test_name_of_a_copy_begins_with_its_tree_if_there_are_several_sources(void **state)
{
	struct attributes members[2];
	struct fixture fixture;
	uint64_t group;

	(void)state;
	fixture_open(&fixture, two_sources);
	for (int i = 0; i < 2; i++) {
		members[i] = fixture_file(&fixture, S_IFREG | 0644, 5);
		fixture_add_file(&fixture, fixture.sources.list[i].root, "same∕name.txt",
				 &members[i]);
		fixture_add_file(&fixture, fixture.sources.list[i].root, "a", &members[i]);
	}
	group = node_make(NODE_GROUP, fixture_add_group(&fixture, group_hash, members, 2));
	fixture_list(&fixture, group, 10, &before);
	assert_int_equal(before.count, 4);
	assert_int_equal(fixture_count(&before, "(kept) one∕a"), 1);
	assert_int_equal(fixture_count(&before, "two∕a"), 1);
	for (size_t i = 0; i < before.count; i++) {
		char path[512];

		(void)snprintf(path, sizeof(path), "dups/" HASH_NAME "/%s", before.names[i].name);
		assert_int_equal(fixture_find(&fixture, path), before.names[i].node);
	}
	assert_int_equal(fixture_find(&fixture, "dups/" HASH_NAME "/three∕a"), -ENOENT);
	assert_int_equal(fixture_find(&fixture, "dups/" HASH_NAME "/one"), -ENOENT);
	assert_int_equal(fixture_find(&fixture, "dups/" HASH_NAME "/one∕same∕name.txt"), -ENOENT);
	fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_listing_in_calls_of_any_length_has_each_name_once),
		cmocka_unit_test(test_listed_name_is_found),
		cmocka_unit_test(test_folder_has_only_the_copies_of_its_group),
		cmocka_unit_test(test_listing_continues_after_any_of_its_cookies),
		cmocka_unit_test(
			test_cookie_resumes_at_its_name_after_many_other_listings_and_removals),
		cmocka_unit_test(test_unchanged_name_is_listed_once_while_others_change),
		cmocka_unit_test(test_dissolved_group_has_no_names),
		cmocka_unit_test(
			test_name_of_a_copy_begins_with_its_tree_if_there_are_several_sources),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
