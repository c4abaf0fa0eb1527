/* SPDX-License-Identifier: MIT */
#include "view/tree/visible_copies.h"

#include <errno.h>

#include "base/clock.h"
#include "index/kept.h"
#include "index/paths.h"
#include "index/query.h"
#include "index/scan.h"
#include "view/tree/access.h"
#include "view/tree/caches.h"
#include "view/tree/caller.h"

/* Groups of at most this many inodes are not cached. */
#define SMALL_GROUP 16

/* Number of groups of one hash that are counted without a cache. */
#define COUNTED_GROUPS 4

/* Returns a digest of the caller for caches; 0 if everything is visible. */
static uint64_t caller_of(const struct view_query *query)
{
	return query->caller ? caller_digest(query->caller) : 0;
}

/* ---- which copies ------------------------------------------------------------------- */

/* A copy that the caller finds. */
struct found_copy {
	struct file_record file;
	struct kept_rank rank; /* borrows path */
	struct bytes path; /* path in the source */
};

static bool precedes(const struct view_query *query, const struct found_copy *a,
		     const struct found_copy *b)
{
	return kept_order(query->view->keep_rules, &a->rank, &b->rank, NULL) < 0;
}

/* Returns -EACCES if the caller does not find the copy. */
static int find_copy(const struct view_query *query, uint64_t id, struct found_copy *copy)
{
	int r = expect_record(catalog_get_file(query->reader, id, &copy->file));

	return r < 0 ? r : access_find_file(query, &copy->file, &copy->path, &copy->rank);
}

static int find_copies(const struct view_query *query, uint64_t group,
		       struct visible_copies *visible)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct found_copy best = {0}, next = {0}, swap;
	uint64_t id;
	int r = catalog_scan_members(query->reader, group, 0, &scan);

	*visible = (struct visible_copies){0};
	while (r == 0 && (r = catalog_next_member(scan, &id)) == 0) {
		r = find_copy(query, id, &next);
		if (r == -EACCES) {
			r = 0;
			continue;
		}
		if (r < 0)
			break;
		visible->inodes++;
		if (visible->kept && !precedes(query, &next, &best))
			continue;
		visible->kept = id;
		swap = best;
		best = next;
		next = swap;
	}
	bytes_free(&best.path);
	bytes_free(&next.path);
	return r == -ENOENT ? 0 : r;
}

/* Gets a cached result. The result is valid only while the caller still finds the kept copy. If the
 * kept copy was hidden meanwhile, another copy must take its place in uniques/. */
static bool get_cached(const struct view_query *query, const struct visible_key *key,
		       struct visible_copies *visible)
{
	struct visible_cache *known = &query->view->visible_cache;
	struct found_copy kept = {0};
	bool is_known = visible_cache_get(known, key, visible, clock_monotonic_ns());

	if (is_known && visible->kept)
		is_known = find_copy(query, visible->kept, &kept) == 0;
	bytes_free(&kept.path);
	return is_known;
}

static int find_visible(const struct view_query *query, const struct group_record *group,
			struct visible_copies *visible)
{
	const struct visible_key key = {caller_of(query), group->id, group->changed};
	uint64_t began;
	int r;

	if (group->inodes <= SMALL_GROUP)
		return find_copies(query, group->id, visible);
	if (get_cached(query, &key, visible))
		return 0;
	began = clock_monotonic_ns();
	r = find_copies(query, group->id, visible);
	if (r == 0)
		visible_cache_put(&query->view->visible_cache, &key, visible, began,
				  clock_monotonic_ns());
	return r;
}

/* Sets the fields that depend on the caller, except the ordinal. */
static int count_visible(const struct view_query *query, struct group_record *group)
{
	struct visible_copies visible = {0};
	int r = group_is_visible(group) ? find_visible(query, group, &visible) : 0;

	group->inodes = visible.inodes;
	group->kept = visible.kept;
	group->changed = query->view->since;
	return r;
}

/* ---- contents with one hash --------------------------------------------------------- */

/* Gets the caller's next group of this hash after *ordinal, and sets *ordinal to the ordinal of
 * that group in the index. -ENOENT after the last group. */
static int next_group(const struct view_query *query, struct hash128 hash, uint32_t *ordinal,
		      struct group_record *group)
{
	int r;

	do {
		r = catalog_next_of_hash(query->reader, hash, *ordinal, group);
		if (r < 0)
			return r;
		*ordinal = group->ordinal;
		r = count_visible(query, group);
	} while (r == 0 && !group_is_visible(group));
	return r;
}

/* Outcome: the caller can have more groups of this hash. */
enum {
	GROUPS_MORE = 1
};

/* Finds a group of the caller among the first groups of this hash, by its ordinal in the index or
 * by the number that the caller knows (caches.h).
 * Returns 0 and fills in asked, -ENOENT if the caller has no such group, GROUPS_MORE, or -errno. */
static int find_among_few(const struct view_query *query, struct hash128 hash,
			  struct numbered *asked, struct group_record *group)
{
	struct numbered at = {.ordinal = 0, .number = 0};
	int r;

	for (size_t i = 0; i < COUNTED_GROUPS; i++) {
		r = catalog_next_of_hash(query->reader, hash, at.ordinal, group);
		if (r < 0)
			return r;
		at.ordinal = group->ordinal;
		r = count_visible(query, group);
		if (r < 0)
			return r;
		if (!group_is_visible(group))
			continue;
		at.number++;
		if (asked->number == at.number || asked->ordinal == at.ordinal) {
			*asked = at;
			return 0;
		}
	}
	return GROUPS_MORE;
}

/* Numbers all groups of this hash that the caller finds, and fills in the wanted ordinal or number.
 * Accesses the source. */
static int number_groups(const struct view_query *query, const struct number_key *key,
			 struct numbered *asked)
{
	CLEANUP_BYTES struct bytes ordinals = {0};
	uint64_t began = clock_monotonic_ns();
	struct group_record group;
	uint32_t at = 0;
	int r = 0;

	while (r == 0 && (r = next_group(query, key->hash, &at, &group)) == 0)
		r = bytes_append(&ordinals, &at, sizeof(at));
	if (r != -ENOENT)
		return r;
	r = numbered_find(&ordinals, asked) ? 0 : -ENOENT;
	known_numbers_put(&query->view->numbers, key, &ordinals, began, clock_monotonic_ns());
	return r;
}

/* Fills in the ordinal or the number of a group, using the cache. -ENOENT if the caller has no such
 * group. */
static int find_among_many(const struct view_query *query, struct hash128 hash,
			   struct numbered *asked)
{
	struct number_key key = {.caller = caller_of(query), .hash = hash};
	struct catalog_totals totals;
	int r = catalog_get_totals(query->reader, &totals);

	if (r < 0)
		return r;
	key.generation = totals.generation;
	if (known_numbers_get(&query->view->numbers, &key, asked, clock_monotonic_ns())) {
		if (asked->number && asked->ordinal)
			return 0;
		/* all groups that the caller sees are known, and none has this number */
		if (asked->number)
			return -ENOENT;
	}
	return number_groups(query, &key, asked);
}

/* Replaces the ordinal of a group by its number for the caller. */
static int renumber(const struct view_query *query, struct group_record *group)
{
	struct numbered asked = {.ordinal = group->ordinal};
	struct group_record other;
	int r = find_among_few(query, group->hash, &asked, &other);

	if (r == GROUPS_MORE)
		r = find_among_many(query, group->hash, &asked);
	if (r == -ENOENT) {
		group->inodes = 0; /* the caller's permissions changed */
		return 0;
	}
	group->ordinal = asked.number;
	return r;
}

/* ---- groups ------------------------------------------------------------------------- */

int visible_find_group(const struct view_query *query, struct hash128 hash, uint32_t ordinal,
		       struct group_record *group)
{
	struct numbered asked = {.number = ordinal};
	int r;

	if (!query->caller)
		return catalog_find_group(query->reader, hash, ordinal, group);
	r = find_among_few(query, hash, &asked, group);
	if (r == GROUPS_MORE) {
		r = find_among_many(query, hash, &asked);
		if (r == 0)
			r = catalog_find_group(query->reader, hash, asked.ordinal, group);
		if (r == 0)
			r = count_visible(query, group);
	}
	group->ordinal = ordinal;
	return r;
}

int visible_group(const struct view_query *query, struct group_record *group)
{
	int r;

	if (!query->caller)
		return 0;
	r = count_visible(query, group);
	if (r == 0 && group_is_visible(group) && group->ordinal > 1)
		r = renumber(query, group);
	return r;
}

/* ---- files -------------------------------------------------------------------------- */

/* Which other copies count. */
enum others {
	OTHERS_ALL,
	OTHERS_BEFORE /* those before the copy in the order of precedes() */
};

/* Sets the path of a copy, even if the caller does not find it. The file has a single name. */
static int set_copy_path(const struct view_query *query, struct found_copy *copy)
{
	struct location location;
	int r;

	copy->path.length = 0;
	r = expect_record(catalog_entry_location(query->reader, copy->file.dir, copy->file.cookie,
						 &copy->path, &location));
	if (r < 0)
		return r;
	kept_rank_set_inode(&copy->rank, copy->file.first_seen, &copy->file.attributes);
	return access_rank_name(query, &copy->path, &location, &copy->rank);
}

/* Finds another copy, like find_copy(). With OTHERS_BEFORE, returns -EACCES for a copy after this
 * copy. If such a copy has a single name, the source is not accessed for it. */
static int find_other(const struct view_query *query, uint64_t id, const struct found_copy *copy,
		      enum others others, struct found_copy *other)
{
	int r = expect_record(catalog_get_file(query->reader, id, &other->file));

	if (r == 0 && others == OTHERS_BEFORE && other->file.names == 1) {
		r = set_copy_path(query, other);
		if (r == 0 && !precedes(query, other, copy))
			return -EACCES;
	}
	if (r == 0)
		r = access_find_file(query, &other->file, &other->path, &other->rank);
	if (r == 0 && others == OTHERS_BEFORE && !precedes(query, other, copy))
		return -EACCES;
	return r;
}

/* Checks some copies of a group, first the kept copy of the index, as most callers find it. Returns
 * 1 if the caller finds another copy, 0 if not, -EAGAIN if the group has more copies, or -errno. */
static int check_some(const struct view_query *query, const struct group_record *group,
		      const struct found_copy *copy, enum others others)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct found_copy other = {0};
	uint64_t id = group->kept;
	int r = catalog_scan_members(query->reader, group->id, 0, &scan), found = -EACCES;

	for (int tried = 0; r == 0 && found == -EACCES && tried <= SMALL_GROUP; tried++) {
		if (id != copy->file.id && (tried == 0 || id != group->kept))
			found = find_other(query, id, copy, others, &other);
		if (found == -EACCES)
			r = catalog_next_member(scan, &id);
	}
	bytes_free(&other.path);
	if (found != -EACCES)
		return found == 0 ? 1 : found;
	return r == 0 ? -EAGAIN : r == -ENOENT ? 0 : r;
}

/* Checks whether the caller finds another copy of the group. Returns 1, 0 or -errno. Stops at the
 * first one, as checking all copies for each file of a group takes quadratic time. */
static int finds_another(const struct view_query *query, const struct group_record *group,
			 const struct found_copy *copy, enum others others)
{
	struct found_copy kept = {0};
	struct visible_copies visible;
	int r = check_some(query, group, copy, others);

	if (r != -EAGAIN)
		return r;
	r = find_visible(query, group, &visible);
	if (r < 0)
		return r;
	if (others == OTHERS_ALL || !visible.kept)
		return visible.inodes > 1;
	/* The cached result can be outdated. Together with what the caller finds now, it could make
	 * two copies redundant for each other, so the kept copy is checked again. */
	r = find_other(query, visible.kept, copy, others, &kept);
	bytes_free(&kept.path);
	return r == -EACCES ? 0 : r < 0 ? r : 1;
}

/* Checks whether the caller finds the file by this name, and another copy of it. Returns 1, 0 or
 * -errno. */
static int finds_with_another(const struct view_query *query, const struct entry_record *entry,
			      const struct group_record *group, enum others others)
{
	struct found_copy copy = {0};
	int r = find_copy(query, entry->child, &copy);

	if (r == 0 && copy.file.names > 1)
		r = access_find_name(query, &copy.file, entry->dir, entry->cookie);
	if (r == 0)
		r = finds_another(query, group, &copy, others);
	bytes_free(&copy.path);
	return r == -EACCES ? 0 : r;
}

int visible_is_redundant(const struct view_query *query, const struct entry_record *entry,
			 bool *redundant)
{
	struct group_record group;
	int r = catalog_is_redundant(query->reader, entry->child, redundant, &group);

	if (r < 0 || !query->caller || group.id == 0)
		return r;
	r = finds_with_another(query, entry, &group, OTHERS_BEFORE);
	*redundant = r > 0;
	return r < 0 ? r : 0;
}

int visible_has_copy(const struct view_query *query, uint64_t group,
		     const struct entry_record *entry)
{
	struct group_record its;
	bool redundant;
	int r = catalog_is_redundant(query->reader, entry->child, &redundant, &its);

	if (r == 0 && its.id != group)
		return -ENOENT;
	if (r < 0 || !query->caller)
		return r;
	r = finds_with_another(query, entry, &its, OTHERS_ALL);
	return r == 0 ? -ENOENT : r < 0 ? r : 0;
}

int visible_group_of_file(const struct view_query *query, uint64_t file, struct group_record *group)
{
	struct found_copy copy = {0};
	bool redundant;
	int r = catalog_is_redundant(query->reader, file, &redundant, group);

	if (r < 0 || !query->caller || group->id == 0)
		return r;
	r = find_copy(query, file, &copy);
	bytes_free(&copy.path);
	if (r == 0)
		r = visible_group(query, group);
	if (r == -EACCES || (r == 0 && !group_is_visible(group))) {
		group->id = 0;
		return 0;
	}
	return r;
}
