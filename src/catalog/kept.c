/* SPDX-License-Identifier: MIT */
#include "catalog/kept.h"

#include <errno.h>
#include <stdlib.h>

#include "catalog/change.h"
#include "catalog/kept_order.h"
#include "catalog/paths.h"
#include "catalog/query.h"
#include "catalog/scan.h"

/* Number of cached directory paths. Copies are in few directories, so most paths are built only
 * once. Without the cache, 1,000 groups of 100 copies spent a quarter of their commit on building
 * paths. */
#define PLACES 256

/* The path of a directory, with a trailing slash unless it is the root of its source. */
struct known_place {
	uint64_t dir; /* 0: unused */
	uint32_t source;
	struct bytes path;
};

/* A candidate for the kept copy. */
struct member {
	struct file_record file; /* if partial, only id, dir, names and first_seen are set */
	bool partial;
	uint32_t source;
	bool whole; /* true: path is that of the file; false: path is that of its directory */
	struct bytes path;
};

static int find_place(struct kept_choice *choice, uint64_t dir, const struct known_place **found)
{
	struct known_place *place;
	int r = 0;

	if (!choice->places)
		choice->places = calloc(PLACES, sizeof(*choice->places));
	if (!choice->places)
		return -ENOMEM;
	place = &choice->places[dir % PLACES];
	*found = place;
	if (place->dir == dir)
		return 0;
	place->dir = 0;
	place->path.length = 0;
	r = catalog_dir_path(choice->reader, dir, &place->path, &place->source);
	if (r == 0 && place->path.length > 0)
		r = bytes_append(&place->path, "/", 1);
	if (r == 0)
		place->dir = dir;
	return r;
}

static int complete(struct kept_choice *choice, struct member *member)
{
	if (member->whole)
		return 0;
	member->whole = true;
	member->path.length = 0;
	if (member->partial) {
		int r = catalog_get_file_name(choice->reader, member->file.id, &member->file);

		if (r < 0)
			return r;
		member->partial = false;
	}
	return catalog_file_path(choice->reader, &member->file, &member->path, &member->source);
}

static bool is_before(const struct deferred_file *file, uint64_t group, uint64_t id)
{
	return file->group < group || (file->group == group && file->file < id);
}

/* Returns a file of choice->joined that has one name, or NULL. */
static const struct deferred_file *find_joined(struct kept_choice *choice, uint64_t group,
					       uint64_t id)
{
	const struct deferred_file *file;

	while (choice->joined_count > 0 && is_before(choice->joined, group, id)) {
		choice->joined++;
		choice->joined_count--;
	}
	file = choice->joined_count > 0 ? choice->joined : NULL;
	return file && file->group == group && file->file == id && file->dir ? file : NULL;
}

static int load_record(struct kept_choice *choice, uint64_t group, uint64_t id,
		       struct member *member)
{
	const struct deferred_file *joined = find_joined(choice, group, id);

	member->partial = joined;
	if (!joined)
		return catalog_get_file_name(choice->reader, id, &member->file);
	member->file = (struct file_record){.id = id,
					    .dir = joined->dir,
					    .names = 1,
					    .first_seen = joined->first_seen};
	return 0;
}

static int load(struct kept_choice *choice, uint64_t group, uint64_t id, struct member *member)
{
	const struct known_place *place;
	int r = load_record(choice, group, id, member);

	member->path.length = 0;
	member->whole = false;
	if (r < 0)
		return r;
	if (member->file.names != 1)
		return complete(choice, member);
	r = find_place(choice, member->file.dir, &place);
	if (r < 0)
		return r;
	member->source = place->source;
	return bytes_append(&member->path, place->path.data, place->path.length);
}

static struct kept_rank rank_of(const struct member *member, size_t path_length)
{
	return (struct kept_rank){member->source, member->file.first_seen, member->path.data,
				  path_length};
}

static int goes_before(struct kept_choice *choice, struct member *a, struct member *b, bool *before)
{
	size_t common = a->path.length < b->path.length ? a->path.length : b->path.length;
	struct kept_rank rank_a = rank_of(a, common), rank_b = rank_of(b, common);
	int order = kept_order(&rank_a, &rank_b, NULL), r = 0;

	if (order == 0) { /* one of the two paths begins with the other one */
		r = complete(choice, a);
		if (r == 0)
			r = complete(choice, b);
		rank_a = rank_of(a, a->path.length);
		rank_b = rank_of(b, b->path.length);
		order = kept_order(&rank_a, &rank_b, NULL);
	}
	*before = order < 0;
	return r;
}

int kept_choose(struct kept_choice *choice, uint64_t group, uint64_t *kept)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct member best = {0}, next = {0}, swap;
	bool before = true;
	uint64_t file;
	int r = catalog_scan_members(choice->reader, group, 0, &scan);

	*kept = 0;
	while (r == 0 && (r = catalog_next_member(scan, &file)) == 0) {
		r = load(choice, group, file, &next);
		if (r == 0 && *kept)
			r = goes_before(choice, &next, &best, &before);
		if (r == 0 && before) {
			swap = best;
			best = next;
			next = swap;
			*kept = file;
		}
	}
	bytes_free(&best.path);
	bytes_free(&next.path);
	return r == -ENOENT ? 0 : r;
}

void kept_choice_deinit(struct kept_choice *choice)
{
	for (size_t i = 0; choice->places && i < PLACES; i++)
		bytes_free(&choice->places[i].path);
	free(choice->places);
}
