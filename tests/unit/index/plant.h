/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CATALOG_PLANT_H
#define TESTS_CATALOG_PLANT_H

/* A small index with records of all kinds. Each test plants a fault with valid checksums, checks
 * that it is found, and reverts it. */

#include "index/fixture.h"
#include "index/meta.h"
#include "index/paths.h"
#include "index/record.h"
#include "index/store/store.h"
#include "index/store/value.h"
#include "index/writer.h"

struct sample {
	struct fixture *f;
	uint64_t root, dir, bad_dir;
	uint64_t linked, copy; /* a file with two names, and its copy */
	uint64_t alone, single, symlink; /* the smallest file; a file in no group; a symlink */
	uint64_t broken, gone; /* a file with an error; a file without names */
	uint64_t last; /* the only file in small_group */
	uint64_t awaited; /* a file without names in empty_group */
	/* groups, in order: of linked and two copies; of last and gone; of awaited only */
	uint64_t group, small_group, empty_group;
	uint64_t unused; /* an unused id */
};

static inline void sample_add_names(struct sample *s)
{
	struct fixture *f = s->f;
	struct attributes symlink = file_of(15, 30, 0);

	symlink.mode = S_IFLNK | 0777;
	s->dir = add_dir(f, s->root, "dir");
	s->bad_dir = add_dir(f, s->root, "bad");
	f->changes[f->count - 1].error = EACCES;
	add_file(f, s->root, "linked", file_of(10, 1000, 0));
	add_file(f, s->dir, "link", file_of(10, 1000, 0));
	add_file(f, s->dir, "copy", file_of(11, 1000, 0));
	add_file(f, f->roots[1], "copy", file_of(12, 1000, 0));
	add_file(f, s->root, "alone", file_of(13, 5, 0));
	add_file(f, s->root, "single", file_of(14, 1000, 0));
	add_file(f, s->root, "symlink", symlink);
	add_file(f, s->root, "broken", file_of(16, 70, 0));
	add_file(f, s->root, "gone", file_of(17, 20, 0));
	add_file(f, s->root, "last", file_of(18, 20, 0));
	add_file(f, s->root, "awaited", file_of(19, 40, 0));
	add_unknown(f, s->root, "unknown", EIO);
	fixture_commit(f);
}

static inline void sample_learn_ids(struct sample *s)
{
	s->linked = id_at(s->f, s->root, "linked");
	s->copy = id_at(s->f, s->dir, "copy");
	s->alone = id_at(s->f, s->root, "alone");
	s->single = id_at(s->f, s->root, "single");
	s->symlink = id_at(s->f, s->root, "symlink");
	s->broken = id_at(s->f, s->root, "broken");
	s->gone = id_at(s->f, s->root, "gone");
	s->last = id_at(s->f, s->root, "last");
	s->awaited = id_at(s->f, s->root, "awaited");
	s->unused = catalog_new_id(s->f->catalog);
}

static inline int sample_setup(void **state)
{
	struct sample *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	fixture_setup((void **)&s->f);
	s->root = s->f->roots[0];
	sample_add_names(s);
	sample_learn_ids(s);
	s->group =
		add_group(s->f, (struct hash128){1, 1},
			  (uint64_t[]){s->linked, s->copy, id_at(s->f, s->f->roots[1], "copy")}, 3);
	s->small_group = add_group(s->f, (struct hash128){1, 2}, (uint64_t[]){s->gone, s->last}, 2);
	s->empty_group = add_group(s->f, (struct hash128){1, 3}, &s->awaited, 1);
	assert_int_equal(set_content(s->f, s->single, 0), 0);
	set_error(s->f, ERROR_FILE, s->broken, EIO);
	remove_name(s->f, s->root, "gone");
	remove_name(s->f, s->root, "awaited");
	fixture_commit(s->f);
	*state = s;
	return 0;
}

static inline int sample_teardown(void **state)
{
	struct sample *s = *state;

	fixture_teardown((void **)&s->f);
	free(s);
	return 0;
}

/* ---- planting ------------------------------------------------------------------------ */

typedef int plant_fn(struct catalog_writer *w, const struct sample *s);

struct plant {
	const char *what;
	plant_fn *plant;
};

struct planting {
	const struct sample *sample;
	plant_fn *plant;
	int found;
};

static inline int planting_body(struct catalog_writer *w, void *context)
{
	struct planting *planting = context;

	assert_int_equal(meta_put_totals(w, &w->totals), 0);
	assert_int_equal(check_catalog(&w->store.reader), 0);
	assert_int_equal(planting->plant(w, planting->sample), 0);
	planting->found = check_catalog(&w->store.reader);
	return -ECANCELED;
}

static inline void assert_plants_are_found(const struct sample *s, const struct plant *plants,
					   size_t count)
{
	struct planting planting = {.sample = s};

	for (size_t i = 0; i < count; i++) {
		planting.plant = plants[i].plant;
		assert_int_equal(catalog_write(s->f->catalog, planting_body, &planting),
				 -ECANCELED);
		if (planting.found != -EUCLEAN)
			fail_msg("not found: %s", plants[i].what);
	}
}

/* ---- faults -------------------------------------------------------------------------- */

static inline int plant_nothing(struct catalog_writer *w, enum table table, struct key key)
{
	return store_put(&w->store, table, key, encode_nothing());
}

static inline int plant_number(struct catalog_writer *w, enum table table, struct key key,
			       uint64_t number)
{
	return store_put(&w->store, table, key, encode_number(number));
}

static inline int plant_loss(struct catalog_writer *w, enum table table, struct key key)
{
	return store_delete(&w->store, table, key);
}

static inline int plant_totals(struct catalog_writer *w)
{
	return meta_put_totals(w, &w->totals);
}

static inline struct dir_record planted_dir(struct catalog_writer *w, uint64_t id)
{
	struct dir_record dir = {0};

	assert_int_equal(catalog_get_dir(&w->store.reader, id, &dir), 0);
	return dir;
}

static inline int plant_dir(struct catalog_writer *w, struct dir_record dir)
{
	return store_put(&w->store, TABLE_DIR, key_number(dir.id), encode_dir(&dir));
}

static inline struct file_record planted_file(struct catalog_writer *w, uint64_t id)
{
	struct file_record file = {0};

	assert_int_equal(catalog_get_file(&w->store.reader, id, &file), 0);
	return file;
}

static inline int plant_file(struct catalog_writer *w, struct file_record file)
{
	return store_put(&w->store, TABLE_FILE, key_number(file.id), encode_file(&file));
}

static inline struct group_record planted_group(struct catalog_writer *w, uint64_t id)
{
	struct group_record group = {0};

	assert_int_equal(catalog_get_group(&w->store.reader, id, &group), 0);
	return group;
}

static inline int plant_group(struct catalog_writer *w, struct group_record group)
{
	return store_put(&w->store, TABLE_GROUP, key_number(group.id), encode_group(&group));
}

static inline int plant_content(struct catalog_writer *w, uint64_t file, uint64_t prefix,
				uint64_t group)
{
	return store_put(&w->store, TABLE_CONTENT, key_number(file),
			 encode_content(
				 &(struct content_record){.prefix = prefix, .group = group}));
}

static inline struct entry_record planted_entry(struct catalog_writer *w, uint64_t dir,
						const char *name)
{
	struct entry_record entry = {0};

	assert_int_equal(catalog_find_entry(&w->store.reader, dir, name_of(name), &entry), 0);
	return entry;
}

static inline int plant_entry(struct catalog_writer *w, struct entry_record entry)
{
	return store_put(&w->store, TABLE_ENTRY, key_pair(entry.dir, entry.cookie),
			 encode_entry(&entry));
}

/* A new name of the directory. */
static inline struct entry_record new_entry(struct catalog_writer *w, uint64_t dir,
					    const char *name)
{
	return (struct entry_record){.dir = dir,
				     .cookie =
					     name_cookie(w->store.reader.name_seed, name_of(name)),
				     .name = name_of(name)};
}

#define PLANT_CASE(test) cmocka_unit_test_setup_teardown(test, sample_setup, sample_teardown)

#endif
