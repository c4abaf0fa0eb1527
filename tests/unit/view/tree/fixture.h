/* SPDX-License-Identifier: MIT */
#ifndef TESTS_VIEW_FIXTURE_H
#define TESTS_VIEW_FIXTURE_H

/* A view of an index that the test fills, over existing source folders. A failed helper ends the
 * test. */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/attributes.h"
#include "folder.h"
#include "index/catalog.h"
#include "index/change.h"
#include "index/paths.h"
#include "index/query.h"
#include "index/source.h"
#include "unit_test.h"
#include "view/tree/node.h"
#include "view/tree/view.h"

#define FIXTURE_SOURCES_MAX 2

/* The name of the group of group_hash. */
#define HASH_NAME "00000000000000010000000000000002"

static const struct hash128 group_hash = {1, 2};
static const char *const one_source[] = {"source", NULL};
static const char *const two_sources[] = {"one", "two", NULL};

struct fixture {
	char folder[64]; /* index/ and the sources are in it */
	struct catalog *catalog;
	struct sources sources;
	struct view view;
	struct view_call call; /* a caller that sees everything */
	uint32_t scan;
	uint64_t next_inode; /* for files that exist in the index only */
};

/* Runs a shell command. */
static inline void run(const char *command)
{
	assert_int_equal(system(command),
			 0); /* NOLINT(cert-env33-c): the command is a constant of a test */
}

static inline void fixture_open(struct fixture *fixture, const char *const *names)
{
	char index[128], paths[FIXTURE_SOURCES_MAX][128];
	char *given[FIXTURE_SOURCES_MAX + 1] = {NULL};
	const struct catalog_options options = {.folder = index};
	CLEANUP_TEXT_LIST struct text_list resolved = {0};
	size_t count = 0;

	*fixture = (struct fixture){.next_inode = 1000000};
	folder_make(fixture->folder, "/tmp");
	(void)snprintf(index, sizeof(index), "%s/index", fixture->folder);
	for (; names[count]; count++) {
		(void)snprintf(paths[count], sizeof(paths[count]), "%s/%s", fixture->folder,
			       names[count]);
		assert_int_equal(mkdir(paths[count], 0755), 0);
		given[count] = paths[count];
	}
	assert_int_equal(catalog_open(&fixture->catalog, &options), CATALOG_OPENED);
	assert_int_equal(source_paths_resolve(given, count, &resolved), 0);
	assert_int_equal(sources_open(&fixture->sources, fixture->catalog, resolved.items, false),
			 0);
	view_init(&fixture->view, fixture->catalog, &fixture->sources, "/nowhere");
	fixture->call = (struct view_call){.view = &fixture->view};
}

static inline void fixture_close(struct fixture *fixture)
{
	view_deinit(&fixture->view);
	sources_close(&fixture->sources);
	catalog_close(fixture->catalog);
	folder_remove(fixture->folder);
}

/* Returns the root of the first source. */
static inline uint64_t root_of(const struct fixture *fixture)
{
	return fixture->sources.list[0].root;
}

/* ---- filling the index --------------------------------------------------------------- */

struct fixture_changes {
	struct fixture *fixture;
	struct name_change *list;
	size_t count;
};

static inline int fixture_apply_body(struct catalog_writer *writer, void *context)
{
	struct fixture_changes *changes = context;

	catalog_end_scan(writer, false);
	changes->fixture->scan = catalog_begin_scan(writer);
	return catalog_apply(writer, changes->list, changes->count, changes->fixture->scan);
}

static inline void fixture_apply(struct fixture *fixture, struct name_change *list, size_t count)
{
	struct fixture_changes changes = {fixture, list, count};

	assert_int_equal(catalog_write(fixture->catalog, fixture_apply_body, &changes), 0);
}

static inline struct name fixture_name(const char *text)
{
	return (struct name){text, (uint32_t)strlen(text)};
}

/* Returns attributes of a file that does not have to exist. */
static inline struct attributes fixture_file(struct fixture *fixture, mode_t mode, uint64_t size)
{
	return (struct attributes){
		.inode = fixture->next_inode++,
		.size = size,
		.blocks = (size + 511) / 512,
		.filesystem = 1000,
		.mode = mode,
		.uid = 12,
		.gid = 34,
		.links = 1,
		.mtime = {1000, 1},
		.ctime = {2000, 2},
		.atime = {3000, 3},
	};
}

static inline uint64_t fixture_add_dir(struct fixture *fixture, uint64_t parent, const char *name,
				       int error)
{
	struct name_change change = {
		.kind = NAME_ADD_DIR,
		.dir = parent,
		.name = fixture_name(name),
		.id = catalog_new_id(fixture->catalog),
		.error = error,
		.attributes = fixture_file(fixture, S_IFDIR | 0750, 4096),
	};

	change.attributes.links = 7;
	fixture_apply(fixture, &change, 1);
	return change.id;
}

static inline void fixture_add_file(struct fixture *fixture, uint64_t dir, const char *name,
				    const struct attributes *attributes)
{
	struct name_change change = {
		.kind = NAME_ADD_FILE,
		.dir = dir,
		.name = fixture_name(name),
		.attributes = *attributes,
	};

	fixture_apply(fixture, &change, 1);
}

/* Adds "a" and "b" of 5 bytes to the root. */
static inline void fixture_add_pair(struct fixture *fixture, struct attributes pair[static 2])
{
	for (int i = 0; i < 2; i++) {
		pair[i] = fixture_file(fixture, S_IFREG | 0644, 5);
		fixture_add_file(fixture, root_of(fixture), i ? "b" : "a", &pair[i]);
	}
}

static inline void fixture_remove(struct fixture *fixture, uint64_t dir, const char *name)
{
	struct name_change change = {.kind = NAME_REMOVE, .dir = dir};
	struct catalog_reader *reader;
	struct entry_record entry;

	assert_int_equal(catalog_read_begin(fixture->catalog, &reader), 0);
	assert_int_equal(catalog_find_entry(reader, dir, fixture_name(name), &entry), 0);
	change.cookie = entry.cookie;
	catalog_read_end(reader);
	fixture_apply(fixture, &change, 1);
}

/* Returns the id of the file with these attributes. */
static inline uint64_t fixture_file_id(struct fixture *fixture, const struct attributes *attributes)
{
	struct catalog_reader *reader;
	uint64_t id;

	assert_int_equal(catalog_read_begin(fixture->catalog, &reader), 0);
	assert_int_equal(catalog_find_inode(reader, attributes->filesystem, attributes->inode, &id),
			 0);
	catalog_read_end(reader);
	assert_true(id > 0);
	return id;
}

struct fixture_group {
	struct hash128 hash;
	const struct attributes *members;
	const uint64_t *ids;
	size_t count;
	uint64_t id;
};

static inline int fixture_group_body(struct catalog_writer *writer, void *context)
{
	struct fixture_group *group = context;
	int r = catalog_add_group(writer, group->hash, group->members[0].size, &group->id);

	for (size_t i = 0; i < group->count && r == 0; i++) {
		struct content_change change = {
			.file = group->ids[i],
			.prefix = 1,
			.group = group->id,
		};
		struct file_record file;

		r = catalog_get_file(catalog_writer_reader(writer), group->ids[i], &file);
		change.digest = file_digest(&file);
		if (r == 0)
			r = catalog_set_content(writer, &change);
	}
	return r;
}

/* Creates a group of these files. Returns its id. */
static inline uint64_t fixture_add_group(struct fixture *fixture, struct hash128 hash,
					 const struct attributes *members, size_t count)
{
	uint64_t *ids = calloc(count, sizeof(*ids));
	struct fixture_group group = {.hash = hash, .members = members, .ids = ids, .count = count};

	assert_non_null(ids);
	for (size_t i = 0; i < count; i++)
		ids[i] = fixture_file_id(fixture, &members[i]);
	assert_int_equal(catalog_write(fixture->catalog, fixture_group_body, &group), 0);
	free(ids);
	return group.id;
}

/* ---- querying the view --------------------------------------------------------------- */

#define FIXTURE_NAMES_MAX 4096

struct fixture_listing {
	size_t count, limit; /* emit accepts limit names in total */
	struct {
		char name[256];
		uint64_t cookie;
		uint64_t node; /* 0: unknown */
	} names[FIXTURE_NAMES_MAX];
};

static inline bool fixture_emit(const struct view_entry *entry, void *context)
{
	struct fixture_listing *listing = context;

	if (entry->cookie < VIEW_COOKIE_MIN) { /* "." and ".." */
		assert_int_equal(entry->attributes.st_mode, S_IFDIR);
		return true;
	}
	if (listing->count == listing->limit)
		return false;
	assert_true(listing->count < FIXTURE_NAMES_MAX);
	assert_true(entry->cookie <= INT64_MAX);
	assert_int_equal(entry->known, entry->attributes.st_ino != 0);
	(void)snprintf(listing->names[listing->count].name, sizeof(listing->names[0].name), "%s",
		       entry->name);
	listing->names[listing->count].cookie = entry->cookie;
	listing->names[listing->count].node = entry->attributes.st_ino;
	listing->count++;
	return true;
}

static inline uint64_t fixture_last_cookie(const struct fixture_listing *listing)
{
	return listing->count ? listing->names[listing->count - 1].cookie : 0;
}

/* Lists a directory in calls of at most step names. */
static inline void fixture_list(struct fixture *fixture, uint64_t node, size_t step,
				struct fixture_listing *names)
{
	size_t before;

	names->count = 0;
	do {
		before = names->count;
		names->limit = before + step;
		assert_int_equal(view_list(&fixture->call, node, fixture_last_cookie(names),
					   fixture_emit, names),
				 0);
	} while (names->count > before);
}

static inline size_t fixture_count(const struct fixture_listing *listing, const char *name)
{
	size_t count = 0;

	for (size_t i = 0; i < listing->count; i++)
		count += strcmp(listing->names[i].name, name) == 0;
	return count;
}

/* Returns the node at a path in the view, or -errno. */
static inline int64_t fixture_find(struct fixture *fixture, const char *path)
{
	struct stat attributes = {.st_ino = VIEW_ROOT};
	char copy[1024], *rest = copy, *name;

	(void)snprintf(copy, sizeof(copy), "%s", path);
	while ((name = strsep(&rest, "/"))) {
		int r = view_lookup(&fixture->call, attributes.st_ino, name, &attributes);

		if (r < 0)
			return r;
	}
	return (int64_t)attributes.st_ino;
}

#endif
