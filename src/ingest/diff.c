/* SPDX-License-Identifier: MIT */
#include "ingest/diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/query.h"

/* A name that the index has in the directory. */
struct known {
	struct name name;
	uint64_t cookie;
	uint64_t child;
	enum entry_kind kind;
};

struct known_list {
	struct known **list;
	size_t count;
};

void diff_free(struct diff *diff)
{
	free(diff->changes);
	free(diff->dirs);
	arena_free(&diff->old);
	*diff = (struct diff){0};
}

static int grow(void **list, size_t count, size_t *capacity, size_t element_bytes)
{
	size_t wanted = *capacity ? *capacity * 2 : 64;
	void *grown;

	if (count < *capacity)
		return 0;
	grown = reallocarray(*list, wanted, element_bytes);
	if (!grown)
		return -ENOMEM;
	*list = grown;
	*capacity = wanted;
	return 0;
}

int diff_add(struct diff *diff, const struct name_change *change)
{
	int r = grow((void **)&diff->changes, diff->count, &diff->capacity, sizeof(*diff->changes));

	if (r == 0)
		diff->changes[diff->count++] = *change;
	return r;
}

static int add_found_dir(struct diff *diff, const struct found_dir *dir)
{
	int r = grow((void **)&diff->dirs, diff->dir_count, &diff->dir_capacity,
		     sizeof(*diff->dirs));

	if (r == 0)
		diff->dirs[diff->dir_count++] = *dir;
	return r;
}

/* ---- one name ------------------------------------------------------------------------ */

static bool is_not_entered(const struct diff_dir *dir, const struct listed *listed)
{
	return !dir->cross_mounts &&
	       (listed->mount_root || listed->attributes.filesystem != dir->filesystem);
}

static int add_name(struct diff *diff, const struct diff_dir *dir, const struct listed *listed)
{
	struct name_change change = {.source = dir->source,
				     .dir = dir->id,
				     .name = listed->name,
				     .attributes = listed->attributes};
	struct found_dir found = {.name = listed->name};
	int r;

	if (listed->error) {
		change.kind = NAME_ADD_UNKNOWN;
		change.error = listed->error;
		return diff_add(diff, &change);
	}
	if (!S_ISDIR(listed->attributes.mode)) {
		change.kind = NAME_ADD_FILE;
		return diff_add(diff, &change);
	}
	found.id = catalog_new_id(dir->catalog);
	if (!found.id)
		return -errno;
	change.kind = NAME_ADD_DIR;
	change.id = found.id;
	change.flags = is_not_entered(dir, listed) ? DIR_NOT_ENTERED : 0;
	diff->not_entered += change.flags == DIR_NOT_ENTERED;
	r = diff_add(diff, &change);
	return r < 0 || change.flags ? r : add_found_dir(diff, &found);
}

static int remove_name(struct diff *diff, const struct diff_dir *dir, const struct known *known)
{
	return diff_add(diff, &(struct name_change){.kind = NAME_REMOVE,
						    .dir = dir->id,
						    .cookie = known->cookie});
}

static int replace_name(struct diff *diff, const struct diff_dir *dir, const struct known *known,
			const struct listed *listed)
{
	int r = remove_name(diff, dir, known);

	return r < 0 ? r : add_name(diff, dir, listed);
}

static int compare_subdir(struct diff *diff, const struct diff_dir *dir, const struct known *known,
			  const struct listed *listed)
{
	struct found_dir found = {.name = listed->name, .id = known->child, .known = true};
	struct dir_record record;
	int r;

	if (!is_not_entered(dir, listed))
		return add_found_dir(diff, &found);
	r = catalog_get_dir(dir->reader, known->child, &record);
	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	if (record.flags != DIR_NOT_ENTERED) /* what was below it is hidden by a mount now */
		return replace_name(diff, dir, known, listed);
	diff->not_entered++;
	if (attributes_equal(&record.attributes, &listed->attributes))
		return 0;
	return diff_add(diff, &(struct name_change){.kind = NAME_UPDATE_DIR,
						    .id = known->child,
						    .flags = DIR_NOT_ENTERED,
						    .attributes = listed->attributes});
}

static int update_file(struct diff *diff, uint64_t id, const struct listed *listed)
{
	return diff_add(diff, &(struct name_change){.kind = NAME_UPDATE_FILE,
						    .id = id,
						    .attributes = listed->attributes});
}

/* The name is in both. */
static int compare_name(struct diff *diff, const struct diff_dir *dir, const struct known *known,
			const struct listed *listed)
{
	bool is_dir = !listed->error && S_ISDIR(listed->attributes.mode);
	struct file_record file;
	int r;

	if (known->kind == ENTRY_UNKNOWN && listed->error &&
	    known->child == (uint64_t)listed->error)
		return 0;
	if (known->kind == ENTRY_DIR && is_dir)
		return compare_subdir(diff, dir, known, listed);
	if (known->kind != ENTRY_FILE || is_dir || listed->error)
		return replace_name(diff, dir, known, listed);
	r = catalog_get_file(dir->reader, known->child, &file);
	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	if (!attributes_same_inode(&file.attributes, &listed->attributes))
		return replace_name(diff, dir, known, listed);
	if (attributes_equal(&file.attributes, &listed->attributes))
		return 0;
	return update_file(diff, known->child, listed);
}

/* ---- the directory ------------------------------------------------------------------- */

static int compare_names(struct name a, struct name b)
{
	uint32_t common = a.length < b.length ? a.length : b.length;
	int order = memcmp(a.bytes, b.bytes, common);

	return order ? order : a.length < b.length ? -1 : a.length > b.length;
}

static int listed_by_name(const void *a, const void *b)
{
	return compare_names((*(struct listed *const *)a)->name,
			     (*(struct listed *const *)b)->name);
}

static int known_by_name(const void *a, const void *b)
{
	return compare_names((*(struct known *const *)a)->name, (*(struct known *const *)b)->name);
}

/* Reads what the index has, sorted by name; names are borrowed from the snapshot. */
static int load_known(struct diff *diff, struct catalog_reader *reader, uint64_t dir,
		      struct known_list *known)
{
	struct catalog_scan *scan CLEANUP_SCAN = NULL;
	struct entry_record entry;
	struct known *one;
	size_t capacity = 0;
	int r = catalog_scan_entries(reader, dir, 0, &scan);

	while (r == 0 && (r = catalog_next_entry(scan, &entry)) == 0) {
		r = grow((void **)&known->list, known->count, &capacity, sizeof(one));
		one = arena_take(&diff->old, sizeof(*one));
		if (r < 0 || !one)
			return -ENOMEM;
		*one = (struct known){entry.name, entry.cookie, entry.child, entry.kind};
		known->list[known->count++] = one;
	}
	if (known->count > 1)
		qsort(known->list, known->count, sizeof(one), known_by_name);
	return r == -ENOENT ? 0 : r;
}

static int merge(struct diff *diff, const struct diff_dir *dir, const struct listing *listing,
		 const struct known_list *known)
{
	size_t i = 0, k = 0;
	int order, r = 0;

	while (r == 0 && (i < listing->count || k < known->count)) {
		if (i == listing->count)
			order = 1;
		else if (k == known->count)
			order = -1;
		else
			order = compare_names(listing->entries[i]->name, known->list[k]->name);
		if (order < 0)
			r = add_name(diff, dir, listing->entries[i++]);
		else if (order > 0)
			r = remove_name(diff, dir, known->list[k++]);
		else
			r = compare_name(diff, dir, known->list[k++], listing->entries[i++]);
	}
	return r;
}

/* Takes names out of the listing that users must not see. */
static void hide(struct listing *listing, const struct attributes *hidden)
{
	size_t kept = 0;

	for (size_t i = 0; i < listing->count; i++) {
		if (listing->entries[i]->error ||
		    !attributes_same_inode(&listing->entries[i]->attributes, hidden))
			listing->entries[kept++] = listing->entries[i];
	}
	listing->count = kept;
}

int diff_make(struct diff *diff, struct diff_dir *dir, struct listing *listing)
{
	struct catalog_reader *reader CLEANUP_READER = NULL;
	struct known_list known = {0};
	int r = 0;

	diff->count = diff->dir_count = 0;
	arena_reset(&diff->old);
	hide(listing, &dir->hidden);
	if (dir->known) {
		if (listing->count > 1)
			qsort(listing->entries, listing->count, sizeof(struct listed *),
			      listed_by_name);
		r = catalog_read_begin(dir->catalog, &reader);
		dir->reader = reader;
		if (r == 0)
			r = load_known(diff, reader, dir->id, &known);
	}
	if (r == 0)
		r = merge(diff, dir, listing, &known);
	free(known.list);
	dir->reader = NULL;
	return r;
}
