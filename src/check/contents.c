/* SPDX-License-Identifier: MIT */
#include "check/contents.h"

#include <errno.h>

#include "base/descriptor.h"
#include "base/file_hash.h"
#include "base/hash.h"
#include "base/stop.h"
#include "catalog/query.h"
#include "catalog/scan.h"
#include "ingest/prefixes.h"
#include "ingest/reading.h"

struct search {
	const struct content_sides *sides;
	const struct content_listener *listener;
	struct content_figures *figures;
};

/* A file that both indexes know, with the same signature. */
struct known {
	bool read_again; /* for the new index, which has no need to read a file of a size of its own */
	struct file_record indexed, fresh;
	struct content_record indexed_content, fresh_content;
};

/* Outcomes of looking for a file in the other index. */
enum {
	NOT_COMPARABLE = 1, /* it is not there, or has another signature */
	NOT_READ = 2,
};

static int found_or_not_comparable(int r)
{
	return r == -ENOENT ? NOT_COMPARABLE : r;
}

/* What is known of a file of one index by the other. */
static int get_other(struct catalog_reader *reader, const struct file_record *file,
		     struct file_record *other, struct content_record *content)
{
	uint64_t id = 0;
	int r = catalog_find_inode(reader, file->attributes.filesystem, file->attributes.inode,
				   &id);

	if (r < 0 || id == 0)
		return r < 0 && r != -ENOENT ? r : NOT_COMPARABLE;
	r = catalog_get_file(reader, id, other);
	if (r == 0 && !attributes_same_signature(&file->attributes, &other->attributes))
		return NOT_COMPARABLE;
	if (r == 0)
		r = catalog_get_content(reader, id, content);
	else
		return found_or_not_comparable(r);
	return r == -ENOENT ? NOT_READ : r;
}

static int get_known(const struct search *search, uint64_t indexed, struct known *known)
{
	int r = catalog_get_file(search->sides->indexed, indexed, &known->indexed);

	if (r == 0)
		r = catalog_get_content(search->sides->indexed, indexed, &known->indexed_content);
	if (r < 0)
		return found_or_not_comparable(r);
	r = get_other(search->sides->fresh, &known->indexed, &known->fresh, &known->fresh_content);
	known->read_again = r == 0;
	return r == NOT_READ ? 0 : r;
}

static int get_known_by_fresh(const struct search *search, uint64_t fresh, struct known *known)
{
	int r = catalog_get_file(search->sides->fresh, fresh, &known->fresh);

	if (r == 0)
		r = catalog_get_content(search->sides->fresh, fresh, &known->fresh_content);
	if (r < 0)
		return found_or_not_comparable(r);
	known->read_again = true;
	r = get_other(search->sides->indexed, &known->fresh, &known->indexed,
		      &known->indexed_content);
	return r == NOT_READ ? NOT_COMPARABLE : r;
}

static int tell(const struct search *search, enum content_difference what,
		const struct group_record *group)
{
	search->figures->differences++;
	return search->listener->difference(search->listener->context, what, group);
}

static int tell_file(const struct search *search, const struct known *known,
		     enum content_state state)
{
	return search->listener->file(search->listener->context, &known->indexed, state);
}

static int tell_unverified(const struct search *search, const struct file_record *file,
			   enum unverified_reason reason, uint64_t checked)
{
	const struct unverified unverified = {file->id, reason, checked};

	search->figures->unverified++;
	return search->listener->unverified(search->listener->context, &unverified);
}

/* ---- the bytes of a file ------------------------------------------------------------- */

/* Reads a file that must be as the index has it. 0, an enum reading_outcome, or -errno. */
static int hash_file(const struct search *search, const struct file_record *file,
		     struct hash128 *hash)
{
	struct file_opener opener = FILE_OPENER_INIT(search->sides->sources);
	struct reading reading = {.fd = -1};
	int r = reading_open(&reading, &opener, search->sides->indexed, file, false);

	if (r == 0) {
		r = file_hash(reading.fd, NULL, hash);
		if (r == 0)
			r = reading_close(&reading, search->sides->sources->catalog);
		else
			reading_abandon(&reading);
	}
	file_opener_deinit(&opener);
	return r;
}

/* Has a file these bytes? 0 and *changed, also for one that changed since the scan, of which nothing
 * is said; or -errno of the search. One that cannot be read now is unverified. */
static int compare_hash_of(const struct search *search, const struct file_record *file,
			   const struct hash128 *expected, bool *changed)
{
	struct hash128 found;
	int r = hash_file(search, file, &found);

	*changed = r == 0 && !hash128_equal(found, *expected);
	if (r == READING_CHANGED || r == READING_GONE)
		return 0;
	if (r == READING_BUSY)
		return tell_unverified(search, file, UNVERIFIED_BUSY, 0);
	if (r == 0 || r == -EINTR || r == -ENOMEM)
		return r;
	return tell_unverified(search, file, UNVERIFIED_UNREADABLE, 0);
}

/* ---- members of one group in one of the indexes -------------------------------------- */

/* Looks at each member that both know. visit gives 0, or what ends it. */
struct member_walk {
	struct catalog_reader *reader; /* whose group it is */
	int (*get)(const struct search *search, uint64_t file, struct known *known);
	int (*visit)(const struct search *search, const struct known *known, void *context);
	void *context;
};

static int walk_members(const struct search *search, const struct member_walk *walk, uint64_t group)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct known known;
	uint64_t file;
	int r = catalog_scan_members(walk->reader, group, 0, &scan);

	while (r == 0 && (r = catalog_next_member(scan, &file)) == 0) {
		if (stop_requested())
			return -EINTR;
		r = walk->get(search, file, &known);
		if (r == 0)
			r = walk->visit(search, &known, walk->context);
		else if (r == NOT_COMPARABLE)
			r = 0;
	}
	return r == -ENOENT ? 0 : r;
}

/* ---- groups of the index ------------------------------------------------------------- */

/* What the members of a group are by what was read now. */
struct agreement {
	const struct group_record *group;
	uint64_t count;
	uint64_t class; /* of the first: its group in the new index, 0: it is equal to none */
	uint64_t prefix;
	bool broken;
};

/* A member that was not read for the new index is checked by its hash. */
static int compare_member(const struct search *search, const struct known *known, void *context)
{
	struct agreement *agreement = context;
	bool changed = false;
	int r = 0;

	if (!known->read_again) {
		r = compare_hash_of(search, &known->indexed, &agreement->group->hash, &changed);
		agreement->broken |= changed;
		return r;
	}
	if (agreement->count++ == 0) {
		agreement->class = known->fresh_content.group;
		agreement->prefix = known->fresh_content.prefix;
	}
	/* one alone need not be equal to any: only what it begins with tells */
	agreement->broken |= known->fresh_content.prefix != known->indexed_content.prefix ||
			     known->fresh_content.group != agreement->class ||
			     (agreement->count > 1 && agreement->class == 0);
	return 0;
}

/* The new index read no more of a member than its beginning if it found no other one. */
static int compare_lone_member(const struct search *search, const struct known *known,
			       void *context)
{
	struct agreement *agreement = context;
	bool changed = false;
	int r = 0;

	if (known->read_again)
		r = compare_hash_of(search, &known->indexed, &agreement->group->hash, &changed);
	agreement->broken |= changed;
	return r;
}

/* The group of the new index is no other than the index says. */
static int compare_hash(const struct search *search, struct agreement *agreement)
{
	struct group_record fresh;
	int r;

	if (agreement->broken || agreement->count == 0 || agreement->class == 0)
		return 0;
	r = catalog_get_group(search->sides->fresh, agreement->class, &fresh);
	agreement->broken = r == 0 && !hash128_equal(fresh.hash, agreement->group->hash);
	return r == -ENOENT ? -EUCLEAN : r;
}

/* Which of the files has other bytes than it had: its hash tells. */
static int tell_member(const struct search *search, const struct known *known, void *context)
{
	const struct agreement *agreement = context;
	enum content_state state = CONTENT_UNKNOWN;
	struct hash128 hash;
	int r = hash_file(search, &known->indexed, &hash);

	if (r == -EINTR || r == -ENOMEM)
		return r;
	if (r == 0)
		state = hash128_equal(hash, agreement->group->hash) ? CONTENT_AS_RECORDED
								    : CONTENT_CHANGED;
	return tell_file(search, known, state);
}

static int check_group(const struct search *search, const struct group_record *group)
{
	struct agreement agreement = {.group = group};
	struct member_walk walk = {.reader = search->sides->indexed,
				   .get = get_known,
				   .visit = compare_member,
				   .context = &agreement};
	int r = walk_members(search, &walk, group->id);

	if (r == 0 && !agreement.broken && agreement.count == 1 && agreement.class == 0) {
		walk.visit = compare_lone_member;
		r = walk_members(search, &walk, group->id);
	}
	if (r == 0)
		r = compare_hash(search, &agreement);
	if (r < 0 || !agreement.broken)
		return r;
	walk.visit = tell_member;
	r = tell(search, CONTENT_NOT_EQUAL, group);
	return r < 0 ? r : walk_members(search, &walk, group->id);
}

static int check_groups(const struct search *search)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct group_record group;
	int r = catalog_scan_groups(search->sides->indexed, 0, &scan);

	while (r == 0 && (r = catalog_next_group(scan, &group)) == 0) {
		if (!group_is_visible(&group))
			continue;
		search->figures->groups++;
		r = check_group(search, &group);
	}
	return r == -ENOENT ? 0 : r;
}

/* ---- files in no group --------------------------------------------------------------- */

/* The hash of all bytes that the index has of a file, of a group also that has no other copy any
 * more. 0, -ENOENT where it has none or the group is visible, or -errno. */
static int get_hash(const struct search *search, const struct content_record *content,
		    struct hash128 *hash)
{
	struct group_record group;
	int r;

	*hash = content->hash;
	if (content->group == 0)
		return content_has_hash(content) ? 0 : -ENOENT;
	r = catalog_get_group(search->sides->indexed, content->group, &group);
	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	*hash = group.hash;
	return group_is_visible(&group) ? -ENOENT : 0;
}

/* What the index has of a file that is no member of a visible group, and of which it may have no
 * hash. NOT_COMPARABLE: it is no such file, or is not as indexed any more. */
static int get_single(const struct search *search, const struct file_record *file,
		      struct known *known)
{
	int r;

	*known = (struct known){.indexed = *file};
	if (!S_ISREG(file->attributes.mode) || file->attributes.size == 0)
		return NOT_COMPARABLE;
	r = catalog_get_content(search->sides->indexed, file->id, &known->indexed_content);
	if (r < 0 && r != -ENOENT)
		return r;
	r = get_other(search->sides->fresh, file, &known->fresh, &known->fresh_content);
	known->read_again = r == 0;
	return r == NOT_READ ? 0 : r;
}

/* Checks what a file begins with, which is all that was read of it. */
static int compare_head(const struct search *search, const struct known *known, bool *changed)
{
	bool is_checked = known->read_again && known->indexed_content.prefix != 0;
	uint64_t checked = is_checked ? PREFIX_BYTES : 0;

	*changed = is_checked && known->indexed_content.prefix != known->fresh_content.prefix;
	if (*changed || (is_checked && is_small(known->indexed.attributes.size)))
		return 0;
	return tell_unverified(search, &known->indexed, UNVERIFIED_NO_HASH, checked);
}

static int check_single(const struct search *search, const struct file_record *file)
{
	struct known known;
	struct hash128 expected;
	bool changed = false;
	int r = get_single(search, file, &known);

	if (r != 0)
		return r == NOT_COMPARABLE ? 0 : r;
	r = get_hash(search, &known.indexed_content, &expected);
	if (r == 0)
		r = compare_hash_of(search, file, &expected, &changed);
	else if (r == -ENOENT && known.indexed_content.group == 0)
		r = compare_head(search, &known, &changed);
	else if (r == -ENOENT)
		r = 0;
	if (r < 0 || !changed)
		return r;
	r = tell(search, CONTENT_OTHER, NULL);
	return r < 0 ? r : tell_file(search, &known, CONTENT_CHANGED);
}

static int check_singles(const struct search *search)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct file_record file;
	int r = catalog_scan_files(search->sides->indexed, 0, &scan);

	while (r == 0 && (r = catalog_next_file(scan, &file)) == 0) {
		if (stop_requested())
			return -EINTR;
		r = check_single(search, &file);
	}
	return r == -ENOENT ? 0 : r;
}

/* ---- what is equal and not known so -------------------------------------------------- */

/* What the members of a group of the new index are by the index. */
struct union_of {
	struct hash128 hash; /* by the new index */
	uint64_t count;
	uint64_t group;
	bool broken;
};

static int compare_known(const struct search *search, const struct known *known, void *context)
{
	struct union_of *members = context;

	(void)search;
	/* what changed without a trace was told of already */
	if (known->fresh_content.prefix != known->indexed_content.prefix ||
	    (content_has_hash(&known->indexed_content) &&
	     !hash128_equal(known->indexed_content.hash, members->hash)))
		return 0;
	if (members->count++ == 0)
		members->group = known->indexed_content.group;
	members->broken |= members->count > 1 &&
			   (known->indexed_content.group != members->group || members->group == 0);
	return 0;
}

static int tell_known(const struct search *search, const struct known *known, void *context)
{
	(void)context;
	return tell_file(search, known, CONTENT_AS_RECORDED);
}

static int check_fresh_group(const struct search *search, const struct group_record *group)
{
	struct union_of members = {.hash = group->hash};
	struct member_walk walk = {.reader = search->sides->fresh,
				   .get = get_known_by_fresh,
				   .visit = compare_known,
				   .context = &members};
	int r = walk_members(search, &walk, group->id);

	if (r < 0 || !members.broken)
		return r;
	walk.visit = tell_known;
	r = tell(search, CONTENT_NOT_GROUPED, group);
	return r < 0 ? r : walk_members(search, &walk, group->id);
}

static int check_fresh_groups(const struct search *search)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct group_record group;
	int r = catalog_scan_groups(search->sides->fresh, 0, &scan);

	while (r == 0 && (r = catalog_next_group(scan, &group)) == 0) {
		if (group_is_visible(&group))
			r = check_fresh_group(search, &group);
	}
	return r == -ENOENT ? 0 : r;
}

int content_differences_find(const struct content_sides *sides,
			     const struct content_listener *listener,
			     struct content_figures *figures)
{
	const struct search search = {.sides = sides, .listener = listener, .figures = figures};
	int r = check_groups(&search);

	if (r == 0)
		r = check_singles(&search);
	return r < 0 ? r : check_fresh_groups(&search);
}
