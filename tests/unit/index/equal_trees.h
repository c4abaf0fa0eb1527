/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CATALOG_EQUAL_TREES_H
#define TESTS_CATALOG_EQUAL_TREES_H

/* The groups of equal directories, computed from the names and files of an index alone. */

#include <inttypes.h>

#include "base/hash.h"
#include "index/fixture.h"

#define LINE_BYTES 256 /* a name and its token */
#define TOKEN_AT 100
#define TOKEN_BYTES (LINE_BYTES - TOKEN_AT)
#define NAMES_SEEN_MAX 1000

struct seen_dir {
	uint64_t id, group;
	struct hash128 tree; /* equal for equal trees */
	bool done;
};

struct equal_trees {
	struct seen_dir dirs[4096];
	size_t dir_count;
	uint64_t lone; /* makes tokens that equal nothing */
};

static inline void list_dirs(struct equal_trees *p, struct catalog_reader *reader)
{
	struct catalog_scan *scan = NULL;
	struct dir_record dir;

	p->dir_count = 0;
	assert_int_equal(catalog_scan_dirs(reader, 0, &scan), 0);
	while (catalog_next_dir(scan, &dir) == 0) {
		assert_true(p->dir_count < ARRAY_SIZE(p->dirs));
		p->dirs[p->dir_count++] = (struct seen_dir){.id = dir.id};
	}
	catalog_scan_end(scan);
}

static inline struct seen_dir *seen(struct equal_trees *p, uint64_t id)
{
	for (size_t i = 0; i < p->dir_count; i++) {
		if (p->dirs[i].id == id)
			return &p->dirs[i];
	}
	fail();
	return NULL;
}

static inline size_t named_members(struct catalog_reader *reader, uint64_t group)
{
	struct catalog_scan *scan = NULL;
	struct file_record file;
	uint64_t id;
	size_t count = 0;

	assert_int_equal(catalog_scan_members(reader, group, 0, &scan), 0);
	while (catalog_next_member(scan, &id) == 0) {
		assert_int_equal(catalog_get_file(reader, id, &file), 0);
		count += file.names > 0;
	}
	catalog_scan_end(scan);
	return count;
}

static inline struct hash128 tree_of(struct equal_trees *p, struct catalog_reader *reader,
				     struct seen_dir *dir);

static inline int token_text(struct equal_trees *p, struct catalog_reader *reader,
			     const struct entry_record *entry, char text[TOKEN_BYTES])
{
	struct content_record content = {0};
	struct file_record file;
	struct name target;

	if (entry->kind == ENTRY_DIR) {
		struct hash128 tree = tree_of(p, reader, seen(p, entry->child));

		return snprintf(text, TOKEN_BYTES, "d%016" PRIx64 "%016" PRIx64, tree.high,
				tree.low);
	}
	if (entry->kind != ENTRY_FILE)
		return snprintf(text, TOKEN_BYTES, "?%" PRIu64, p->lone++);
	assert_int_equal(catalog_get_file(reader, entry->child, &file), 0);
	if (S_ISLNK(file.attributes.mode))
		return catalog_get_target(reader, file.id, &target) == 0
			       ? snprintf(text, TOKEN_BYTES, "l%.*s", (int)target.length,
					  target.bytes)
			       : snprintf(text, TOKEN_BYTES, "?%" PRIu64, p->lone++);
	if (!S_ISREG(file.attributes.mode))
		return snprintf(text, TOKEN_BYTES, "s%x:%" PRIu64, file.attributes.mode & S_IFMT,
				file.attributes.rdev);
	if (file.attributes.size == 0)
		return snprintf(text, TOKEN_BYTES, "e");
	if (catalog_get_content(reader, file.id, &content) == 0 && content.group &&
	    named_members(reader, content.group) > 1)
		return snprintf(text, TOKEN_BYTES, "c%" PRIu64, content.group);
	if (file.names > 1)
		return snprintf(text, TOKEN_BYTES, "i%" PRIu64, file.id);
	return snprintf(text, TOKEN_BYTES, "?%" PRIu64, p->lone++);
}

static inline int by_text(const void *a, const void *b)
{
	return memcmp(a, b, LINE_BYTES);
}

static inline struct hash128 tree_of(struct equal_trees *p, struct catalog_reader *reader,
				     struct seen_dir *dir)
{
	char(*lines)[LINE_BYTES];
	char lone[LINE_BYTES] = {0};
	struct catalog_scan *scan = NULL;
	struct entry_record entry;
	struct dir_record record;
	size_t count = 0;

	if (dir->done)
		return dir->tree;
	lines = calloc(NAMES_SEEN_MAX, sizeof(*lines));
	assert_non_null(lines);
	assert_int_equal(catalog_get_dir(reader, dir->id, &record), 0);
	assert_int_equal(catalog_scan_entries(reader, dir->id, 0, &scan), 0);
	while (catalog_next_entry(scan, &entry) == 0) {
		assert_true(count < NAMES_SEEN_MAX);
		memcpy(lines[count], entry.name.bytes, entry.name.length);
		(void)token_text(p, reader, &entry, lines[count++] + TOKEN_AT);
	}
	catalog_scan_end(scan);
	qsort(lines, count, sizeof(*lines), by_text);
	dir->tree = hash128(lines, count * sizeof(*lines));
	if (record.error || record.flags) {
		(void)snprintf(lone, sizeof(lone), "incomplete %" PRIu64, p->lone++);
		dir->tree = hash128(lone, sizeof(lone));
	}
	free(lines);
	dir->done = true;
	return dir->tree;
}

static inline int by_tree(const void *a, const void *b)
{
	return memcmp(&((const struct seen_dir *)a)->tree, &((const struct seen_dir *)b)->tree,
		      sizeof(struct hash128));
}

/* Asserts that two directories are in one folder group if, and only if, their trees are equal. */
static inline void assert_equal_trees_are_grouped(const struct fixture *f)
{
	struct equal_trees *p = calloc(1, sizeof(*p));
	struct catalog_reader *reader = fixture_read(f);

	assert_non_null(p);

	list_dirs(p, reader);
	for (size_t i = 0; i < p->dir_count; i++) {
		(void)tree_of(p, reader, &p->dirs[i]);
		assert_int_equal(catalog_find_folder_group(reader, p->dirs[i].id,
							   &p->dirs[i].group),
				 0);
	}
	qsort(p->dirs, p->dir_count, sizeof(p->dirs[0]), by_tree);
	for (size_t i = 0; i < p->dir_count; i++) {
		bool equal = (i > 0 && by_tree(&p->dirs[i], &p->dirs[i - 1]) == 0) ||
			     (i + 1 < p->dir_count && by_tree(&p->dirs[i], &p->dirs[i + 1]) == 0);

		assert_int_equal(p->dirs[i].group != 0, equal);
		for (size_t j = 0; j < i; j++)
			assert_int_equal(by_tree(&p->dirs[i], &p->dirs[j]) == 0,
					 p->dirs[i].group && p->dirs[i].group == p->dirs[j].group);
	}
	catalog_read_end(reader);
	free(p);
}

#endif
