/* SPDX-License-Identifier: MIT */
#include "catalog/commit_delta.h"
#include "fixture.h"
#include "view/invalidation.h"

/* What the sink was told, in the words "entry 1:5 name", "settle 1:5", "node 1:5": kind and id. */
struct told {
	struct fixture fixture;
	struct invalidation *invalidations[64];
	size_t invalidation_count;
	uint64_t held[16]; /* all nodes where held_count is 0 */
	size_t held_count;
	char lines[256][320];
	size_t count;
};

static struct told *told;

static void observe(const struct commit_delta *delta, void *context)
{
	(void)context;
	assert_true(told->invalidation_count < ARRAY_SIZE(told->invalidations));
	assert_int_equal(invalidation_new(&told->invalidations[told->invalidation_count++], delta),
			 0);
}

static bool holds(void *context, uint64_t node)
{
	(void)context;
	assert_int_equal(node_version(node), 0);
	for (size_t i = 0; i < told->held_count; i++) {
		if (told->held[i] == node)
			return true;
	}
	return told->held_count == 0;
}

static void add_line(const char *what, uint64_t node, const char *name, size_t length)
{
	assert_true(told->count < ARRAY_SIZE(told->lines));
	(void)snprintf(told->lines[told->count++], sizeof(told->lines[0]), "%s %u:%u%s%.*s", what,
		       (unsigned int)node_kind(node), (unsigned int)node_id(node), *name ? " " : "",
		       (int)length, name);
}

static void on_entry(void *context, uint64_t parent, const char *name, size_t length)
{
	(void)context;
	add_line("entry", parent, name, length);
}

static void on_settle(void *context, uint64_t parent)
{
	(void)context;
	add_line("settle", parent, "", 0);
}

static void on_node(void *context, uint64_t node)
{
	(void)context;
	add_line("node", node, "", 0);
}

static void on_copies(void *context)
{
	(void)context;
	add_line("copies", 0, "", 0);
}

static void spread(void)
{
	const struct invalidation_sink sink = {holds,   on_entry,  on_settle,
					       on_node, on_copies, NULL};

	told->count = 0;
	for (size_t i = 0; i < told->invalidation_count; i++) {
		assert_int_equal(invalidation_apply(&told->fixture.view, told->invalidations[i],
						    &sink),
				 0);
		invalidation_free(told->invalidations[i]);
	}
	told->invalidation_count = 0;
}

static size_t root(void)
{
	return root_of(&told->fixture);
}

/* How often something was told. */
static size_t count(const char *what, enum node_kind kind, uint64_t id, const char *name)
{
	char line[320];
	size_t found = 0;

	(void)snprintf(line, sizeof(line), "%s %u:%u%s%s", what, (unsigned int)kind,
		       (unsigned int)id, *name ? " " : "", name);
	for (size_t i = 0; i < told->count; i++)
		found += strcmp(told->lines[i], line) == 0;
	return found;
}

static void begin(const char *const *sources)
{
	fixture_open(&told->fixture, sources);
	catalog_observe(told->fixture.catalog, observe, NULL);
}

static int set_up(void **state)
{
	(void)state;
	told = calloc(1, sizeof(*told));
	return told ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	catalog_observe(told->fixture.catalog, NULL, NULL);
	for (size_t i = 0; i < told->invalidation_count; i++)
		invalidation_free(told->invalidations[i]);
	fixture_close(&told->fixture);
	free(told);
	return 0;
}

static void test_a_new_name_is_told_before_the_listing(void **state)
{
	struct attributes file;

	(void)state;
	begin(one_source);
	file = fixture_file(&told->fixture, S_IFREG | 0644, 5);
	fixture_add_file(&told->fixture, root(), "f", &file);
	spread();
	assert_int_equal(count("entry", NODE_DIR, root(), "f"), 1);
	assert_int_equal(count("node", NODE_DIR, root(), ""), 1);
	assert_int_equal(count("settle", NODE_DIR, root(), ""), 0); /* the entry waited for it */
	assert_int_equal(count("node", NODE_FIXED, FIXED_DUPS, ""), 1);
	assert_memory_equal(told->lines[0], "entry", 5);
	assert_memory_equal(told->lines[told->count - 1], "node", 4);
}

static void test_what_was_never_given_out_is_not_told(void **state)
{
	struct attributes file;

	(void)state;
	begin(one_source);
	told->held[told->held_count++] = node_make(NODE_DIR, 424242);
	file = fixture_file(&told->fixture, S_IFREG | 0644, 5);
	fixture_add_file(&told->fixture, root(), "f", &file);
	(void)fixture_add_dir(&told->fixture, root(), "d", 0);
	fixture_remove(&told->fixture, root(), "f");
	spread();
	assert_int_equal(told->count, 0);
}

static void test_a_new_group_hides_the_redundant_name(void **state)
{
	struct attributes pair[2];
	struct stat before, after;
	uint64_t group;

	(void)state;
	begin(one_source);
	fixture_add_pair(&told->fixture, pair);
	spread();
	assert_int_equal(view_getattr(&told->fixture.call, node_make(NODE_DIR, root()), &before),
			 0);
	group = fixture_add_group(&told->fixture, group_hash, pair, 2);
	spread();
	assert_int_equal(count("entry", NODE_FIXED, FIXED_DUPS, HASH_NAME), 1);
	assert_int_equal(count("node", NODE_FIXED, FIXED_DUPS, ""), 1);
	assert_int_equal(count("node", NODE_GROUP, group, ""), 1);
	assert_int_equal(count("entry", NODE_DIR, root(), "b"), 1);
	assert_int_equal(count("entry", NODE_DIR, root(), "a"), 0); /* it stays what it was */
	assert_int_equal(count("node", NODE_DIR, root(), ""), 1);
	assert_int_equal(view_getattr(&told->fixture.call, node_make(NODE_DIR, root()), &after), 0);
	assert_true(after.st_ctim.tv_sec > before.st_ctim.tv_sec ||
		    after.st_ctim.tv_nsec > before.st_ctim.tv_nsec);
	assert_int_equal(after.st_mtim.tv_sec, before.st_mtim.tv_sec);
	fixture_remove(&told->fixture, root(), "a");
	spread();
	assert_int_equal(count("entry", NODE_FIXED, FIXED_DUPS, HASH_NAME), 1);
	assert_int_equal(count("entry", NODE_DIR, root(), "b"), 1);
	assert_int_equal(count("entry", NODE_DIR, root(), "a"), 1);
}

static void test_directories_that_come_to_redundant_are_told(void **state)
{
	struct attributes pair[2];
	struct stat before, after;
	uint64_t dir, deep, node;

	(void)state;
	begin(one_source);
	dir = fixture_add_dir(&told->fixture, root(), "dir", 0);
	deep = fixture_add_dir(&told->fixture, dir, "deep", 0);
	for (int i = 0; i < 2; i++) {
		pair[i] = fixture_file(&told->fixture, S_IFREG | 0644, 5);
		fixture_add_file(&told->fixture, i ? deep : root(), i ? "b" : "a", &pair[i]);
	}
	spread();
	node = node_make(NODE_REDUNDANT, root());
	assert_int_equal(view_getattr(&told->fixture.call, node, &before), 0);
	(void)fixture_add_group(&told->fixture, group_hash, pair, 2);
	spread();
	assert_int_equal(count("entry", NODE_REDUNDANT, deep, "b"), 1);
	assert_int_equal(count("entry", NODE_REDUNDANT, dir, "deep"), 1);
	assert_int_equal(count("entry", NODE_REDUNDANT, root(), "dir"), 1);
	assert_int_equal(count("node", NODE_REDUNDANT, root(), ""), 1);
	assert_int_equal(count("entry", NODE_DIR, root(), "dir"), 0);
	assert_int_equal(count("node", NODE_DIR, root(), ""), 0);
	assert_int_equal(view_getattr(&told->fixture.call, node, &after), 0);
	assert_true(after.st_ctim.tv_sec > before.st_ctim.tv_sec ||
		    after.st_ctim.tv_nsec > before.st_ctim.tv_nsec);
	assert_int_equal(after.st_mtim.tv_sec, before.st_mtim.tv_sec);
	fixture_remove(&told->fixture, root(), "a");
	spread();
	assert_int_equal(count("entry", NODE_REDUNDANT, deep, "b"), 1);
	assert_int_equal(count("entry", NODE_REDUNDANT, dir, "deep"), 1);
	assert_int_equal(count("entry", NODE_REDUNDANT, root(), "dir"), 1);
}

static void test_trees_that_come_to_redundant_are_told(void **state)
{
	struct attributes pair[2];

	(void)state;
	begin(two_sources);
	for (int i = 0; i < 2; i++) {
		pair[i] = fixture_file(&told->fixture, S_IFREG | 0644, 5);
		fixture_add_file(&told->fixture, told->fixture.sources.list[i].root, "a", &pair[i]);
	}
	spread();
	(void)fixture_add_group(&told->fixture, group_hash, pair, 2);
	spread();
	assert_int_equal(count("entry", NODE_FIXED, FIXED_REDUNDANT, "two"), 1);
	assert_int_equal(count("entry", NODE_FIXED, FIXED_REDUNDANT, "one"), 0);
	assert_int_equal(count("node", NODE_FIXED, FIXED_REDUNDANT, ""), 1);
}

static void update(uint64_t id, const struct attributes *attributes)
{
	struct name_change change = {
		.kind = NAME_UPDATE_FILE,
		.id = id,
		.attributes = *attributes,
	};

	fixture_apply(&told->fixture, &change, 1);
}

static void test_a_changed_file_is_another_node_and_its_names_are_told(void **state)
{
	struct attributes file;
	struct stat attributes;
	int64_t node;
	uint64_t id;

	(void)state;
	begin(one_source);
	file = fixture_file(&told->fixture, S_IFREG | 0644, 5);
	fixture_add_file(&told->fixture, root(), "f", &file);
	fixture_add_file(&told->fixture, root(), "g", &file);
	id = fixture_file_id(&told->fixture, &file);
	node = fixture_find(&told->fixture, "uniques/f");
	spread();
	file.ctime.tv_sec++;
	update(id, &file);
	spread();
	assert_int_equal(count("entry", NODE_DIR, root(), "f"), 1);
	assert_int_equal(count("entry", NODE_DIR, root(), "g"), 1);
	assert_int_equal(count("node", NODE_FILE, id, ""), 2); /* this version and the last */
	assert_int_equal(count("node", NODE_DIR, root(), ""), 0); /* the listing is what it was */
	assert_int_not_equal(fixture_find(&told->fixture, "uniques/f"), node);
	assert_int_equal(node_inode((uint64_t)fixture_find(&told->fixture, "uniques/f")),
			 node_inode((uint64_t)node));
	assert_int_equal(view_getattr(&told->fixture.call, (uint64_t)node, &attributes), -ESTALE);
}

static void test_attributes_are_told_after_waiting_for_the_directory(void **state)
{
	struct attributes file;
	uint64_t id;

	(void)state;
	begin(one_source);
	file = fixture_file(&told->fixture, S_IFREG | 0644, 5);
	fixture_add_file(&told->fixture, root(), "f", &file);
	id = fixture_file_id(&told->fixture, &file);
	spread();
	file.uid++;
	update(id, &file);
	/* by a name in it the file may be on its way to the kernel */
	told->held[told->held_count++] = node_make(NODE_DIR, root());
	spread();
	assert_int_equal(count("settle", NODE_DIR, root(), ""), 1);
	assert_int_equal(count("entry", NODE_DIR, root(), "f"), 0);
	assert_true(count("node", NODE_FILE, id, "") >= 1);
}

static void test_folders_of_groups_are_told_of_names_of_their_copies(void **state)
{
	struct attributes pair[2];
	uint64_t group;

	(void)state;
	begin(one_source);
	fixture_add_pair(&told->fixture, pair);
	group = fixture_add_group(&told->fixture, group_hash, pair, 2);
	spread();
	assert_int_equal(count("copies", 0, 0, ""), 0);
	fixture_add_file(&told->fixture, root(), "link", &pair[0]);
	spread();
	assert_int_equal(count("settle", NODE_GROUP, group, ""), 1);
	assert_int_equal(count("node", NODE_GROUP, group, ""), 1);
	fixture_remove(&told->fixture, root(), "a"); /* the first of its names */
	spread();
	assert_int_equal(count("settle", NODE_GROUP, group, ""), 1);
	assert_int_equal(count("node", NODE_GROUP, group, ""), 1);
	told->held[told->held_count++] = node_make(NODE_DIR, root());
	fixture_remove(&told->fixture, root(), "link");
	fixture_add_file(&told->fixture, root(), "link", &pair[0]);
	spread();
	assert_int_equal(count("node", NODE_GROUP, group, ""), 0); /* nobody came to it */
}

static void test_folders_of_all_groups_are_told_last_when_a_directory_moved(void **state)
{
	struct name_change change = {.kind = NAME_MOVE_DIR};
	uint64_t dir;

	(void)state;
	begin(one_source);
	dir = fixture_add_dir(&told->fixture, root(), "d", 0);
	spread();
	assert_int_equal(count("copies", 0, 0, ""), 0);
	change.id = dir;
	change.dir = root();
	change.name = fixture_name("e");
	change.attributes = fixture_file(&told->fixture, S_IFDIR | 0750, 4096);
	fixture_apply(&told->fixture, &change, 1);
	spread();
	assert_int_equal(count("copies", 0, 0, ""), 1);
	assert_string_equal(told->lines[told->count - 1], "copies 0:0");
}

static void test_folders_of_ranks_are_told_of_each_commit_once_they_were_asked_for(void **state)
{
	struct attributes file;

	(void)state;
	begin(one_source);
	(void)ranking_max_folders(&told->fixture.view.ranking, 2);
	told->held[told->held_count++] = FIXED_BY_SIZE;
	file = fixture_file(&told->fixture, S_IFREG | 0644, 5);
	fixture_add_file(&told->fixture, root(), "f", &file);
	spread();
	assert_int_equal(count("settle", NODE_FIXED, FIXED_BY_SIZE, ""), 1);
	assert_int_equal(count("node", NODE_FIXED, FIXED_BY_SIZE, ""), 1);
	for (uint64_t i = 1; i <= 2; i++) {
		assert_int_equal(count("settle", NODE_RANKS, i, ""), 1);
		assert_int_equal(count("node", NODE_RANKS, i, ""), 1);
	}
	assert_int_equal(told->count, 6);
}

static void test_a_root_is_reached_from_where_it_is_shown(void **state)
{
	struct name_change change = {.kind = NAME_UPDATE_DIR};

	(void)state;
	begin(two_sources);
	change.id = root();
	change.attributes = fixture_file(&told->fixture, S_IFDIR | 0700, 4096);
	fixture_apply(&told->fixture, &change, 1);
	spread();
	assert_int_equal(count("settle", NODE_FIXED, FIXED_UNIQUES, ""), 1);
	assert_int_equal(count("node", NODE_DIR, root(), ""), 1);
}

static void test_a_listing_is_told_once_for_many_names(void **state)
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
			.attributes = fixture_file(&told->fixture, S_IFREG | 0644, i),
		};
	}
	fixture_apply(&told->fixture, changes, ARRAY_SIZE(changes));
	told->held[told->held_count++] = node_make(NODE_DIR, root());
	spread();
	assert_int_equal(count("node", NODE_DIR, root(), ""), 1);
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++)
		assert_int_equal(count("entry", NODE_DIR, root(), names[i]), 1);
}

static char *events(struct event_reader *reader)
{
	static char text[8192];
	size_t length = event_log_read(&told->fixture.view.events, reader, text, sizeof(text) - 1,
				       reader->next);

	text[length] = '\0';
	return text;
}

static void test_events_are_made_once_somebody_reads_them(void **state)
{
	struct event_reader reader = {0};
	struct attributes pair[2];
	struct view_file file;
	char *text;

	(void)state;
	begin(one_source);
	for (int i = 0; i < 2; i++) {
		pair[i] = fixture_file(&told->fixture, S_IFREG | 0644, 5);
		fixture_add_file(&told->fixture, root(), i ? "b\xff" : "a", &pair[i]);
	}
	spread();
	assert_string_equal(events(&reader), "");
	(void)fixture_add_group(&told->fixture, group_hash, pair, 2);
	assert_int_equal(view_open(&told->fixture.call, FIXED_EVENTS, &file), 0);
	spread();
	text = events(&reader);
	assert_non_null(strstr(text, "{\"event\":\"group_appeared\",\"hash\":\"" HASH_NAME
				     "\",\"size\":5,\"copies\":2,\"generation\":"));
	assert_non_null(strstr(text, "{\"event\":\"file_redundant\",\"path\":\""));
	assert_non_null(strstr(text, "b\\\\xff\",\"path_base64\":\""));
	assert_null(strstr(text, "source/a\""));
	fixture_remove(&told->fixture, root(), "a");
	spread();
	text = events(&reader);
	assert_non_null(strstr(text, "{\"event\":\"group_gone\",\"hash\":\"" HASH_NAME
				     "\",\"size\":5,\"copies\":1,"));
	assert_non_null(strstr(text, "{\"event\":\"file_unique\",\"path\":\""));
	view_close(&file);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_new_name_is_told_before_the_listing),
		TEST(test_what_was_never_given_out_is_not_told),
		TEST(test_a_new_group_hides_the_redundant_name),
		TEST(test_directories_that_come_to_redundant_are_told),
		TEST(test_trees_that_come_to_redundant_are_told),
		TEST(test_a_changed_file_is_another_node_and_its_names_are_told),
		TEST(test_attributes_are_told_after_waiting_for_the_directory),
		TEST(test_folders_of_groups_are_told_of_names_of_their_copies),
		TEST(test_folders_of_all_groups_are_told_last_when_a_directory_moved),
		TEST(test_folders_of_ranks_are_told_of_each_commit_once_they_were_asked_for),
		TEST(test_a_root_is_reached_from_where_it_is_shown),
		TEST(test_a_listing_is_told_once_for_many_names),
		TEST(test_events_are_made_once_somebody_reads_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
