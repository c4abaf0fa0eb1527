/* SPDX-License-Identifier: MIT */
#include "index/plant.h"
#include "index/store/store.h"
#include "index/store/value.h"

/* ---- directories --------------------------------------------------------------------- */

static int dir_without_record(struct catalog_writer *w, const struct sample *s)
{
	w->totals.directories--;
	assert_int_equal(plant_totals(w), 0);
	return plant_loss(w, TABLE_DIR, key_number(s->dir));
}

static int dir_without_name(struct catalog_writer *w, const struct sample *s)
{
	struct dir_record dir = planted_dir(w, s->dir);

	dir.id = s->unused;
	w->totals.directories++;
	assert_int_equal(plant_totals(w), 0);
	return plant_dir(w, dir);
}

static int dir_of_another_name(struct catalog_writer *w, const struct sample *s)
{
	struct dir_record dir = planted_dir(w, s->dir);

	dir.name = name_of("rid");
	return plant_dir(w, dir);
}

static int dir_in_another(struct catalog_writer *w, const struct sample *s)
{
	struct dir_record dir = planted_dir(w, s->dir);
	char name[] = "dir";

	dir.name = name_of(name);
	dir.parent = s->f->roots[1];
	return plant_dir(w, dir);
}

static int dir_with_two_names(struct catalog_writer *w, const struct sample *s)
{
	struct entry_record entry = new_entry(w, s->root, "second");

	entry.kind = ENTRY_DIR;
	entry.child = s->dir;
	return plant_entry(w, entry);
}

/* Plants two directories that contain each other. They agree with each other and with the
 * totals. */
static int dirs_in_a_cycle(struct catalog_writer *w, const struct sample *s)
{
	uint64_t ids[] = {s->unused, s->unused + 1};

	for (int i = 0; i < 2; i++) {
		struct entry_record entry = new_entry(w, ids[!i], "round");
		struct dir_record dir = {.id = ids[i], .parent = ids[!i], .name = name_of("round")};

		entry.kind = ENTRY_DIR;
		entry.child = ids[i];
		assert_int_equal(plant_dir(w, dir), 0);
		assert_int_equal(plant_entry(w, entry), 0);
	}
	w->totals.directories += 2;
	return plant_totals(w);
}

static int dir_error_not_noted(struct catalog_writer *w, const struct sample *s)
{
	w->totals.errors--;
	assert_int_equal(plant_totals(w), 0);
	return plant_loss(w, TABLE_ERROR, key_pair(ERROR_DIR, s->bad_dir));
}

static int dir_error_of_another_kind(struct catalog_writer *w, const struct sample *s)
{
	return plant_number(w, TABLE_ERROR, key_pair(ERROR_DIR, s->bad_dir), EIO);
}

static int stale_dir_error(struct catalog_writer *w, const struct sample *s)
{
	w->totals.errors++;
	assert_int_equal(plant_totals(w), 0);
	return plant_number(w, TABLE_ERROR, key_pair(ERROR_DIR, s->dir), EIO);
}

static int dir_error_of_none(struct catalog_writer *w, const struct sample *s)
{
	w->totals.errors++;
	assert_int_equal(plant_totals(w), 0);
	return plant_number(w, TABLE_ERROR, key_pair(ERROR_DIR, s->unused), EIO);
}

static int dir_that_cannot_be_decoded(struct catalog_writer *w, const struct sample *s)
{
	return plant_nothing(w, TABLE_DIR, key_number(s->dir));
}

static void test_faults_in_directories_are_detected(void **state)
{
	static const struct plant plants[] = {
		{"without record", dir_without_record},
		{"that nothing names", dir_without_name},
		{"of another name", dir_of_another_name},
		{"in another", dir_in_another},
		{"with two names", dir_with_two_names},
		{"in a circle", dirs_in_a_cycle},
		{"whose error is not noted", dir_error_not_noted},
		{"with another error", dir_error_of_another_kind},
		{"with an error of old", stale_dir_error},
		{"that is not there, with an error", dir_error_of_none},
		{"that cannot be decoded", dir_that_cannot_be_decoded},
	};

	assert_plants_are_found(*state, plants, ARRAY_SIZE(plants));
}

/* ---- names --------------------------------------------------------------------------- */

static int name_in_no_dir(struct catalog_writer *w, const struct sample *s)
{
	struct entry_record entry = new_entry(w, s->unused, "lost");

	entry.kind = ENTRY_UNKNOWN;
	entry.child = EIO;
	return plant_entry(w, entry);
}

static int name_of_no_file(struct catalog_writer *w, const struct sample *s)
{
	struct entry_record entry = planted_entry(w, s->root, "alone");

	entry.child = s->unused;
	return plant_entry(w, entry);
}

static int name_of_another_file(struct catalog_writer *w, const struct sample *s)
{
	struct entry_record entry = planted_entry(w, s->root, "alone");

	entry.child = s->single;
	return plant_entry(w, entry);
}

static int name_of_an_orphan(struct catalog_writer *w, const struct sample *s)
{
	struct file_record file = planted_file(w, s->gone);
	struct entry_record entry = new_entry(w, s->root, "gone");

	assert_int_equal(file.dir, entry.dir);
	assert_int_equal(file.cookie, entry.cookie);
	entry.kind = ENTRY_FILE;
	entry.child = s->gone;
	return plant_entry(w, entry);
}

static int first_name_lost(struct catalog_writer *w, const struct sample *s)
{
	return plant_loss(w, TABLE_ENTRY,
			  key_pair(s->root, planted_entry(w, s->root, "linked").cookie));
}

static int other_name_lost(struct catalog_writer *w, const struct sample *s)
{
	return plant_loss(w, TABLE_ENTRY,
			  key_pair(s->dir, planted_entry(w, s->dir, "link").cookie));
}

static int name_of_dir_lost(struct catalog_writer *w, const struct sample *s)
{
	return plant_loss(w, TABLE_ENTRY,
			  key_pair(s->root, planted_entry(w, s->root, "dir").cookie));
}

static int name_in_another_place(struct catalog_writer *w, const struct sample *s)
{
	struct entry_record entry = planted_entry(w, s->root, "unknown");

	assert_int_equal(plant_loss(w, TABLE_ENTRY, key_pair(entry.dir, entry.cookie)), 0);
	entry.name = name_of("unknown");
	entry.cookie += ENTRY_COOKIE_SLOTS;
	return plant_entry(w, entry);
}

static int duplicate_name(struct catalog_writer *w, const struct sample *s)
{
	struct entry_record entry = planted_entry(w, s->root, "unknown");

	entry.name = name_of("unknown");
	entry.cookie += 2;
	return plant_entry(w, entry);
}

static int name_without_errno(struct catalog_writer *w, const struct sample *s)
{
	struct entry_record entry = planted_entry(w, s->root, "unknown");

	entry.name = name_of("unknown");
	entry.child = 0;
	return plant_entry(w, entry);
}

static int link_lost(struct catalog_writer *w, const struct sample *s)
{
	return plant_loss(w, TABLE_LINK,
			  key_triple(s->linked, s->dir, planted_entry(w, s->dir, "link").cookie));
}

/* Plants a fault with which the counts of all tables and the totals still agree. */
static int link_of_another_file(struct catalog_writer *w, const struct sample *s)
{
	struct entry_record entry = planted_entry(w, s->dir, "link");

	assert_int_equal(link_lost(w, s), 0);
	entry.name = name_of("link");
	entry.child = s->alone;
	assert_int_equal(plant_entry(w, entry), 0);
	return plant_nothing(w, TABLE_LINK, key_triple(s->alone, s->dir, entry.cookie));
}

static int link_of_one_name(struct catalog_writer *w, const struct sample *s)
{
	return plant_nothing(w, TABLE_LINK, key_triple(s->alone, s->dir, 1600));
}

static int link_without_id(struct catalog_writer *w, const struct sample *s)
{
	return plant_number(w, TABLE_LINK,
			    key_triple(s->linked, s->dir, planted_entry(w, s->dir, "link").cookie),
			    0);
}

static struct file_name planted_link(struct catalog_writer *w, const struct sample *s)
{
	struct catalog_scan *scan CLEANUP_SCAN = NULL;
	struct file_name name = {0};

	assert_int_equal(catalog_scan_links(&w->store.reader, s->linked, &scan), 0);
	assert_int_equal(catalog_next_link(scan, &name), 0);
	return name;
}

static int place_lost(struct catalog_writer *w, const struct sample *s)
{
	return plant_loss(w, TABLE_PLACE, key_pair(s->group, planted_link(w, s).id));
}

static int place_of_another_file(struct catalog_writer *w, const struct sample *s)
{
	struct file_name name = planted_link(w, s);

	name.file = s->copy;
	return store_put(&w->store, TABLE_PLACE, key_pair(s->group, name.id), encode_place(&name));
}

static int place_of_no_name(struct catalog_writer *w, const struct sample *s)
{
	struct file_name name = planted_link(w, s);

	return store_put(&w->store, TABLE_PLACE, key_pair(s->group, s->unused),
			 encode_place(&name));
}

static int orphan_with_an_id_of_a_name(struct catalog_writer *w, const struct sample *s)
{
	struct file_record file = planted_file(w, s->gone);

	file.name = s->unused;
	return plant_file(w, file);
}

static void test_faults_in_names_are_detected(void **state)
{
	static const struct plant plants[] = {
		{"in no directory", name_in_no_dir},
		{"of no file", name_of_no_file},
		{"of another file", name_of_another_file},
		{"of an orphan", name_of_an_orphan},
		{"the first one is lost", first_name_lost},
		{"the other one is lost", other_name_lost},
		{"a directory's is lost", name_of_dir_lost},
		{"in another place", name_in_another_place},
		{"there twice", duplicate_name},
		{"without errno", name_without_errno},
		{"a link is lost", link_lost},
		{"a link without an id", link_without_id},
		{"a place is lost", place_lost},
		{"a place of another file", place_of_another_file},
		{"a place of no name", place_of_no_name},
		{"an orphan has an id of a name", orphan_with_an_id_of_a_name},
		{"a link of another file", link_of_another_file},
		{"a link of a file with one name", link_of_one_name},
	};

	assert_plants_are_found(*state, plants, ARRAY_SIZE(plants));
}

/* ---- redundant names ----------------------------------------------------------------- */

static int count_lost(struct catalog_writer *w, const struct sample *s)
{
	return plant_loss(w, TABLE_REDUNDANT, key_number(s->dir));
}

static int last_count_lost(struct catalog_writer *w, const struct sample *s)
{
	return plant_loss(w, TABLE_REDUNDANT, key_number(s->f->roots[1]));
}

/* Removes the counts of a directory and of its parent, which then agree with each other. */
static int count_lost_with_those_above(struct catalog_writer *w, const struct sample *s)
{
	assert_int_equal(count_lost(w, s), 0);
	return plant_loss(w, TABLE_REDUNDANT, key_number(s->root));
}

static int count_too_high(struct catalog_writer *w, const struct sample *s)
{
	return plant_number(w, TABLE_REDUNDANT, key_number(s->root), 3);
}

static int count_of_zero(struct catalog_writer *w, const struct sample *s)
{
	return plant_number(w, TABLE_REDUNDANT, key_number(s->bad_dir), 0);
}

static int count_of_an_empty_dir(struct catalog_writer *w, const struct sample *s)
{
	return plant_number(w, TABLE_REDUNDANT, key_number(s->bad_dir), 1);
}

static int count_of_no_dir(struct catalog_writer *w, const struct sample *s)
{
	return plant_number(w, TABLE_REDUNDANT, key_number(s->unused), 1);
}

static int count_that_cannot_be_decoded(struct catalog_writer *w, const struct sample *s)
{
	return plant_nothing(w, TABLE_REDUNDANT, key_number(s->dir));
}

static void test_faults_in_counts_of_redundant_names_are_detected(void **state)
{
	static const struct plant plants[] = {
		{"lost", count_lost},
		{"the last one lost", last_count_lost},
		{"lost with those above", count_lost_with_those_above},
		{"too high", count_too_high},
		{"of zero", count_of_zero},
		{"of an empty directory", count_of_an_empty_dir},
		{"of no directory", count_of_no_dir},
		{"that cannot be decoded", count_that_cannot_be_decoded},
	};

	assert_plants_are_found(*state, plants, ARRAY_SIZE(plants));
}

/* ---- meta data ----------------------------------------------------------------------- */

static int seed_lost(struct catalog_writer *w, const struct sample *s)
{
	(void)s;
	return plant_loss(w, TABLE_META, meta_key(META_NAME_SEED));
}

static int seed_changed(struct catalog_writer *w, const struct sample *s)
{
	(void)s;
	return meta_put_number(w, META_NAME_SEED, w->store.reader.name_seed + 1);
}

static int min_size_lost(struct catalog_writer *w, const struct sample *s)
{
	(void)s;
	return plant_loss(w, TABLE_META, meta_key(META_MIN_SIZE));
}

static int totals_lost(struct catalog_writer *w, const struct sample *s)
{
	(void)s;
	return plant_loss(w, TABLE_META, meta_key(META_TOTALS));
}

static int format_lost(struct catalog_writer *w, const struct sample *s)
{
	(void)s;
	return plant_loss(w, TABLE_META, meta_key(META_FORMAT));
}

static int source_lost(struct catalog_writer *w, const struct sample *s)
{
	(void)s;
	return plant_loss(w, TABLE_META, meta_key_numbered("source", 1));
}

static int source_without_path(struct catalog_writer *w, const struct sample *s)
{
	(void)s;
	return plant_loss(w, TABLE_META, meta_key("source 1 part 0"));
}

static int sources_with_one_root(struct catalog_writer *w, const struct sample *s)
{
	return plant_number(w, TABLE_META, meta_key_numbered("source", 1), s->root);
}

static int source_in_a_dir(struct catalog_writer *w, const struct sample *s)
{
	return plant_number(w, TABLE_META, meta_key_numbered("source", 1), s->dir);
}

static int filesystem_without_those_before(struct catalog_writer *w, const struct sample *s)
{
	(void)s;
	return plant_number(w, TABLE_META, meta_key_numbered("filesystem", 2), 7);
}

static void test_faults_in_meta_are_detected(void **state)
{
	static const struct plant plants[] = {
		{"no name seed", seed_lost},
		{"another name seed", seed_changed},
		{"no smallest size", min_size_lost},
		{"no totals", totals_lost},
		{"no format", format_lost},
		{"no source", source_lost},
		{"a source without path", source_without_path},
		{"two sources with one root", sources_with_one_root},
		{"a source inside another", source_in_a_dir},
		{"a hole in the file systems", filesystem_without_those_before},
	};

	assert_plants_are_found(*state, plants, ARRAY_SIZE(plants));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLANT_CASE(test_faults_in_directories_are_detected),
		PLANT_CASE(test_faults_in_names_are_detected),
		PLANT_CASE(test_faults_in_counts_of_redundant_names_are_detected),
		PLANT_CASE(test_faults_in_meta_are_detected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
