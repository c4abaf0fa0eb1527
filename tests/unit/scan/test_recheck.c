/* SPDX-License-Identifier: MIT */
#include "scan/recorded_hooks.h"

/* ---- names and directories ----------------------------------------------------------- */

/* Adds the equal files "a" and "b" to the index and compares them. */
static void index_equal_files(struct case_state *p)
{
	write_text(p->t, "a", "equal");
	write_text(p->t, "b", "equal");
	follow(p);
	compare(p);
}

static void test_directory_is_entered_before_it_is_listed(void **state)
{
	struct case_state *p = *state;
	struct catalog_reader *reader;
	struct dir_record dir;
	struct stat st;
	uint64_t id;

	make_dir(p->t, "dir");
	p->make_on_enter = "late";
	follow(p);
	assert_int_equal(count_calls(p, CALL_ENTER), 2);
	assert_true(id_of(p, "late") != 0);
	assert_true(id_of(p, "dir/late") != 0);
	id = id_of(p, "dir");
	/* with the times that it has after the change */
	assert_int_equal(fstatat(p->t->fd, "dir", &st, 0), 0);
	reader = fixture_read(&p->t->index);
	assert_int_equal(catalog_get_dir(reader, id, &dir), 0);
	catalog_read_end(reader);
	assert_int_equal(dir.attributes.mtime.tv_nsec, st.st_mtim.tv_nsec);
}

static void test_only_the_given_names_are_rechecked(void **state)
{
	struct case_state *p = *state;

	write_text(p->t, "changed", "1");
	write_text(p->t, "gone", "1");
	follow(p);
	write_text(p->t, "changed", "longer");
	write_text(p->t, "new", "1");
	write_text(p->t, "other", "1");
	remove_path(p, "gone", 0);
	recheck_dirs(p,
		     &(struct recheck){.dir = root_of(p),
				       .names = (const struct name_events
							 *[]){named(p, "changed", EVENT_WRITTEN),
							      named(p, "new", EVENT_CREATED)},
				       .count = 2},
		     1);
	assert_int_equal(file_at(&p->t->index, id_of(p, "changed")).attributes.size, 6);
	assert_true(id_of(p, "new") != 0);
	assert_int_equal(id_of(p, "other"), 0);
	assert_true(id_of(p, "gone") != 0);
	assert_int_equal(p->count, 0); /* the directory is watched already */
	recheck_name(p, root_of(p), "gone", EVENT_REMOVED);
	assert_int_equal(id_of(p, "gone"), 0);
}

static void test_new_directory_is_walked(void **state)
{
	struct case_state *p = *state;

	follow(p);
	make_dir(p->t, "a");
	make_dir(p->t, "a/b");
	make_dir(p->t, "a/b/c");
	write_text(p->t, "a/b/c/file", "1");
	recheck_name(p, root_of(p), "a", 0);
	assert_true(id_of(p, "a/b/c/file") != 0);
	assert_int_equal(the_call(p, CALL_IDENTIFY)->id, id_of(p, "a"));
	assert_int_equal(count_calls(p, CALL_ENTER), 3);
	assert_true(was_entered(p, id_of(p, "a")));
	assert_true(was_entered(p, id_of(p, "a/b/c")));
}

static void test_listing_updates_all_names_and_walks_only_new_directories(void **state)
{
	struct case_state *p = *state;

	make_dir(p->t, "old");
	write_text(p->t, "gone", "1");
	follow(p);
	remove_path(p, "gone", 0);
	write_text(p->t, "file", "1");
	write_text(p->t, "old/file", "1");
	make_dir(p->t, "new");
	write_text(p->t, "new/file", "1");
	recheck_dir(p, root_of(p), RECHECK_LISTING);
	assert_true(id_of(p, "file") != 0);
	assert_int_equal(id_of(p, "gone"), 0);
	assert_int_equal(id_of(p, "old/file"), 0);
	assert_true(id_of(p, "new/file") != 0);
	assert_true(was_entered(p, root_of(p)));
	assert_false(was_entered(p, id_of(p, "old")));
}

static void test_tree_recheck_walks_one_directory(void **state)
{
	struct case_state *p = *state;

	make_dir(p->t, "a");
	make_dir(p->t, "a/b");
	follow(p);
	write_text(p->t, "a/b/file", "1");
	write_text(p->t, "beside", "1");
	recheck_dir(p, id_of(p, "a"), RECHECK_TREE);
	assert_true(id_of(p, "a/b/file") != 0);
	assert_int_equal(id_of(p, "beside"), 0);
	assert_int_equal(count_calls(p, CALL_ENTER), 2);
}

static void test_directory_that_is_not_in_the_index_is_skipped(void **state)
{
	struct case_state *p = *state;

	follow(p);
	recheck_dir(p, 123456, RECHECK_TREE);
	assert_int_equal(p->count, 0);
}

static void test_removed_file_keeps_its_content_until_the_purge(void **state)
{
	struct case_state *p = *state;
	struct catalog_reader *reader;
	struct file_record file;
	uint64_t id;

	index_equal_files(p);
	id = id_of(p, "b");
	move(p, "b", "c");
	recheck_name(p, root_of(p), "b", EVENT_MOVED_HERE);
	assert_int_equal(totals_of(&p->t->index).groups, 0);
	recheck_name(p, root_of(p), "c", EVENT_MOVED_HERE);
	assert_int_equal(id_of(p, "c"), id);
	assert_true(are_grouped(p->t, "a", "c"));
	remove_path(p, "c", 0);
	recheck_name(p, root_of(p), "c", 0);
	assert_int_equal(ingest_purge(p->t->index.catalog), 0);
	reader = fixture_read(&p->t->index);
	assert_int_equal(catalog_get_file(reader, id, &file), -ENOENT);
	catalog_read_end(reader);
	audit_index(p->t->index.catalog);
}

/* ---- rechecks that are repeated ------------------------------------------------------ */

static void test_missing_directory_is_rechecked_later(void **state)
{
	struct case_state *p = *state;
	const struct name_events *names[] = {named(p, "x", EVENT_NAME), named(p, "y", EVENT_NAME)};
	uint64_t id;

	id = move_indexed_dir(p, "a/x");
	recheck_dirs(p, &(struct recheck){.dir = id, .names = names, .count = 2}, 1);
	assert_int_equal(the_call(p, CALL_RETRY)->id, id);
	assert_int_equal(the_call(p, CALL_RETRY)->scope, RECHECK_NAMES);
	assert_int_equal(the_call(p, CALL_RETRY)->names, 2);
	assert_true(id_of(p, "a/x") != 0); /* the index stays unchanged */
}

static void test_replaced_directory_is_rechecked_later(void **state)
{
	struct case_state *p = *state;
	uint64_t id;

	id = move_indexed_dir(p, "a/x");
	make_dir(p->t, "a");
	write_text(p->t, "a/y", "1");
	recheck_dir(p, id, RECHECK_TREE);
	assert_int_equal(the_call(p, CALL_RETRY)->id, id);
	assert_int_equal(the_call(p, CALL_RETRY)->scope, RECHECK_TREE);
	assert_int_equal(count_calls(p, CALL_ENTER), 0);
	assert_true(id_of(p, "a/x") != 0);
	assert_int_equal(id_of(p, "a/y"), 0);
}

static void test_event_of_a_missing_name_requires_a_walk(void **state)
{
	static const uint32_t events[] = {EVENT_CREATED, EVENT_WRITTEN, EVENT_ATTRIBUTES,
					  EVENT_REMOVED};
	struct case_state *p = *state;

	write_text(p->t, "there", "1");
	follow(p);
	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		recheck_name(p, root_of(p), "brief", events[i]);
		assert_int_equal(the_call(p, CALL_NEEDS_WALK)->id, 0);
		recheck_name(p, root_of(p), "there", events[i]);
		assert_int_equal(p->count, 0);
	}
	recheck_name(p, root_of(p), "brief", EVENT_MOVED_HERE);
	assert_int_equal(p->count, 0);
	recheck_name(p, root_of(p), "there", EVENT_REPLACED);
	assert_int_equal(the_call(p, CALL_NEEDS_WALK)->id, 0);
	write_text(p->t, "new", "1");
	recheck_name(p, root_of(p), "new", EVENT_CREATED);
	assert_int_equal(p->count, 0);
	remove_path(p, "new", 0);
	recheck_name(p, root_of(p), "new",
		     EVENT_REMOVED); /* the recheck removes the name from the index */
	assert_int_equal(count_calls(p, CALL_NEEDS_WALK), 0);
}

/* A process can have made a hard link in the new directory, written to the link, and removed the
 * link. */
static void test_new_directory_that_changed_unwatched_requires_a_walk(void **state)
{
	struct case_state *p = *state;

	follow(p);
	make_dir(p->t, "old");
	recheck_name(p, root_of(p), "old", EVENT_CREATED);
	assert_int_equal(count_calls(p, CALL_NEEDS_WALK), 0);
	p->hooks.since_ns = 0;
	make_dir(p->t, "new");
	write_text(p->t, "new/a", "1");
	recheck_name(p, root_of(p), "new", EVENT_CREATED);
	assert_int_equal(the_call(p, CALL_NEEDS_WALK)->id, 0);
	recheck_dir(p, id_of(p, "new"), RECHECK_LISTING);
	assert_int_equal(count_calls(p, CALL_NEEDS_WALK), 0);
}

static void test_directory_whose_attributes_changed_is_listed_later(void **state)
{
	struct case_state *p = *state;

	make_dir(p->t, "a");
	follow(p);
	assert_int_equal(fchmodat(p->t->fd, "a", 0700, 0), 0);
	recheck_name(p, root_of(p), "a", EVENT_ATTRIBUTES);
	assert_int_equal(the_call(p, CALL_ADD_RECHECK)->id, id_of(p, "a"));
	assert_int_equal(the_call(p, CALL_ADD_RECHECK)->scope, RECHECK_LISTING);
	assert_int_equal(count_calls(p, CALL_ENTER), 0);
}

/* ---- known contents ------------------------------------------------------------------ */

static void test_content_stays_known_if_only_names_changed(void **state)
{
	struct case_state *p = *state;

	index_equal_files(p);
	assert_true(are_grouped(p->t, "a", "b"));
	assert_int_equal(linkat(p->t->fd, "b", p->t->fd, "link", 0), 0);
	recheck_name(p, root_of(p), "link", EVENT_CREATED);
	assert_true(are_grouped(p->t, "a", "link"));
	assert_int_equal(fchmodat(p->t->fd, "b", 0600, 0), 0);
	recheck_name(p, root_of(p), "b", EVENT_ATTRIBUTES);
	assert_int_equal(group_of_path(p->t, "b"), 0);
}

static void test_content_is_unknown_after_an_untrusted_rename(void **state)
{
	struct case_state *p = *state;

	index_equal_files(p);
	assert_int_equal(linkat(p->t->fd, "b", p->t->fd, "link", 0), 0);
	p->trust = RENAME_UNTRUSTED;
	recheck_name(p, root_of(p), "link", EVENT_CREATED);
	assert_int_equal(group_of_path(p->t, "b"), 0);
	audit_index(p->t->index.catalog);
}

static void test_content_is_unknown_if_a_name_has_no_events(void **state)
{
	struct case_state *p = *state;

	index_equal_files(p);
	p->unreported = true;
	assert_int_equal(renameat(p->t->fd, "a", p->t->fd, "moved"), 0);
	recheck_name(p, root_of(p), "moved", EVENT_NAME | EVENT_MOVED_HERE);
	assert_int_equal(group_of_path(p->t, "moved"), 0);
	audit_index(p->t->index.catalog);
}

static void test_content_is_unknown_if_a_name_was_possibly_removed_since(void **state)
{
	struct case_state *p = *state;

	index_equal_files(p);
	p->removed = true;
	assert_int_equal(renameat(p->t->fd, "a", p->t->fd, "moved"), 0);
	recheck_name(p, root_of(p), "moved", EVENT_NAME | EVENT_MOVED_HERE);
	assert_true(are_grouped(p->t, "moved", "b")); /* it has one link */
	assert_int_equal(linkat(p->t->fd, "b", p->t->fd, "link", 0), 0);
	recheck_name(p, root_of(p), "link", EVENT_CREATED);
	assert_int_equal(group_of_path(p->t, "b"), 0);
	audit_index(p->t->index.catalog);
}

static void test_poll_adds_names_and_keeps_those_that_are_held(void **state)
{
	struct case_state *p = *state;
	uint64_t file;

	write_text(p->t, "gone", "1");
	make_dir(p->t, "dir");
	write_text(p->t, "replaced", "1");
	write_text(p->t, "other", "2");
	follow(p);
	file = id_of(p, "replaced");
	remove_path(p, "gone", 0);
	remove_path(p, "dir", AT_REMOVEDIR);
	assert_int_equal(renameat(p->t->fd, "other", p->t->fd, "replaced"), 0);
	write_text(p->t, "new", "1");
	p->holds = true;
	recheck_dir(p, root_of(p), RECHECK_POLL);
	assert_true(id_of(p, "new") != 0);
	assert_true(id_of(p, "gone") != 0);
	assert_true(id_of(p, "dir") != 0);
	assert_int_equal(id_of(p, "replaced"), file);
	p->holds = false;
	recheck_dir(p, root_of(p), RECHECK_POLL);
	assert_int_equal(id_of(p, "gone"), 0);
	assert_int_equal(id_of(p, "dir"), 0);
	assert_true(id_of(p, "replaced") != file);
	audit_index(p->t->index.catalog);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_directory_is_entered_before_it_is_listed),
		CASE(test_only_the_given_names_are_rechecked),
		CASE(test_new_directory_is_walked),
		CASE(test_listing_updates_all_names_and_walks_only_new_directories),
		CASE(test_poll_adds_names_and_keeps_those_that_are_held),
		CASE(test_tree_recheck_walks_one_directory),
		CASE(test_directory_that_is_not_in_the_index_is_skipped),
		CASE(test_removed_file_keeps_its_content_until_the_purge),
		CASE(test_missing_directory_is_rechecked_later),
		CASE(test_replaced_directory_is_rechecked_later),
		CASE(test_event_of_a_missing_name_requires_a_walk),
		CASE(test_new_directory_that_changed_unwatched_requires_a_walk),
		CASE(test_directory_whose_attributes_changed_is_listed_later),
		CASE(test_content_is_unknown_after_an_untrusted_rename),
		CASE(test_content_stays_known_if_only_names_changed),
		CASE(test_content_is_unknown_if_a_name_has_no_events),
		CASE(test_content_is_unknown_if_a_name_was_possibly_removed_since),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
