/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/new_file.h"
#include "base/stop.h"
#include "cli/check.h"
#include "index/query.h"
#include "index/scan.h"
#include "index/source.h"
#include "scan/candidates.h"
#include "scan/reading.h"

struct check_search {
	const struct content_sides *sides;
	struct content_figures *figures;
	FILE *unverified; /* struct unverified of each file, for the end of the output */
};

/* A file that both indexes have, with the same signature. */
struct known_content {
	bool read_again; /* its content was read for the new index; not so if its size is unique */
	struct file_record indexed, fresh;
	struct content_record indexed_content, fresh_content;
};

/* Outcomes of a search for a file in the other index. */
enum {
	NOT_COMPARABLE = 1, /* missing, or with another signature */
	NOT_READ = 2, /* found with the same signature, but its content is unknown */
};

static int found_or_not_comparable(int r)
{
	return r == -ENOENT ? NOT_COMPARABLE : r;
}

/* Gets the records that the other index has of a file. */
static int get_other(struct catalog_reader *reader, const struct file_record *file,
		     struct file_record *other, struct content_record *content)
{
	uint64_t id = 0;
	int r = catalog_find_inode(reader, file->attributes.filesystem, file->attributes.inode,
				   &id);

	if (r < 0 || id == 0)
		return r < 0 ? r : NOT_COMPARABLE;
	r = catalog_get_file(reader, id, other);
	if (r < 0)
		return found_or_not_comparable(r);
	if (!attributes_same_signature(&file->attributes, &other->attributes))
		return NOT_COMPARABLE;
	r = catalog_get_content(reader, id, content);
	return r == -ENOENT ? NOT_READ : r;
}

static int get_known(const struct check_search *search, uint64_t indexed,
		     struct known_content *known)
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

static int get_known_by_fresh(const struct check_search *search, uint64_t fresh,
			      struct known_content *known)
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

/* Begins a difference. Its files follow. group: NULL for CONTENT_OTHER */
static void report_difference(const struct check_search *search, enum content_difference what,
			      const struct group_record *group)
{
	search->figures->differences++;
	check_print_content(search->sides->printing, what, group);
}

static int report_file(const struct check_search *search, const struct known_content *known,
		       enum content_state state)
{
	const struct content_sides *sides = search->sides;
	const struct file_record *file = &known->indexed;
	CLEANUP_BYTES struct bytes path = {0};
	int r = source_file_path(sides->sources, sides->indexed, file, &path);

	if (r == 0)
		r = check_print_file(sides->printing, &path, state);
	return r < 0 ? r : bytes_append(sides->touched, &file->id, sizeof(file->id));
}

static int report_unverified(const struct check_search *search, const struct file_record *file,
			     enum unverified_reason reason, uint64_t checked)
{
	struct unverified unverified;

	search->figures->unverified++;
	if (!search->sides->printing->json)
		return 0;
	/* clears the padding, as the whole struct is written */
	memset(&unverified, 0, sizeof(unverified));
	unverified.file = file->id;
	unverified.reason = reason;
	unverified.checked = checked;
	return fwrite(&unverified, sizeof(unverified), 1, search->unverified) == 1 ? 0 : -errno;
}

static int print_unverified_file(const struct content_sides *sides,
				 const struct unverified *unverified)
{
	CLEANUP_BYTES struct bytes path = {0};
	struct file_record file;
	int r = catalog_get_file(sides->indexed, unverified->file, &file);

	if (r == 0)
		r = source_file_path(sides->sources, sides->indexed, &file, &path);
	return r < 0 ? r : check_print_unverified_file(sides->printing, &path, unverified);
}

static int print_unverified(const struct check_search *search)
{
	struct unverified unverified;
	int r = 0;

	check_print_unverified(search->sides->printing);
	if (fflush(search->unverified) != 0 || fseek(search->unverified, 0, SEEK_SET) != 0)
		return -errno;
	while (r == 0 && fread(&unverified, sizeof(unverified), 1, search->unverified) == 1)
		r = print_unverified_file(search->sides, &unverified);
	return r == 0 && ferror(search->unverified) ? -EIO : r;
}

/* ---- the bytes of a file ------------------------------------------------------------- */

/* Hashes a file whose signature must match the index. Returns 0, an enum reading_outcome, or
 * -errno. */
static int hash_file(const struct check_search *search, const struct file_record *file,
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

/* Reads a file and compares its hash. Sets *changed if the hash differs. A file whose signature
 * changed since the scan is not compared: *changed is false. A file that cannot be read is reported
 * as unverified. Returns 0, or -errno of the search. */
static int compare_hash_of(const struct check_search *search, const struct file_record *file,
			   const struct hash128 *expected, bool *changed)
{
	struct hash128 found;
	int r = hash_file(search, file, &found);

	*changed = r == 0 && !hash128_equal(found, *expected);
	if (r == READING_CHANGED || r == READING_GONE)
		return 0;
	if (r == READING_BUSY)
		return report_unverified(search, file, UNVERIFIED_BUSY, 0);
	if (r == 0 || r == -EINTR || r == -ENOMEM)
		return r;
	return report_unverified(search, file, UNVERIFIED_UNREADABLE, 0);
}

/* ---- walking a group ----------------------------------------------------------------- */

/* Visits each member that both indexes have. visit returns 0, or another value that ends the
 * walk. */
struct member_walk {
	struct catalog_reader *reader; /* index of the group */
	int (*get)(const struct check_search *search, uint64_t file, struct known_content *known);
	int (*visit)(const struct check_search *search, const struct known_content *known,
		     void *context);
	void *context;
};

static int walk_members(const struct check_search *search, const struct member_walk *walk,
			uint64_t group)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct known_content known;
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

/* Whether the members of a group are equal according to what was read now. */
struct agreement {
	const struct group_record *group;
	uint64_t count; /* members that were read for the new index */
	/* group of the first of these in the new index, or 0 if it has no equal file */
	uint64_t class;
	uint64_t prefix;
	bool broken; /* a member differs */
};

/* Compares a member by the hash of all its bytes. */
static int compare_member_hash(const struct check_search *search, const struct known_content *known,
			       struct agreement *agreement)
{
	bool changed;
	int r = compare_hash_of(search, &known->indexed, &agreement->group->hash, &changed);

	agreement->broken |= changed;
	return r;
}

static int compare_member(const struct check_search *search, const struct known_content *known,
			  void *context)
{
	struct agreement *agreement = context;

	if (!known->read_again)
		return compare_member_hash(search, known, agreement);
	if (agreement->count++ == 0) {
		agreement->class = known->fresh_content.group;
		agreement->prefix = known->fresh_content.prefix;
	}
	/* a single member need not have an equal file, so only its prefix hash is compared */
	agreement->broken |= known->fresh_content.prefix != known->indexed_content.prefix ||
			     known->fresh_content.group != agreement->class ||
			     (agreement->count > 1 && agreement->class == 0);
	return 0;
}

/* Compares the only member of a group that was read for the new index, which has only its prefix
 * hash. */
static int compare_lone_member(const struct check_search *search, const struct known_content *known,
			       void *context)
{
	return known->read_again ? compare_member_hash(search, known, context) : 0;
}

/* Compares the hash of the group in both indexes. */
static int compare_hash(const struct check_search *search, struct agreement *agreement)
{
	struct group_record fresh;
	int r;

	if (agreement->broken || agreement->count == 0 || agreement->class == 0)
		return 0;
	r = catalog_get_group(search->sides->fresh, agreement->class, &fresh);
	agreement->broken = r == 0 && !hash128_equal(fresh.hash, agreement->group->hash);
	return r == -ENOENT ? -EUCLEAN : r;
}

/* Reports whether the bytes of a member changed, by its hash. */
static int report_member(const struct check_search *search, const struct known_content *known,
			 void *context)
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
	return report_file(search, known, state);
}

static int check_group(const struct check_search *search, const struct group_record *group)
{
	struct agreement agreement = {.group = group};
	struct member_walk walk = {.reader = search->sides->indexed,
				   .get = get_known,
				   .visit = compare_member,
				   .context = &agreement};
	int r = walk_members(search, &walk, group->id);

	search->figures->groups++;
	if (r == 0 && !agreement.broken && agreement.count == 1 && agreement.class == 0) {
		walk.visit = compare_lone_member;
		r = walk_members(search, &walk, group->id);
	}
	if (r == 0)
		r = compare_hash(search, &agreement);
	if (r < 0 || !agreement.broken)
		return r;
	walk.visit = report_member;
	report_difference(search, CONTENT_NOT_EQUAL, group);
	return walk_members(search, &walk, group->id);
}

/* Checks each visible group of an index. */
static int check_groups(const struct check_search *search, struct catalog_reader *reader,
			int (*check)(const struct check_search *search,
				     const struct group_record *group))
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct group_record group;
	int r = catalog_scan_groups(reader, 0, &scan);

	while (r == 0 && (r = catalog_next_group(scan, &group)) == 0) {
		if (group_is_visible(&group))
			r = check(search, &group);
	}
	return r == -ENOENT ? 0 : r;
}

/* ---- files in no group --------------------------------------------------------------- */

/* Gets the hash of a whole file, from its content record or from a group with no other copy.
 * Returns 0, -ENOENT if there is no hash or the file's group is visible, or -errno. */
static int get_hash(const struct check_search *search, const struct content_record *content,
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

/* Gets the records of a regular file that is not empty. Returns 0, NOT_COMPARABLE for another file
 * or if the signature is not the same in both indexes, or -errno. */
static int get_single(const struct check_search *search, const struct file_record *file,
		      struct known_content *known)
{
	int r;

	*known = (struct known_content){.indexed = *file};
	/* a file that moves has no name for a moment */
	if (!S_ISREG(file->attributes.mode) || file->attributes.size == 0 || file->names == 0)
		return NOT_COMPARABLE;
	r = catalog_get_content(search->sides->indexed, file->id, &known->indexed_content);
	if (r < 0 && r != -ENOENT)
		return r;
	r = get_other(search->sides->fresh, file, &known->fresh, &known->fresh_content);
	known->read_again = r == 0;
	return r == NOT_READ ? 0 : r;
}

/* Compares the prefix hash of a file without a full hash. */
static int compare_prefix(const struct check_search *search, const struct known_content *known,
			  bool *changed)
{
	bool is_checked = known->read_again && known->indexed_content.prefix != 0;
	uint64_t checked = is_checked ? prefix_length(known->indexed.attributes.size) : 0;

	*changed = is_checked && known->indexed_content.prefix != known->fresh_content.prefix;
	if (*changed || (is_checked && is_small(known->indexed.attributes.size)))
		return 0;
	return report_unverified(search, &known->indexed, UNVERIFIED_NO_HASH, checked);
}

static int check_single(const struct check_search *search, const struct file_record *file)
{
	struct known_content known;
	struct hash128 expected;
	bool changed = false;
	int r = get_single(search, file, &known);

	if (r != 0)
		return r == NOT_COMPARABLE ? 0 : r;
	r = get_hash(search, &known.indexed_content, &expected);
	if (r == 0)
		r = compare_hash_of(search, file, &expected, &changed);
	else if (r == -ENOENT && known.indexed_content.group == 0)
		r = compare_prefix(search, &known, &changed);
	else if (r == -ENOENT)
		r = 0;
	if (r < 0 || !changed)
		return r;
	report_difference(search, CONTENT_OTHER, NULL);
	return report_file(search, &known, CONTENT_CHANGED);
}

static int check_singles(const struct check_search *search)
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

/* ---- equal files that are not grouped ------------------------------------------------ */

/* What the index has of the members of a group in the new index. */
struct fresh_members {
	struct hash128 hash; /* of the group in the new index */
	uint64_t count; /* members with the same bytes in the index */
	uint64_t group; /* group of the first of these in the index */
	bool broken; /* these are not in one group in the index */
};

static int compare_known(const struct check_search *search, const struct known_content *known,
			 void *context)
{
	struct fresh_members *members = context;

	(void)search;
	/* files whose bytes changed were reported before */
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

static int report_known(const struct check_search *search, const struct known_content *known,
			void *context)
{
	(void)context;
	return report_file(search, known, CONTENT_AS_RECORDED);
}

static int check_fresh_group(const struct check_search *search, const struct group_record *group)
{
	struct fresh_members members = {.hash = group->hash};
	struct member_walk walk = {.reader = search->sides->fresh,
				   .get = get_known_by_fresh,
				   .visit = compare_known,
				   .context = &members};
	int r = walk_members(search, &walk, group->id);

	if (r < 0 || !members.broken)
		return r;
	walk.visit = report_known;
	report_difference(search, CONTENT_NOT_GROUPED, group);
	return walk_members(search, &walk, group->id);
}

/* ---- kept copies --------------------------------------------------------------------- */

static int check_kept(const struct check_search *search, const struct group_record *group)
{
	struct known_content known = {0};
	uint64_t file;
	int r = catalog_find_displacing(search->sides->indexed, group, &file);

	if (r < 0 || !file)
		return r;
	r = catalog_get_file(search->sides->indexed, file, &known.indexed);
	if (r < 0)
		return r;
	report_difference(search, CONTENT_NOT_KEPT, group);
	return report_file(search, &known, CONTENT_AS_RECORDED);
}

static int find_differences(const struct check_search *search)
{
	int r = check_groups(search, search->sides->indexed, check_group);

	if (r == 0)
		r = check_singles(search);
	if (r == 0)
		r = check_groups(search, search->sides->fresh, check_fresh_group);
	return r < 0 ? r : check_groups(search, search->sides->indexed, check_kept);
}

int content_differences_print(const struct content_sides *sides, struct content_figures *figures)
{
	struct check_search search = {.sides = sides, .figures = figures};
	int r = spool_open_stream(&search.unverified);

	if (r < 0)
		return r;
	r = find_differences(&search);
	if (r == 0)
		r = print_unverified(&search);
	(void)fclose(search.unverified);
	return r;
}
