/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CATALOG_FIXTURE_H
#define TESTS_CATALOG_FIXTURE_H

/* An index in a temporary folder, with two sources that exist in the index only, and helpers to
 * fill it. A failed helper ends the test. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/sort.h"
#include "folder.h"
#include "index/catalog.h"
#include "index/change.h"
#include "index/integrity.h"
#include "index/paths.h"
#include "index/query.h"
#include "index/scan.h"
#include "twinfs/format.h"
#include "unit_test.h"

#define FIXTURE_CHANGES_MAX 256

struct fixture {
	char folder[64];
	struct catalog *catalog;
	uint64_t map_bytes;
	uint64_t roots[2];
	uint32_t scan;
	/* collected until fixture_commit */
	struct name_change changes[FIXTURE_CHANGES_MAX];
	size_t count;
	uint64_t touched[FIXTURE_CHANGES_MAX];
	size_t touched_count;
};

/* Makes the folder on a tmpfs if one exists, so that a commit does not wait for a disk. */
static inline void fixture_make_folder(char folder[64])
{
	folder_make(folder, access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
}

static inline struct name name_of(const char *text)
{
	return (struct name){text, (uint32_t)strlen(text)};
}

/* A regular file of this size. Its times depend on version. */
static inline struct attributes file_of(uint64_t inode, uint64_t size, int version)
{
	return (struct attributes){
		.inode = inode,
		.size = size,
		.blocks = (size + 511) / 512,
		.filesystem = 1,
		.mode = S_IFREG | 0644,
		.links = 1,
		.mtime = {1000 + version, 1},
		.ctime = {1000 + version, 2},
		.atime = {1000, 3},
		.btime = {500, (long)(inode % 1000)},
	};
}

static inline struct attributes dir_of(uint64_t inode)
{
	return (struct attributes){.inode = inode,
				   .size = 4096,
				   .blocks = 8,
				   .filesystem = 1,
				   .mode = S_IFDIR | 0755};
}

static inline int fixture_open_code(struct fixture *f)
{
	const struct catalog_options options = {.folder = f->folder, .map_bytes = f->map_bytes};

	return catalog_open(&f->catalog, &options);
}

static inline void fixture_open(struct fixture *f)
{
	assert_int_equal(fixture_open_code(f), CATALOG_OPENED);
}

/* Writes a file of the folder. */
static inline void fixture_write_text(const struct fixture *f, const char *name, const char *text)
{
	char path[128];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", f->folder, name);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* The path of a file of the folder, valid until the next call. */
static inline const char *path_in(const struct fixture *f, const char *name)
{
	static char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", f->folder, name);
	return path;
}

static inline bool has_file(const struct fixture *f, const char *name)
{
	return access(path_in(f, name), F_OK) == 0;
}

/* Reads a file of the folder; the caller frees the bytes. */
static inline uint8_t *fixture_read_file(const struct fixture *f, const char *name, size_t *length)
{
	char path[128];
	struct stat status;
	uint8_t *data;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", f->folder, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &status), 0);
	*length = (size_t)status.st_size;
	data = malloc(*length + 1);
	assert_non_null(data);
	assert_int_equal(read_fully_at(fd, data, *length, 0), *length);
	(void)close(fd);
	return data;
}

/* Opens the catalog again, with this many ids left. */
static inline void fixture_reopen_with_ids(struct fixture *f, uint64_t left)
{
	char text[32];

	catalog_close(f->catalog);
	(void)snprintf(text, sizeof(text), "%llu\n",
		       (unsigned long long)(TWINFS_ID_MAX + 1 - left));
	fixture_write_text(f, TWINFS_INDEX_IDS, text);
	fixture_open(f);
}

static inline void fixture_reopen(struct fixture *f)
{
	catalog_close(f->catalog);
	fixture_open(f);
}

static inline int fixture_sources_body(struct catalog_writer *w, void *context)
{
	struct fixture *f = context;
	struct attributes root = dir_of(2);
	int r = catalog_add_source(w, 0, "/one", &root, f->roots[0]);

	return r < 0 ? r : catalog_add_source(w, 1, "/two", &root, f->roots[1]);
}

struct fixture_scan {
	uint64_t min_size;
	bool continues; /* the scan before does not end */
	uint32_t number;
};

static inline int fixture_scan_body(struct catalog_writer *w, void *context)
{
	struct fixture_scan *scan = context;

	if (!scan->continues)
		catalog_end_scan(w, false);
	scan->number = catalog_begin_scan(w);
	return catalog_set_min_size(w, scan->min_size);
}

/* Ends the scan, begins one of files of at least min_size bytes, and returns its number. */
static inline uint32_t begin_scan(struct fixture *f, uint64_t min_size)
{
	struct fixture_scan scan = {.min_size = min_size};

	assert_int_equal(catalog_write(f->catalog, fixture_scan_body, &scan), 0);
	f->scan = scan.number;
	return f->scan;
}

static inline void fixture_next_scan(struct fixture *f)
{
	(void)begin_scan(f, 1);
}

/* Begins a scan after one that did not end, and returns its number. */
static inline uint32_t fixture_continue_scan(struct fixture *f)
{
	struct fixture_scan scan = {.min_size = 1, .continues = true};

	assert_int_equal(catalog_write(f->catalog, fixture_scan_body, &scan), 0);
	f->scan = scan.number;
	return f->scan;
}

static inline int fixture_end_body(struct catalog_writer *w, void *context)
{
	(void)context;
	catalog_end_scan(w, false);
	return 0;
}

static inline void fixture_end_scan(struct fixture *f)
{
	assert_int_equal(catalog_write(f->catalog, fixture_end_body, NULL), 0);
}

/* Adds the sources to an empty open index. */
static inline void fixture_fill(struct fixture *f)
{
	f->roots[0] = catalog_new_id(f->catalog);
	f->roots[1] = catalog_new_id(f->catalog);
	assert_true(f->roots[0] && f->roots[1]);
	assert_int_equal(catalog_write(f->catalog, fixture_sources_body, f), 0);
	fixture_next_scan(f);
}

static inline int fixture_setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	fixture_make_folder(f->folder);
	fixture_open(f);
	fixture_fill(f);
	*state = f;
	return 0;
}

static inline int fixture_teardown(void **state)
{
	struct fixture *f = *state;

	catalog_close(f->catalog);
	folder_remove(f->folder);
	free(f);
	return 0;
}

/* ---- single reads -------------------------------------------------------------------- */

static inline struct catalog_reader *fixture_read(const struct fixture *f)
{
	struct catalog_reader *reader = NULL;

	assert_int_equal(catalog_read_begin(f->catalog, &reader), 0);
	return reader;
}

/* The id of a name; 0 if the name does not exist. */
static inline uint64_t id_of_name(const struct fixture *f, uint64_t dir, struct name name)
{
	struct catalog_reader *reader = fixture_read(f);
	struct entry_record entry;
	int r = catalog_find_entry(reader, dir, name, &entry);

	catalog_read_end(reader);
	assert_true(r == 0 || r == -ENOENT);
	return r == 0 ? entry.child : 0;
}

static inline uint64_t id_at(const struct fixture *f, uint64_t dir, const char *name)
{
	return id_of_name(f, dir, name_of(name));
}

static inline struct file_record file_at(const struct fixture *f, uint64_t id)
{
	struct catalog_reader *reader = fixture_read(f);
	struct file_record file = {0};

	assert_int_equal(catalog_get_file(reader, id, &file), 0);
	catalog_read_end(reader);
	return file;
}

/* All zero if the content is unknown. */
static inline struct content_record content_of(const struct fixture *f, uint64_t id)
{
	struct catalog_reader *reader = fixture_read(f);
	struct content_record content = {0};
	int r = catalog_get_content(reader, id, &content);

	catalog_read_end(reader);
	assert_true(r == 0 || r == -ENOENT);
	return content;
}

/* All zero if the group does not exist. */
static inline struct group_record group_at(const struct fixture *f, uint64_t id)
{
	struct catalog_reader *reader = fixture_read(f);
	struct group_record group = {0};
	int r = catalog_get_group(reader, id, &group);

	catalog_read_end(reader);
	assert_true(r == 0 || r == -ENOENT);
	return group;
}

static inline struct catalog_totals totals_of(const struct fixture *f)
{
	struct catalog_reader *reader = fixture_read(f);
	struct catalog_totals totals = {0};

	assert_int_equal(catalog_get_totals(reader, &totals), 0);
	catalog_read_end(reader);
	return totals;
}

/* Asserts that check_catalog finds no fault. */
static inline void assert_consistent(const struct fixture *f)
{
	struct catalog_reader *reader = fixture_read(f);

	assert_int_equal(check_catalog(reader), 0);
	catalog_read_end(reader);
}

/* ---- changes of names ---------------------------------------------------------------- */

static inline struct name_change *fixture_change(struct fixture *f, enum name_change_kind kind)
{
	struct name_change *change = &f->changes[f->count++];

	assert_true(f->count <= FIXTURE_CHANGES_MAX);
	*change = (struct name_change){.kind = kind};
	return change;
}

static inline void add_file(struct fixture *f, uint64_t dir, const char *name,
			    struct attributes attributes)
{
	struct name_change *change = fixture_change(f, NAME_ADD_FILE);

	change->dir = dir;
	change->name = name_of(name);
	change->attributes = attributes;
}

static inline uint64_t add_dir(struct fixture *f, uint64_t dir, const char *name)
{
	struct name_change *change = fixture_change(f, NAME_ADD_DIR);

	change->dir = dir;
	change->name = name_of(name);
	change->id = catalog_new_id(f->catalog);
	change->attributes = dir_of(100000 + change->id);
	return change->id;
}

static inline void add_unknown(struct fixture *f, uint64_t dir, const char *name, int error)
{
	struct name_change *change = fixture_change(f, NAME_ADD_UNKNOWN);

	change->dir = dir;
	change->name = name_of(name);
	change->error = error;
}

/* The attributes of a directory after move_dir. */
static inline struct attributes moved_dir(uint64_t id)
{
	return dir_of(4000 + id);
}

static inline void move_dir(struct fixture *f, uint64_t id, uint64_t dir, const char *name)
{
	struct name_change *change = fixture_change(f, NAME_MOVE_DIR);

	change->id = id;
	change->dir = dir;
	change->name = name_of(name);
	change->attributes = moved_dir(id);
}

static inline void remove_this(struct fixture *f, uint64_t dir, struct name name)
{
	struct name_change *change = fixture_change(f, NAME_REMOVE);
	struct catalog_reader *reader = fixture_read(f);
	struct entry_record entry;

	assert_int_equal(catalog_find_entry(reader, dir, name, &entry), 0);
	catalog_read_end(reader);
	change->dir = dir;
	change->cookie = entry.cookie;
}

static inline void remove_name(struct fixture *f, uint64_t dir, const char *name)
{
	remove_this(f, dir, name_of(name));
}

static inline void update_file(struct fixture *f, uint64_t id, struct attributes attributes)
{
	struct name_change *change = fixture_change(f, NAME_UPDATE_FILE);

	change->id = id;
	change->attributes = attributes;
}

static inline void touch_file(struct fixture *f, uint64_t id)
{
	assert_true(f->touched_count < FIXTURE_CHANGES_MAX);
	f->touched[f->touched_count++] = id;
}

static inline int fixture_apply_body(struct catalog_writer *w, void *context)
{
	struct fixture *f = context;
	int r = catalog_forget_contents(w, f->touched, f->touched_count);

	return r < 0 ? r : catalog_apply(w, f->changes, f->count, f->scan);
}

static inline int fixture_commit_code(struct fixture *f)
{
	int r = catalog_write(f->catalog, fixture_apply_body, f);

	f->count = f->touched_count = 0;
	return r;
}

static inline void fixture_commit(struct fixture *f)
{
	assert_int_equal(fixture_commit_code(f), 0);
}

static inline int fixture_cancel_body(struct catalog_writer *w, void *context)
{
	int r = fixture_apply_body(w, context);

	return r < 0 ? r : -ECANCELED;
}

/* Applies the collected changes in a transaction that fails. They stay collected. */
static inline void fixture_cancel(struct fixture *f)
{
	assert_int_equal(catalog_write(f->catalog, fixture_cancel_body, f), -ECANCELED);
}

static inline uint64_t new_dir(struct fixture *f, uint64_t dir, const char *name)
{
	uint64_t id = add_dir(f, dir, name);

	fixture_commit(f);
	return id;
}

static inline uint64_t new_file(struct fixture *f, uint64_t dir, const char *name,
				struct attributes attributes)
{
	add_file(f, dir, name, attributes);
	fixture_commit(f);
	return id_at(f, dir, name);
}

/* Adds count files of this size to the first source. Their ids are ascending. */
static inline void new_files(struct fixture *f, uint64_t size, uint64_t *ids, size_t count)
{
	static uint64_t inode = 5000;
	char names[FIXTURE_CHANGES_MAX][24];

	assert_in_range(count, 1, ARRAY_SIZE(names));
	for (size_t i = 0; i < count; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "%d", (int)inode);
		add_file(f, f->roots[0], names[i], file_of(inode++, size, 0));
	}
	fixture_commit(f);
	for (size_t i = 0; i < count; i++)
		ids[i] = id_at(f, f->roots[0], names[i]);
	qsort(ids, count, sizeof(*ids), numbers_by_value);
}

static inline void remove_and_commit(struct fixture *f, uint64_t dir, const char *name)
{
	remove_name(f, dir, name);
	fixture_commit(f);
}

static inline int fixture_error_body(struct catalog_writer *w, void *context)
{
	const struct error_entry *error = context;

	return catalog_set_error(w, error->kind, error->id, error->error);
}

static inline void set_error(struct fixture *f, enum error_kind kind, uint64_t id, int error)
{
	struct error_entry entry = {kind, id, error};

	assert_int_equal(catalog_write(f->catalog, fixture_error_body, &entry), 0);
}

struct fixture_purge {
	size_t limit;
	bool left;
};

static inline int fixture_purge_body(struct catalog_writer *w, void *context)
{
	struct fixture_purge *purge = context;

	return catalog_purge_orphans(w, purge->limit, &purge->left);
}

static inline bool purge_orphans(struct fixture *f, size_t limit)
{
	struct fixture_purge purge = {.limit = limit};

	assert_int_equal(catalog_write(f->catalog, fixture_purge_body, &purge), 0);
	return purge.left;
}

/* ---- changes of content -------------------------------------------------------------- */

/* Several files get one content in one transaction. */
struct fixture_contents {
	const struct fixture *fixture;
	const uint64_t *files;
	size_t count;
	uint64_t prefix;
	uint64_t group; /* 0: no group, or a new one of this hash */
	bool add_group;
	struct hash128 hash;
	int outcome; /* of the last file */
};

static inline int fixture_contents_body(struct catalog_writer *w, void *context)
{
	struct fixture_contents *contents = context;
	struct content_change change = {.prefix = contents->prefix, .group = contents->group};
	struct file_record file;
	int r = 0;

	for (size_t i = 0; r == 0 && i < contents->count; i++) {
		r = catalog_get_file(catalog_writer_reader(w), contents->files[i], &file);
		if (r == 0 && i == 0 && contents->add_group)
			r = catalog_add_group(w, contents->hash, file.attributes.size,
					      &change.group);
		change.file = contents->files[i];
		change.digest = file_digest(&file);
		if (r == 0)
			contents->outcome = r = catalog_set_content(w, &change);
	}
	contents->group = change.group;
	return r < 0 ? r : 0;
}

/* Puts files in a new group and returns it. */
static inline uint64_t add_group(struct fixture *f, struct hash128 hash, const uint64_t *files,
				 size_t count)
{
	struct fixture_contents contents = {.files = files,
					    .count = count,
					    .prefix = 77,
					    .add_group = true,
					    .hash = hash};

	assert_int_equal(catalog_write(f->catalog, fixture_contents_body, &contents), 0);
	assert_int_equal(contents.outcome, 0);
	return contents.group;
}

static inline int fixture_content_body(struct catalog_writer *w, void *context)
{
	return catalog_set_content(w, context);
}

/* Returns what catalog_set_content returned. */
static inline int set_content_change(struct fixture *f, struct content_change *change)
{
	return catalog_write(f->catalog, fixture_content_body, change);
}

/* Returns what catalog_set_content returned. */
static inline int set_content(struct fixture *f, uint64_t file, uint64_t group)
{
	struct fixture_contents contents = {.files = &file,
					    .count = 1,
					    .prefix = 77,
					    .group = group};

	assert_int_equal(catalog_write(f->catalog, fixture_contents_body, &contents), 0);
	return contents.outcome;
}

#endif
