/* SPDX-License-Identifier: MIT */
#include "index/audit.h"
#include "index/keep_rules.h"
#include "index/store/store.h"
#include "index/writer.h"

static const struct hash128 hash = {1, 2};

/* A file of 100 bytes. */
static uint64_t new_copy(struct fixture *f, uint64_t dir, const char *name)
{
	static uint64_t inode = 1000;

	return new_file(f, dir, name, file_of(inode++, 100, 0));
}

static uint64_t kept_of(const struct fixture *f, uint64_t group)
{
	return group_at(f, group).kept;
}

/* ---- members ------------------------------------------------------------------------- */

static void test_figures_are_exact_after_groups_above_2_64_bytes(void **state)
{
	struct fixture *f = *state;
	struct catalog_totals totals;
	uint64_t ids[4], group;

	for (uint64_t i = 0; i < ARRAY_SIZE(ids); i++) {
		char name[] = {(char)('a' + i), '\0'};

		ids[i] = new_file(f, f->roots[0], name, file_of(2000 + i, INT64_MAX, 0));
	}
	group = add_group(f, hash, ids, ARRAY_SIZE(ids));
	assert_true(group_reclaimable(&(struct group_record){.size = INT64_MAX, .inodes = 4}) ==
		    UINT64_MAX);
	totals = totals_of(f);
	assert_true(size_sum_bytes(&totals.redundant_bytes) == UINT64_MAX);
	assert_true(size_sum_bytes(&totals.bytes) == UINT64_MAX);
	audit_index(f->catalog);
	for (size_t i = 1; i < ARRAY_SIZE(ids); i++)
		assert_int_equal(set_content(f, ids[i], 0), 0);
	assert_int_equal(totals_of(f).redundant_bytes.low, 0);
	assert_int_equal(totals_of(f).redundant_bytes.high, 0);
	assert_int_equal(group_at(f, group).inodes, 1);
	audit_index(f->catalog);
}

static void test_group_without_members_is_removed(void **state)
{
	struct fixture *f = *state;
	uint64_t ids[] = {new_copy(f, f->roots[0], "a"), new_copy(f, f->roots[0], "b")};
	uint64_t group = add_group(f, hash, ids, 2);

	assert_int_equal(set_content(f, ids[0], 0), 0);
	assert_int_equal(set_content(f, ids[1], 0), 0);
	assert_int_equal(group_at(f, group).id, 0);
	assert_int_equal(set_content(f, ids[0], group), CONTENT_STALE);
	assert_int_equal(content_of(f, ids[0]).group, 0);
	audit_index(f->catalog);
}

static void test_joining_twice_counts_once(void **state)
{
	struct fixture *f = *state;
	uint64_t ids[] = {new_copy(f, f->roots[0], "a"), new_copy(f, f->roots[0], "b")};
	uint64_t group = add_group(f, hash, ids, 2);

	assert_int_equal(set_content(f, ids[1], group), 0);
	assert_int_equal(group_at(f, group).inodes, 2);
	audit_index(f->catalog);
}

static void test_group_without_any_member_is_not_stored(void **state)
{
	struct fixture *f = *state;
	uint64_t group = add_group(f, hash, NULL, 0);

	(void)state;
	assert_int_equal(group_at(f, group).id, 0);
	audit_index(f->catalog);
}

/* ---- contents of one hash ------------------------------------------------------------ */

static void test_number_of_a_content_stays_if_others_are_removed(void **state)
{
	struct fixture *f = *state;
	uint64_t ids[] = {new_copy(f, f->roots[0], "a"), new_copy(f, f->roots[0], "b"),
			  new_copy(f, f->roots[0], "c")};
	uint64_t first = add_group(f, hash, ids, 1), second = add_group(f, hash, ids + 1, 1), next;
	struct catalog_reader *reader;
	struct group_record group;

	remove_and_commit(f, f->roots[0], "a");
	assert_false(purge_orphans(f, 10));
	assert_int_equal(group_at(f, first).id, 0);
	assert_int_equal(group_at(f, second).ordinal, 2);
	next = add_group(f, hash, ids + 2, 1);
	assert_int_equal(group_at(f, next).ordinal, 3);
	reader = fixture_read(f);
	assert_int_equal(catalog_find_group(reader, hash, 1, &group), -ENOENT);
	assert_int_equal(catalog_find_group(reader, hash, 2, &group), 0);
	assert_int_equal(group.id, second);
	/* the next call returns the next group; removed groups are skipped */
	assert_int_equal(catalog_next_of_hash(reader, hash, 0, &group), 0);
	assert_int_equal(group.id, second);
	assert_int_equal(catalog_next_of_hash(reader, hash, 2, &group), 0);
	assert_int_equal(group.id, next);
	assert_int_equal(catalog_next_of_hash(reader, hash, 3, &group), -ENOENT);
	catalog_read_end(reader);
	audit_index(f->catalog);
}

struct leave_and_add {
	struct fixture *f;
	struct fixture_contents contents;
	uint64_t old, first;
	int joined;
};

/* All members leave a group, and another group of the same hash is made. Then one of the members
 * joins the old group again. */
static int leave_and_add_body(struct catalog_writer *w, void *context)
{
	struct leave_and_add *l = context;
	struct content_change back = {.file = l->first, .prefix = 77, .group = l->old};
	struct file_record file = {0};
	int r = fixture_apply_body(w, l->f);

	if (r == 0)
		r = fixture_contents_body(w, &l->contents);
	if (r == 0)
		r = catalog_get_file(catalog_writer_reader(w), back.file, &file);
	back.digest = file_digest(&file);
	if (r == 0)
		l->joined = catalog_set_content(w, &back);
	return r;
}

static void test_group_left_in_the_transaction_is_replaced(void **state)
{
	struct fixture *f = *state;
	uint64_t ids[] = {new_copy(f, f->roots[0], "a"), new_copy(f, f->roots[0], "b"),
			  new_copy(f, f->roots[0], "c"), new_copy(f, f->roots[0], "d")};
	struct leave_and_add l = {.f = f, .first = ids[0]};

	l.old = add_group(f, hash, ids, 2);
	l.contents = (struct fixture_contents){.files = ids + 2,
					       .count = 2,
					       .prefix = 77,
					       .add_group = true,
					       .hash = hash};
	touch_file(f, ids[0]);
	touch_file(f, ids[1]);
	assert_int_equal(catalog_write(f->catalog, leave_and_add_body, &l), 0);
	assert_int_equal(l.joined, CONTENT_STALE);
	assert_int_equal(group_at(f, l.old).id, 0);
	assert_int_equal(group_at(f, l.contents.group).ordinal, 1);
	assert_int_equal(group_at(f, l.contents.group).inodes, 2);
	assert_int_equal(totals_of(f).groups, 1);
	audit_index(f->catalog);
}

static int add_three_body(struct catalog_writer *w, void *context)
{
	struct fixture_contents *contents = context;
	int r = 0;

	for (size_t i = 0; r == 0 && i < 3; i++)
		r = fixture_contents_body(w, &contents[i]);
	return r;
}

/* The first new group replaces the empty group. The other new groups get the numbers after the last
 * number. */
static void test_contents_of_one_hash_are_numbered_in_one_transaction(void **state)
{
	struct fixture *f = *state;
	const uint32_t ordinals[] = {1, 3, 4};
	struct fixture_contents contents[3];
	uint64_t ids[] = {new_copy(f, f->roots[0], "a"), new_copy(f, f->roots[0], "b"),
			  new_copy(f, f->roots[0], "c"), new_copy(f, f->roots[0], "d"),
			  new_copy(f, f->roots[0], "e")};

	add_group(f, hash, ids, 1);
	add_group(f, hash, ids + 1, 1);
	remove_and_commit(f, f->roots[0], "a");
	for (size_t i = 0; i < 3; i++)
		contents[i] = (struct fixture_contents){.files = ids + 2 + i,
							.count = 1,
							.prefix = 77,
							.add_group = true,
							.hash = hash};
	assert_int_equal(catalog_write(f->catalog, add_three_body, contents), 0);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(group_at(f, contents[i].group).ordinal, ordinals[i]);
	audit_index(f->catalog);
}

/* ---- the kept copy ------------------------------------------------------------------- */

static void test_copy_of_an_earlier_scan_is_kept(void **state)
{
	struct fixture *f = *state;
	uint64_t ids[2], group;

	ids[0] = new_copy(f, f->roots[0], "z");
	fixture_next_scan(f);
	ids[1] = new_copy(f, f->roots[0], "a");
	group = add_group(f, hash, ids, 2);
	assert_int_equal(kept_of(f, group), ids[0]);
}

static void test_new_copy_never_displaces_the_kept_one(void **state)
{
	struct fixture *f = *state;
	uint64_t ids[] = {new_copy(f, f->roots[1], "y"), new_copy(f, f->roots[1], "z")}, better;
	uint64_t group = add_group(f, hash, ids, 2);

	assert_int_equal(kept_of(f, group), ids[0]);
	better = new_copy(f, f->roots[0], "a");
	assert_int_equal(set_content(f, better, group), 0);
	assert_int_equal(kept_of(f, group), ids[0]);
	fixture_reopen(f);
	assert_int_equal(set_content(f, new_copy(f, f->roots[0], "b"), group), 0);
	assert_int_equal(kept_of(f, group), ids[0]);
	remove_and_commit(f, f->roots[1], "y");
	assert_int_equal(kept_of(f, group), better);
	audit_index(f->catalog);
}

static int join_again_body(struct catalog_writer *w, void *context)
{
	catalog_reconsider_kept(w);
	return catalog_set_content(w, context);
}

/* Has two files join a group, with changes between. Returns whether the second one is kept. */
static bool joins_and_displaces(struct fixture *f, const uint64_t ids[2],
				void (*between)(struct fixture *))
{
	struct content_change change = {.prefix = 77, .file = ids[1]};
	struct file_record file = file_at(f, ids[1]);

	change.group = add_group(f, hash, ids, 1);
	change.digest = file_digest(&file);
	between(f);
	assert_int_equal(catalog_write(f->catalog, join_again_body, &change), 0);
	audit_index(f->catalog);
	assert_int_equal(group_at(f, change.group).inodes, 2);
	return kept_of(f, change.group) == ids[1];
}

/* As joins_and_displaces(), with "b" and then "a" of one scan. */
static bool displaces(struct fixture *f, void (*between)(struct fixture *))
{
	const uint64_t a = new_copy(f, f->roots[0], "a"), b = new_copy(f, f->roots[0], "b");
	const uint64_t ids[] = {b, a};

	return joins_and_displaces(f, ids, between);
}

static void go_on(struct fixture *f)
{
	(void)f;
}

static void scan_on_after_a_kill(struct fixture *f)
{
	fixture_reopen(f);
	(void)fixture_continue_scan(f);
}

static void test_scan_reconsiders_the_kept_copy(void **state)
{
	assert_true(displaces(*state, go_on));
}

static void test_scan_after_a_kill_reconsiders_the_kept_copy(void **state)
{
	assert_true(displaces(*state, scan_on_after_a_kill));
}

static void test_copy_of_a_later_scan_leaves_the_kept_copy(void **state)
{
	struct fixture *f = *state;
	uint64_t ids[] = {new_copy(f, f->roots[1], "b"), 0};

	(void)fixture_continue_scan(f);
	ids[1] = new_copy(f, f->roots[0], "a");
	assert_false(joins_and_displaces(f, ids, go_on));
}

static void test_later_scan_leaves_the_kept_copy(void **state)
{
	assert_false(displaces(*state, fixture_next_scan));
}

static void test_comparison_after_the_scan_leaves_the_kept_copy(void **state)
{
	assert_false(displaces(*state, fixture_end_scan));
}

static void test_renamed_kept_copy_stays_kept(void **state)
{
	struct fixture *f = *state;
	uint64_t ids[] = {new_copy(f, f->roots[0], "a"), new_copy(f, f->roots[0], "b")};
	uint64_t group = add_group(f, hash, ids, 2);
	struct attributes attributes = file_at(f, ids[0]).attributes;

	remove_name(f, f->roots[0], "a");
	add_file(f, f->roots[0], "z", attributes);
	fixture_commit(f);
	assert_int_equal(id_at(f, f->roots[0], "z"), ids[0]);
	assert_int_equal(kept_of(f, group), ids[0]);
	audit_index(f->catalog);
}

/* ---- keep rules ---------------------------------------------------------------------- */

static int set_rules_body(struct catalog_writer *w, void *context)
{
	return catalog_set_keep_rules(w, context);
}

/* Stores one rule; KEEP_BY_COUNT: no rule. */
static void set_rule(struct fixture *f, enum keep_by by)
{
	CLEANUP_KEEP_RULES struct keep_rules rules = {0};

	if (by != KEEP_BY_COUNT)
		assert_int_equal(keep_rules_add(&rules, by, NULL), 0);
	assert_int_equal(catalog_write(f->catalog, set_rules_body, &rules), 0);
}

static int choose_body(struct catalog_writer *w, void *context)
{
	return catalog_choose_kept(w, *(size_t *)context);
}

static void choose(struct fixture *f, size_t limit)
{
	assert_int_equal(catalog_write(f->catalog, choose_body, &limit), 0);
	audit_index(f->catalog);
}

static void test_changed_rules_choose_all_kept_copies_again_after_a_kill(void **state)
{
	struct fixture *f = *state;
	uint64_t ids[3][2], groups[3];

	for (size_t i = 0; i < 3; i++) {
		char a[] = {(char)('a' + i), '\0'}, b[] = {(char)('a' + i), 'b', '\0'};

		ids[i][0] = new_copy(f, f->roots[0], a);
		ids[i][1] = new_copy(f, f->roots[0], b);
		groups[i] = add_group(f, (struct hash128){1, i + 1}, ids[i], 2);
		assert_int_equal(kept_of(f, groups[i]), ids[i][0]);
	}
	set_rule(f, KEEP_LONGEST_PATH);
	choose(f, 1);
	assert_int_equal(kept_of(f, groups[0]), ids[0][1]);
	assert_int_equal(kept_of(f, groups[1]), ids[1][0]);
	fixture_reopen(f);
	set_rule(f, KEEP_LONGEST_PATH); /* the same again changes nothing */
	choose(f, 1);
	assert_int_equal(kept_of(f, groups[1]), ids[1][1]);
	assert_int_equal(kept_of(f, groups[2]), ids[2][0]);
	set_rule(f, KEEP_BY_COUNT);
	choose(f, 100);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(kept_of(f, groups[i]), ids[i][0]);
	assert_int_equal(totals_of(f).choose_from, 0);
	assert_false(totals_of(f).choose_anew);
}

static void test_equal_by_the_rules_the_kept_copy_stays_kept(void **state)
{
	struct fixture *f = *state;
	uint64_t ids[] = {new_copy(f, f->roots[0], "bb"), new_copy(f, f->roots[0], "cc")};
	uint64_t group, equal, better;

	set_rule(f, KEEP_SHORTEST_PATH);
	choose(f, 100);
	group = add_group(f, hash, ids, 2);
	assert_int_equal(kept_of(f, group), ids[0]);
	equal = new_copy(f, f->roots[0], "aa");
	assert_int_equal(set_content(f, equal, group), 0);
	assert_int_equal(kept_of(f, group), ids[0]);
	better = new_copy(f, f->roots[1], "z");
	assert_int_equal(set_content(f, better, group), 0);
	assert_int_equal(kept_of(f, group), better);
	audit_index(f->catalog);
}

static void change_links(struct fixture *f, uint64_t file, uint32_t links)
{
	struct attributes attributes = file_at(f, file).attributes;

	attributes.links = links;
	update_file(f, file, attributes);
	fixture_commit(f);
	audit_index(f->catalog);
}

static void test_attributes_of_the_rules_move_the_kept_copy(void **state)
{
	struct fixture *f = *state;
	uint64_t ids[] = {new_copy(f, f->roots[0], "a"), new_copy(f, f->roots[0], "b")};
	uint64_t group = add_group(f, hash, ids, 2);

	change_links(f, ids[1], 3);
	assert_int_equal(kept_of(f, group), ids[0]);
	set_rule(f, KEEP_MOST_LINKED);
	choose(f, 100);
	assert_int_equal(kept_of(f, group), ids[1]);
	change_links(f, ids[0], 5);
	assert_int_equal(kept_of(f, group), ids[0]);
	change_links(f, ids[0], 2);
	assert_int_equal(kept_of(f, group), ids[1]);
	change_links(f, ids[1], 2);
	assert_int_equal(kept_of(f, group), ids[1]);
}

static void test_kept_copy_that_returns_leaves_the_place_to_a_better_one(void **state)
{
	struct fixture *f = *state;
	uint64_t ids[] = {new_copy(f, f->roots[0], "bb"), new_copy(f, f->roots[0], "cc")};
	uint64_t group, better;
	struct attributes attributes = file_at(f, ids[1]).attributes;

	set_rule(f, KEEP_SHORTEST_PATH);
	choose(f, 100);
	group = add_group(f, hash, &ids[1], 1);
	remove_name(f, f->roots[0], "cc"); /* leaves as the kept copy */
	fixture_commit(f);
	better = new_copy(f, f->roots[0], "z");
	assert_int_equal(set_content(f, better, group), 0);
	assert_int_equal(set_content(f, ids[0], group), 0);
	add_file(f, f->roots[0], "dddd", attributes);
	fixture_commit(f);
	assert_int_equal(kept_of(f, group), better);
	audit_index(f->catalog);
}

/* Stores another kept copy than the rules choose. */
static int set_kept_body(struct catalog_writer *w, void *context)
{
	const struct group_record *group = context;

	return store_put(&w->store, TABLE_GROUP, key_number(group->id), encode_group(group));
}

static uint64_t displacing(const struct fixture *f, uint64_t group)
{
	struct catalog_reader *reader = fixture_read(f);
	struct group_record record;
	uint64_t file = 1;

	assert_int_equal(catalog_get_group(reader, group, &record), 0);
	assert_int_equal(catalog_find_displacing(reader, &record, &file), 0);
	catalog_read_end(reader);
	return file;
}

static void test_wrong_kept_copy_is_found_unless_it_is_yet_to_be_chosen(void **state)
{
	struct fixture *f = *state;
	uint64_t ids[] = {new_copy(f, f->roots[0], "a"), new_copy(f, f->roots[0], "bb"),
			  new_copy(f, f->roots[0], "cc")};
	uint64_t group = add_group(f, hash, ids, 3);
	struct group_record record;

	assert_int_equal(displacing(f, group), 0);
	set_rule(f, KEEP_LONGEST_PATH);
	assert_int_equal(displacing(f, group), 0); /* yet to be chosen */
	choose(f, 100);
	assert_int_equal(kept_of(f, group), ids[1]);
	assert_int_equal(displacing(f, group), 0);
	record = group_at(f, group);
	record.kept = ids[2]; /* equal by the rules */
	assert_int_equal(catalog_write(f->catalog, set_kept_body, &record), 0);
	assert_int_equal(displacing(f, group), 0);
	record.kept = ids[0];
	assert_int_equal(catalog_write(f->catalog, set_kept_body, &record), 0);
	assert_int_equal(displacing(f, group), ids[1]);
}

/* ---- order --------------------------------------------------------------------------- */

/* Adds a group of files of this size. */
static void add_copies(struct fixture *f, uint64_t size, uint64_t copies)
{
	uint64_t ids[200];

	new_files(f, size, ids, copies);
	add_group(f, (struct hash128){size, copies}, ids, copies);
}

static void test_groups_are_ranked_by_reclaimable_bytes(void **state)
{
	struct fixture *f = *state;
	struct catalog_scan *scan = NULL;
	struct catalog_reader *reader;
	struct group_record group;
	uint64_t before = UINT64_MAX, seen = 0;

	add_copies(f, 10, 2);
	add_copies(f, 1, 200);
	add_copies(f, 0, 3);
	add_copies(f, UINT64_C(1) << 40, 2);
	add_copies(f, 3, 4);
	add_copies(f, 99, 3);
	add_copies(f, 1000, 1);
	audit_index(f->catalog);
	reader = fixture_read(f);
	assert_int_equal(catalog_scan_ranks(reader, NULL, &scan), 0);
	for (; catalog_next_rank(scan, &group) == 0; seen++) {
		assert_true(group_reclaimable(&group) <= before);
		before = group_reclaimable(&group);
	}
	assert_int_equal(seen, 6);
	catalog_scan_end(scan);
	catalog_read_end(reader);
}

static void test_order_of_groups_changes_with_a_rank(void **state)
{
	struct fixture *f = *state;
	uint64_t ids[2], order;

	add_file(f, f->roots[0], "a", file_of(10, 50, 0));
	add_file(f, f->roots[0], "b", file_of(11, 50, 0));
	fixture_commit(f);
	ids[0] = id_at(f, f->roots[0], "a");
	ids[1] = id_at(f, f->roots[0], "b");
	add_group(f, (struct hash128){1, 1}, ids, 2);
	order = totals_of(f).order;
	assert_true(order > 0);
	add_copies(f, 1000, 1); /* a group that is not visible */
	add_file(f, f->roots[0], "link", file_of(10, 50, 0));
	fixture_commit(f);
	assert_int_equal(totals_of(f).order, order);
	add_copies(f, 60, 2);
	assert_true(totals_of(f).order > order);
	order = totals_of(f).order;
	remove_name(f, f->roots[0], "b");
	fixture_commit(f);
	assert_true(totals_of(f).order > order);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_figures_are_exact_after_groups_above_2_64_bytes),
		CASE(test_group_without_members_is_removed),
		CASE(test_joining_twice_counts_once),
		CASE(test_group_without_any_member_is_not_stored),
		CASE(test_number_of_a_content_stays_if_others_are_removed),
		CASE(test_group_left_in_the_transaction_is_replaced),
		CASE(test_contents_of_one_hash_are_numbered_in_one_transaction),
		CASE(test_copy_of_an_earlier_scan_is_kept),
		CASE(test_new_copy_never_displaces_the_kept_one),
		CASE(test_scan_reconsiders_the_kept_copy),
		CASE(test_scan_after_a_kill_reconsiders_the_kept_copy),
		CASE(test_copy_of_a_later_scan_leaves_the_kept_copy),
		CASE(test_later_scan_leaves_the_kept_copy),
		CASE(test_comparison_after_the_scan_leaves_the_kept_copy),
		CASE(test_renamed_kept_copy_stays_kept),
		CASE(test_changed_rules_choose_all_kept_copies_again_after_a_kill),
		CASE(test_equal_by_the_rules_the_kept_copy_stays_kept),
		CASE(test_attributes_of_the_rules_move_the_kept_copy),
		CASE(test_wrong_kept_copy_is_found_unless_it_is_yet_to_be_chosen),
		CASE(test_kept_copy_that_returns_leaves_the_place_to_a_better_one),
		CASE(test_groups_are_ranked_by_reclaimable_bytes),
		CASE(test_order_of_groups_changes_with_a_rank),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
