/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <linux/magic.h>

#include "index/audit.h"
#include "index/own.h"
#include "scan/diff.h"

#define LISTED_MAX 64

/* A listing of the root of the first source, and its differences from the index. */
struct case_state {
	struct fixture *f;
	struct listed listed[LISTED_MAX];
	struct listed *entries[LISTED_MAX];
	struct listing listing;
	struct diff diff;
	struct ingest_settings settings;
	struct ingest ingest;
	struct diff_dir dir;
	struct recheck recheck;
};

static int setup_play(void **state)
{
	struct case_state *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	fixture_setup((void **)&p->f);
	p->listing.entries = p->entries;
	p->recheck = (struct recheck){.dir = p->f->roots[0], .scope = RECHECK_TREE};
	p->ingest = (struct ingest){.catalog = p->f->catalog, .settings = &p->settings};
	p->dir = (struct diff_dir){.ingest = &p->ingest,
				   .id = p->f->roots[0],
				   .filesystem = 1,
				   .known = true,
				   .recheck = &p->recheck,
				   .filesystem_type = EXT4_SUPER_MAGIC};
	*state = p;
	return 0;
}

static int teardown_play(void **state)
{
	struct case_state *p = *state;

	diff_free(&p->diff);
	fixture_teardown((void **)&p->f);
	free(p);
	return 0;
}

static struct listed *list(struct case_state *p, const char *name, struct attributes attributes)
{
	size_t at = p->listing.count++;

	assert_true(at < LISTED_MAX);
	p->listed[at] = (struct listed){.name = name_of(name),
					.inode = attributes.inode,
					.attributes = attributes};
	p->entries[at] = &p->listed[at];
	return p->entries[at];
}

static void make_diff(struct case_state *p)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;

	assert_int_equal(catalog_read_begin(p->f->catalog, &reader), 0);
	p->dir.reader = reader;
	assert_int_equal(diff_make(&p->diff, &p->dir, &p->listing), 0);
	p->dir.reader = NULL;
}

/* Commits the differences. After the commit, the index and the listing must be equal. */
static void apply_diff(struct case_state *p)
{
	struct fixture *f = p->f;

	memcpy(f->changes, p->diff.changes, p->diff.count * sizeof(*f->changes));
	f->count = p->diff.count;
	fixture_commit(f);
	audit_index(f->catalog);
	make_diff(p);
	assert_int_equal(p->diff.count, 0);
}

static size_t count_kind(const struct case_state *p, enum name_change_kind kind)
{
	size_t count = 0;

	for (size_t i = 0; i < p->diff.count; i++)
		count += p->diff.changes[i].kind == kind;
	return count;
}

static void clear_listing(struct case_state *p)
{
	p->listing.count = 0;
}

/* ---- cases --------------------------------------------------------------------------- */

static void test_all_names_of_an_unknown_directory_are_new(void **state)
{
	struct case_state *p = *state;

	p->dir.known = false;
	p->dir.source = 1;
	list(p, "file", file_of(10, 1, 0));
	list(p, "dir", dir_of(11));
	list(p, "hidden", file_of(12, 1, 0))->error = EACCES;
	make_diff(p);
	assert_int_equal(p->diff.count, 3);
	assert_int_equal(count_kind(p, NAME_ADD_FILE), 1);
	assert_int_equal(count_kind(p, NAME_ADD_DIR), 1);
	assert_int_equal(count_kind(p, NAME_ADD_UNKNOWN), 1);
	assert_int_equal(p->diff.changes[0].source, 1);
	assert_int_equal(p->diff.dir_count, 1);
	assert_false(p->diff.dirs[0].known);
	assert_true(p->diff.dirs[0].id != 0);
}

static void test_applied_difference_is_empty_afterwards(void **state)
{
	struct case_state *p = *state;

	list(p, "b", file_of(10, 1, 0));
	list(p, "a", dir_of(11));
	list(p, "ab", file_of(12, 1, 0));
	list(p, "aa", file_of(10, 1, 0));
	list(p, "\xff", file_of(13, 1, 0))->error = EACCES;
	make_diff(p);
	assert_int_equal(p->diff.count, 5);
	apply_diff(p);
	assert_int_equal(p->diff.dir_count, 1); /* still to be listed */
	assert_true(p->diff.dirs[0].known);
	assert_int_equal(p->diff.dirs[0].id, id_at(p->f, p->f->roots[0], "a"));
	clear_listing(p);
	make_diff(p);
	assert_int_equal(count_kind(p, NAME_REMOVE), 5);
	apply_diff(p);
	assert_int_equal(totals_of(p->f).names, 0);
}

/* The flags of the name that a known file has instead of its former one. */
static uint32_t flags_of_other_name(struct case_state *p, struct attributes attributes)
{
	uint32_t flags = 0;

	clear_listing(p);
	list(p, "before", attributes);
	make_diff(p);
	apply_diff(p);
	clear_listing(p);
	list(p, "after", attributes);
	make_diff(p);
	assert_int_equal(count_kind(p, NAME_ADD_FILE), 1);
	for (size_t i = 0; i < p->diff.count; i++) {
		if (p->diff.changes[i].kind == NAME_ADD_FILE)
			flags = p->diff.changes[i].flags;
	}
	apply_diff(p);
	return flags;
}

static void test_number_without_birth_time_under_another_name_is_no_known_file(void **state)
{
	struct case_state *p = *state;
	struct attributes attributes = file_of(10, 1, 0);

	attributes.btime = (struct timespec){1, 0};
	assert_int_equal(flags_of_other_name(p, attributes), 0);
	attributes.inode = 11;
	attributes.btime = (struct timespec){0};
	assert_int_equal(flags_of_other_name(p, attributes), FILE_UNTRUSTED);
}

static void test_changed_file_is_updated_and_another_inode_replaces_it(void **state)
{
	struct case_state *p = *state;
	struct listed *listed = list(p, "a", file_of(10, 1, 0));

	make_diff(p);
	apply_diff(p);
	listed->attributes.uid = 5;
	make_diff(p);
	assert_int_equal(p->diff.count, 1);
	assert_int_equal(p->diff.changes[0].kind, NAME_UPDATE_FILE);
	apply_diff(p);
	listed->attributes.atime.tv_sec++;
	make_diff(p);
	assert_int_equal(p->diff.count, 0); /* reading is no change */
	listed->attributes.inode++;
	make_diff(p);
	assert_int_equal(p->diff.count, 2);
	assert_int_equal(count_kind(p, NAME_REMOVE), 1);
	assert_int_equal(count_kind(p, NAME_ADD_FILE), 1);
	apply_diff(p);
	assert_int_equal(totals_of(p->f).files, 1);
}

static void test_name_of_another_kind_is_replaced(void **state)
{
	struct case_state *p = *state;
	struct listed *listed = list(p, "a", file_of(10, 1, 0));
	static const int errors[] = {0, 0, EACCES, EIO, 0, EACCES, 0};

	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		listed->attributes = i % 2 ? dir_of(20 + i) : file_of(20 + i, 1, 0);
		listed->error = errors[i];
		make_diff(p);
		assert_int_equal(count_kind(p, NAME_REMOVE), i > 0);
		apply_diff(p);
		assert_int_equal(totals_of(p->f).directories, 2 + (i == 1));
	}
}

static void test_directory_that_is_replaced_is_a_new_one(void **state)
{
	struct case_state *p = *state;
	struct listed *listed = list(p, "a", dir_of(10));
	uint64_t id;

	make_diff(p);
	apply_diff(p);
	id = p->diff.dirs[0].id;
	listed->attributes = dir_of(11);
	make_diff(p);
	assert_int_equal(count_kind(p, NAME_REMOVE), 1);
	assert_int_equal(count_kind(p, NAME_ADD_DIR), 1);
	assert_int_not_equal(p->diff.dirs[0].id, id);
	assert_false(p->diff.dirs[0].known);
}

static void test_other_file_systems_are_entered_only_on_request(void **state)
{
	struct case_state *p = *state;
	struct listed *other = list(p, "other", dir_of(10));

	list(p, "mount", dir_of(11))->mount_root = true;
	other->attributes.filesystem = 2;
	make_diff(p);
	assert_int_equal(p->diff.dir_count, 0);
	assert_int_equal(p->diff.not_entered, 2);
	assert_int_equal(p->diff.changes[0].flags, DIR_NOT_ENTERED);
	apply_diff(p);
	assert_int_equal(p->diff.not_entered, 4);
	p->dir.enters_mounts = true;
	make_diff(p);
	assert_int_equal(p->diff.dir_count, 2);
}

/* The mount hides the names below the mount point. */
static void test_directory_under_a_mount_loses_its_names(void **state)
{
	struct case_state *p = *state;
	struct listed *listed = list(p, "dir", dir_of(10));

	make_diff(p);
	apply_diff(p);
	add_file(p->f, p->diff.dirs[0].id, "below", file_of(20, 1, 0));
	fixture_commit(p->f);
	listed->attributes = dir_of(2);
	listed->attributes.filesystem = 2;
	listed->mount_root = true;
	make_diff(p);
	assert_int_equal(p->diff.dir_count, 0);
	apply_diff(p);
	assert_int_equal(totals_of(p->f).names, 0);
	listed->attributes.mtime.tv_sec++;
	make_diff(p);
	assert_int_equal(p->diff.count, 1);
	assert_int_equal(p->diff.changes[0].kind, NAME_TOUCH_DIR); /* it is still not entered */
	apply_diff(p);
	listed->attributes = dir_of(10);
	listed->mount_root = false;
	make_diff(p);
	assert_int_equal(p->diff.dir_count, 1); /* unmounted: it is listed again */
}

static void test_hidden_folder_is_omitted(void **state)
{
	struct case_state *p = *state;
	struct attributes folder = dir_of(12);
	struct own_inode hidden = {.filesystem = folder.filesystem, .type = S_IFDIR, .inode = 10};
	struct own own = {.list = &hidden, .count = 1};
	AUTO_CLOSE int fd = open("/", O_PATH | O_CLOEXEC);

	list(p, "index", dir_of(10));
	list(p, "other", dir_of(11));
	make_diff(p);
	apply_diff(p);
	assert_false(p->listing.partial);
	listing_hide(&p->listing, &own, fd, "folder", &folder);
	assert_true(p->listing.partial);
	make_diff(p);
	assert_int_equal(p->diff.count, 1);
	assert_int_equal(p->diff.changes[0].kind, NAME_REMOVE);
	assert_int_equal(p->diff.dir_count, 1);
	assert_int_equal(p->listing.count, 1);
}

/* ---- random -------------------------------------------------------------------------- */

static void list_random(struct case_state *p, char names[LISTED_MAX][8])
{
	clear_listing(p);
	for (size_t i = 0; i < LISTED_MAX; i++) {
		struct attributes attributes =
			file_of(100 + (uint64_t)random() % 40, 1, (int)(random() % 3));

		if (random() % 2)
			continue;
		(void)snprintf(names[i], sizeof(names[i]), "%zx", i * 37 % 101);
		if (random() % 5 == 0)
			attributes = dir_of(200 + i);
		list(p, names[i], attributes)->error = random() % 9 ? 0 : EACCES;
	}
}

static void test_random_listings_are_applied(void **state)
{
	static char names[LISTED_MAX][8];
	struct case_state *p = *state;

	srandom(1);
	for (int round = 0; round < 200; round++) {
		list_random(p, names);
		make_diff(p);
		/* if names of one inode have several attributes, the last ones count */
		memcpy(p->f->changes, p->diff.changes, p->diff.count * sizeof(*p->f->changes));
		p->f->count = p->diff.count;
		fixture_commit(p->f);
		audit_index(p->f->catalog);
		for (size_t i = 0; i < p->listing.count; i++)
			assert_true(id_of_name(p->f, p->f->roots[0], p->entries[i]->name) != 0);
		make_diff(p);
		assert_int_equal(count_kind(p, NAME_REMOVE), 0);
		assert_int_equal(count_kind(p, NAME_ADD_FILE), 0);
	}
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup_play, teardown_play)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_all_names_of_an_unknown_directory_are_new),
		CASE(test_applied_difference_is_empty_afterwards),
		CASE(test_number_without_birth_time_under_another_name_is_no_known_file),
		CASE(test_changed_file_is_updated_and_another_inode_replaces_it),
		CASE(test_name_of_another_kind_is_replaced),
		CASE(test_directory_that_is_replaced_is_a_new_one),
		CASE(test_other_file_systems_are_entered_only_on_request),
		CASE(test_directory_under_a_mount_loses_its_names),
		CASE(test_hidden_folder_is_omitted),
		CASE(test_random_listings_are_applied),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
