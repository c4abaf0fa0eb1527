/* SPDX-License-Identifier: MIT */
#include "choose/copies.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/numbers.h"
#include "base/sort.h"
#include "index/emptied_place.h"
#include "index/kept.h"
#include "index/paths.h"
#include "index/query.h"
#include "index/scan.h"

/* ---- copies --------------------------------------------------------------------------------- */

const char *fate_word(enum fate fate)
{
	static const char *const words[] = {
		[FATE_KEPT] = "kept",
		[FATE_REDUNDANT] = "redundant",
		[FATE_SPARED] = "spared",
	};

	return words[fate];
}

void copies_free(struct copies *copies)
{
	free(copies->list);
	bytes_free(&copies->paths);
	memset(copies, 0, sizeof(*copies));
}

void copies_clear(struct copies *copies)
{
	copies->folders = false;
	copies->count = 0;
	copies->redundant = 0;
	copies->paths.length = 0;
}

const char *copy_path(const struct copies *copies, const struct copy *copy)
{
	return (const char *)copies->paths.data + copy->path;
}

bool copy_is_root(const struct copies *copies, const struct copy *copy)
{
	return strcmp(copy_path(copies, copy), COPY_ROOT) == 0;
}

static int add_name(struct copies *copies, struct catalog_reader *reader, uint64_t dir,
		    uint64_t cookie)
{
	struct location location;
	struct copy *copy;
	int r;

	r = array_reserve(&copies->list, &copies->capacity, copies->count + 1,
			  sizeof(*copies->list));
	if (r < 0)
		return r;
	copy = &copies->list[copies->count];
	memset(copy, 0, sizeof(*copy));
	copy->path = copies->paths.length;
	copy->dir = dir;
	r = catalog_entry_location(reader, dir, cookie, &copies->paths, &location);
	if (r < 0)
		return r;
	copy->source = location.source;
	copy->emptied = location.place;
	r = bytes_append(&copies->paths, "", 1);
	if (r < 0)
		return r;
	copies->count++;
	return 0;
}

static int compare_paths(const struct copies *copies, size_t a, size_t b)
{
	const char *paths = (const char *)copies->paths.data;

	return strcmp(paths + a, paths + b);
}

/* Sets the places of the names of a file with several ones, also by their paths. */
static int set_places(struct copies *copies, struct catalog_reader *reader, size_t first)
{
	CLEANUP_BYTES struct bytes source = {0};
	uint64_t root;
	int r = 0;

	for (size_t i = first; r == 0 && i < copies->count; i++) {
		struct copy *name = &copies->list[i];
		const char *path = copy_path(copies, name);

		source.length = 0;
		r = catalog_get_source(reader, name->source, &source, &root);
		if (r == 0 && !bytes_text(&source))
			r = -ENOMEM;
		if (r == 0)
			name->emptied =
				emptied_first(name->emptied, emptied_place_of(bytes_text(&source),
									      path, strlen(path)));
	}
	return r;
}

/* Returns whether a name of a file is before another one: by how long its place lasts, its source
 * and its path. */
static bool leads(const struct copies *copies, const struct copy *name, const struct copy *other)
{
	if (name->emptied != other->emptied)
		return name->emptied < other->emptied;
	if (name->source != other->source)
		return name->source < other->source;
	return compare_paths(copies, name->path, other->path) < 0;
}

/* Finds the lead, which is the first name. Sets it in all names from first to end. */
static void choose_lead(struct copies *copies, size_t first, size_t end)
{
	const struct copy *lead = &copies->list[first];

	for (size_t i = first + 1; i < end; i++) {
		if (leads(copies, &copies->list[i], lead))
			lead = &copies->list[i];
	}
	for (size_t i = first; i < end; i++) {
		struct copy *name = &copies->list[i];

		name->another_name = name != lead;
		name->lead = lead->path;
		name->lead_source = lead->source;
	}
}

int copies_add_file(struct copies *copies, struct catalog_reader *reader, uint64_t id,
		    enum fate fate)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	size_t first = copies->count;
	struct file_record file;
	struct kept_rank rank;
	uint64_t dir;
	uint64_t cookie;
	int r;

	r = catalog_get_file(reader, id, &file);
	if (r < 0)
		return r;
	r = catalog_scan_names(reader, &file, &scan);
	if (r < 0)
		return r;
	while ((r = catalog_next_name(scan, &dir, &cookie)) == 0) {
		r = add_name(copies, reader, dir, cookie);
		if (r < 0)
			return r;
	}
	if (r != -ENOENT)
		return r;
	if (copies->count == first)
		return 0;
	r = copies->count > first + 1 ? set_places(copies, reader, first) : 0;
	if (r < 0)
		return r;
	kept_rank_set_inode(&rank, file.first_seen, &file.attributes);
	for (size_t i = first; i < copies->count; i++) {
		copies->list[i].file = file.id;
		copies->list[i].first_seen = rank.first_seen;
		copies->list[i].links = rank.links;
		copies->list[i].mtime = rank.mtime;
		copies->list[i].birth = rank.birth;
		copies->list[i].fate = fate;
	}
	choose_lead(copies, first, copies->count);
	copies->redundant += fate == FATE_REDUNDANT;
	return 0;
}

/* Compares copies for qsort_r(3). The kept inode is first, and the other inodes are ordered by
 * their leads. Within an inode, the lead is first. */
static int compare_copies(const void *left, const void *right, void *context)
{
	const struct copies *copies = context;
	const struct copy *a = left;
	const struct copy *b = right;
	int order = (int)(b->fate == FATE_KEPT) - (int)(a->fate == FATE_KEPT);

	if (order == 0)
		order = numbers_compare(a->lead_source, b->lead_source);
	if (order == 0)
		order = compare_paths(copies, a->lead, b->lead);
	if (order == 0)
		order = (int)a->another_name - (int)b->another_name;
	if (order == 0)
		order = numbers_compare(a->source, b->source);
	if (order == 0)
		order = compare_paths(copies, a->path, b->path);
	return order;
}

void copies_sort(struct copies *copies)
{
	if (copies->count > 1)
		qsort_r(copies->list, copies->count, sizeof(*copies->list), compare_copies, copies);
}

size_t copies_inode_end(const struct copies *copies, size_t first)
{
	size_t end = first + 1;

	while (end < copies->count && copies->list[end].file == copies->list[first].file)
		end++;
	return end;
}

size_t copies_count_inodes(const struct copies *copies)
{
	size_t inodes = 0;

	for (size_t i = 0; i < copies->count; i = copies_inode_end(copies, i))
		inodes++;
	return inodes;
}

void copies_remove(struct copies *copies,
		   bool (*removes)(void *context, const struct copies *copies,
				   const struct copy *copy),
		   void *context)
{
	size_t left = 0;

	for (size_t i = 0; i < copies->count; i++) {
		if (!removes(context, copies, &copies->list[i]))
			copies->list[left++] = copies->list[i];
	}
	if (left == copies->count)
		return;
	copies->count = left;
	copies->redundant = 0;
	for (size_t i = 0, end; i < left; i = end) {
		end = copies_inode_end(copies, i);
		choose_lead(copies, i, end);
		copies->redundant += copies->list[i].fate == FATE_REDUNDANT;
	}
	copies_sort(copies);
}

int copies_collect(struct copies *copies, struct catalog_reader *reader,
		   const struct group_record *group)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	uint64_t file;
	int r;

	copies_clear(copies);
	r = catalog_scan_members(reader, group->id, 0, &scan);
	if (r < 0)
		return r;
	while ((r = catalog_next_member(scan, &file)) == 0) {
		r = copies_add_file(copies, reader, file,
				    file == group->kept ? FATE_KEPT : FATE_REDUNDANT);
		if (r < 0)
			return r;
	}
	if (r != -ENOENT)
		return r;
	copies_sort(copies);
	return 0;
}

static int add_folder(struct copies *copies, struct catalog_reader *reader, uint64_t id)
{
	size_t path = copies->paths.length;
	struct copy *copy;
	struct dir_record dir;
	struct location location = {0};
	struct kept_rank rank;
	int r = catalog_get_dir(reader, id, &dir);

	if (r == 0)
		r = catalog_dir_location(reader, id, &copies->paths, &location);
	if (r == 0 && dir.parent == 0)
		r = bytes_append_text(&copies->paths, COPY_ROOT);
	if (r == 0)
		r = bytes_append(&copies->paths, "", 1);
	if (r == 0)
		r = array_reserve(&copies->list, &copies->capacity, copies->count + 1,
				  sizeof(*copies->list));
	if (r < 0)
		return r;
	kept_rank_set_inode(&rank, 0, &dir.attributes);
	copy = &copies->list[copies->count++];
	memset(copy, 0, sizeof(*copy)); /* clears the padding as well: plans write it to a file */
	copy->file = id;
	copy->dir = dir.parent ? dir.parent : id;
	copy->source = copy->lead_source = location.source;
	copy->emptied = location.place;
	copy->mtime = rank.mtime;
	copy->birth = rank.birth;
	copy->fate = FATE_REDUNDANT;
	copy->path = copy->lead = path;
	copies->redundant++;
	return 0;
}

int copies_collect_folders(struct copies *copies, struct catalog_reader *reader,
			   const struct folder_group *group)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	uint64_t dir;
	int r = catalog_scan_folders(reader, group, 0, &scan);

	copies_clear(copies);
	copies->folders = true;
	while (r == 0 && (r = catalog_next_folder(scan, &dir)) == 0) {
		r = add_folder(copies, reader, dir);
		if (r == -ENOENT)
			return -EUCLEAN;
	}
	if (r != -ENOENT)
		return r;
	copies_sort(copies);
	return 0;
}

/* ---- what removal leaves allocated ---------------------------------------------------------- */

/* The extents of the redundant files of a group. */
struct redundant {
	struct bytes sharing; /* of struct extent_record: of the files that share extents */
	uint64_t freed; /* own bytes */
};

/* Returns whether a redundant file has hard links that are not among the copies. */
static bool any_is_held_outside(const struct copies *copies)
{
	bool any = false;

	for (size_t i = 0, end; !any && i < copies->count; i = end) {
		end = copies_inode_end(copies, i);
		any = copies->list[i].fate == FATE_REDUNDANT &&
		      copies_are_held_outside(copies, i, end);
	}
	return any;
}

/* Lists the redundant files whose removal can free bytes, each once. */
static uint64_t *list_redundant(const struct copies *copies, size_t *count)
{
	uint64_t *list = calloc(copies->count ? copies->count : 1, sizeof(*list));

	*count = 0;
	for (size_t i = 0, end; list && i < copies->count; i = end) {
		end = copies_inode_end(copies, i);
		if (copies->list[i].fate == FATE_REDUNDANT &&
		    !copies_are_held_outside(copies, i, end))
			list[(*count)++] = copies->list[i].file;
	}
	return list;
}

static int add_file(struct redundant *redundant, struct catalog_reader *reader, uint64_t file,
		    uint64_t size)
{
	struct extent_record extents = {.own = size};
	int r = catalog_get_extents(reader, file, &extents);

	if (r < 0 && r != -ENOENT)
		return r;
	redundant->freed = size_add(redundant->freed, extents.own);
	return extents.sharing ? bytes_append(&redundant->sharing, &extents, sizeof(extents)) : 0;
}

static int by_sharing(const void *a, const void *b)
{
	const struct extent_record *x = a, *y = b;

	return numbers_compare(x->sharing, y->sharing);
}

/* Adds what files hold together that are all redundant. */
static void add_joint(struct redundant *redundant)
{
	struct extent_record *list = (void *)redundant->sharing.data;
	size_t count = redundant->sharing.length / sizeof(*list), next;

	sort_unless_sorted(list, count, sizeof(*list), by_sharing);
	for (size_t i = 0; i < count; i = next) {
		for (next = i + 1; next < count && list[next].sharing == list[i].sharing; next++)
			continue;
		if (next - i == list[i].sharers)
			redundant->freed = size_add(redundant->freed, list[i].joint);
	}
}

/* Returns whether the redundant copies are those of the index. */
static bool is_choice_of_index(const struct group_record *indexed, const struct copies *copies)
{
	return copies->redundant == indexed->inodes - 1 && copies->list[0].file == indexed->kept &&
	       !copies->share_in_places;
}

int retained_find(struct catalog_reader *reader, struct group_record *group,
		  const struct copies *copies)
{
	AUTO_FREE uint64_t *files = NULL;
	struct redundant redundant = {0};
	struct group_record indexed;
	bool held = any_is_held_outside(copies);
	size_t count;
	int r;

	if (copies->redundant == 0 || (!group->maps && !held))
		return 0;
	r = catalog_get_group(reader, group->id, &indexed);
	if (r < 0)
		return r;
	if (!held && is_choice_of_index(&indexed, copies)) {
		group->retained = indexed.retained;
		return 0;
	}
	files = list_redundant(copies, &count);
	r = files ? 0 : -ENOMEM;
	for (size_t i = 0; r == 0 && i < count; i++)
		r = add_file(&redundant, reader, files[i], group->size);
	add_joint(&redundant);
	group->retained = size_subtract(copies_redundant_bytes(copies, group), redundant.freed);
	bytes_free(&redundant.sharing);
	return r;
}
