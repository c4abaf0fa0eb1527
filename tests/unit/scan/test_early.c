/* SPDX-License-Identifier: MIT */

/* Files that a walk reads in new directories. ingest_names() alone records their contents. */

#include <sys/stat.h>

#include "scan/candidates.h"
#include "scan/colliding.h"
#include "scan/early.h"
#include "scan/early_files.h"

/* ---- cases --------------------------------------------------------------------------- */

static void test_equal_small_files_are_grouped_by_the_walk(void **state)
{
	struct tree *t = *state;

	make_dir(t, "d");
	write_content(t, "a", 100, 0);
	write_content(t, "d/a", 100, 0);
	write_content(t, "d/b", 100, 0);
	write_content(t, "d/other", 100, 1);
	write_content(t, "lone", 101, 0);
	wait_for_guard(t, "lone");
	walk(t);
	assert_true(are_grouped(t, "a", "d/a"));
	assert_true(are_grouped(t, "a", "d/b"));
	assert_true(is_read(t, "d/other"));
	assert_int_equal(group_of_path(t, "d/other"), 0);
	assert_false(is_read(t, "lone")); /* no other file has its size */
	assert_int_equal(totals_of(&t->index).groups, 1);
	assert_int_equal(group_at(&t->index, group_of_path(t, "a")).kept, id_of_path(t, "a"));
}

static void test_large_file_with_its_own_prefix_is_read(void **state)
{
	struct tree *t = *state;

	write_content(t, "a", 2 * SMALL_BYTES, 0);
	write_content(t, "b", 2 * SMALL_BYTES, 1);
	write_content(t, "c", 2 * SMALL_BYTES, 1);
	wait_for_guard(t, "c");
	walk(t);
	assert_int_equal(group_of_path(t, "b") + group_of_path(t, "c"), 0);
	assert_true(is_read(t, "a"));
	/* they have to be compared to the end */
	assert_false(is_read(t, "b"));
	assert_false(is_read(t, "c"));
	scan(t);
	assert_true(are_grouped(t, "b", "c"));
	assert_int_equal(group_of_path(t, "a"), 0);
}

static void test_contents_with_one_hash_are_kept_apart(void **state)
{
	uint8_t data[COLLIDING_BYTES_MIN];
	struct tree *t = *state;

	for (char name[] = "a"; *name <= 'f'; ++*name) {
		colliding_fill(data, sizeof(data), (uint32_t)(*name - 'a') / 2);
		write_bytes(t, name, data, sizeof(data));
	}
	wait_for_guard(t, "f");
	walk(t);
	scan(t);
	assert_true(are_grouped(t, "a", "b"));
	assert_true(are_grouped(t, "c", "d"));
	assert_true(are_grouped(t, "e", "f"));
	assert_int_equal(totals_of(&t->index).groups, 3);
}

static void test_unusual_files_are_left_unread(void **state)
{
	struct tree *t = *state;
	int writer;

	write_content(t, "a", 100, 0);
	write_content(t, "linked", 100, 0);
	assert_int_equal(linkat(t->fd, "linked", t->fd, "link", 0), 0);
	write_content(t, "written", 100, 0);
	write_content(t, "small", 9, 0);
	write_content(t, "small too", 9, 0);
	assert_int_equal(mkfifoat(t->fd, "fifo", 0600), 0);
	assert_int_equal(symlinkat("a", t->fd, "symlink"), 0);
	writer = openat(t->fd, "written", O_WRONLY | O_CLOEXEC);
	wait_for_guard(t, "small too");
	t->settings.min_size = 10;
	walk(t);
	assert_false(is_read(t, "linked"));
	assert_false(is_read(t, "written"));
	assert_false(is_read(t, "small"));
	assert_false(is_read(t, "small too"));
	close(writer);
	scan(t);
	assert_true(are_grouped(t, "a", "link"));
	assert_true(are_grouped(t, "a", "written"));
}

static void test_known_directory_is_not_read_early(void **state)
{
	struct tree *t = *state;

	write_content(t, "a", 100, 0);
	walk(t);
	write_content(t, "b", 100, 0);
	wait_for_guard(t, "b");
	walk(t);
	assert_false(is_read(t, "a"));
	assert_false(is_read(t, "b"));
	scan(t);
	assert_true(are_grouped(t, "a", "b"));
}

/* More files than a batch has. Each tenth file has a content of its own. */
static void test_many_batches_have_the_groups_of_their_bytes(void **state)
{
	enum {
		DIRS = 40,
		FILES = 1000,
		CONTENTS = 900
	};
	struct tree *t = *state;
	char path[32], first[32];

	for (unsigned int i = 0; i < DIRS * FILES; i++) {
		char text[32];

		if (i % FILES == 0) {
			(void)snprintf(path, sizeof(path), "%02u", i / FILES);
			make_dir(t, path);
		}
		(void)snprintf(path, sizeof(path), "%02u/%03u", i / FILES, i % FILES);
		(void)snprintf(text, sizeof(text), "%08u", i % 10 ? i % CONTENTS : i + CONTENTS);
		write_text(t, path, text);
	}
	wait_for_guard(t, path);
	/* under load some files are not in the page cache, so the walk leaves them to the scan */
	walk(t);
	assert_true(totals_of(&t->index).redundant_files > 0);
	scan(t);
	audit_index(t->index.catalog);
	assert_int_equal(totals_of(&t->index).files, DIRS * FILES);
	assert_int_equal(totals_of(&t->index).groups, CONTENTS - CONTENTS / 10);
	assert_int_equal(totals_of(&t->index).redundant_files,
			 DIRS * FILES / 10 * 9 - (CONTENTS - CONTENTS / 10));
	for (unsigned int i = 0; i < CONTENTS; i++) {
		(void)snprintf(first, sizeof(first), "%02u/%03u", i / FILES, i % FILES);
		assert_true(is_read(t, first));
		if (i % 10) {
			(void)snprintf(path, sizeof(path), "%02u/%03u", (i + CONTENTS) / FILES,
				       (i + CONTENTS) % FILES);
			assert_true(are_grouped(t, first, path));
			assert_int_equal(group_at(&t->index, group_of_path(t, first)).kept,
					 id_of_path(t, first));
		}
	}
}

/* ---- the writer ---------------------------------------------------------------------- */

static int commit_body(struct catalog_writer *w, void *context)
{
	return early_writer_commit(context, w);
}

/* Adds the names of files on the disk to the index, with deferred lists. */
struct added {
	struct tree *t;
	struct name_change changes[2];
	size_t count;
};

static int add_body(struct catalog_writer *w, void *context)
{
	struct added *added = context;
	int r = catalog_defer_lists(w);

	return r < 0 ? r : catalog_apply(w, added->changes, added->count, added->t->index.scan);
}

static struct name_change change_of(const struct tree *t, const char *name, struct early_mark *mark)
{
	struct name_change change = {.kind = NAME_ADD_FILE,
				     .dir = t->index.roots[0],
				     .name = name_of(name),
				     .context = mark};

	assert_int_equal(source_attributes_at(t->index.catalog, t->fd, name, false,
					      &change.attributes),
			 0);
	return change;
}

/* A writer, and two equal files "a" and "b", which the walk has read. */
struct early {
	struct tree *t;
	struct ingest ingest;
	struct early_tables *tables;
	struct early_writer *writer;
	uint8_t data[100];
};

static void begin(struct early *early, struct tree *t)
{
	*early = (struct early){.t = t,
				.ingest = {.catalog = t->index.catalog,
					   .sources = &t->sources,
					   .settings = &t->settings},
				.tables = early_tables_new()};
	early->writer = early_writer_new(early->tables, &early->ingest);
	memset(early->data, 'x', sizeof(early->data));
	write_bytes(t, "a", early->data, sizeof(early->data));
	write_bytes(t, "b", early->data, sizeof(early->data));
}

static void end(struct early *early)
{
	early_writer_free(early->writer);
	early_tables_free(early->tables);
}

/* The addition of "a" or "b". Of the first one, the content is new. */
static struct name_change addition_of(struct early *early, const char *name)
{
	return change_of(early->t, name,
			 early_add_content(early->tables, sizeof(early->data), early->data,
					   sizeof(early->data)));
}

static void commit(struct early *early, struct added *added)
{
	added->t = early->t;
	assert_int_equal(catalog_write(early->t->index.catalog, add_body, added), 0);
}

static void resolve(struct early *early, const struct added *added)
{
	assert_int_equal(early_writer_resolve(early->writer, added->changes, added->count), 0);
}

static void write_contents(struct early *early)
{
	assert_int_equal(catalog_write(early->t->index.catalog, commit_body, early->writer), 0);
}

/* Begins, and adds both files: their contents are known to the writer but not written yet. */
static void resolve_two(struct early *early, struct tree *t)
{
	struct added added = {.count = 2};

	begin(early, t);
	wait_for_guard(t, "b");
	added.changes[0] = addition_of(early, "a");
	added.changes[1] = addition_of(early, "b");
	commit(early, &added);
	assert_int_not_equal(added.changes[0].id, 0);
	resolve(early, &added);
}

static void test_contents_are_written_in_a_later_transaction(void **state)
{
	struct tree *t = *state;
	struct early early;

	resolve_two(&early, t);
	assert_false(is_read(t, "a"));
	write_contents(&early);
	write_contents(&early); /* repeated */
	early_writer_committed(early.writer);
	assert_true(is_read(t, "a"));
	walk(t);
	assert_true(are_grouped(t, "a", "b"));
	end(&early);
}

static void test_contents_are_not_written_after_another_commit(void **state)
{
	struct tree *t = *state;
	struct early early;

	resolve_two(&early, t);
	add_file(&t->index, t->index.roots[0], "c", file_of(77, 1, 0));
	fixture_commit(&t->index);
	write_contents(&early);
	early_writer_committed(early.writer);
	assert_false(is_read(t, "a"));
	assert_false(is_read(t, "b"));
	scan(t);
	assert_true(are_grouped(t, "a", "b"));
	audit_index(t->index.catalog);
	end(&early);
}

static void test_first_file_that_changed_is_not_grouped(void **state)
{
	struct added added = {.count = 2};
	struct tree *t = *state;
	struct early early;

	begin(&early, t);
	added.changes[0] = addition_of(&early, "a");
	added.changes[1] = addition_of(&early, "b");
	commit(&early, &added);
	write_content(t, "a", 100, 3);
	wait_for_guard(t, "a");
	resolve(&early, &added);
	write_contents(&early);
	early_writer_committed(early.writer);
	assert_int_equal(totals_of(&t->index).groups, 0);
	assert_int_equal(group_of_path(t, "b"), 0);
	scan(t);
	assert_false(are_grouped(t, "a", "b"));
	assert_int_equal(totals_of(&t->index).groups, 0);
	audit_index(t->index.catalog);
	end(&early);
}

/* A file waits for the first file of its content, which is not committed yet. Meanwhile the file is
 * written to, and the walk finds it under a second name. */
static void test_waiting_file_that_changed_is_not_grouped(void **state)
{
	struct added before = {.count = 1}, after = {.count = 2};
	struct tree *t = *state;
	struct early early;

	begin(&early, t);
	after.changes[0] = addition_of(&early, "a");
	before.changes[0] = addition_of(&early, "b");
	commit(&early, &before);
	resolve(&early, &before);
	write_content(t, "b", 100, 3);
	assert_int_equal(linkat(t->fd, "b", t->fd, "c", 0), 0);
	wait_for_guard(t, "b");
	after.changes[1] = change_of(t, "c", NULL);
	commit(&early, &after);
	resolve(&early, &after);
	write_contents(&early);
	early_writer_committed(early.writer);
	assert_false(is_read(t, "b"));
	scan(t);
	assert_false(are_grouped(t, "a", "b"));
	audit_index(t->index.catalog);
	end(&early);
}

/* A walk is killed after it wrote contents and before it listed their files. */
static void test_content_that_an_earlier_walk_deferred_is_a_rival(void **state)
{
	struct tree *t = *state;
	struct early early;

	resolve_two(&early, t);
	write_contents(&early);
	assert_int_not_equal(totals_of(&t->index).unlisted, 0);
	make_dir(t, "new");
	write_bytes(t, "new/c", early.data, sizeof(early.data));
	write_bytes(t, "new/d", early.data, sizeof(early.data));
	wait_for_guard(t, "new/d");
	walk(t);
	assert_true(are_grouped(t, "a", "b"));
	assert_false(is_read(t, "new/c"));
	scan(t);
	assert_true(are_grouped(t, "a", "new/c"));
	assert_true(are_grouped(t, "a", "new/d"));
	audit_index(t->index.catalog);
	end(&early);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, tree_setup, tree_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_equal_small_files_are_grouped_by_the_walk),
		CASE(test_large_file_with_its_own_prefix_is_read),
		CASE(test_contents_with_one_hash_are_kept_apart),
		CASE(test_unusual_files_are_left_unread),
		CASE(test_known_directory_is_not_read_early),
		CASE(test_many_batches_have_the_groups_of_their_bytes),
		CASE(test_contents_are_written_in_a_later_transaction),
		CASE(test_contents_are_not_written_after_another_commit),
		CASE(test_first_file_that_changed_is_not_grouped),
		CASE(test_waiting_file_that_changed_is_not_grouped),
		CASE(test_content_that_an_earlier_walk_deferred_is_a_rival),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
