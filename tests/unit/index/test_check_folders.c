/* SPDX-License-Identifier: MIT */
#include "index/known_folders.h"
#include "index/plant.h"
#include "index/store/store.h"
#include "index/store/value.h"

/* Two directories that are equal: each has a file with the same bytes. */
#define EQUAL "equal"
#define ALSO_EQUAL "also equal"

/* A directory of one empty file, which no other one equals. */
#define COMPLETE "complete"

static int folders_setup(void **state)
{
	static const char *const names[] = {EQUAL, ALSO_EQUAL};
	uint64_t files[2];
	struct sample *s;

	sample_setup(state);
	s = *state;
	for (uint64_t i = 0; i < 2; i++)
		files[i] = new_file(s->f, new_dir(s->f, s->root, names[i]), "file",
				    file_of(9000 + i, 700, 0));
	(void)add_group(s->f, (struct hash128){1, 9}, files, 2);
	(void)new_file(s->f, new_dir(s->f, s->root, COMPLETE), "empty", file_of(9002, 0, 0));
	know_folders(s->f);
	return 0;
}

static uint64_t dir_named(struct catalog_writer *w, const struct sample *s, const char *name)
{
	return planted_entry(w, s->root, name).child;
}

static struct folder_record folder_of(struct catalog_writer *w, uint64_t dir)
{
	struct folder_record folder = {0};

	assert_int_equal(catalog_get_folder(&w->store.reader, dir, &folder), 0);
	return folder;
}

static int plant_folder(struct catalog_writer *w, uint64_t dir, struct folder_record folder)
{
	return store_put(&w->store, TABLE_FOLDER, key_number(dir), encode_folder(&folder));
}

static int plant_folder_group(struct catalog_writer *w, struct folder_group group)
{
	return store_put(&w->store, TABLE_FOLDERS, key_number(group.id),
			 encode_folder_group(&group));
}

static struct folder_group group_of_equal(struct catalog_writer *w, const struct sample *s)
{
	struct folder_record folder = folder_of(w, dir_named(w, s, EQUAL));
	struct folder_group group = {0};

	assert_int_equal(catalog_get_folder_group(&w->store.reader, folder.group, &group), 0);
	return group;
}

/* ---- faults -------------------------------------------------------------------------- */

static int folder_lost(struct catalog_writer *w, const struct sample *s)
{
	return plant_loss(w, TABLE_FOLDER, key_number(s->dir));
}

static int folder_without_dir(struct catalog_writer *w, const struct sample *s)
{
	return plant_folder(w, s->unused, (struct folder_record){.counted = true});
}

static int witness_that_has_an_equal_entry(struct catalog_writer *w, const struct sample *s)
{
	struct entry_record linked = planted_entry(w, s->root, "linked");

	return plant_folder(w, s->root, (struct folder_record){.witness = linked.cookie});
}

static int witness_that_is_missing(struct catalog_writer *w, const struct sample *s)
{
	return plant_folder(w, s->root, (struct folder_record){.witness = ENTRY_COOKIE_MIN});
}

static int folder_with_another_count(struct catalog_writer *w, const struct sample *s)
{
	struct folder_record folder = folder_of(w, s->dir);

	folder.files++;
	return plant_folder(w, s->dir, folder);
}

static int folder_with_another_sum(struct catalog_writer *w, const struct sample *s)
{
	struct folder_record folder = folder_of(w, s->dir);

	folder.sum.low++;
	return plant_folder(w, s->dir, folder);
}

static int folder_not_listed(struct catalog_writer *w, const struct sample *s)
{
	uint64_t dir = dir_named(w, s, EQUAL);
	struct folder_record folder = folder_of(w, dir);

	return plant_loss(w, TABLE_BYTREE, key_tree(folder.sum, folder.group, dir));
}

static int equal_folder_without_group(struct catalog_writer *w, const struct sample *s)
{
	uint64_t dir = dir_named(w, s, EQUAL);
	struct folder_group group = group_of_equal(w, s);
	struct folder_record folder = folder_of(w, dir);
	int r = plant_loss(w, TABLE_BYTREE, key_tree(folder.sum, folder.group, dir));

	folder.group = 0;
	group.folders--;
	if (r == 0)
		r = plant_nothing(w, TABLE_BYTREE, key_tree(folder.sum, 0, dir));
	if (r == 0)
		r = plant_folder_group(w, group);
	return r < 0 ? r : plant_folder(w, dir, folder);
}

static int complete_folder_without_a_record(struct catalog_writer *w, const struct sample *s)
{
	uint64_t dir = dir_named(w, s, COMPLETE);
	struct folder_record folder = folder_of(w, dir);
	int r = plant_loss(w, TABLE_BYTREE, key_tree(folder.sum, 0, dir));

	return r < 0 ? r : plant_loss(w, TABLE_FOLDER, key_number(dir));
}

static int group_with_another_number(struct catalog_writer *w, const struct sample *s)
{
	struct folder_group group = group_of_equal(w, s);

	group.folders++;
	return plant_folder_group(w, group);
}

static int group_with_another_size(struct catalog_writer *w, const struct sample *s)
{
	struct folder_group group = group_of_equal(w, s);

	group.bytes++;
	return plant_folder_group(w, group);
}

static int group_without_folders(struct catalog_writer *w, const struct sample *s)
{
	return plant_folder_group(w, (struct folder_group){.id = s->unused, .folders = 2});
}

static int group_lost(struct catalog_writer *w, const struct sample *s)
{
	return plant_loss(w, TABLE_FOLDERS, key_number(group_of_equal(w, s).id));
}

static int group_without_rank(struct catalog_writer *w, const struct sample *s)
{
	struct folder_group group = group_of_equal(w, s);

	return plant_loss(w, TABLE_FOLDER_RANK, key_rank(group.ranked, group.id));
}

static int group_with_another_rank(struct catalog_writer *w, const struct sample *s)
{
	struct folder_group group = group_of_equal(w, s);
	int r = plant_loss(w, TABLE_FOLDER_RANK, key_rank(group.ranked, group.id));

	group.ranked++;
	if (r == 0)
		r = plant_nothing(w, TABLE_FOLDER_RANK, key_rank(group.ranked, group.id));
	return r < 0 ? r : plant_folder_group(w, group);
}

static int another_number_of_folder_groups(struct catalog_writer *w, const struct sample *s)
{
	(void)s;
	w->totals.folder_groups++;
	return plant_totals(w);
}

static int target_of_a_regular_file(struct catalog_writer *w, const struct sample *s)
{
	return store_put(&w->store, TABLE_TARGET, key_number(s->alone), encode_text("there", 5));
}

static int folders_known_without_records(struct catalog_writer *w, const struct sample *s)
{
	(void)s;
	w->totals.folders_known = false;
	return plant_totals(w);
}

static void test_faults_in_folders_are_detected(void **state)
{
	static const struct plant plants[] = {
		{"a directory without a record", folder_lost},
		{"a record without a directory", folder_without_dir},
		{"a witness that has an equal entry", witness_that_has_an_equal_entry},
		{"a witness that is missing", witness_that_is_missing},
		{"another number of files", folder_with_another_count},
		{"another sum", folder_with_another_sum},
		{"a complete directory that is not listed", folder_not_listed},
		{"an equal directory outside of its group", equal_folder_without_group},
		{"a complete directory without a record", complete_folder_without_a_record},
		{"a group with another number of folders", group_with_another_number},
		{"a group with another size", group_with_another_size},
		{"a group without folders", group_without_folders},
		{"no group", group_lost},
		{"a group without its rank", group_without_rank},
		{"a group with another rank", group_with_another_rank},
		{"another number of groups with a rank", another_number_of_folder_groups},
		{"a target of a regular file", target_of_a_regular_file},
		{"records while folders are not known", folders_known_without_records},
	};

	assert_plants_are_found(*state, plants, ARRAY_SIZE(plants));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_faults_in_folders_are_detected, folders_setup,
						sample_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
