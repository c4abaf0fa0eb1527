/* SPDX-License-Identifier: MIT */
#include "index/paths.h"

#include <errno.h>
#include <string.h>

#include "index/query.h"
#include "index/scan.h"
#include "index/store/store.h"

/* A path deeper than this means a cycle in a damaged index. */
#define DEPTH_MAX 1000000

int catalog_find_entry(struct catalog_reader *r, uint64_t dir, struct name name,
		       struct entry_record *entry)
{
	uint64_t first = name_cookie(r->name_seed, name);
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	int result = catalog_entry_at(r, dir, first, entry);

	if (result == 0 && names_equal(entry->name, name))
		return 0;
	if (result < 0 && result != -ENOENT)
		return result;
	result = catalog_scan_entries(r, dir, first, &scan); /* names with the same hash */
	while (result == 0 && (result = catalog_next_entry(scan, entry)) == 0) {
		if (entry->cookie >= first + ENTRY_COOKIE_SLOTS)
			return -ENOENT;
		if (names_equal(entry->name, name))
			return 0;
	}
	return result;
}

int catalog_find_path(struct catalog_reader *r, uint64_t dir, const char *relative,
		      struct entry_record *entry)
{
	for (;;) {
		size_t length = strcspn(relative, "/");
		struct name name = {relative, (uint32_t)length};
		int result = catalog_find_entry(r, dir, name, entry);

		if (result < 0 || relative[length] == '\0')
			return result;
		if (entry->kind != ENTRY_DIR)
			return -ENOENT;
		dir = entry->child;
		relative += length + 1;
	}
}

static void reverse(uint8_t *data, size_t length)
{
	for (size_t i = 0; i < length / 2; i++) {
		uint8_t swap = data[i];

		data[i] = data[length - 1 - i];
		data[length - 1 - i] = swap;
	}
}

/* Appends a name reversed. Paths are built from their end, and at last the whole path is
 * reversed. */
static int append_backwards(struct bytes *path, struct name name)
{
	int r = bytes_append(path, name.bytes, name.length);

	if (r == 0)
		reverse(path->data + path->length - name.length, name.length);
	return r;
}

/* What a walk from a directory up to the root of its source has found. */
struct ascent {
	uint32_t flags; /* DIR_PLACE */
	uint32_t filesystem; /* that of the directory; 0: the walk has left it, or has not begun */
	bool begun;
};

/* A cache includes all below it. What a file system is, is a flag of its topmost directory. */
static void ascend(struct ascent *ascent, const struct dir_record *record)
{
	if (!ascent->begun)
		ascent->filesystem = record->attributes.filesystem;
	else if (ascent->filesystem != record->attributes.filesystem)
		ascent->filesystem = 0;
	ascent->begun = true;
	ascent->flags |= record->flags & (ascent->filesystem ? DIR_PLACE : DIR_IS_CACHE);
}

static enum emptied_place place_of(uint32_t flags)
{
	if (flags & DIR_IN_MEMORY)
		return PLACE_MEMORY;
	if (flags & DIR_IN_TRASH)
		return PLACE_TRASH;
	if (flags & DIR_IS_CACHE)
		return PLACE_CACHE;
	return flags & DIR_IN_SNAPSHOT ? PLACE_SNAPSHOT : PLACE_LASTS;
}

static int gather_path(struct catalog_reader *r, uint64_t dir, struct name name, struct bytes *path,
		       struct location *location)
{
	size_t start = path->length;
	struct dir_record record = {0};
	struct ascent ascent = {0};
	int result = append_backwards(path, name);

	for (unsigned int depth = 0; result == 0; depth++) {
		result = catalog_get_dir(r, dir, &record);
		if (result == 0)
			ascend(&ascent, &record);
		if (result < 0 || record.parent == 0)
			break;
		if (depth == DEPTH_MAX)
			return -EUCLEAN;
		if (path->length > start)
			result = bytes_append(path, "/", 1);
		if (result == 0)
			result = append_backwards(path, record.name);
		dir = record.parent;
	}
	if (result < 0)
		return result;
	if (path->length > start)
		reverse(path->data + start, path->length - start);
	*location = (struct location){record.source, place_of(ascent.flags)};
	return 0;
}

int catalog_dir_location(struct catalog_reader *r, uint64_t dir, struct bytes *path,
			 struct location *location)
{
	return gather_path(r, dir, (struct name){"", 0}, path, location);
}

int catalog_entry_location(struct catalog_reader *r, uint64_t dir, uint64_t cookie,
			   struct bytes *path, struct location *location)
{
	struct entry_record entry;
	int result = catalog_entry_at(r, dir, cookie, &entry);

	return result < 0 ? result : gather_path(r, dir, entry.name, path, location);
}

int catalog_dir_path(struct catalog_reader *r, uint64_t dir, struct bytes *path, uint32_t *source)
{
	struct location location = {0};
	int result = catalog_dir_location(r, dir, path, &location);

	*source = location.source;
	return result;
}

int catalog_entry_path(struct catalog_reader *r, uint64_t dir, uint64_t cookie, struct bytes *path,
		       uint32_t *source)
{
	struct location location = {0};
	int result = catalog_entry_location(r, dir, cookie, path, &location);

	*source = location.source;
	return result;
}

static bool path_goes_before(const struct bytes *path, size_t start, size_t middle)
{
	size_t old = middle - start, new = path->length - middle;
	int order = memcmp(path->data + middle, path->data + start, new < old ? new : old);

	return order ? order < 0 : new < old;
}

int catalog_file_path(struct catalog_reader *r, const struct file_record *file, struct bytes *path,
		      uint32_t *source)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	size_t start = path->length, middle;
	uint64_t dir, cookie;
	uint32_t next_source;
	int result;

	if (file->names == 0)
		return -ENOENT;
	result = catalog_entry_path(r, file->dir, file->cookie, path, source);
	if (result < 0 || file->names == 1)
		return result;
	result = catalog_scan_names(r, file, &scan);
	while (result == 0 && (result = catalog_next_name(scan, &dir, &cookie)) == 0) {
		middle = path->length;
		result = catalog_entry_path(r, dir, cookie, path, &next_source);
		if (result < 0)
			break;
		if (next_source < *source ||
		    (next_source == *source && path_goes_before(path, start, middle))) {
			memmove(path->data + start, path->data + middle, path->length - middle);
			path->length = start + path->length - middle;
			*source = next_source;
		} else {
			path->length = middle;
		}
	}
	return result == -ENOENT ? 0 : result;
}

int catalog_dir_is_in_cycle(struct catalog_reader *r, uint64_t dir, bool *cycle)
{
	struct dir_record record = {0};
	uint64_t mark = dir;
	int result;

	/* The mark moves to the current directory after each power of two steps. So if there is a
	 * cycle, the mark is in it at some time, and a later step meets the mark. */
	*cycle = false;
	for (uint64_t steps = 1; dir && !*cycle; steps++) {
		result = catalog_get_dir(r, dir, &record);
		if (result < 0)
			return result;
		dir = record.parent;
		*cycle = dir == mark;
		if ((steps & (steps - 1)) == 0)
			mark = dir;
	}
	return 0;
}
