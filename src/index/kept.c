/* SPDX-License-Identifier: MIT */
#include "index/kept.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/path.h"
#include "base/sort.h"
#include "index/change.h"
#include "index/emptied_place.h"
#include "index/keep_rules.h"
#include "index/meta.h"
#include "index/paths.h"
#include "index/query.h"
#include "index/scan.h"

/* Number of cached directory paths. Copies are in few directories, so most paths are built only
 * once. Without the cache, 1,000 groups of 100 copies spent a quarter of their commit on building
 * paths. */
#define PLACES 256

/* A directory. */
struct known_place {
	uint64_t dir; /* 0: unused */
	/* Rank of a file in it whose name has no copy mark. The path is that of the directory, with
	 * a trailing slash unless it is the root of its source. */
	struct kept_rank rank;
	struct location location;
	struct bytes source; /* path of the source, ends with a NUL */
	struct bytes path;
};

/* A candidate for the kept copy. */
struct kept_member {
	uint64_t id;
	/* If not whole, the path of the rank is that of the directory. */
	struct kept_rank rank;
	bool whole;
	struct bytes path;
};

/* Sets the path of the source unless the place has it from its last directory. */
static int set_source(struct kept_choice *choice, struct known_place *place, uint32_t source)
{
	uint64_t root;
	int r;

	if (place->source.length > 0 && place->rank.source == source)
		return 0;
	place->source.length = 0;
	r = catalog_get_source(choice->reader, source, &place->source, &root);
	return r < 0 ? r : bytes_append(&place->source, "", 1);
}

static int set_place(struct kept_choice *choice, struct known_place *place, uint64_t dir)
{
	int r;

	place->dir = 0;
	place->path.length = 0;
	r = catalog_dir_location(choice->reader, dir, &place->path, &place->location);
	if (r == 0 && place->path.length > 0)
		r = bytes_append(&place->path, "/", 1);
	if (r == 0)
		r = set_source(choice, place, place->location.source);
	if (r == 0)
		r = bytes_append(&place->path, "x", 1); /* a name without a mark */
	if (r < 0)
		return r;
	kept_rank_set_name(&place->rank, &place->location, (const char *)place->source.data,
			   place->path.data, place->path.length);
	place->rank.path_length = --place->path.length;
	place->dir = dir;
	return 0;
}

static int find_place(struct kept_choice *choice, uint64_t dir, const struct known_place **found)
{
	struct known_place *place;

	if (!choice->places)
		choice->places = calloc(PLACES, sizeof(*choice->places));
	if (!choice->places)
		return -ENOMEM;
	place = &choice->places[dir % PLACES];
	*found = place;
	return place->dir == dir ? 0 : set_place(choice, place, dir);
}

/* Sets the rank and the path of a member to those of a name. */
static int set_name(struct kept_choice *choice, struct kept_member *member, uint64_t dir,
		    uint64_t cookie)
{
	const struct known_place *place;
	struct entry_record entry;
	int r = find_place(choice, dir, &place);

	member->path.length = 0;
	if (r == 0)
		r = catalog_entry_at(choice->reader, dir, cookie, &entry);
	if (r == 0)
		r = bytes_append(&member->path, place->path.data, place->path.length);
	if (r == 0)
		r = bytes_append(&member->path, entry.name.bytes, entry.name.length);
	if (r == 0 && !bytes_text(&member->path)) /* the NUL that rules need */
		r = -ENOMEM;
	if (r < 0)
		return r;
	kept_rank_set_name(&member->rank, &place->location, (const char *)place->source.data,
			   member->path.data, member->path.length);
	member->whole = true;
	return 0;
}

static void swap_members(struct kept_member *a, struct kept_member *b)
{
	struct kept_member swap = *a;

	*a = *b;
	*b = swap;
}

/* Sets the rank and the path of a member to those of its preferred name. */
static int set_best_name(struct kept_choice *choice, const struct file_record *file,
			 struct kept_member *member)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct kept_member next = {.id = member->id, .rank = member->rank};
	uint64_t dir, cookie;
	bool any = false;
	int r = catalog_scan_names(choice->reader, file, &scan);

	while (r == 0 && (r = catalog_next_name(scan, &dir, &cookie)) == 0) {
		r = set_name(choice, &next, dir, cookie);
		if (r == 0 &&
		    (!any || kept_order(choice->rules, &next.rank, &member->rank, NULL) < 0))
			swap_members(&next, member);
		any = true;
	}
	bytes_free(&next.path);
	return r == -ENOENT && any ? 0 : r;
}

static int complete(struct kept_choice *choice, struct kept_member *member)
{
	struct file_record file;
	int r;

	if (member->whole)
		return 0;
	r = catalog_get_file_name(choice->reader, member->id, &file);
	return r < 0 ? r : set_name(choice, member, file.dir, file.cookie);
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

/* Sets the rank of a member with one name, except for its path. */
static int set_place_of(struct kept_choice *choice, struct kept_member *member, uint64_t dir,
			bool copy_mark)
{
	struct kept_rank inode = member->rank;
	const struct known_place *place;
	int r = find_place(choice, dir, &place);

	if (r < 0)
		return r;
	member->rank = place->rank;
	member->rank.first_seen = inode.first_seen;
	member->rank.links = inode.links;
	member->rank.mtime = inode.mtime;
	member->rank.birth = inode.birth;
	member->rank.copy_marks += copy_mark;
	return bytes_append(&member->path, place->path.data, place->path.length);
}

static int load_file(struct kept_choice *choice, struct kept_member *member)
{
	struct file_record file;
	int r = catalog_get_file(choice->reader, member->id, &file);

	if (r < 0)
		return r;
	kept_rank_set_inode(&member->rank, file.first_seen, &file.attributes);
	if (file.names != 1)
		return set_best_name(choice, &file, member);
	if (choice->rules->count > 0) /* rules need the whole path */
		return set_name(choice, member, file.dir, file.cookie);
	return set_place_of(choice, member, file.dir, file.copy_mark);
}

static int load(struct kept_choice *choice, uint64_t group, uint64_t id, struct kept_member *member)
{
	const struct deferred_file *joined = find_joined(choice, group, id);

	member->id = id;
	member->path.length = 0;
	member->whole = false;
	if (!joined || choice->rules->count > 0)
		return load_file(choice, member);
	member->rank.first_seen = joined->first_seen;
	member->rank.mtime = (struct timespec){.tv_sec = joined->mtime};
	member->rank.birth = joined->birth;
	return set_place_of(choice, member, joined->dir, joined->copy_mark);
}

/* Sets the path to the first length bytes of that of the member. */
static struct kept_rank rank_of(const struct kept_member *member, size_t length)
{
	struct kept_rank rank = member->rank;

	rank.path = member->path.data;
	rank.path_length = length;
	return rank;
}

static int goes_before(struct kept_choice *choice, struct kept_member *a, struct kept_member *b,
		       bool *before)
{
	size_t common = a->path.length < b->path.length ? a->path.length : b->path.length;
	struct kept_rank rank_a = rank_of(a, common), rank_b = rank_of(b, common);
	int order = kept_order(choice->rules, &rank_a, &rank_b, NULL), r = 0;

	if (order == 0) { /* one of the two paths begins with the other one */
		r = complete(choice, a);
		if (r == 0)
			r = complete(choice, b);
		rank_a = rank_of(a, a->path.length);
		rank_b = rank_of(b, b->path.length);
		order = kept_order(choice->rules, &rank_a, &rank_b, NULL);
	}
	*before = order < 0;
	return r;
}

int kept_choose(struct kept_choice *choice, uint64_t group, uint64_t *kept)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct kept_member best = {0}, next = {0};
	bool before = true;
	uint64_t file;
	int r = catalog_scan_members(choice->reader, group, 0, &scan);

	*kept = 0;
	choice->emptied = false;
	while (r == 0 && (r = catalog_next_member(scan, &file)) == 0) {
		r = load(choice, group, file, &next);
		choice->emptied |= r == 0 && next.rank.place != PLACE_LASTS;
		if (r == 0 && *kept)
			r = goes_before(choice, &next, &best, &before);
		if (r == -ENOENT) /* a member without a record or a name */
			r = -EUCLEAN;
		if (r == 0 && before) {
			swap_members(&best, &next);
			*kept = file;
		}
	}
	bytes_free(&best.path);
	bytes_free(&next.path);
	return r == -ENOENT ? 0 : r;
}

/* Loads a kept copy, unless it was the last one: a copy with many names can have many rivals. */
static int load_kept(struct kept_choice *choice, uint64_t id, struct kept_member **kept)
{
	int r;

	if (!choice->kept)
		choice->kept = calloc(1, sizeof(*choice->kept));
	if (!choice->kept)
		return -ENOMEM;
	*kept = choice->kept;
	if ((*kept)->id == id)
		return 0;
	(*kept)->id = id;
	(*kept)->whole = false;
	(*kept)->path.length = 0;
	r = load_file(choice, *kept);
	if (r < 0)
		(*kept)->id = 0;
	return r;
}

/* Returns whether another copy can take the place of the kept copy. */
static bool can_be_displaced(const struct kept_choice *choice, const struct kept_member *kept)
{
	return kept->rank.place != PLACE_LASTS || choice->rules->count > 0;
}

int kept_is_displaced(struct kept_choice *choice, uint64_t kept, uint64_t candidate,
		      bool *displaces)
{
	struct kept_member *now, other = {.id = candidate};
	struct kept_rank now_rank, other_rank;
	int r = load_kept(choice, kept, &now);

	*displaces = r == 0 && can_be_displaced(choice, now);
	if (*displaces) {
		r = load_file(choice, &other);
		now_rank = rank_of(now, now->path.length);
		other_rank = rank_of(&other, other.path.length);
		*displaces = r == 0 && kept_displaces(choice->rules, &other_rank, &now_rank);
	}
	bytes_free(&other.path);
	return r;
}

int kept_judge(struct kept_choice *choice, uint64_t group, uint64_t *kept)
{
	struct kept_member *now;
	bool displaced;
	uint64_t best = 0;
	int r = load_kept(choice, *kept, &now);

	if (r < 0 || !can_be_displaced(choice, now))
		return r;
	r = kept_choose(choice, group, &best);
	if (r == 0)
		r = kept_is_displaced(choice, *kept, best, &displaced);
	if (r == 0 && displaced)
		*kept = best;
	return r;
}

int catalog_find_displacing(struct catalog_reader *reader, const struct group_record *group,
			    uint64_t *file)
{
	CLEANUP_KEEP_RULES struct keep_rules rules = {0};
	struct kept_choice choice = {.reader = reader, .rules = &rules};
	struct catalog_totals totals = {0};
	uint64_t kept = group->kept, places = 0;
	int r = catalog_get_totals(reader, &totals);

	*file = 0;
	if (r == 0)
		r = catalog_get_keep_rules(reader, &rules);
	if (r == 0 && meta_get_number(reader, META_PLACES, &places) == 0 &&
	    places == PLACES_VERSION && kept &&
	    (!totals.choose_from || group->id < totals.choose_from))
		r = kept_judge(&choice, group->id, &kept);
	kept_choice_deinit(&choice);
	if (r == 0 && kept != group->kept)
		*file = kept;
	return r == -ENOENT ? -EUCLEAN : r;
}

int catalog_may_keep(struct catalog_reader *reader, const struct group_record *group, uint64_t file,
		     bool *may)
{
	CLEANUP_KEEP_RULES struct keep_rules rules = {0};
	struct kept_choice choice = {.reader = reader, .rules = &rules};
	bool displaced = false;
	int r = catalog_get_keep_rules(reader, &rules);

	if (r == 0 && group->kept && group->kept != file)
		r = kept_is_displaced(&choice, file, group->kept, &displaced);
	kept_choice_deinit(&choice);
	*may = r == 0 && !displaced;
	return r;
}

int kept_found_together(struct catalog_reader *reader, uint64_t a, uint64_t b, uint64_t unended,
			bool *found)
{
	struct file_record one, other;
	int r = catalog_get_file_name(reader, a, &one);

	*found = false;
	if (r < 0 || one.first_seen < unended)
		return r;
	r = catalog_get_file_name(reader, b, &other);
	*found = r == 0 && other.first_seen == one.first_seen;
	return r;
}

int kept_was_earlier(struct catalog_reader *reader, const struct group_record *group,
		     const struct file_record *file, bool *earlier)
{
	struct file_record kept;
	int r = group->kept ? catalog_get_file_name(reader, group->kept, &kept) : 0;

	*earlier = r == 0 && group->kept && hash128_equal(kept.kept_hash, group->hash) &&
		   kept.kept_until < file->kept_until;
	return r;
}

/* ---- places -------------------------------------------------------------------------- */

int catalog_get_emptied(struct catalog_reader *reader, const struct file_record *file,
			enum emptied_place *best, bool *several)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct kept_choice choice = {.reader = reader};
	struct known_place place = {0};
	uint64_t dir, cookie;
	bool any = false, differ = false;
	int r = catalog_scan_names(reader, file, &scan);

	*best = PLACE_MEMORY;
	while (r == 0 && (r = catalog_next_name(scan, &dir, &cookie)) == 0) {
		r = set_place(&choice, &place, dir);
		if (r < 0)
			break;
		differ |= any && place.rank.place != *best;
		if (place.rank.place < *best)
			*best = place.rank.place;
		any = true;
	}
	if (several)
		*several = differ;
	bytes_free(&place.source);
	bytes_free(&place.path);
	return r == -ENOENT && any ? 0 : r;
}

/* Sets *emptied for a file whose names are all in one directory. */
static int dir_is_emptied(struct kept_choice *choice, uint64_t dir, bool *emptied)
{
	const struct known_place *place;
	int r = find_place(choice, dir, &place);

	*emptied = r == 0 && place->rank.place != PLACE_LASTS;
	return r;
}

int kept_is_emptied(struct kept_choice *choice, uint64_t group, uint64_t file, bool *emptied)
{
	const struct deferred_file *joined = find_joined(choice, group, file);
	struct file_record record;
	enum emptied_place place = PLACE_LASTS;
	int r;

	*emptied = false;
	if (joined)
		return dir_is_emptied(choice, joined->dir, emptied);
	r = catalog_get_file_name(choice->reader, file, &record);
	if (r == 0 && record.names == 1)
		return dir_is_emptied(choice, record.dir, emptied);
	if (r == 0)
		r = catalog_get_emptied(choice->reader, &record, &place, NULL);
	*emptied = r == 0 && place != PLACE_LASTS;
	return r;
}

int kept_any_is_emptied(struct kept_choice *choice, uint64_t group, bool *emptied)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	uint64_t file;
	int r = catalog_scan_members(choice->reader, group, 0, &scan);

	*emptied = false;
	while (r == 0 && !*emptied && (r = catalog_next_member(scan, &file)) == 0) {
		r = kept_is_emptied(choice, group, file, emptied);
		if (r == -ENOENT) /* a member without a record or a name */
			r = -EUCLEAN;
	}
	return r == -ENOENT ? 0 : r;
}

int kept_get_place(struct catalog_reader *reader, uint64_t dir, uint64_t *place)
{
	CLEANUP_BYTES struct bytes source_path = {0}, path = {0};
	struct location location;
	uint64_t root;
	int r = catalog_dir_location(reader, dir, &path, &location);

	*place = 0;
	if (r == 0)
		r = catalog_get_source(reader, location.source, &source_path, &root);
	if (r == 0)
		r = bytes_append(&source_path, "", 1);
	if (r < 0)
		return r;
	*place = (uint64_t)location.place << 32 |
		 emptied_place_state((const char *)source_path.data, (const char *)path.data,
				     path.length);
	return 0;
}

void kept_choice_deinit(struct kept_choice *choice)
{
	for (size_t i = 0; choice->places && i < PLACES; i++) {
		bytes_free(&choice->places[i].source);
		bytes_free(&choice->places[i].path);
	}
	free(choice->places);
	if (choice->kept)
		bytes_free(&choice->kept->path);
	free(choice->kept);
}

/* ---- the order --------------------------------------------------------------------- */

void kept_rank_set_inode(struct kept_rank *rank, uint32_t first_seen,
			 const struct attributes *attributes)
{
	static const struct timespec unknown;

	rank->first_seen = first_seen;
	rank->links = attributes->links;
	rank->mtime = attributes->mtime;
	rank->birth =
		clock_equal(attributes->btime, unknown) ? INT64_MAX : clock_ns(attributes->btime);
}

void kept_rank_set_name(struct kept_rank *rank, const struct location *location,
			const char *source_path, const void *path, size_t length)
{
	const char *bytes = path;

	assert(source_path);
	rank->source = location->source;
	rank->place = emptied_first(location->place, emptied_place_of(source_path, bytes, length));
	rank->copy_marks = count_copy_marks(bytes, length);
	/* a slash joins both paths, except after the source "/" */
	rank->absolute_length = strlen(source_path) + (source_path[1] != '\0') + length;
	rank->depth = 0;
	for (size_t i = 0; i < length; i++)
		rank->depth += bytes[i] == '/';
	rank->path = path;
	rank->path_length = length;
}

static int compare_paths(const struct kept_rank *a, const struct kept_rank *b)
{
	size_t common = a->path_length < b->path_length ? a->path_length : b->path_length;
	int order = common > 0 ? memcmp(a->path, b->path, common) : 0;

	return order ? order : numbers_compare(a->path_length, b->path_length);
}

static int compare_signed(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

/* Returns a time in units of two seconds, rounded down. FAT, zip and tar store times of this
 * resolution, or of one second: a copy in them must not seem to be older. */
static int64_t coarse(struct timespec time)
{
	return (time.tv_sec - (time.tv_sec & 1)) / 2;
}

static int compare_globs(const struct keep_rules *rules, const struct keep_rule *rule,
			 const struct kept_rank *a, const struct kept_rank *b)
{
	bool a_matches = glob_matches_within(keep_rules_glob(rules, rule, a->source), a->path);
	bool b_matches = glob_matches_within(keep_rules_glob(rules, rule, b->source), b->path);

	return (int)b_matches - (int)a_matches;
}

int kept_order_by_rule(const struct keep_rules *rules, size_t number, const struct kept_rank *a,
		       const struct kept_rank *b)
{
	const struct keep_rule *rule = &rules->list[number];

	switch (rule->by) {
	case KEEP_SOURCE_ORDER:
		return numbers_compare(a->source, b->source);
	case KEEP_FIRST_SEEN:
		return numbers_compare(a->first_seen, b->first_seen);
	case KEEP_OLDEST:
		return clock_compare(a->mtime, b->mtime);
	case KEEP_NEWEST:
		return clock_compare(b->mtime, a->mtime);
	case KEEP_SHORTEST_PATH:
		return numbers_compare(a->absolute_length, b->absolute_length);
	case KEEP_LONGEST_PATH:
		return numbers_compare(b->absolute_length, a->absolute_length);
	case KEEP_PATH:
		return compare_globs(rules, rule, a, b);
	case KEEP_MOST_LINKED:
		return numbers_compare(b->links, a->links);
	}
	return 0;
}

/* Sets *rule to the position of the rule that decides. */
static int compare_by_rules(const struct keep_rules *rules, const struct kept_rank *a,
			    const struct kept_rank *b, size_t *rule)
{
	int order = 0;

	for (size_t i = 0; order == 0 && i < rules->count; i++) {
		order = kept_order_by_rule(rules, i, a, b);
		*rule = i;
	}
	return order;
}

static int compare_by(enum kept_criterion criterion, const struct kept_rank *a,
		      const struct kept_rank *b)
{
	switch (criterion) {
	case KEPT_BY_PLACE:
		return (int)a->place - (int)b->place;
	case KEPT_BY_RULE: /* compare_by_rules() */
		return 0;
	case KEPT_BY_SOURCE:
		return numbers_compare(a->source, b->source);
	case KEPT_BY_FIRST_SEEN:
		return numbers_compare(a->first_seen, b->first_seen);
	case KEPT_BY_MTIME:
		return compare_signed(coarse(a->mtime), coarse(b->mtime));
	case KEPT_BY_COPY_MARKS:
		return numbers_compare(a->copy_marks, b->copy_marks);
	case KEPT_BY_BIRTH:
		return compare_signed(a->birth, b->birth);
	case KEPT_BY_DEPTH:
		return numbers_compare(a->depth, b->depth);
	case KEPT_BY_PATH:
		return compare_paths(a, b);
	}
	return 0;
}

int kept_order(const struct keep_rules *rules, const struct kept_rank *a, const struct kept_rank *b,
	       struct kept_reason *reason)
{
	size_t rule = 0;

	for (enum kept_criterion criterion = KEPT_BY_PLACE; criterion <= KEPT_BY_PATH;
	     criterion++) {
		int order = criterion == KEPT_BY_RULE ? compare_by_rules(rules, a, b, &rule)
						      : compare_by(criterion, a, b);

		if (order == 0)
			continue;
		if (reason)
			*reason = (struct kept_reason){criterion, rule};
		return order;
	}
	return 0;
}

bool kept_displaces(const struct keep_rules *rules, const struct kept_rank *candidate,
		    const struct kept_rank *kept)
{
	struct kept_reason reason;

	return kept_order(rules, candidate, kept, &reason) < 0 && reason.by <= KEPT_BY_RULE;
}

/* ---- names of copies --------------------------------------------------------------- */

/* Longest word of the table, in bytes. */
#define WORD_BYTES_MAX 24

/* Words for copies, backups and what is old, in lower case where the letters are of ASCII. Add
 * words that the names of originals seldom have. */
static const char *const words[] = {
	/* English */
	"backup",
	"backups",
	"bak",
	"bkp",
	"copied",
	"copies",
	"copy",
	"duplicate",
	"duplicates",
	"old",
	/* German, Dutch, Danish, Norwegian, Swedish */
	"kopi",
	"kopia",
	"kopie",
	"kopien",
	"kopier",
	"reservekopie",
	"sicherung",
	"sicherungen",
	"sicherungskopie",
	/* French, Italian, Spanish, Portuguese */
	"ancien",
	"ancienne",
	"antiguo",
	"copia",
	"copias",
	"copie",
	"copié",
	"cópia",
	"cópias",
	"respaldo",
	"sauvegarde",
	"sauvegardes",
	"viejo",
	/* Polish, Czech, Finnish, Turkish */
	"kopio",
	"kopya",
	"varmuuskopio",
	"yedek",
	"záloha",
	/* Russian, Chinese, Japanese, Korean */
	"Копия",
	"копия",
	"副本",
	"备份",
	"備份",
	"コピー",
	"バックアップ",
	"복사본",
	"백업",
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_known_word(const char *text, size_t length)
{
	char word[WORD_BYTES_MAX + 1];

	if (length > WORD_BYTES_MAX)
		return false;
	for (size_t i = 0; i < length; i++)
		word[i] = lower(text[i]);
	word[length] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (word[0] == words[i][0] && strcmp(word, words[i]) == 0)
			return true;
	}
	return false;
}

static bool has_known_word(const char *name, size_t length)
{
	size_t end;

	for (size_t begin = 0; begin < length; begin = end + 1) {
		size_t letters;

		for (end = begin; end < length && is_letter(name[end]); end++)
			continue;
		letters = end - begin;
		while (end < length && is_digit(name[end]))
			end++;
		/* "backup2" ends the word, "mp3old" does not begin one */
		if (letters > 0 && (end == length || !is_letter(name[end])) &&
		    is_known_word(name + begin, letters))
			return true;
		while (end < length && (is_letter(name[end]) || is_digit(name[end])))
			end++;
	}
	return false;
}

/* Returns whether the bracket at this position begins a number that ends the stem of the name. */
static bool is_numbered_at(const char *name, size_t length, size_t open)
{
	char close = name[open] == '(' ? ')' : ']';
	size_t at = open + 1;

	while (at < length && at <= open + 3 && is_digit(name[at]))
		at++;
	if (at == open + 1 || at == length || name[at] != close)
		return false;
	return at + 1 == length || name[at + 1] == '.';
}

static bool is_numbered(const char *name, size_t length)
{
	for (size_t i = 1; i < length; i++) {
		if ((name[i] == '(' || name[i] == '[') && is_numbered_at(name, length, i))
			return true;
	}
	return false;
}

bool has_copy_mark(const char *name, size_t length)
{
	if (length == 0)
		return false;
	return name[0] == '.' || name[length - 1] == '~' || has_known_word(name, length) ||
	       is_numbered(name, length);
}

uint32_t count_copy_marks(const char *path, size_t length)
{
	const char *end = path + length;
	uint32_t count = 0;

	while (path < end) {
		const char *slash = memchr(path, '/', (size_t)(end - path));
		size_t name = (size_t)((slash ? slash : end) - path);

		count += has_copy_mark(path, name);
		path += name + (slash ? 1 : 0);
	}
	return count;
}
