/* SPDX-License-Identifier: MIT */
#include "choose/folder_tree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/numbers.h"
#include "base/sort.h"
#include "base/stop.h"
#include "choose/copies.h"
#include "choose/filter.h"
#include "choose/sorter.h"
#include "index/query.h"
#include "index/scan.h"

/* ---- walking a tree ------------------------------------------------------------------------- */

/* Visits a name. Returns 0 to continue, or another result, which ends the walk. */
typedef int folder_walk_fn(void *context, const struct entry_record *entry);

static int visit_names(struct catalog_reader *reader, uint64_t dir, struct bytes *waiting,
		       folder_walk_fn *visit, void *context)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct entry_record entry;
	int r = catalog_scan_entries(reader, dir, 0, &scan);

	while (r == 0 && (r = catalog_next_entry(scan, &entry)) == 0) {
		r = visit(context, &entry);
		if (r == 0 && entry.kind == ENTRY_DIR)
			r = bytes_append(waiting, &entry.child, sizeof(entry.child));
	}
	return r == -ENOENT ? 0 : r;
}

/* Visits all names below a directory. Takes 8 bytes for each directory that waits. Returns 0,
 * -EINTR if stop_requested(), what visit returned, or another -errno. */
static int folder_walk(struct catalog_reader *reader, uint64_t dir, folder_walk_fn *visit,
		       void *context)
{
	CLEANUP_BYTES struct bytes waiting = {0}; /* ids of directories */
	int r = bytes_append(&waiting, &dir, sizeof(dir));

	while (r == 0 && waiting.length > 0) {
		if (stop_requested())
			return -EINTR;
		waiting.length -= sizeof(dir);
		memcpy(&dir, waiting.data + waiting.length, sizeof(dir));
		r = visit_names(reader, dir, &waiting, visit, context);
	}
	return r;
}

/* ---- counting ------------------------------------------------------------------------------- */

/* Highest number of bytes of inodes with several names that are sorted in memory: 40,000 names. */
#define LINKS_BYTES (1UL << 20)

int folder_count_begin(struct folder_count *count)
{
	int r;

	*count = (struct folder_count){0};
	r = sorter_new(&count->links, LINKS_BYTES);
	return r < 0 ? r : sorter_new(&count->sharers, LINKS_BYTES);
}

void folder_count_free(struct folder_count *count)
{
	sorter_free(count->links);
	sorter_free(count->sharers);
	*count = (struct folder_count){0};
}

/* Counts an inode that would be removed. */
static int count_inode(struct folder_count *count, struct catalog_reader *reader,
		       const struct file_record *file)
{
	struct extent_record extents = {.own = file->attributes.size};
	int r = catalog_get_extents(reader, file->id, &extents);

	if (r < 0 && r != -ENOENT)
		return r;
	count->bytes = size_add(count->bytes, extents.own);
	if (!extents.sharing)
		return 0;
	return sorter_add(count->sharers, &extents.sharing, sizeof(extents.sharing), file->id);
}

struct folder_counting {
	struct folder_count *count;
	struct catalog_reader *reader;
};

static int count_name(void *context, const struct entry_record *entry)
{
	const struct folder_counting *counting = context;
	struct folder_count *count = counting->count;
	struct file_record file;
	int r;

	if (entry->kind != ENTRY_FILE)
		return 0;
	r = catalog_get_file(counting->reader, entry->child, &file);
	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	if (!S_ISREG(file.attributes.mode))
		return 0;
	count->files++;
	/* a directory that is mounted twice gives its files more names than links */
	if (file.attributes.links > 1 || file.names > 1)
		return sorter_add(count->links, "", 0, file.id);
	return count_inode(count, counting->reader, &file);
}

static int add_folder(struct folder_count *count, struct catalog_reader *reader, uint64_t dir)
{
	struct folder_counting counting = {.count = count, .reader = reader};

	count->folders++;
	return folder_walk(reader, dir, count_name, &counting);
}

int folder_count_add_redundant(struct folder_count *count, struct catalog_reader *reader,
			       const struct copies *copies)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < copies->count; i++) {
		if (copies->list[i].fate == FATE_REDUNDANT)
			r = add_folder(count, reader, copies->list[i].file);
	}
	return r;
}

/* Counts an inode if all its names were visited. */
static int count_links(struct folder_count *count, struct catalog_reader *reader, uint64_t id,
		       uint64_t visited)
{
	struct file_record file;
	int r = catalog_get_file(reader, id, &file);

	if (r == 0 && file.names == visited && file.attributes.links <= visited)
		r = count_inode(count, reader, &file);
	return r == -ENOENT ? -EUCLEAN : r;
}

static int finish_links(struct folder_count *count, struct catalog_reader *reader)
{
	uint64_t last = 0, visited = 0, id;
	int r = sorter_finish(count->links);

	while (r == 0 && (r = sorter_next(count->links, &id)) == 0) {
		if (id != last && visited > 0)
			r = count_links(count, reader, last, visited);
		visited = id == last ? visited + 1 : 1;
		last = id;
	}
	if (r == -ENOENT)
		r = visited > 0 ? count_links(count, reader, last, visited) : 0;
	return r;
}

/* Counts what some files hold together, if all files that share it were counted.
 *
 * file		one of them
 * counted	their number */
static int count_joint(struct folder_count *count, struct catalog_reader *reader, uint64_t file,
		       uint64_t counted)
{
	struct extent_record extents;
	int r = catalog_get_extents(reader, file, &extents);

	if (r == 0 && extents.sharers == counted)
		count->bytes = size_add(count->bytes, extents.joint);
	return r;
}

static int finish_sharers(struct folder_count *count, struct catalog_reader *reader)
{
	uint64_t last = 0, file = 0, counted = 0, sharing, next;
	int r = sorter_finish(count->sharers);

	while (r == 0 &&
	       (r = sorter_next_key(count->sharers, &sharing, sizeof(sharing), &next)) == 0) {
		if (sharing != last && counted > 0)
			r = count_joint(count, reader, file, counted);
		counted = sharing == last ? counted + 1 : 1;
		last = sharing;
		file = next;
	}
	if (r == -ENOENT)
		r = counted > 0 ? count_joint(count, reader, file, counted) : 0;
	return r;
}

int folder_count_finish(struct folder_count *count, struct catalog_reader *reader, uint64_t *bytes)
{
	int r = finish_links(count, reader);

	if (r == 0)
		r = finish_sharers(count, reader);
	*bytes = count->bytes;
	return r;
}

/* Highest number of bytes of names of one directory that are sorted in memory: 20,000 names. */
#define NAMES_BYTES (1UL << 20)

/* ---- the hash ------------------------------------------------------------------------------- */

/* A directory that is being hashed. */
struct tree_level {
	uint64_t dir;
	struct sorter *names; /* numbers are cookies */
	struct hash_state *state;
};

/* The directories from the root of the tree down to the current one. */
struct tree_hashing {
	struct catalog_reader *reader;
	struct tree_level *levels;
	size_t count, capacity;
};

static void pop_level(struct tree_hashing *hashing)
{
	struct tree_level *level = &hashing->levels[--hashing->count];

	sorter_free(level->names);
	hash_state_free(level->state);
}

static void hashing_free(struct tree_hashing *hashing)
{
	while (hashing->count > 0)
		pop_level(hashing);
	free(hashing->levels);
}

static int sort_names(const struct tree_hashing *hashing, const struct tree_level *level)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct entry_record entry;
	int r = catalog_scan_entries(hashing->reader, level->dir, 0, &scan);

	while (r == 0 && (r = catalog_next_entry(scan, &entry)) == 0)
		r = sorter_add(level->names, entry.name.bytes, entry.name.length, entry.cookie);
	return r == -ENOENT ? sorter_finish(level->names) : r;
}

static int push_level(struct tree_hashing *hashing, uint64_t dir)
{
	struct tree_level *level;
	int r = array_reserve(&hashing->levels, &hashing->capacity, hashing->count + 1,
			      sizeof(*hashing->levels));

	if (r < 0)
		return r;
	level = &hashing->levels[hashing->count++];
	*level = (struct tree_level){.dir = dir, .state = hash_state_new()};
	r = level->state ? sorter_new(&level->names, NAMES_BYTES) : -ENOMEM;
	return r < 0 ? r : sort_names(hashing, level);
}

static void add_entry(const struct tree_level *level, char letter, struct hash128 hash,
		      struct name name)
{
	char digits[HASH128_DIGITS + 1];

	hash128_format(hash, digits);
	hash_state_update(level->state, (const char[]){letter, ' '}, 2);
	hash_state_update(level->state, digits, HASH128_DIGITS);
	hash_state_update(level->state, " ", 1);
	hash_state_update(level->state, name.bytes, name.length);
	hash_state_update(level->state, "", 1);
}

static int hash_content(struct catalog_reader *reader, const struct file_record *file,
			struct hash128 *hash)
{
	struct content_record content;
	struct group_record group;
	int r;

	*hash = hash128("", 0);
	if (file->attributes.size == 0)
		return 0;
	r = catalog_get_content(reader, file->id, &content);
	if (r < 0)
		return r == -ENOENT ? FOLDER_TREE_UNREAD : r;
	*hash = content.hash;
	if (content.group == 0)
		return content_has_hash(&content) ? 0 : FOLDER_TREE_UNREAD;
	r = catalog_get_group(reader, content.group, &group);
	*hash = group.hash;
	return r == -ENOENT ? -EUCLEAN : r;
}

static int hash_target(struct catalog_reader *reader, const struct file_record *file,
		       struct hash128 *hash)
{
	struct name target = {0};
	int r = catalog_get_target(reader, file->id, &target);

	*hash = hash128(target.bytes, target.length);
	return r == -ENOENT ? FOLDER_TREE_UNREAD : r;
}

static int hash_device(const struct file_record *file, struct hash128 *hash)
{
	CLEANUP_BYTES struct bytes text = {0};
	int r = bytes_format(&text, "%u:%u", major(file->attributes.rdev),
			     minor(file->attributes.rdev));

	*hash = hash128(text.data, text.length);
	return r;
}

/* Sets the letter of the file's type, and the hash of what it has besides its name. */
static int hash_file(struct catalog_reader *reader, uint64_t id, char *letter, struct hash128 *hash)
{
	struct file_record file;
	int r = catalog_get_file(reader, id, &file);

	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	*letter = '?';
	*hash = hash128("", 0);
	switch (file.attributes.mode & S_IFMT) {
	case S_IFREG:
		*letter = 'f';
		return hash_content(reader, &file, hash);
	case S_IFLNK:
		*letter = 'l';
		return hash_target(reader, &file, hash);
	case S_IFBLK:
		*letter = 'b';
		return hash_device(&file, hash);
	case S_IFCHR:
		*letter = 'c';
		return hash_device(&file, hash);
	case S_IFIFO:
		*letter = 'p';
		return 0;
	case S_IFSOCK:
		*letter = 's';
		return 0;
	default:
		return FOLDER_TREE_UNREAD;
	}
}

/* Adds the next name of the current directory, or begins with it if it is a directory. */
static int hash_name(struct tree_hashing *hashing, uint64_t cookie)
{
	const struct tree_level *level = &hashing->levels[hashing->count - 1];
	struct entry_record entry;
	struct hash128 hash;
	char letter;
	int r = catalog_entry_at(hashing->reader, level->dir, cookie, &entry);

	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	if (entry.kind == ENTRY_DIR)
		return push_level(hashing, entry.child);
	if (entry.kind != ENTRY_FILE)
		return FOLDER_TREE_UNREAD;
	r = hash_file(hashing->reader, entry.child, &letter, &hash);
	if (r == 0)
		add_entry(level, letter, hash, entry.name);
	return r;
}

/* Ends the current directory: adds its hash to its parent. */
static int end_level(struct tree_hashing *hashing, struct hash128 *hash)
{
	struct dir_record dir = {.id = hashing->levels[hashing->count - 1].dir};
	int r = 0;

	*hash = hash_state_digest(hashing->levels[hashing->count - 1].state);
	pop_level(hashing);
	if (hashing->count == 0)
		return 0;
	r = catalog_get_dir(hashing->reader, dir.id, &dir);
	if (r == 0)
		add_entry(&hashing->levels[hashing->count - 1], 'd', *hash, dir.name);
	return r == -ENOENT ? -EUCLEAN : r;
}

int folder_tree_hash(struct catalog_reader *reader, uint64_t dir, struct hash128 *hash)
{
	CLEANUP(hashing_free) struct tree_hashing hashing = {.reader = reader};
	uint64_t cookie;
	int r = push_level(&hashing, dir);

	while (r == 0 && hashing.count > 0) {
		if (stop_requested())
			return -EINTR;
		r = sorter_next(hashing.levels[hashing.count - 1].names, &cookie);
		if (r == 0)
			r = hash_name(&hashing, cookie);
		else if (r == -ENOENT)
			r = end_level(&hashing, hash);
	}
	return r;
}

/* ---- times ---------------------------------------------------------------------------------- */

struct timing {
	struct catalog_reader *reader;
	struct timespec latest;
	bool any;
};

static int time_name(void *context, const struct entry_record *entry)
{
	struct timing *timing = context;
	struct file_record file;
	int r;

	if (entry->kind != ENTRY_FILE)
		return 0;
	r = catalog_get_file(timing->reader, entry->child, &file);
	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	if (S_ISREG(file.attributes.mode) &&
	    (!timing->any || clock_is_earlier(timing->latest, file.attributes.mtime))) {
		timing->latest = file.attributes.mtime;
		timing->any = true;
	}
	return 0;
}

int folder_tree_set_times(struct catalog_reader *reader, struct copies *copies)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < copies->count; i++) {
		struct timing timing = {.reader = reader};

		r = folder_walk(reader, copies->list[i].file, time_name, &timing);
		if (timing.any)
			copies->list[i].mtime = timing.latest;
	}
	return r;
}

/* ---- reclaimable bytes ---------------------------------------------------------------------- */

int folder_tree_reclaimable(struct catalog_reader *reader, const struct copies *copies,
			    uint64_t *bytes)
{
	CLEANUP_FOLDER_COUNT struct folder_count count = {0};
	int r = folder_count_begin(&count);

	if (r == 0)
		r = folder_count_add_redundant(&count, reader, copies);
	return r < 0 ? r : folder_count_finish(&count, reader, bytes);
}

/* ---- directories that are mounted twice ----------------------------------------------------- */

struct mounted {
	struct attributes attributes;
	uint64_t dir;
};

static int compare_mounted(const void *left, const void *right)
{
	const struct mounted *a = left, *b = right;
	int order = numbers_compare(a->attributes.filesystem, b->attributes.filesystem);

	if (order == 0)
		order = numbers_compare(a->attributes.inode, b->attributes.inode);
	return order ? order : numbers_compare(a->dir, b->dir);
}

/* Ids of directories that a group has under another path already, sorted. */
struct mounted_again {
	uint64_t *list;
	size_t count;
};

static bool is_mounted_again(void *context, const struct copies *copies, const struct copy *copy)
{
	const struct mounted_again *again = context;

	(void)copies;
	return bsearch(&copy->file, again->list, again->count, sizeof(*again->list),
		       numbers_by_value);
}

int folder_tree_remove_mounts(struct catalog_reader *reader, struct copies *copies)
{
	AUTO_FREE struct mounted *list = calloc(copies->count + 1, sizeof(*list));
	AUTO_FREE uint64_t *ids = calloc(copies->count + 1, sizeof(*ids));
	struct mounted_again again = {.list = ids};
	struct dir_record dir;
	int r = list && ids ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < copies->count; i++) {
		r = catalog_get_dir(reader, copies->list[i].file, &dir);
		if (r == 0)
			list[i] = (struct mounted){.attributes = dir.attributes, .dir = dir.id};
	}
	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	qsort(list, copies->count, sizeof(*list), compare_mounted);
	for (size_t i = 1; i < copies->count; i++) {
		if (attributes_same_inode(&list[i - 1].attributes, &list[i].attributes))
			ids[again.count++] = list[i].dir;
	}
	qsort(ids, again.count, sizeof(*ids), numbers_by_value);
	copies_remove(copies, is_mounted_again, &again);
	return 0;
}

/* ---- excluded names ------------------------------------------------------------------------- */

/* Outcome of a walk: a name is excluded. */
enum {
	TREE_EXCLUDED = 1,
};

struct excluding {
	struct catalog_reader *reader;
	const struct filter *filter;
	int error; /* the first failure, -errno */
};

static int find_excluded(void *context, const struct entry_record *entry)
{
	const struct excluding *excluding = context;
	bool excluded;
	int r = filter_excludes_entry(excluding->filter, excluding->reader, entry->dir,
				      entry->cookie, &excluded);

	return r < 0 || !excluded ? r : TREE_EXCLUDED;
}

/* Returns whether a name below the directory is excluded; false after a failure. */
static bool has_excluded(struct excluding *excluding, uint64_t dir)
{
	int r = excluding->error;

	if (r == 0 && filter_excludes(excluding->filter))
		r = folder_walk(excluding->reader, dir, find_excluded, excluding);
	if (r < 0)
		excluding->error = r;
	return r == TREE_EXCLUDED;
}

static bool is_left_out(void *context, const struct copies *copies, const struct copy *copy)
{
	(void)copies;
	return has_excluded(context, copy->file);
}

int folder_tree_remove_excluded(struct catalog_reader *reader, const struct filter *filter,
				struct copies *copies)
{
	struct excluding excluding = {.reader = reader, .filter = filter};

	copies_remove(copies, is_left_out, &excluding);
	return excluding.error;
}

/* ---- implied groups ------------------------------------------------------------------------- */

/* Sets *group to the folder group of the parent of a directory; 0: none, or it contains an excluded
 * name. */
static int find_group_above(struct excluding *excluding, const struct copy *copy, uint64_t *group)
{
	struct dir_record dir;
	int r = catalog_get_dir(excluding->reader, copy->file, &dir);

	*group = 0;
	if (r == 0 && dir.parent && !has_excluded(excluding, dir.parent))
		r = catalog_find_folder_group(excluding->reader, dir.parent, group);
	if (r == 0)
		r = excluding->error;
	return r == -ENOENT ? -EUCLEAN : r;
}

int folder_tree_is_implied(struct catalog_reader *reader, const struct filter *filter,
			   const struct copies *copies, bool *implied)
{
	struct excluding excluding = {.reader = reader, .filter = filter};
	uint64_t group = 0, of_first = 0;
	int r = 0;

	*implied = copies->count > 0;
	for (size_t i = 0; r == 0 && *implied && i < copies->count; i++) {
		r = find_group_above(&excluding, &copies->list[i], &group);
		of_first = i == 0 ? group : of_first;
		*implied = group != 0 && group == of_first;
	}
	return r;
}

/* Sets parts[i] to whether folder i of a group is a part of another one that has an equal folder:
 * its parent is in a folder group, and contains no excluded name. Linear as
 * folder_tree_is_implied(). */
static int find_parts(struct catalog_reader *reader, const struct filter *filter,
		      const struct copies *copies, bool *parts)
{
	struct excluding excluding = {.reader = reader, .filter = filter};
	uint64_t group;
	int r = 0;

	for (size_t i = 0; r == 0 && i < copies->count; i++) {
		r = find_group_above(&excluding, &copies->list[i], &group);
		parts[i] = group != 0;
	}
	return r;
}

/* ---- whole copies --------------------------------------------------------------------------- */

/* Returns whether something else empties the place of a folder before that of the kept one. */
static bool is_emptied_earlier(const struct copies *copies, const struct copy *copy)
{
	return copy->stays_for_place != PLACE_LASTS || copy->emptied > copies->list[0].emptied;
}

int folder_count_add_whole(struct folder_count *count, struct catalog_reader *reader,
			   const struct filter *filter, const struct copies *copies)
{
	AUTO_FREE bool *parts = calloc(copies->count + 1, sizeof(*parts));
	bool part_stays = false;
	int r = parts ? find_parts(reader, filter, copies, parts) : -ENOMEM;

	for (size_t i = 0; r == 0 && i < copies->count; i++)
		part_stays |= parts[i] && !is_emptied_earlier(copies, &copies->list[i]);
	for (size_t i = 0; r == 0 && i < copies->count; i++) {
		const struct copy *copy = &copies->list[i];
		bool goes = copy->fate == FATE_REDUNDANT ||
			    (copy->fate == FATE_KEPT && part_stays && !copies->kept_must_stay);

		if (!parts[i] && goes)
			r = add_folder(count, reader, copy->file);
	}
	return r;
}
