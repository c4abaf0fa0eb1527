/* SPDX-License-Identifier: MIT */

/* Lists the folder of a group: every name of every inode in the group. The time is linear in the
 * number of names and inodes. */

#include <errno.h>

#include "catalog/paths.h"
#include "catalog/query.h"
#include "catalog/scan.h"
#include "source/source.h"
#include "view/access.h"
#include "view/listing_cookie.h"
#include "view/node.h"
#include "view/node_ops.h"
#include "view/stat.h"
#include "view/visible_copies.h"

/* ---- the walk ------------------------------------------------------------------------ */

/* Walks the names of a group in the order of their ids (catalog/file.h). Merges two scans: the
 * members, whose ids are those of their first names, and names with ids of their own. */
struct group_walking {
	const struct view_query *query;
	uint64_t kept; /* file id of the kept copy, for the caller */
	struct catalog_scan *members, *places;
	uint64_t member; /* next member; UINT64_MAX after the last */
	struct file_name place; /* next name with an id of its own; UINT64_MAX after the last */
	struct file_name at; /* current name */
	struct file_record file; /* file of the current name */
};

static void walk_deinit(struct group_walking *walk)
{
	catalog_scan_end(walk->places);
	catalog_scan_end(walk->members);
}

static int walk_next_member(struct group_walking *walk)
{
	int r = catalog_next_member(walk->members, &walk->member);

	if (r == -ENOENT)
		walk->member = UINT64_MAX;
	return r == -ENOENT ? 0 : r;
}

static int walk_next_place(struct group_walking *walk)
{
	int r = catalog_next_place(walk->places, &walk->place);

	if (r == -ENOENT)
		walk->place.id = UINT64_MAX;
	return r == -ENOENT ? 0 : r;
}

/* Begins after the name with this id. */
static int walk_init(struct group_walking *walk, const struct view_query *query, uint64_t group,
		     uint64_t after)
{
	int r = catalog_scan_members(query->reader, group, after, &walk->members);

	walk->query = query;
	if (r == 0)
		r = catalog_scan_places(query->reader, group, after, &walk->places);
	if (r == 0)
		r = walk_next_member(walk);
	return r < 0 ? r : walk_next_place(walk);
}

/* Outcome: the member has no name, or its first name has an id of its own. */
enum {
	WALK_OTHER_ID = 1
};

static int walk_member(struct group_walking *walk)
{
	int r = catalog_get_file(walk->query->reader, walk->member, &walk->file);

	if (r < 0)
		return expect_record(r);
	walk->at =
		(struct file_name){walk->file.id, walk->file.id, walk->file.dir, walk->file.cookie};
	r = walk_next_member(walk);
	if (r < 0)
		return r;
	return walk->file.names == 0 || walk->file.name ? WALK_OTHER_ID : 0;
}

static int walk_place(struct group_walking *walk)
{
	int r = 0;

	walk->at = walk->place;
	if (walk->file.id != walk->at.file)
		r = catalog_get_file(walk->query->reader, walk->at.file, &walk->file);
	return r < 0 ? expect_record(r) : walk_next_place(walk);
}

/* Advances to the next name that the caller finds, and sets walk->at and walk->file. Returns 0,
 * -ENOENT after the last name, or another -errno. */
static int walk_next(struct group_walking *walk)
{
	int r;

	do {
		if (walk->member == UINT64_MAX && walk->place.id == UINT64_MAX)
			return -ENOENT;
		r = walk->member < walk->place.id ? walk_member(walk) : walk_place(walk);
		if (r == 0)
			r = access_find_name(walk->query, &walk->file, walk->at.dir,
					     walk->at.cookie);
	} while (r == -EACCES || r == WALK_OTHER_ID);
	return r;
}

/* ---- the listing --------------------------------------------------------------------- */

/* Gets the path of a name, as catalog_entry_path does. */
static int entry_path(const struct view_query *query, const struct entry_record *entry,
		      struct bytes *path, uint32_t *source)
{
	int r = directory_paths_append(&query->view->directory_paths, query->reader, entry->dir,
				       path, source);

	if (r == 0 && path->length > 0)
		r = bytes_append(path, "/", 1);
	return r < 0 ? r : bytes_append(path, entry->name.bytes, entry->name.length);
}

int group_copy_name(const struct view_query *query, const struct entry_record *entry, bool kept,
		    char name[static COPY_NAME_SIZE])
{
	const struct sources *sources = query->view->sources;
	CLEANUP_BYTES struct bytes relative = {0}, path = {0};
	uint32_t source = 0;
	int r = entry_path(query, entry, &relative, &source);

	if (r == 0 && source >= sources->count)
		r = -EUCLEAN;
	if (r == 0 && sources->count > 1)
		r = bytes_format(&path, "%s/", sources->list[source].tree);
	if (r == 0)
		r = bytes_append(&path, relative.data, relative.length);
	if (r == 0)
		(kept ? copy_name_make_kept : copy_name_make)(name, (const char *)path.data,
							      path.length, entry->dir,
							      entry->cookie);
	return r;
}

/* Outcome: the name did not fit. */
enum {
	NAME_FULL = 1
};

/* Emits the current name. Returns 0, NAME_FULL or -errno. */
static int emit_name(const struct group_walking *walk, view_emit_fn *emit, void *context)
{
	char name[COPY_NAME_SIZE];
	struct view_entry entry = {
		.name = name,
		.cookie = listing_cookie(walk->query->view->cookie_secret, walk->at.id),
		.known = true,
	};
	struct entry_record found;
	int r = catalog_entry_at(walk->query->reader, walk->at.dir, walk->at.cookie, &found);

	if (r == 0)
		r = group_copy_name(walk->query, &found, walk->file.id == walk->kept, name);
	if (r < 0)
		return expect_record(r);
	stat_set_file_record(&entry.attributes, &walk->file);
	return emit(&entry, context) ? 0 : NAME_FULL;
}

int group_walk_list(const struct view_query *query, uint64_t node, uint64_t after,
		    view_emit_fn *emit, void *context)
{
	CLEANUP(walk_deinit) struct group_walking walk = {0};
	uint64_t id = listing_id(query->view->cookie_secret, after);
	struct group_record group;
	int r = catalog_get_group(query->reader, node_id(node), &group);

	if (r == 0)
		r = visible_group(query, &group);
	if (r == 0)
		r = walk_init(&walk, query, group.id, id);
	walk.kept = group.kept;

	while (r == 0 && (r = walk_next(&walk)) == 0)
		r = emit_name(&walk, emit, context);
	return r == -ENOENT || r == NAME_FULL ? 0 : r;
}
