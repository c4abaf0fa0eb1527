/* SPDX-License-Identifier: MIT */
#include "fixture.h"
#include "index/commit_delta.h"
#include "view/tree/invalidation.h"

/* Records the calls of the sink as lines: "entry 1:5 name", "folder 1:5 name" for a directory,
 * "wait 1:5", "inode 1:5" (node kind and id), or "copy_listings 0:0". */
struct sink_recorder {
	struct fixture fixture;
	struct invalidation *invalidations[64];
	size_t invalidation_count;
	uint64_t cached[16]; /* if cached_count is 0: all nodes */
	size_t cached_count;
	char lines[256][320];
	size_t count;
};

static struct sink_recorder *recorder;

static void observe(struct commit_delta *delta, void *context)
{
	(void)context;
	assert_true(recorder->invalidation_count < ARRAY_SIZE(recorder->invalidations));
	assert_int_equal(invalidation_new(&recorder->invalidations[recorder->invalidation_count++],
					  delta),
			 0);
}

static bool is_cached(void *context, uint64_t node)
{
	(void)context;
	assert_int_equal(node_version(node), 0);
	for (size_t i = 0; i < recorder->cached_count; i++) {
		if (recorder->cached[i] == node)
			return true;
	}
	return recorder->cached_count == 0;
}

static void add_line(const char *what, uint64_t node, const char *name, size_t length)
{
	assert_true(recorder->count < ARRAY_SIZE(recorder->lines));
	(void)snprintf(recorder->lines[recorder->count++], sizeof(recorder->lines[0]),
		       "%s %u:%u%s%.*s", what, (unsigned int)node_kind(node),
		       (unsigned int)node_id(node), *name ? " " : "", (int)length, name);
}

static void on_entry(void *context, uint64_t parent, const char *name, size_t length,
		     bool directory)
{
	(void)context;
	add_line(directory ? "folder" : "entry", parent, name, length);
}

static void on_wait(void *context, uint64_t parent)
{
	(void)context;
	add_line("wait", parent, "", 0);
}

static void on_inode(void *context, uint64_t node)
{
	(void)context;
	add_line("inode", node, "", 0);
}

static void on_copy_listings(void *context)
{
	(void)context;
	add_line("copy_listings", 0, "", 0);
}

static void apply_all(void)
{
	const struct invalidation_sink sink = {is_cached, on_entry,         on_wait,
					       on_inode,  on_copy_listings, NULL};

	recorder->count = 0;
	for (size_t i = 0; i < recorder->invalidation_count; i++) {
		assert_int_equal(invalidation_apply(&recorder->fixture.view,
						    recorder->invalidations[i], &sink),
				 0);
		invalidation_free(recorder->invalidations[i]);
	}
	recorder->invalidation_count = 0;
}

static size_t root(void)
{
	return root_of(&recorder->fixture);
}

/* Returns how often this call was recorded. */
static size_t count(const char *what, enum node_kind kind, uint64_t id, const char *name)
{
	char line[320];
	size_t found = 0;

	(void)snprintf(line, sizeof(line), "%s %u:%u%s%s", what, (unsigned int)kind,
		       (unsigned int)id, *name ? " " : "", name);
	for (size_t i = 0; i < recorder->count; i++)
		found += strcmp(recorder->lines[i], line) == 0;
	return found;
}

static void begin(const char *const *sources)
{
	fixture_open(&recorder->fixture, sources);
	assert_int_equal(catalog_begin_view(recorder->fixture.catalog), 0);
	catalog_observe(recorder->fixture.catalog, observe, NULL);
}

static int set_up(void **state)
{
	(void)state;
	recorder = calloc(1, sizeof(*recorder));
	return recorder ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	catalog_observe(recorder->fixture.catalog, NULL, NULL);
	for (size_t i = 0; i < recorder->invalidation_count; i++)
		invalidation_free(recorder->invalidations[i]);
	fixture_close(&recorder->fixture);
	free(recorder);
	return 0;
}

static void test_new_name_is_invalidated_before_the_listing(void **state)
{
	struct attributes file;

	(void)state;
	begin(one_source);
	file = fixture_file(&recorder->fixture, S_IFREG | 0644, 5);
	fixture_add_file(&recorder->fixture, root(), "f", &file);
	apply_all();
	assert_int_equal(count("entry", NODE_DIR, root(), "f"), 1);
	assert_int_equal(count("inode", NODE_DIR, root(), ""), 1);
	/* the sink waits in entry(), so no wait is recorded */
	assert_int_equal(count("wait", NODE_DIR, root(), ""), 0);
	assert_int_equal(count("inode", NODE_FIXED, FIXED_DUPS, ""), 1);
	assert_memory_equal(recorder->lines[0], "entry", 5);
	assert_memory_equal(recorder->lines[recorder->count - 1], "inode", 5);
}

static void test_uncached_nodes_are_not_invalidated(void **state)
{
	struct attributes file;

	(void)state;
	begin(one_source);
	recorder->cached[recorder->cached_count++] = node_make(NODE_DIR, 424242);
	file = fixture_file(&recorder->fixture, S_IFREG | 0644, 5);
	fixture_add_file(&recorder->fixture, root(), "f", &file);
	(void)fixture_add_dir(&recorder->fixture, root(), "d", 0);
	fixture_remove(&recorder->fixture, root(), "f");
	apply_all();
	assert_int_equal(recorder->count, 0);
}

static void test_new_group_invalidates_the_redundant_name(void **state)
{
	struct attributes pair[2];
	struct stat before, after;
	uint64_t group;

	(void)state;
	begin(one_source);
	fixture_add_pair(&recorder->fixture, pair);
	apply_all();
	assert_int_equal(view_getattr(&recorder->fixture.call, node_make(NODE_DIR, root()),
				      &before),
			 0);
	group = fixture_add_group(&recorder->fixture, group_hash, pair, 2);
	apply_all();
	assert_int_equal(count("folder", NODE_FIXED, FIXED_DUPS, HASH_NAME), 1);
	assert_int_equal(count("inode", NODE_FIXED, FIXED_DUPS, ""), 1);
	assert_int_equal(count("inode", NODE_GROUP, group, ""), 1);
	assert_int_equal(count("entry", NODE_DIR, root(), "b"), 1);
	assert_int_equal(count("entry", NODE_DIR, root(), "a"), 0); /* unchanged */
	assert_int_equal(count("inode", NODE_DIR, root(), ""), 1);
	assert_int_equal(view_getattr(&recorder->fixture.call, node_make(NODE_DIR, root()), &after),
			 0);
	assert_true(after.st_ctim.tv_sec > before.st_ctim.tv_sec ||
		    after.st_ctim.tv_nsec > before.st_ctim.tv_nsec);
	assert_int_equal(after.st_mtim.tv_sec, before.st_mtim.tv_sec);
	fixture_remove(&recorder->fixture, root(), "a");
	apply_all();
	assert_int_equal(count("folder", NODE_FIXED, FIXED_DUPS, HASH_NAME), 1);
	assert_int_equal(count("entry", NODE_DIR, root(), "b"), 1);
	assert_int_equal(count("entry", NODE_DIR, root(), "a"), 1);
}

static void test_directory_that_appears_in_redundant_is_invalidated(void **state)
{
	struct attributes pair[2];
	struct stat before, after;
	uint64_t dir, deep, node;

	(void)state;
	begin(one_source);
	dir = fixture_add_dir(&recorder->fixture, root(), "dir", 0);
	deep = fixture_add_dir(&recorder->fixture, dir, "deep", 0);
	for (int i = 0; i < 2; i++) {
		pair[i] = fixture_file(&recorder->fixture, S_IFREG | 0644, 5);
		fixture_add_file(&recorder->fixture, i ? deep : root(), i ? "b" : "a", &pair[i]);
	}
	apply_all();
	node = node_make(NODE_REDUNDANT, root());
	assert_int_equal(view_getattr(&recorder->fixture.call, node, &before), 0);
	(void)fixture_add_group(&recorder->fixture, group_hash, pair, 2);
	apply_all();
	assert_int_equal(count("entry", NODE_REDUNDANT, deep, "b"), 1);
	assert_int_equal(count("folder", NODE_REDUNDANT, dir, "deep"), 1);
	assert_int_equal(count("folder", NODE_REDUNDANT, root(), "dir"), 1);
	assert_int_equal(count("inode", NODE_REDUNDANT, root(), ""), 1);
	assert_int_equal(count("folder", NODE_DIR, root(), "dir"), 0);
	assert_int_equal(count("inode", NODE_DIR, root(), ""), 0);
	assert_int_equal(view_getattr(&recorder->fixture.call, node, &after), 0);
	assert_true(after.st_ctim.tv_sec > before.st_ctim.tv_sec ||
		    after.st_ctim.tv_nsec > before.st_ctim.tv_nsec);
	assert_int_equal(after.st_mtim.tv_sec, before.st_mtim.tv_sec);
	fixture_remove(&recorder->fixture, root(), "a");
	apply_all();
	assert_int_equal(count("entry", NODE_REDUNDANT, deep, "b"), 1);
	assert_int_equal(count("folder", NODE_REDUNDANT, dir, "deep"), 1);
	assert_int_equal(count("folder", NODE_REDUNDANT, root(), "dir"), 1);
}

static void test_tree_that_appears_in_redundant_is_invalidated(void **state)
{
	struct attributes pair[2];

	(void)state;
	begin(two_sources);
	for (int i = 0; i < 2; i++) {
		pair[i] = fixture_file(&recorder->fixture, S_IFREG | 0644, 5);
		fixture_add_file(&recorder->fixture, recorder->fixture.sources.list[i].root, "a",
				 &pair[i]);
	}
	apply_all();
	(void)fixture_add_group(&recorder->fixture, group_hash, pair, 2);
	apply_all();
	assert_int_equal(count("folder", NODE_FIXED, FIXED_REDUNDANT, "two"), 1);
	assert_int_equal(count("folder", NODE_FIXED, FIXED_REDUNDANT, "one"), 0);
	assert_int_equal(count("inode", NODE_FIXED, FIXED_REDUNDANT, ""), 1);
}

static void update(uint64_t id, const struct attributes *attributes)
{
	struct name_change change = {
		.kind = NAME_UPDATE_FILE,
		.id = id,
		.attributes = *attributes,
	};

	fixture_apply(&recorder->fixture, &change, 1);
}

static void test_changed_file_is_another_node_and_its_names_are_invalidated(void **state)
{
	struct attributes file;
	struct stat attributes;
	int64_t node;
	uint64_t id;

	(void)state;
	begin(one_source);
	file = fixture_file(&recorder->fixture, S_IFREG | 0644, 5);
	fixture_add_file(&recorder->fixture, root(), "f", &file);
	fixture_add_file(&recorder->fixture, root(), "g", &file);
	id = fixture_file_id(&recorder->fixture, &file);
	node = fixture_find(&recorder->fixture, "uniques/f");
	apply_all();
	file.ctime.tv_sec++;
	update(id, &file);
	apply_all();
	assert_int_equal(count("entry", NODE_DIR, root(), "f"), 1);
	assert_int_equal(count("entry", NODE_DIR, root(), "g"), 1);
	assert_int_equal(count("inode", NODE_FILE, id, ""), 2); /* the new and the old version */
	assert_int_equal(count("inode", NODE_DIR, root(), ""), 0); /* the listing is unchanged */
	assert_int_not_equal(fixture_find(&recorder->fixture, "uniques/f"), node);
	assert_int_equal(node_inode((uint64_t)fixture_find(&recorder->fixture, "uniques/f")),
			 node_inode((uint64_t)node));
	assert_int_equal(view_getattr(&recorder->fixture.call, (uint64_t)node, &attributes),
			 -ESTALE);
}

static void test_changed_attributes_are_invalidated_after_a_wait_for_the_directory(void **state)
{
	struct attributes file;
	uint64_t id;

	(void)state;
	begin(one_source);
	file = fixture_file(&recorder->fixture, S_IFREG | 0644, 5);
	fixture_add_file(&recorder->fixture, root(), "f", &file);
	id = fixture_file_id(&recorder->fixture, &file);
	apply_all();
	file.uid++;
	update(id, &file);
	/* a lookup in the directory may be returning the file to the kernel now */
	recorder->cached[recorder->cached_count++] = node_make(NODE_DIR, root());
	apply_all();
	assert_int_equal(count("wait", NODE_DIR, root(), ""), 1);
	assert_int_equal(count("entry", NODE_DIR, root(), "f"), 0);
	assert_true(count("inode", NODE_FILE, id, "") >= 1);
}

static void test_changed_name_of_a_copy_invalidates_the_folder_of_its_group(void **state)
{
	struct attributes pair[2];
	uint64_t group;

	(void)state;
	begin(one_source);
	fixture_add_pair(&recorder->fixture, pair);
	group = fixture_add_group(&recorder->fixture, group_hash, pair, 2);
	apply_all();
	assert_int_equal(count("copy_listings", 0, 0, ""), 0);
	fixture_add_file(&recorder->fixture, root(), "link", &pair[0]);
	apply_all();
	assert_int_equal(count("wait", NODE_GROUP, group, ""), 1);
	assert_int_equal(count("inode", NODE_GROUP, group, ""), 1);
	fixture_remove(&recorder->fixture, root(), "a"); /* "a" was the first name of its file */
	apply_all();
	assert_int_equal(count("wait", NODE_GROUP, group, ""), 1);
	assert_int_equal(count("inode", NODE_GROUP, group, ""), 1);
	recorder->cached[recorder->cached_count++] = node_make(NODE_DIR, root());
	fixture_remove(&recorder->fixture, root(), "link");
	fixture_add_file(&recorder->fixture, root(), "link", &pair[0]);
	apply_all();
	assert_int_equal(count("inode", NODE_GROUP, group, ""), 0); /* not cached */
}

static void test_moved_directory_invalidates_the_folders_of_all_groups_last(void **state)
{
	struct name_change change = {.kind = NAME_MOVE_DIR};
	uint64_t dir;

	(void)state;
	begin(one_source);
	dir = fixture_add_dir(&recorder->fixture, root(), "d", 0);
	apply_all();
	assert_int_equal(count("copy_listings", 0, 0, ""), 0);
	change.id = dir;
	change.dir = root();
	change.name = fixture_name("e");
	change.attributes = fixture_file(&recorder->fixture, S_IFDIR | 0750, 4096);
	fixture_apply(&recorder->fixture, &change, 1);
	apply_all();
	assert_int_equal(count("copy_listings", 0, 0, ""), 1);
	assert_string_equal(recorder->lines[recorder->count - 1], "copy_listings 0:0");
}

static void test_commit_invalidates_the_folders_of_ranks_if_by_size_is_cached(void **state)
{
	struct attributes file;

	(void)state;
	begin(one_source);
	(void)raise_most(&recorder->fixture.view.ranking.folders, 2);
	recorder->cached[recorder->cached_count++] = FIXED_BY_SIZE;
	file = fixture_file(&recorder->fixture, S_IFREG | 0644, 5);
	fixture_add_file(&recorder->fixture, root(), "f", &file);
	apply_all();
	assert_int_equal(count("wait", NODE_FIXED, FIXED_BY_SIZE, ""), 1);
	assert_int_equal(count("inode", NODE_FIXED, FIXED_BY_SIZE, ""), 1);
	for (uint64_t i = 1; i <= 2; i++) {
		assert_int_equal(count("wait", NODE_RANKS, i, ""), 1);
		assert_int_equal(count("inode", NODE_RANKS, i, ""), 1);
	}
	assert_int_equal(recorder->count, 6);
}

static void test_changed_root_is_invalidated_after_a_wait_for_its_parent_in_the_view(void **state)
{
	struct name_change change = {.kind = NAME_UPDATE_DIR};

	(void)state;
	begin(two_sources);
	change.id = root();
	change.attributes = fixture_file(&recorder->fixture, S_IFDIR | 0700, 4096);
	fixture_apply(&recorder->fixture, &change, 1);
	apply_all();
	assert_int_equal(count("wait", NODE_FIXED, FIXED_UNIQUES, ""), 1);
	assert_int_equal(count("inode", NODE_DIR, root(), ""), 1);
}

static void test_many_new_names_invalidate_the_listing_once(void **state)
{
	struct name_change changes[200];
	char names[200][16];

	(void)state;
	begin(one_source);
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		(void)snprintf(names[i], sizeof(names[i]), "f%zu", i);
		changes[i] = (struct name_change){
			.kind = NAME_ADD_FILE,
			.dir = root(),
			.name = fixture_name(names[i]),
			.attributes = fixture_file(&recorder->fixture, S_IFREG | 0644, i),
		};
	}
	fixture_apply(&recorder->fixture, changes, ARRAY_SIZE(changes));
	recorder->cached[recorder->cached_count++] = node_make(NODE_DIR, root());
	apply_all();
	assert_int_equal(count("inode", NODE_DIR, root(), ""), 1);
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++)
		assert_int_equal(count("entry", NODE_DIR, root(), names[i]), 1);
}

static char *events(struct event_reader *reader)
{
	static char text[8192];
	size_t length = event_log_read(&recorder->fixture.view.events, reader, text,
				       sizeof(text) - 1, reader->next);

	text[length] = '\0';
	return text;
}

static void test_events_are_logged_after_a_program_opened_the_log(void **state)
{
	struct event_reader reader = {0};
	struct attributes pair[2];
	struct view_file file;
	char *text;

	(void)state;
	begin(one_source);
	for (int i = 0; i < 2; i++) {
		pair[i] = fixture_file(&recorder->fixture, S_IFREG | 0644, 5);
		fixture_add_file(&recorder->fixture, root(), i ? "b\xff" : "a", &pair[i]);
	}
	apply_all();
	assert_string_equal(events(&reader), "");
	(void)fixture_add_group(&recorder->fixture, group_hash, pair, 2);
	assert_int_equal(view_open(&recorder->fixture.call, FIXED_EVENTS, &file), 0);
	apply_all();
	text = events(&reader);
	assert_non_null(strstr(text, "{\"event\":\"group_appeared\",\"hash\":\"" HASH_NAME
				     "\",\"size\":5,\"copies\":2,\"kept\":\""));
	assert_non_null(strstr(text, "{\"event\":\"file_redundant\",\"path\":\""));
	assert_non_null(strstr(text, "b\\\\xff\",\"path_base64\":\""));
	assert_non_null(strstr(text, "source/a\",\"generation\":")); /* the kept copy */
	assert_null(strstr(text, "source/a\",\"hash\":"));
	fixture_remove(&recorder->fixture, root(), "a");
	apply_all();
	text = events(&reader);
	assert_non_null(strstr(text, "{\"event\":\"group_gone\",\"hash\":\"" HASH_NAME
				     "\",\"size\":5,\"copies\":1,\"generation\":"));
	assert_non_null(strstr(text, "{\"event\":\"file_unique\",\"path\":\""));
	view_close(&file);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_new_name_is_invalidated_before_the_listing),
		TEST(test_uncached_nodes_are_not_invalidated),
		TEST(test_new_group_invalidates_the_redundant_name),
		TEST(test_directory_that_appears_in_redundant_is_invalidated),
		TEST(test_tree_that_appears_in_redundant_is_invalidated),
		TEST(test_changed_file_is_another_node_and_its_names_are_invalidated),
		TEST(test_changed_attributes_are_invalidated_after_a_wait_for_the_directory),
		TEST(test_changed_name_of_a_copy_invalidates_the_folder_of_its_group),
		TEST(test_moved_directory_invalidates_the_folders_of_all_groups_last),
		TEST(test_commit_invalidates_the_folders_of_ranks_if_by_size_is_cached),
		TEST(test_changed_root_is_invalidated_after_a_wait_for_its_parent_in_the_view),
		TEST(test_many_new_names_invalidate_the_listing_once),
		TEST(test_events_are_logged_after_a_program_opened_the_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
