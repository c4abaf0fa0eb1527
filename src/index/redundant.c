/* SPDX-License-Identifier: MIT */
#include "index/redundant.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/sort.h"
#include "index/query.h"
#include "index/scan.h"
#include "index/store/store.h"
#include "index/store/value.h"
#include "index/writer.h"

struct redundant_note {
	uint64_t file;
	uint64_t dir;
	bool added;
};

struct dir_note {
	uint64_t id;
	uint64_t parent;
	bool added;
};

/* A directory whose record was written, or whose names changed. */
struct listing_note {
	uint64_t dir;
	bool relisted; /* its names changed */
};

/* Trees of the view in which the listing of a directory changed. */
enum tree_flag {
	TREE_UNIQUES = 1,
	TREE_REDUNDANT = 2,
	TREES = 3,
};

/* A change of the count of a directory, and of its listings. */
struct redundant_step {
	uint64_t dir;
	int64_t change;
	uint32_t trees; /* enum tree_flag, or-ed: those whose time is set */
};

struct redundant_update {
	struct catalog_writer *w;
	struct catalog_reader *before; /* the last commit; NULL: no view showed what changed */
	struct timespec now;
};

int redundant_note_name(struct catalog_writer *w, const struct file_record *file, uint64_t dir,
			bool added)
{
	const struct redundant_note note = {.file = file->id, .dir = dir, .added = added};

	if (!S_ISREG(file->attributes.mode))
		return 0;
	return bytes_append(&w->redundant.names, &note, sizeof(note));
}

int redundant_note_dir(struct catalog_writer *w, uint64_t id, uint64_t parent, bool added)
{
	const struct dir_note note = {.id = id, .parent = parent, .added = added};

	return bytes_append(&w->redundant.dirs, &note, sizeof(note));
}

int redundant_note_listing(struct catalog_writer *w, uint64_t dir, bool relisted)
{
	struct listing_note note = {.dir = dir, .relisted = relisted}, *last;

	if (!was_viewed(w, dir))
		return 0;
	if (w->redundant.listings.length > 0) {
		last = (void *)(w->redundant.listings.data + w->redundant.listings.length -
				sizeof(*last));
		if (last->dir == dir) {
			last->relisted |= relisted;
			return 0;
		}
	}
	return bytes_append(&w->redundant.listings, &note, sizeof(note));
}

int redundant_note_gone(struct catalog_writer *w, uint64_t dir)
{
	return bytes_append(&w->redundant.gone, &dir, sizeof(dir));
}

void redundant_discard(struct catalog_writer *w)
{
	bytes_free(&w->redundant.listings);
	bytes_free(&w->redundant.gone);
	bytes_free(&w->redundant.names);
	bytes_free(&w->redundant.dirs);
}

/* ---- steps --------------------------------------------------------------------------- */

/* Adds a step. Successive steps of one directory, which are frequent, are merged. */
static int add_step(struct bytes *steps, uint64_t dir, bool more, uint32_t trees)
{
	struct redundant_step step = {.dir = dir, .change = more ? 1 : -1, .trees = trees}, *last;

	if (steps->length > 0) {
		last = (void *)(steps->data + steps->length - sizeof(*last));
		if (last->dir == dir) {
			last->change += step.change;
			last->trees |= trees;
			return 0;
		}
	}
	return bytes_append(steps, &step, sizeof(step));
}

static int compare_steps(const void *a, const void *b)
{
	const struct redundant_step *first = a, *second = b;

	return numbers_compare(first->dir, second->dir);
}

/* Sums the steps of each directory into one, sorted by directory. */
static void sum_steps(struct bytes *steps)
{
	struct redundant_step *list = (void *)steps->data;
	size_t count = steps->length / sizeof(*list), left = 0;

	sort_unless_sorted(list, count, sizeof(*list), compare_steps);
	for (size_t i = 0; i < count; i++) {
		if (left == 0 || list[left - 1].dir != list[i].dir) {
			list[left++] = list[i];
			continue;
		}
		list[left - 1].change += list[i].change;
		list[left - 1].trees |= list[i].trees;
	}
	steps->length = left * sizeof(*list);
}

/* ---- names --------------------------------------------------------------------------- */

/* Counts all names that the file has now. */
static int count_file(struct catalog_writer *w, const struct delta_flip *change,
		      struct bytes *steps)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	uint32_t trees = was_viewed(w, change->file) ? TREES : 0;
	struct file_record file;
	uint64_t dir, cookie;
	int r;

	if (change->dir)
		return add_step(steps, change->dir, change->redundant, trees);
	r = catalog_get_file_name(&w->store.reader, change->file, &file);
	if (r < 0 || file.names == 0)
		return r == -ENOENT ? 0 : r;
	if (file.names == 1)
		return add_step(steps, file.dir, change->redundant, trees);
	r = catalog_scan_names(&w->store.reader, &file, &scan);
	while (r == 0 && (r = catalog_next_name(scan, &dir, &cookie)) == 0)
		r = add_step(steps, dir, change->redundant, trees);
	return r == -ENOENT ? 0 : r;
}

static int count_redundancy(struct catalog_writer *w, struct bytes *steps)
{
	size_t count;
	const struct delta_flip *redundancy =
		commit_delta_list(&w->delta, DELTA_REDUNDANCY, &count);
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++)
		r = count_file(w, &redundancy[i], steps);
	return r;
}

static int compare_redundancy(const void *a, const void *b)
{
	const struct delta_flip *first = a, *second = b;

	return numbers_compare(first->file, second->file);
}

/* Sets *redundant to whether the file was redundant when the transaction began. */
static int was_redundant(struct catalog_writer *w, uint64_t id, bool *redundant)
{
	const struct delta_flip key = {.file = id}, *change = NULL;
	size_t count;
	const void *redundancy = commit_delta_list(&w->delta, DELTA_REDUNDANCY, &count);
	struct group_record group;
	struct file_record file;
	int r;

	*redundant = false;
	if (count > 0)
		change = bsearch(&key, redundancy, count, sizeof(key), compare_redundancy);
	if (change) {
		*redundant = !change->redundant;
		return 0;
	}
	r = catalog_get_file_name(&w->store.reader, id, &file);
	/* the content record of an orphan has its group, but the orphan is not a member */
	if (r < 0 || file.names == 0)
		return r == -ENOENT ? 0 : r;
	return catalog_is_redundant(&w->store.reader, id, redundant, &group);
}

static int compare_names(const void *a, const void *b)
{
	const struct redundant_note *first = a, *second = b;
	int order = numbers_compare(first->file, second->file);

	return order ? order : numbers_compare(first->dir, second->dir);
}

static int count_names(struct catalog_writer *w, struct bytes *steps)
{
	struct redundant_note *notes = (void *)w->redundant.names.data;
	size_t count = w->redundant.names.length / sizeof(*notes);
	bool redundant = false;
	int r = 0;

	sort_unless_sorted(notes, count, sizeof(*notes), compare_names);
	for (size_t i = 0; r == 0 && i < count; i++) {
		if (i == 0 || notes[i].file != notes[i - 1].file)
			r = was_redundant(w, notes[i].file, &redundant);
		if (r == 0 && redundant)
			r = add_step(steps, notes[i].dir, notes[i].added, 0);
	}
	return r;
}

/* ---- directories --------------------------------------------------------------------- */

/* Counts added and removed directories by their state before this transaction, which is what their
 * old parents counted. */
static int count_dirs(struct catalog_writer *w, struct bytes *steps)
{
	const struct dir_note *notes = (const void *)w->redundant.dirs.data;
	size_t count = w->redundant.dirs.length / sizeof(*notes);
	struct redundant_record record;
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		r = catalog_get_redundant(&w->store.reader, notes[i].id, &record);
		if (r == 0 && record.count > 0)
			r = add_step(steps, notes[i].parent, notes[i].added, 0);
	}
	return r;
}

static int put_redundant(struct catalog_writer *w, uint64_t dir,
			 const struct redundant_record *record)
{
	static const struct timespec none;
	struct key key = key_number(dir);

	if (record->count == 0 && clock_equal(record->in_redundant, none))
		return store_forget(&w->store, TABLE_REDUNDANT, key);
	return store_put(&w->store, TABLE_REDUNDANT, key, encode_redundant(record));
}

/* Sets the times of these trees after all that they have shown. ctime: the latest one of the
 * directory. */
static void set_times(struct redundant_record *record, struct timespec now, struct timespec ctime,
		      uint32_t trees)
{
	if (!trees)
		return;
	record->in_redundant = clock_after(now, clock_latest(ctime, record->in_redundant));
	if (trees & TREE_UNIQUES)
		record->in_uniques = record->in_redundant;
}

/* Outcome: the count of a directory became positive, or zero. */
enum {
	HOLDER_CHANGED = 1
};

static int take_step(struct redundant_update *update, const struct redundant_step *step)
{
	struct catalog_writer *w = update->w;
	struct redundant_record record;
	struct dir_record dir;
	bool held;
	int r = catalog_get_redundant(&w->store.reader, step->dir, &record);

	if (r < 0 || (step->change == 0 && !step->trees))
		return r;
	held = record.count > 0;
	record.count += (uint64_t)step->change;
	if ((int64_t)record.count < 0)
		return -EUCLEAN;
	if (step->trees) {
		r = catalog_get_dir(&w->store.reader, step->dir, &dir);
		if (r == 0)
			set_times(&record, update->now, dir.attributes.ctime, step->trees);
	}
	if (r == 0 || r == -ENOENT)
		r = put_redundant(w, step->dir, &record);
	return r < 0 || held == (record.count > 0) ? r : HOLDER_CHANGED;
}

/* Records the change in the commit delta, and counts it in the parent. A missing directory has no
 * parent. */
static int count_above(struct catalog_writer *w, uint64_t id, bool holds, struct bytes *above)
{
	struct dir_record dir;
	int r = catalog_get_dir(&w->store.reader, id, &dir);

	if (r < 0)
		return r == -ENOENT ? (holds ? -EUCLEAN : 0) : r;
	r = delta_add(w, DELTA_HOLDERS, &id);
	return r < 0 || dir.parent == 0 ? r
					: add_step(above, dir.parent, holds,
						   was_viewed(w, dir.parent) ? TREE_REDUNDANT : 0);
}

static int take_steps(struct redundant_update *update, const struct bytes *steps,
		      struct bytes *above)
{
	const struct redundant_step *list = (const void *)steps->data;
	size_t count = steps->length / sizeof(*list);
	int r = 0;

	above->length = 0;
	for (size_t i = 0; r == 0 && i < count; i++) {
		r = take_step(update, &list[i]);
		if (r == HOLDER_CHANGED)
			r = count_above(update->w, list[i].dir, list[i].change > 0, above);
	}
	return r;
}

static int count_all(struct redundant_update *update)
{
	CLEANUP_BYTES struct bytes steps = {0}, above = {0};
	struct bytes swap;
	int r = count_redundancy(update->w, &steps);

	if (r == 0)
		r = count_names(update->w, &steps);
	if (r == 0)
		r = count_dirs(update->w, &steps);
	while (r == 0 && steps.length > 0) {
		sum_steps(&steps);
		r = take_steps(update, &steps, &above);
		swap = steps;
		steps = above;
		above = swap;
	}
	return r;
}

/* ---- times --------------------------------------------------------------------------- */

static int compare_listings(const void *a, const void *b)
{
	const struct listing_note *first = a, *second = b;

	return numbers_compare(first->dir, second->dir);
}

/* Returns whether the ctime in a tree decreased, or stayed although the names changed. */
static bool is_hidden(struct timespec before, struct timespec now, struct timespec stored,
		      bool relisted)
{
	int order = clock_compare(clock_latest(before, stored), clock_latest(now, stored));

	return order > 0 || (order == 0 && relisted);
}

/* Gives the directory the time of the commit if its ctime does not show the change. */
static int take_listing(struct redundant_update *update, const struct listing_note *note)
{
	struct catalog_reader *reader = &update->w->store.reader;
	struct redundant_record record;
	struct dir_record before, now;
	struct timespec old, new;
	int r = catalog_get_dir(reader, note->dir, &now);

	if (r == 0)
		r = catalog_get_dir(update->before, note->dir, &before);
	if (r < 0)
		return r == -ENOENT ? 0 : r; /* it was removed, or is new */
	r = catalog_get_redundant(reader, note->dir, &record);
	if (r < 0)
		return r;
	old = before.attributes.ctime;
	new = now.attributes.ctime;
	if (!is_hidden(old, new, record.in_uniques, note->relisted) &&
	    !is_hidden(old, new, record.in_redundant, note->relisted))
		return 0;
	set_times(&record, update->now, clock_latest(old, new), TREES);
	return put_redundant(update->w, note->dir, &record);
}

static int take_listings(struct redundant_update *update)
{
	struct listing_note *notes = (void *)update->w->redundant.listings.data;
	size_t count = update->w->redundant.listings.length / sizeof(*notes);
	int r = 0;

	sort_unless_sorted(notes, count, sizeof(*notes), compare_listings);
	for (size_t i = 0; r == 0 && i < count; i++) {
		if (i + 1 < count && notes[i + 1].dir == notes[i].dir)
			notes[i + 1].relisted |= notes[i].relisted;
		else
			r = take_listing(update, &notes[i]);
	}
	return r;
}

/* Sets *first to whether the file was pending since it was found. If such a file is redundant, no
 * time is stored: its ctime is about as new. */
static int is_first_comparison(struct redundant_update *update, const struct delta_flip *flip,
			       const struct file_record *file, bool *first)
{
	struct content_record content;
	int r;

	*first = false;
	if (!flip->redundant || file->content_version > 0)
		return 0;
	r = catalog_get_content(update->before, flip->file, &content);
	*first = r == -ENOENT;
	return *first ? 0 : r;
}

/* Gives the time of the commit to a file, unless the file has it already. */
static int set_shown(struct redundant_update *update, struct file_record *file)
{
	struct catalog_writer *w = update->w;
	int r;

	if (!clock_is_earlier(file->shown_since, update->now) &&
	    clock_is_earlier(file->attributes.ctime, file->shown_since))
		return 0;
	file_set_shown(file, update->now);
	r = store_put(&w->store, TABLE_FILE, key_number(file->id), encode_file(file));
	return r < 0 ? r
		     : delta_add(w, DELTA_FILES,
				 &(struct delta_file){file->id, file->attributes.size,
						      DELTA_FILE_ATTRIBUTES});
}

/* Gives the time of the commit to a new kept copy. It takes the place of a file that moved to
 * redundant/, so a backup of uniques/ by time has to find it. */
static int show_successor(struct redundant_update *update, const struct delta_flip *flip)
{
	const struct delta_group *group =
		commit_delta_at(&update->w->delta, DELTA_GROUPS, flip->group);
	struct file_record kept;
	int r;

	if (!flip->redundant || group->before.kept == group->now.kept)
		return 0;
	r = catalog_get_file(&update->w->store.reader, group->now.kept, &kept);
	return r < 0 ? r : set_shown(update, &kept);
}

/* Gives the time of the commit to a file that moved to uniques/ or to redundant/. */
static int take_flip(struct redundant_update *update, const struct delta_flip *flip)
{
	struct file_record file;
	bool first = false;
	int r = catalog_get_file(&update->w->store.reader, flip->file, &file);

	if (r == 0 && file.names > 0)
		r = is_first_comparison(update, flip, &file, &first);
	if (r < 0 || file.names == 0 || first)
		return r == -ENOENT ? 0 : r;
	r = set_shown(update, &file);
	return r < 0 ? r : show_successor(update, flip);
}

static int take_flips(struct redundant_update *update)
{
	size_t count;
	const struct delta_flip *flips =
		commit_delta_list(&update->w->delta, DELTA_REDUNDANCY, &count);
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		if (was_viewed(update->w, flips[i].file))
			r = take_flip(update, &flips[i]);
	}
	return r;
}

static int set_all_times(struct redundant_update *update)
{
	CLEANUP_READER struct catalog_reader *before = NULL;
	struct catalog_writer *w = update->w;
	int r = 0;

	if (w->totals.viewed > 0 &&
	    w->redundant.listings.length + w->delta.lists[DELTA_REDUNDANCY].length > 0)
		r = store_read_last_commit(w->store.reader.store, &before);
	update->before = before;
	if (r == 0 && before)
		r = take_listings(update);
	if (r == 0 && before)
		r = take_flips(update);
	update->before = NULL;
	return r;
}

static int forget_gone(struct catalog_writer *w)
{
	const uint64_t *gone = (const void *)w->redundant.gone.data;
	size_t count = w->redundant.gone.length / sizeof(*gone);
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++)
		r = store_forget(&w->store, TABLE_REDUNDANT, key_number(gone[i]));
	return r;
}

int redundant_flush(struct catalog_writer *w)
{
	struct redundant_update update = {.w = w, .now = clock_now()};
	int r = set_all_times(&update);

	if (r == 0)
		r = count_all(&update);
	return r < 0 ? r : forget_gone(w);
}

/* ---- changes of redundancy ------------------------------------------------------------------ */

/* Only two kinds of files can become redundant or stop being redundant: files that joined or left a
 * group, and files that were or are the kept copy of a changed group. The files are examined group
 * by group. A file that moved between two groups is found in both groups. */

/* A changed group; or a file and a changed group in which it was or is redundant. */
struct change_place {
	uint64_t id; /* of the group, or of the file */
	uint64_t dir; /* as in struct delta_flip */
	uint32_t group; /* index in DELTA_GROUPS */
	bool before, now; /* whether the file was and is redundant in the group */
};

static int compare_places(const void *a, const void *b)
{
	const struct change_place *first = a, *second = b;
	int order = numbers_compare(first->id, second->id);

	return order ? order : numbers_compare(first->group, second->group);
}

static void set_place_key(const void *record, struct sort_key *key)
{
	const struct change_place *place = record;

	key->major = place->id;
	key->minor = 0; /* few files are in two groups */
}

static const struct sort_order by_place = {set_place_key, compare_places};

struct place_list {
	struct change_place *list;
	size_t count;
};

static uint64_t group_of(const struct delta_group *delta)
{
	return delta->now.id ? delta->now.id : delta->before.id;
}

static int compare_members(const void *a, const void *b)
{
	const struct member_delta *first = a, *second = b;
	int order = numbers_compare(first->group, second->group);

	if (order == 0)
		order = numbers_compare(first->file, second->file);
	return order ? order : numbers_compare(first->order, second->order);
}

/* Sorts the members by group, then by file. The deltas of one file keep their order. */
static size_t sort_members(struct bytes *list)
{
	struct member_delta *members = (void *)list->data;
	size_t count = list->length / sizeof(*members);

	for (size_t i = 0; i < count; i++)
		members[i].order = (uint32_t)i;
	sort_unless_sorted(members, count, sizeof(*members), compare_members);
	return count;
}

static struct change_place *sort_groups(const struct commit_delta *delta, size_t *count)
{
	const struct delta_group *groups = commit_delta_list(delta, DELTA_GROUPS, count);
	struct change_place *places = calloc(*count + 1, sizeof(*places));

	if (!places)
		return NULL;
	for (size_t i = 0; i < *count; i++)
		places[i] = (struct change_place){.id = group_of(&groups[i]), .group = (uint32_t)i};
	key_sort(places, *count, sizeof(*places), &by_place);
	return places;
}

/* ---- the files of one group ---------------------------------------------------------- */

/* The members that joined or left one group, sorted by file. */
struct group_members {
	const struct member_delta *list;
	size_t count;
	const struct delta_group *delta;
	uint32_t group; /* index in DELTA_GROUPS */
};

static bool is_redundant_in(const struct group_record *group, uint64_t file)
{
	return group_is_visible(group) && group->kept != file;
}

/* before, now: whether the file was and is a member of the group */
static void add_file(struct place_list *found, const struct group_members *members,
		     struct change_place place)
{
	place.group = members->group;
	place.before &= is_redundant_in(&members->delta->before, place.id);
	place.now &= is_redundant_in(&members->delta->now, place.id);
	if (place.before || place.now)
		found->list[found->count++] = place;
}

/* Adds the former or present kept copy. If it is not in members, it was a member before the
 * transaction and still is a member. add_group() adds the files of members. */
static void add_kept(struct place_list *found, const struct group_members *members, uint64_t file)
{
	size_t low = 0, high = members->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (members->list[middle].file < file)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == members->count || members->list[low].file != file)
		add_file(found, members, (struct change_place){file, 0, 0, true, true});
}

/* Adds each file of the group once. */
static void add_group(struct place_list *found, const struct group_members *members)
{
	uint64_t before = members->delta->before.kept, now = members->delta->now.kept;

	for (size_t i = 0, end; i < members->count; i = end) {
		const struct member_delta *first = &members->list[i];

		for (end = i + 1; end < members->count; end++) {
			if (members->list[end].file != first->file)
				break;
		}
		add_file(found, members,
			 (struct change_place){first->file, first->dir, 0, !first->joined,
					       members->list[end - 1].joined});
	}
	if (before)
		add_kept(found, members, before);
	if (now && now != before)
		add_kept(found, members, now);
}

/* ---- all files ----------------------------------------------------------------------- */

/* Finds the files that were or are redundant in changed groups, sorted by file. */
static int find_files(const struct commit_delta *delta, struct bytes *member_list,
		      struct place_list *found)
{
	size_t group_count, at = 0, member_count = sort_members(member_list);
	const struct member_delta *members = (const void *)member_list->data;
	const struct delta_group *changed = commit_delta_list(delta, DELTA_GROUPS, &group_count);
	AUTO_FREE struct change_place *groups = sort_groups(delta, &group_count);

	found->count = 0;
	found->list = calloc(member_count + 2 * group_count + 1, sizeof(*found->list));
	if (!groups || !found->list)
		return -ENOMEM;
	for (size_t i = 0; i < group_count; i++) {
		struct group_members of_group = {.delta = &changed[groups[i].group],
						 .group = groups[i].group};

		while (at < member_count && members[at].group < groups[i].id)
			at++;
		if (at < member_count)
			of_group.list = &members[at];
		for (; at < member_count && members[at].group == groups[i].id; at++)
			of_group.count++;
		add_group(found, &of_group);
	}
	key_sort(found->list, found->count, sizeof(*found->list), &by_place);
	return 0;
}

int redundancy_changes_find(struct commit_delta *delta, struct bytes *members)
{
	struct place_list found = {0};
	int r = find_files(delta, members, &found);

	for (size_t i = 0, end; r == 0 && i < found.count; i = end) {
		const struct change_place *before = NULL, *now = NULL;
		struct delta_flip change = {.file = found.list[i].id};

		for (end = i; end < found.count && found.list[end].id == change.file; end++) {
			before = found.list[end].before ? &found.list[end] : before;
			now = found.list[end].now ? &found.list[end] : now;
		}
		if (!before == !now)
			continue;
		change.redundant = now;
		change.group = now ? now->group : before->group;
		change.dir = now ? now->dir : before->dir;
		r = commit_delta_add(delta, DELTA_REDUNDANCY, &change);
	}
	free(found.list);
	return r;
}
