/* SPDX-License-Identifier: MIT */
#include "choose/rules.h"
#include "index/fixture.h"
#include "index/source.h"

/* A name of an inode. make_group() takes a list of them. */
struct given {
	int source; /* position of the source: 0 is /one, 1 is /two */
	const char *folder; /* NULL: the root */
	const char *name;
	uint64_t inode;
	int version; /* of the times of the inode; larger is newer */
	uint32_t links;
};

#define GROUP_FILES_MAX 16

static uint64_t folder_id(struct fixture *f, const struct given *given)
{
	uint64_t root = f->roots[given->source];
	uint64_t id;

	if (given->folder == NULL)
		return root;
	id = id_at(f, root, given->folder);
	return id != 0 ? id : add_dir(f, root, given->folder);
}

/* Adds the names that the index does not have and makes one group of them. */
static struct group_record make_group(struct fixture *f, const struct given *given, size_t count)
{
	static uint64_t numbers;
	uint64_t ids[GROUP_FILES_MAX];

	assert_true(count <= GROUP_FILES_MAX);
	for (size_t i = 0; i < count; i++) {
		struct attributes attributes = file_of(given[i].inode, 100, given[i].version);
		uint64_t folder = folder_id(f, &given[i]);

		fixture_commit(f);
		attributes.links = given[i].links;
		attributes.btime.tv_nsec = 0; /* all born at once, so paths decide */
		if (id_at(f, folder, given[i].name) == 0)
			add_file(f, folder, given[i].name, attributes);
		fixture_commit(f);
		ids[i] = id_at(f, folder, given[i].name);
	}
	return group_at(f, add_group(f, (struct hash128){1, ++numbers}, ids, count));
}

static struct sources sources_of(const struct fixture *f, struct source list[2])
{
	static char one[] = "/one", two[] = "/two";

	list[0] = (struct source){.path = one, .root = f->roots[0], .fd = -1};
	list[1] = (struct source){.path = two, .root = f->roots[1], .fd = -1};
	return (struct sources){.list = list, .count = 2};
}

/* Returns a line for each name: the first letter of the decision, the path and the reason. */
static const char *decide(const struct fixture *f, const struct group_record *group,
			  const struct rules *rules)
{
	static const char letters[] =
		{[FATE_KEPT] = 'K', [FATE_REDUNDANT] = 'R', [FATE_SPARED] = 'S'};
	static char text[4096];
	struct catalog_reader *reader = fixture_read(f);
	CLEANUP_COPIES struct copies copies = {0};
	struct source list[2];
	const struct sources sources = sources_of(f, list);
	size_t length = 0;

	assert_int_equal(copies_collect(&copies, reader, group), 0);
	assert_int_equal(rules_apply(rules, &sources, group, &copies), 0);
	for (size_t i = 0; i < copies.count; i++) {
		const struct copy *copy = &copies.list[i];

		length += (size_t)snprintf(text + length, sizeof(text) - length, "%c %s/%s: %s\n",
					   letters[copy->fate], list[copy->source].path,
					   copy_path(&copies, copy), copy->why);
		assert_true(length < sizeof(text));
	}
	catalog_read_end(reader);
	return text;
}

/* Decides by one rule. glob: of KEEP_PATH */
static const char *keep(const struct fixture *f, const struct group_record *group, enum keep_by by,
			const char *glob)
{
	CLEANUP_KEEP_RULES struct keep_rules keep = {0};

	assert_int_equal(keep_rules_add(&keep, by, glob), 0);
	return decide(f, group, &(struct rules){.keep = &keep});
}

#define NAME(source, folder, name, inode)         \
	{                                         \
		source, folder, name, inode, 0, 1 \
	}
#define DATED(source, folder, name, inode, version)     \
	{                                               \
		source, folder, name, inode, version, 1 \
	}
#define GROUP(...)                                         \
	make_group(f, (const struct given[]){__VA_ARGS__}, \
		   ARRAY_SIZE(((const struct given[]){__VA_ARGS__})))

static void test_without_rules_the_kept_copy_of_the_view_stays(void **state)
{
	struct fixture *f = *state;
	struct group_record group =
		GROUP(NAME(0, NULL, "b", 10), NAME(0, NULL, "a", 11), NAME(1, NULL, "a", 12));
	const struct rules none = {0};

	assert_string_equal(decide(f, &group, &none), "K /one/a: first path\n"
						      "R /one/b: later path\n"
						      "R /two/a: later source\n");
}

static void test_without_rules_the_copy_of_the_earliest_scan_stays(void **state)
{
	struct fixture *f = *state;
	struct group_record group;

	add_file(f, f->roots[0], "z", file_of(10, 100, 0));
	fixture_commit(f);
	fixture_next_scan(f);
	group = GROUP(NAME(0, NULL, "z", 10), NAME(0, NULL, "a", 11));
	assert_string_equal(decide(f, &group, &(struct rules){0}), "K /one/z: known longest\n"
								   "R /one/a: found later\n");
}

static void test_copy_that_the_view_chose_earlier_stays(void **state)
{
	struct fixture *f = *state;
	struct group_record group = GROUP(NAME(1, NULL, "a", 10), NAME(1, NULL, "b", 11));

	add_file(f, f->roots[0], "new", file_of(12, 100, 0));
	fixture_commit(f);
	assert_int_equal(set_content(f, id_at(f, f->roots[0], "new"), group.id), 0);
	group = group_at(f, group.id);
	assert_string_equal(decide(f, &group, &(struct rules){0}),
			    "K /two/a: chosen earlier\n"
			    "R /one/new: another was chosen earlier\n"
			    "R /two/b: later path\n");
}

static void test_time_rules_keep_the_oldest_or_newest(void **state)
{
	struct fixture *f = *state;
	struct group_record group = GROUP(DATED(0, NULL, "a", 10, 5), DATED(0, NULL, "b", 11, 9),
					  DATED(1, NULL, "c", 12, 1));

	assert_string_equal(keep(f, &group, KEEP_OLDEST, NULL), "K /two/c: oldest\n"
								"R /one/a: newer\n"
								"R /one/b: newer\n");
	assert_string_equal(keep(f, &group, KEEP_NEWEST, NULL), "K /one/b: newest\n"
								"R /one/a: older\n"
								"R /two/c: older\n");
}

static void test_times_before_1970_and_nanoseconds_are_compared(void **state)
{
	struct fixture *f = *state;
	const struct timespec times[] = {{-5, 1}, {-5, 2}, {INT64_MIN, 0}, {INT64_MAX, 999999999}};
	uint64_t ids[ARRAY_SIZE(times)];
	const char *names[] = {"a", "b", "c", "d"};
	struct group_record group;

	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		struct attributes attributes = file_of(10 + i, 100, 0);

		attributes.mtime = times[i];
		add_file(f, f->roots[0], names[i], attributes);
		fixture_commit(f);
		ids[i] = id_at(f, f->roots[0], names[i]);
	}
	group = group_at(f, add_group(f, (struct hash128){3, 3}, ids, 2));
	assert_string_equal(keep(f, &group, KEEP_NEWEST, NULL),
			    "K /one/b: newest\nR /one/a: older\n");
	assert_int_equal(set_content(f, ids[2], group.id), 0);
	assert_int_equal(set_content(f, ids[3], group.id), 0);
	group = group_at(f, group.id);
	assert_string_equal(keep(f, &group, KEEP_NEWEST, NULL),
			    "K /one/d: newest\n"
			    "R /one/a: older\nR /one/b: older\nR /one/c: older\n");
	assert_string_equal(keep(f, &group, KEEP_OLDEST, NULL),
			    "K /one/c: oldest\n"
			    "R /one/a: newer\nR /one/b: newer\nR /one/d: newer\n");
}

static void test_path_length_rules_use_the_best_name(void **state)
{
	struct fixture *f = *state;
	struct group_record group = GROUP(NAME(0, NULL, "ccc", 10), NAME(0, NULL, "aaaaaa", 11),
					  NAME(0, "folder", "aaaaa", 11), NAME(0, NULL, "dd", 12));

	assert_string_equal(keep(f, &group, KEEP_SHORTEST_PATH, NULL),
			    "K /one/dd: shortest path\n"
			    "R /one/aaaaaa: longer path\n"
			    "R /one/folder/aaaaa: longer path\n"
			    "R /one/ccc: longer path\n");
	assert_string_equal(keep(f, &group, KEEP_LONGEST_PATH, NULL),
			    "K /one/aaaaaa: longest path\n"
			    "K /one/folder/aaaaa: longest path\n"
			    "R /one/ccc: shorter path\n"
			    "R /one/dd: shorter path\n");
}

static void test_glob_keeps_copies_that_match_by_any_name_or_folder(void **state)
{
	struct fixture *f = *state;
	struct group_record group = GROUP(NAME(0, NULL, "a", 10), NAME(0, NULL, "b", 11),
					  NAME(1, "archive", "b.jpg", 11));
	const char *const globs[] = {"archive", "/archive", "*.jpg", "archive/*"};

	for (size_t i = 0; i < ARRAY_SIZE(globs); i++)
		assert_string_equal(keep(f, &group, KEEP_PATH, globs[i]),
				    "K /one/b: path matches\n"
				    "K /two/archive/b.jpg: path matches\n"
				    "R /one/a: path does not match\n");
	/* a glob that matches no copy has no effect */
	assert_string_equal(keep(f, &group, KEEP_PATH, "b.*/x"),
			    "K /one/a: first path\n"
			    "R /one/b: later path\n"
			    "R /two/archive/b.jpg: later path\n");
}

static void test_glob_that_matches_all_keeps_one(void **state)
{
	struct fixture *f = *state;
	struct group_record group = GROUP(NAME(0, NULL, "a", 10), NAME(0, NULL, "b", 11));

	assert_string_equal(keep(f, &group, KEEP_PATH, "*"), "K /one/a: first path\n"
							     "R /one/b: later path\n");
}

static void test_rules_for_links_source_and_age_are_applied(void **state)
{
	struct fixture *f = *state;
	struct group_record group;

	add_file(f, f->roots[1], "c", file_of(12, 100, 0));
	fixture_commit(f);
	fixture_next_scan(f);
	group = GROUP({0, NULL, "a", 10, 0, 1}, {1, NULL, "b", 11, 0, 3}, {1, NULL, "c", 12, 0, 2});
	assert_string_equal(keep(f, &group, KEEP_MOST_LINKED, NULL),
			    "K /two/b: most hard links\n"
			    "R /one/a: fewer hard links\n"
			    "R /two/c: fewer hard links\n");
	assert_string_equal(keep(f, &group, KEEP_SOURCE_ORDER, NULL), "K /one/a: first source\n"
								      "R /two/b: later source\n"
								      "R /two/c: later source\n");
	assert_string_equal(keep(f, &group, KEEP_FIRST_SEEN, NULL), "K /two/c: known longest\n"
								    "R /one/a: found later\n"
								    "R /two/b: found later\n");
}

static void test_ties_are_decided_by_later_rules_and_then_by_the_view(void **state)
{
	struct fixture *f = *state;
	struct group_record group =
		GROUP(DATED(0, NULL, "x", 10, 1), DATED(1, NULL, "bbb", 11, 2),
		      DATED(1, NULL, "ccc", 12, 2), DATED(1, NULL, "dddd", 13, 2));
	CLEANUP_KEEP_RULES struct keep_rules keep = {0};

	assert_int_equal(keep_rules_add(&keep, KEEP_NEWEST, NULL), 0);
	assert_int_equal(keep_rules_add(&keep, KEEP_SHORTEST_PATH, NULL), 0);
	assert_int_equal(keep_rules_add(&keep, KEEP_SOURCE_ORDER, NULL), 0);
	assert_string_equal(decide(f, &group, &(struct rules){.keep = &keep}),
			    "K /two/bbb: first path\n"
			    "R /one/x: older\n"
			    "R /two/ccc: later path\n"
			    "R /two/dddd: longer path\n");
}

static void test_ties_without_the_kept_copy_are_decided_by_the_rules_of_the_view(void **state)
{
	struct fixture *f = *state;
	struct group_record group = GROUP(DATED(0, NULL, "a", 10, 1), DATED(1, NULL, "b", 11, 2),
					  DATED(1, NULL, "a", 12, 2), DATED(0, NULL, "z", 13, 2));

	assert_string_equal(keep(f, &group, KEEP_NEWEST, NULL), "K /one/z: first source\n"
								"R /one/a: older\n"
								"R /two/a: later source\n"
								"R /two/b: later source\n");
}

static void test_protected_copies_stay_and_the_others_are_redundant(void **state)
{
	struct fixture *f = *state;
	char folder[] = "/two/safe";
	char *protect[] = {folder, NULL};
	struct group_record group = GROUP(NAME(0, NULL, "a", 10), NAME(1, "safe", "b", 11),
					  NAME(1, "safe", "c", 12), NAME(1, "safer", "d", 13));

	assert_string_equal(decide(f, &group, &(struct rules){.protect = protect}),
			    "K /two/safe/b: first path\n"
			    "R /one/a: another copy stays anyway\n"
			    "S /two/safe/c: protected\n"
			    "R /two/safer/d: another copy stays anyway\n");
}

static void test_protected_name_protects_all_names_of_its_inode(void **state)
{
	struct fixture *f = *state;
	char folder[] = "/two/safe";
	char source[] = "/one";
	char *protect[] = {folder, source, NULL};
	struct group_record group =
		GROUP(NAME(0, NULL, "a", 10), NAME(1, NULL, "b", 11), NAME(1, "safe", "b", 11));

	assert_string_equal(decide(f, &group, &(struct rules){.protect = protect}),
			    "K /one/a: first source\n"
			    "S /two/b: hard link to one that stays\n"
			    "S /two/safe/b: protected\n");
}

static void test_parent_folder_of_a_source_covers_it(void **state)
{
	struct fixture *f = *state;
	char root[] = "/";
	char *all[] = {root, NULL};
	struct group_record group = GROUP(NAME(0, NULL, "a", 10), NAME(1, NULL, "b", 11));

	assert_string_equal(decide(f, &group, &(struct rules){.protect = all}),
			    "K /one/a: first source\nS /two/b: protected\n");
	assert_string_equal(decide(f, &group, &(struct rules){.only = all}),
			    "K /one/a: first source\nR /two/b: later source\n");
}

static void test_copies_outside_of_the_given_folders_are_not_selected(void **state)
{
	struct fixture *f = *state;
	char folder[] = "/one/b";
	char other[] = "/two";
	char *only[] = {folder, other, NULL};
	struct group_record group = GROUP(NAME(0, "a", "x", 10), NAME(0, "b", "x", 11),
					  NAME(0, "bb", "x", 12), NAME(1, NULL, "x", 13));

	assert_string_equal(decide(f, &group, &(struct rules){.only = only}),
			    "K /one/a/x: first path\n"
			    "R /one/b/x: another copy stays anyway\n"
			    "S /one/bb/x: outside of --only\n"
			    "R /two/x: another copy stays anyway\n");
}

static void test_only_the_given_files_are_selected(void **state)
{
	struct fixture *f = *state;
	char file[] = "/one/a/x";
	char linked[] = "/one/a/y";
	char *named[] = {file, linked, NULL};
	struct group_record group = GROUP(NAME(0, "a", "x", 10), NAME(0, "a", "xx", 11),
					  NAME(0, "a", "y", 12), NAME(0, "a", "z", 12));

	assert_string_equal(decide(f, &group, &(struct rules){.only = named}),
			    "K /one/a/xx: first path\n"
			    "R /one/a/x: another copy stays anyway\n"
			    "S /one/a/y: hard link to one that stays\n"
			    "S /one/a/z: outside of --only\n");
	assert_string_equal(decide(f, &group, &(struct rules){.protect = named}),
			    "K /one/a/x: first path\n"
			    "R /one/a/xx: another copy stays anyway\n"
			    "S /one/a/y: protected\n"
			    "S /one/a/z: hard link to one that stays\n");
}

static void test_copy_in_the_trash_makes_no_other_redundant(void **state)
{
	struct fixture *f = *state;
	char folder[] = "/two";
	char *only[] = {folder, NULL};
	struct group_record group =
		GROUP(DATED(0, "$RECYCLE.BIN", "x", 10, 9), DATED(1, NULL, "y", 11, 1));

	assert_string_equal(keep(f, &group, KEEP_NEWEST, NULL),
			    "K /two/y: not in the trash\n"
			    "S /one/$RECYCLE.BIN/x: in the trash\n");
	assert_string_equal(decide(f, &group, &(struct rules){.only = only}),
			    "K /two/y: not in the trash\n"
			    "S /one/$RECYCLE.BIN/x: outside of --only\n");
	assert_string_equal(decide(f, &group, &(struct rules){.protect = only}),
			    "K /two/y: not in the trash\n"
			    "S /one/$RECYCLE.BIN/x: in the trash\n");
	group = GROUP(NAME(0, "$RECYCLE.BIN", "z", 20), NAME(1, NULL, "z", 21),
		      NAME(1, NULL, "zz", 22));
	assert_string_equal(decide(f, &group, &(struct rules){.only = only}),
			    "K /two/z: first path\n"
			    "S /one/$RECYCLE.BIN/z: outside of --only\n"
			    "R /two/zz: later path\n");
}

static void test_trash_is_ignored_if_a_name_is_outside_or_all_copies_are_inside(void **state)
{
	struct fixture *f = *state;
	struct group_record group = GROUP(NAME(0, "$RECYCLE.BIN", "x", 10), NAME(0, NULL, "x", 10),
					  NAME(1, NULL, "y", 11));

	assert_string_equal(decide(f, &group, &(struct rules){0}),
			    "K /one/x: first source\n"
			    "K /one/$RECYCLE.BIN/x: first source\n"
			    "R /two/y: later source\n");
	group = GROUP(NAME(0, "$RECYCLE.BIN", "a", 20), NAME(0, "$RECYCLE.BIN", "b", 21));
	assert_string_equal(decide(f, &group, &(struct rules){0}),
			    "K /one/$RECYCLE.BIN/a: first path\n"
			    "R /one/$RECYCLE.BIN/b: later path\n");
}

static void test_one_copy_stays_if_all_are_selected(void **state)
{
	struct fixture *f = *state;
	char folder[] = "/one/b";
	char *only[] = {folder, NULL};
	struct group_record group = GROUP(NAME(0, "b", "y", 11), NAME(0, "b", "x", 12));

	assert_string_equal(decide(f, &group, &(struct rules){.only = only}),
			    "K /one/b/x: first path\n"
			    "R /one/b/y: later path\n");
}

static void test_protection_overrides_selection_and_keep_rules(void **state)
{
	struct fixture *f = *state;
	char folder[] = "/one/b";
	char *both[] = {folder, NULL};
	CLEANUP_KEEP_RULES struct keep_rules newest = {0};
	struct group_record group = GROUP(DATED(0, "b", "x", 10, 1), DATED(0, "b", "y", 11, 9));

	assert_int_equal(keep_rules_add(&newest, KEEP_NEWEST, NULL), 0);
	assert_string_equal(decide(f, &group,
				   &(struct rules){.keep = &newest, .protect = both, .only = both}),
			    "K /one/b/y: newest\n"
			    "S /one/b/x: protected\n");
}

static void test_protected_copy_stays_instead_of_the_oldest(void **state)
{
	struct fixture *f = *state;
	char folder[] = "/two";
	char *protect[] = {folder, NULL};
	CLEANUP_KEEP_RULES struct keep_rules oldest = {0};
	struct group_record group = GROUP(DATED(0, NULL, "x", 10, 1), DATED(1, NULL, "y", 11, 9));

	assert_int_equal(keep_rules_add(&oldest, KEEP_OLDEST, NULL), 0);
	assert_string_equal(decide(f, &group, &(struct rules){.keep = &oldest, .protect = protect}),
			    "K /two/y: protected\n"
			    "R /one/x: another copy stays anyway\n");
}

static void test_between_sources_all_copies_in_the_source_of_the_kept_copy_stay(void **state)
{
	struct fixture *f = *state;
	const struct rules between = {.between_sources = true};
	struct group_record group = GROUP(NAME(0, NULL, "a", 10), NAME(0, NULL, "b", 11),
					  NAME(1, NULL, "a", 12), NAME(1, NULL, "b", 13));

	assert_string_equal(decide(f, &group, &between),
			    "K /one/a: first path\n"
			    "S /one/b: in the source of the kept copy\n"
			    "R /two/a: later source\n"
			    "R /two/b: later source\n");
}

static void test_between_sources_a_hard_link_counts_in_each_of_its_sources(void **state)
{
	struct fixture *f = *state;
	const struct rules between = {.between_sources = true};
	struct group_record group = GROUP(NAME(0, NULL, "a", 10), NAME(0, NULL, "b", 11),
					  NAME(1, NULL, "b", 11), NAME(1, NULL, "c", 12));

	assert_string_equal(decide(f, &group, &between),
			    "K /one/a: first path\n"
			    "S /one/b: in the source of the kept copy\n"
			    "S /two/b: in the source of the kept copy\n"
			    "R /two/c: later source\n");
}

static void test_between_sources_copies_in_one_source_only_stay(void **state)
{
	struct fixture *f = *state;
	const struct rules between = {.between_sources = true};
	struct group_record group = GROUP(NAME(1, NULL, "a", 10), NAME(1, NULL, "b", 11));

	assert_string_equal(decide(f, &group, &between),
			    "K /two/a: first path\n"
			    "S /two/b: in the source of the kept copy\n");
}

static void test_redundant_inodes_are_counted(void **state)
{
	struct fixture *f = *state;
	CLEANUP_COPIES struct copies copies = {0};
	struct group_record group = GROUP(NAME(0, NULL, "a", 10), NAME(0, NULL, "b", 11),
					  NAME(0, NULL, "c", 11), NAME(1, NULL, "d", 12));
	struct catalog_reader *reader = fixture_read(f);
	char folder[] = "/two";
	char *protect[] = {folder, NULL};
	struct source list[2];
	const struct sources sources = sources_of(f, list);

	assert_int_equal(copies_collect(&copies, reader, &group), 0);
	assert_int_equal(copies.redundant, 2);
	assert_int_equal(rules_apply(&(struct rules){.protect = protect, .between_sources = true},
				     &sources, &group, &copies),
			 0);
	assert_int_equal(copies.redundant, 2);
	assert_int_equal(rules_apply(&(struct rules){.between_sources = true}, &sources, &group,
				     &copies),
			 0);
	assert_int_equal(copies.redundant, 1);
	catalog_read_end(reader);
}

static void check_unmatched(const struct fixture *f, const char *folder, bool expected)
{
	struct catalog_reader *reader = fixture_read(f);
	char text[64];
	char *folders[] = {text, NULL};
	struct source list[2];
	const struct sources sources = sources_of(f, list);
	const struct rules protect = {.protect = folders};
	const struct rules only = {.only = folders};
	const char *unmatched = NULL;

	(void)snprintf(text, sizeof(text), "%s", folder);
	assert_int_equal(rules_find_unmatched(&protect, reader, &sources, &unmatched),
			 expected ? RULES_UNMATCHED : 0);
	assert_ptr_equal(unmatched, expected ? text : NULL);
	unmatched = NULL;
	assert_int_equal(rules_find_unmatched(&only, reader, &sources, &unmatched),
			 expected ? RULES_UNMATCHED : 0);
	assert_ptr_equal(unmatched, expected ? text : NULL);
	catalog_read_end(reader);
}

static void test_path_that_matches_no_name_is_reported(void **state)
{
	struct fixture *f = *state;

	(void)GROUP(NAME(0, "Photos", "a", 10), NAME(0, NULL, "b", 11));
	check_unmatched(f, "/one", false);
	check_unmatched(f, "/one/Photos", false);
	check_unmatched(f, "/one/Photos/a", false);
	check_unmatched(f, "/one/b", false);
	check_unmatched(f, "/", false);
	check_unmatched(f, "/three", true);
	check_unmatched(f, "/on", true);
	check_unmatched(f, "/onefold", true);
	check_unmatched(f, "/one/photos", true);
	check_unmatched(f, "/one/Photo", true);
	check_unmatched(f, "/one/Photos/b", true);
	check_unmatched(f, "/one/Photos/a/", true);
	check_unmatched(f, "/one/b/c", true);
	check_unmatched(f, "/two/Photos", true);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_without_rules_the_kept_copy_of_the_view_stays),
		CASE(test_without_rules_the_copy_of_the_earliest_scan_stays),
		CASE(test_copy_that_the_view_chose_earlier_stays),
		CASE(test_time_rules_keep_the_oldest_or_newest),
		CASE(test_times_before_1970_and_nanoseconds_are_compared),
		CASE(test_path_length_rules_use_the_best_name),
		CASE(test_glob_keeps_copies_that_match_by_any_name_or_folder),
		CASE(test_glob_that_matches_all_keeps_one),
		CASE(test_rules_for_links_source_and_age_are_applied),
		CASE(test_ties_are_decided_by_later_rules_and_then_by_the_view),
		CASE(test_ties_without_the_kept_copy_are_decided_by_the_rules_of_the_view),
		CASE(test_protected_copies_stay_and_the_others_are_redundant),
		CASE(test_protected_name_protects_all_names_of_its_inode),
		CASE(test_parent_folder_of_a_source_covers_it),
		CASE(test_copies_outside_of_the_given_folders_are_not_selected),
		CASE(test_only_the_given_files_are_selected),
		CASE(test_copy_in_the_trash_makes_no_other_redundant),
		CASE(test_trash_is_ignored_if_a_name_is_outside_or_all_copies_are_inside),
		CASE(test_one_copy_stays_if_all_are_selected),
		CASE(test_protection_overrides_selection_and_keep_rules),
		CASE(test_protected_copy_stays_instead_of_the_oldest),
		CASE(test_between_sources_all_copies_in_the_source_of_the_kept_copy_stay),
		CASE(test_between_sources_a_hard_link_counts_in_each_of_its_sources),
		CASE(test_between_sources_copies_in_one_source_only_stay),
		CASE(test_redundant_inodes_are_counted),
		CASE(test_path_that_matches_no_name_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
