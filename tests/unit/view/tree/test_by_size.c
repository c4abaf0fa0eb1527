/* SPDX-License-Identifier: MIT */
#include "fixture.h"
#include "view/tree/query.h"
#include "view/tree/rank_text.h"

/* Groups of two files each; sizes[i] bytes of group i are reclaimable. */
struct ranked_groups {
	struct fixture fixture;
	uint64_t root;
	size_t count;
	uint64_t sizes[3 * RANKS_PER_FOLDER];
	struct attributes files[6 * RANKS_PER_FOLDER];
	uint64_t groups[3 * RANKS_PER_FOLDER];
	struct name_change changes[6 * RANKS_PER_FOLDER];
	char names[6 * RANKS_PER_FOLDER][24];
	struct fixture_listing listing;
};

static struct ranked_groups *ranked;

static void add_files(size_t count)
{
	ranked->count = count;
	for (size_t i = 0; i < 2 * count; i++) {
		ranked->files[i] =
			fixture_file(&ranked->fixture, S_IFREG | 0644, ranked->sizes[i / 2]);
		(void)snprintf(ranked->names[i], sizeof(ranked->names[i]), "%zu%c", i / 2,
			       i % 2 ? 'b' : 'a');
		ranked->changes[i] = (struct name_change){
			.kind = NAME_ADD_FILE,
			.dir = ranked->root,
			.name = fixture_name(ranked->names[i]),
			.attributes = ranked->files[i],
		};
	}
	fixture_apply(&ranked->fixture, ranked->changes, 2 * count);
}

static int add_groups_body(struct catalog_writer *writer, void *context)
{
	int r = 0;

	(void)context;
	for (size_t i = 0; r == 0 && i < ranked->count; i++) {
		uint64_t ids[2];
		struct fixture_group group = {.hash = {1, i},
					      .members = &ranked->files[2 * i],
					      .ids = ids,
					      .count = 2};

		for (size_t n = 0; r == 0 && n < 2; n++)
			r = catalog_find_inode(catalog_writer_reader(writer),
					       group.members[n].filesystem, group.members[n].inode,
					       &ids[n]);
		if (r == 0)
			r = fixture_group_body(writer, &group);
		ranked->groups[i] = group.id;
	}
	return r;
}

/* Creates groups of two files. Group i is the i-th by size if backwards is false, and the i-th
 * from the end otherwise. */
static void fill(size_t count, bool backwards)
{
	for (size_t i = 0; i < count; i++)
		ranked->sizes[i] = 1000 + (backwards ? i : count - i);
	add_files(count);
	assert_int_equal(catalog_write(ranked->fixture.catalog, add_groups_body, NULL), 0);
}

static int set_up(void **state)
{
	(void)state;
	ranked = calloc(1, sizeof(*ranked));
	if (!ranked)
		return -1;
	fixture_open(&ranked->fixture, one_source);
	ranked->root = root_of(&ranked->fixture);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	fixture_close(&ranked->fixture);
	free(ranked);
	return 0;
}

static void list(const char *path, size_t step)
{
	int64_t node = fixture_find(&ranked->fixture, path);

	assert_true(node > 0);
	fixture_list(&ranked->fixture, (uint64_t)node, step, &ranked->listing);
}

/* Reads the link at a path in the view. Returns 0 or -errno. */
static int target_of(const char *path, char text[64])
{
	struct bytes target CLEANUP_BYTES = {0};
	struct stat attributes;
	int64_t node = fixture_find(&ranked->fixture, path);
	int r;

	if (node < 0)
		return (int)node;
	r = view_readlink(&ranked->fixture.call, (uint64_t)node, &target);
	if (r < 0)
		return r;
	(void)snprintf(text, 64, "%.*s", (int)target.length, (const char *)target.data);
	assert_int_equal(view_getattr(&ranked->fixture.call, (uint64_t)node, &attributes), 0);
	assert_true(S_ISLNK(attributes.st_mode));
	assert_int_equal(attributes.st_size, target.length);
	return 0;
}

static void assert_points_to(const char *path, const char *up, size_t group)
{
	char text[64], expected[64];

	(void)snprintf(expected, sizeof(expected), "%s../dups/0000000000000001%016zx", up, group);
	assert_int_equal(target_of(path, text), 0);
	assert_string_equal(text, expected);
}

static void test_index_without_groups_has_an_empty_folder(void **state)
{
	(void)state;
	list("by-size", 10);
	assert_int_equal(ranked->listing.count, 0);
	assert_int_equal(fixture_find(&ranked->fixture, "by-size/0001"), -ENOENT);
}

static void test_largest_group_is_first(void **state)
{
	(void)state;
	fill(3, true);
	list("by-size", 1);
	assert_int_equal(ranked->listing.count, 3);
	assert_string_equal(ranked->listing.names[0].name,
			    RANK_TEXT("0001", "2a", "2", "0.98", "KiB"));
	assert_string_equal(ranked->listing.names[2].name,
			    RANK_TEXT("0003", "0a", "2", "0.98", "KiB"));
	assert_points_to(RANK_TEXT("by-size/0001", "2a", "2", "0.98", "KiB"), "", 2);
	assert_points_to(RANK_TEXT("by-size/0003", "0a", "2", "0.98", "KiB"), "", 0);
}

static void test_name_with_a_wrong_part_is_missing(void **state)
{
	char text[64];

	(void)state;
	fill(3, false);
	assert_int_equal(target_of(RANK_TEXT("by-size/0001", "0a", "2", "0.98", "KiB"), text), 0);
	assert_int_equal(target_of(RANK_TEXT("by-size/0002", "0a", "2", "0.98", "KiB"), text),
			 -ENOENT);
	assert_int_equal(target_of(RANK_TEXT("by-size/001", "0a", "2", "0.98", "KiB"), text),
			 -ENOENT);
	assert_int_equal(target_of(RANK_TEXT("by-size/0001", "0a", "3", "0.98", "KiB"), text),
			 -ENOENT);
	assert_int_equal(target_of(RANK_TEXT("by-size/0001", "0b", "2", "0.98", "KiB"), text),
			 -ENOENT);
	assert_int_equal(target_of(RANK_TEXT("by-size/0004", "0a", "2", "0.98", "KiB"), text),
			 -ENOENT);
	assert_int_equal(target_of("by-size/0000", text), -ENOENT);
	assert_int_equal(target_of("by-size/00001-02000", text), -ENOENT);
}

static void test_link_points_to_its_group_or_is_missing_after_ranks_change(void **state)
{
	const char *first = RANK_TEXT("by-size/0001", "0a", "2", "0.98", "KiB");
	struct bytes target CLEANUP_BYTES = {0};
	char text[64];
	int64_t node;

	(void)state;
	fill(3, false);
	node = fixture_find(&ranked->fixture, first);
	fixture_remove(&ranked->fixture, ranked->root, "1b");
	assert_points_to(first, "", 0);
	assert_points_to(RANK_TEXT("by-size/0002", "2a", "2", "0.98", "KiB"), "", 2);
	fixture_remove(&ranked->fixture, ranked->root, "0b");
	assert_int_equal(target_of(first, text), -ENOENT);
	assert_int_equal(view_readlink(&ranked->fixture.call, (uint64_t)node, &target), -ENOENT);
	assert_points_to(RANK_TEXT("by-size/0001", "2a", "2", "0.98", "KiB"), "", 2);
}

static void test_many_groups_are_listed_in_folders(void **state)
{
	const size_t count = 2 * RANKS_PER_FOLDER + 1;
	char path[300];

	(void)state;
	fill(count, false);
	list("by-size", 2);
	assert_int_equal(ranked->listing.count, 3);
	assert_string_equal(ranked->listing.names[2].name, "04001-06000");
	list("by-size/00001-02000", 100);
	assert_int_equal(ranked->listing.count, RANKS_PER_FOLDER);
	list("by-size/02001-04000", 7);
	assert_int_equal(ranked->listing.count, RANKS_PER_FOLDER);
	for (size_t i = 0; i < ranked->listing.count; i++) {
		(void)snprintf(path, sizeof(path), "by-size/02001-04000/%s",
			       ranked->listing.names[i].name);
		assert_points_to(path, "../", RANKS_PER_FOLDER + i);
	}
	list("by-size/04001-06000", 1);
	assert_int_equal(ranked->listing.count, 1);
	(void)snprintf(path, sizeof(path), "by-size/00001-02000/%s", ranked->listing.names[0].name);
	/* the name is now in another folder */
	assert_int_equal(fixture_find(&ranked->fixture, path), -ENOENT);
	assert_int_equal(fixture_find(&ranked->fixture, "by-size/06001-08000"), -ENOENT);
	assert_int_equal(fixture_find(&ranked->fixture, "by-size/00002-02001"), -ENOENT);
}

static void test_folder_that_is_not_needed_any_more_is_stale(void **state)
{
	struct stat attributes;
	uint64_t folder;

	(void)state;
	fill(RANKS_PER_FOLDER + 1, false);
	folder = (uint64_t)fixture_find(&ranked->fixture, "by-size/02001-04000");
	assert_int_equal(view_getattr(&ranked->fixture.call, folder, &attributes), 0);
	fixture_remove(&ranked->fixture, ranked->root, "5b");
	assert_int_equal(view_getattr(&ranked->fixture.call, folder, &attributes), -ESTALE);
	list("by-size", 500);
	assert_int_equal(ranked->listing.count, RANKS_PER_FOLDER);
	assert_string_equal(ranked->listing.names[5].name,
			    RANK_TEXT("0006", "6a", "2", "2.9", "KiB"));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_index_without_groups_has_an_empty_folder),
		TEST(test_largest_group_is_first),
		TEST(test_name_with_a_wrong_part_is_missing),
		TEST(test_link_points_to_its_group_or_is_missing_after_ranks_change),
		TEST(test_many_groups_are_listed_in_folders),
		TEST(test_folder_that_is_not_needed_any_more_is_stale),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
