/* SPDX-License-Identifier: MIT */
#define HASH_NONFATAL_OOM 1
#include "index/group.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/clock.h"
#include "base/numbers.h"
#include "base/sort.h"
#include "index/change.h"
#include "index/kept.h"
#include "index/query.h"
#include "index/store/store.h"
#include "index/store/value.h"

struct group_change {
	uint64_t id;
	struct group_record before; /* at the beginning of the transaction; inodes is 0 if new */
	struct group_record now;
	bool stored; /* the group had a record at the beginning of the transaction */
	/* The kept copy whose place group_keep_again() gave to another member; 0: none. */
	uint64_t displaced;
	bool judged; /* no member displaces the kept copy */
	bool has_unjudged; /* a member joined when there was no kept copy, so it is no rival */
	bool stays; /* the group is not deleted if it has no members */
	bool members_changed; /* a file joined or left */
	/* file_is_held_outside() changed for a member, or possibly its place */
	bool outdated;
	int64_t held; /* how many more members it is true for */
	bool mapped; /* its extents were recorded */
	uint64_t due; /* then, when to map them again; 0: not */
	bool dropped; /* the group was deleted: a new group took its hash and ordinal */
	UT_hash_handle hh;
};

/* A member that possibly displaces the kept copy, or the kept copy, if another member possibly
 * displaces it. */
struct kept_rival {
	uint64_t group;
	uint64_t file;
};

static struct group_change *remember(struct catalog_writer *w, const struct group_record *group)
{
	struct group_change *change = calloc(1, sizeof(*change));

	if (!change)
		return NULL;
	change->id = group->id;
	change->now = change->before = *group;
	HASH_ADD(hh, w->groups, id, sizeof(change->id), change);
	if (!change->hh.tbl) {
		free(change);
		return NULL;
	}
	return change;
}

static int touch(struct catalog_writer *w, uint64_t id, struct group_change **change)
{
	struct group_record group;
	int r;

	*change = w->last_group;
	if (!*change || (*change)->id != id)
		HASH_FIND(hh, w->groups, &id, sizeof(id), *change);
	if (*change) {
		w->last_group = *change;
		return (*change)->dropped ? -ENOENT : 0;
	}
	r = catalog_get_group(&w->store.reader, id, &group);
	if (r < 0)
		return r;
	*change = remember(w, &group);
	if (!*change)
		return -ENOMEM;
	(*change)->stored = true;
	return 0;
}

/* Sets *left to whether the group has a record, but no members now. */
static int is_left(struct catalog_writer *w, uint64_t id, bool *left)
{
	struct group_change *change;
	struct group_record group;
	int r;

	HASH_FIND(hh, w->groups, &id, sizeof(id), change);
	if (change) {
		/* a group without a record is new, and gets its members later */
		*left = change->stored && change->now.inodes == 0;
		return 0;
	}
	r = catalog_get_group(&w->store.reader, id, &group);
	*left = r == 0 && group.inodes == 0;
	return r == -ENOENT ? -EUCLEAN : r;
}

static int drop(struct catalog_writer *w, uint64_t id, const struct key *byhash)
{
	struct key key = key_number(id);
	struct group_change *change;
	int r = touch(w, id, &change);

	if (r < 0)
		return r;
	change->dropped = true;
	r = store_delete(&w->store, TABLE_GROUP, key);
	if (r == 0)
		r = store_forget(&w->store, TABLE_DIGEST, key);
	return r < 0 ? r : store_delete(&w->store, TABLE_BYHASH, *byhash);
}

/* Gets the ordinal of a TABLE_BYHASH key, which follows the hash. */
static bool get_ordinal(struct span key, uint64_t *ordinal)
{
	struct span last = {key.data + HASH_BYTES, key.length - HASH_BYTES};

	return key_get_number(last, ordinal) && *ordinal < UINT32_MAX;
}

/* Finds the ordinal for a new group: the number after the last group of this hash. But a group
 * without members, which stays for orphans that can get a name again, is deleted, and its ordinal
 * is reused. So if the bytes are the same, the new group has the old name. */
static int find_ordinal(struct catalog_writer *w, struct hash128 hash, uint32_t *ordinal)
{
	struct key at = key_hash(hash, 1);
	struct record_span found;
	uint64_t number, group;
	bool left = false;
	int r;

	*ordinal = 1;
	while ((r = store_seek(&w->store.reader, TABLE_BYHASH, at, HASH_BYTES, &found)) == 0) {
		if (!decode_number(found.fields, &group) || !get_ordinal(found.key, &number))
			return -EUCLEAN;
		r = is_left(w, group, &left);
		if (r < 0)
			return r;
		at = key_hash(hash, (uint32_t)number);
		*ordinal = (uint32_t)number;
		if (left)
			return drop(w, group, &at);
		at = key_hash(hash, ++*ordinal);
	}
	if (r != -ENOENT)
		return r;
	w->last_hash = hash;
	w->last_ordinal = *ordinal;
	return 0;
}

/* Finds the ordinal for a new group. A user can easily make many contents with one hash. So only
 * the first new group of that hash in a transaction searches the groups of the hash. The next new
 * group gets the next ordinal. */
static int next_ordinal(struct catalog_writer *w, struct hash128 hash, uint32_t *ordinal)
{
	if (w->last_ordinal && hash128_equal(w->last_hash, hash)) {
		*ordinal = ++w->last_ordinal;
		return 0;
	}
	w->last_ordinal = 0;
	return find_ordinal(w, hash, ordinal);
}

int catalog_add_group(struct catalog_writer *w, struct hash128 hash, uint64_t size_bytes,
		      uint64_t *group)
{
	struct group_record new_group = {.hash = hash, .size = size_bytes};
	struct key key;
	int r = next_ordinal(w, hash, &new_group.ordinal);

	if (r < 0)
		return r;
	new_group.id = catalog_new_id(w->catalog);
	if (!new_group.id)
		return -errno;
	key = key_hash(hash, new_group.ordinal);
	r = store_add(&w->store, TABLE_BYHASH, key, encode_number(new_group.id));
	if (r < 0)
		return r;
	*group = new_group.id;
	return remember(w, &new_group) ? 0 : -ENOMEM;
}

int group_find(struct catalog_writer *w, uint64_t group)
{
	struct group_change *change;

	return touch(w, group, &change);
}

/* Has the kept copy chosen again if catalog_reconsider_kept() applies to it and a new member. */
static int reconsider_kept(struct catalog_writer *w, struct group_record *group, uint64_t joined)
{
	bool together;
	int r;

	if (!w->reconsiders_kept || !w->totals.unended || !group->kept)
		return 0;
	r = kept_found_together(&w->store.reader, group->kept, joined, w->totals.unended,
				&together);
	if (r == 0 && together)
		group->kept = 0;
	return r;
}

static int note_rival(struct catalog_writer *w, uint64_t group, uint64_t file)
{
	const struct kept_rival rival = {group, file};

	return bytes_append(&w->rivals, &rival, sizeof(rival));
}

/* Notes that a file joined a group or left it. */
static int note_member(struct catalog_writer *w, const struct member_delta *member)
{
	return bytes_append(&w->members, member, sizeof(*member));
}

int group_join(struct catalog_writer *w, uint64_t group, uint64_t file, uint64_t dir, bool maps)
{
	const struct member_delta member = {group, file, dir, 0, true};
	struct group_change *change;
	int r = touch(w, group, &change);

	if (r < 0)
		return r;
	r = store_add(&w->store, TABLE_MEMBER, key_pair(group, file), encode_nothing());
	if (r == -EEXIST)
		return 0;
	if (r < 0)
		return r;
	change->now.inodes++;
	change->now.maps |= maps;
	change->members_changed = true;
	r = reconsider_kept(w, &change->now, file);
	change->has_unjudged |= !change->now.kept;
	if (r == 0 && change->now.kept)
		r = note_rival(w, group, file);
	return r < 0 ? r : note_member(w, &member);
}

int group_note_kept(struct catalog_writer *w, uint64_t group, struct file_record *file)
{
	struct group_change *change;
	int r = touch(w, group, &change);

	if (r == 0 && change->now.kept == file->id) {
		file->kept_hash = change->now.hash;
		file->kept_until = w->totals.generation;
	}
	return r == -ENOENT ? 0 : r;
}

int group_judge(struct catalog_writer *w, uint64_t group, uint64_t file)
{
	struct group_change *change;
	int r = touch(w, group, &change);

	return r == 0 ? note_rival(w, group, file) : r == -ENOENT ? 0 : r;
}

int group_keep_again(struct catalog_writer *w, uint64_t group, const struct file_record *file)
{
	struct group_change *change;
	bool earlier = true;
	int r = touch(w, group, &change);

	if (r == 0 && hash128_equal(change->now.hash, file->kept_hash))
		r = kept_was_earlier(&w->store.reader, &change->now, file, &earlier);
	if (r < 0 || earlier)
		return r;
	if (!change->displaced)
		change->displaced = change->now.kept;
	change->now.kept = file->id;
	return note_rival(w, group, file->id);
}

int group_leave(struct catalog_writer *w, uint64_t group, uint64_t file, bool stays)
{
	struct group_change *change;
	int r = touch(w, group, &change);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	change->stays = stays;
	r = store_delete(&w->store, TABLE_MEMBER, key_pair(group, file));
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	change->now.inodes--;
	change->members_changed = true;
	if (change->now.maps)
		r = store_forget(&w->store, TABLE_EXTENT, key_number(file));
	if (r < 0)
		return r;
	if (change->now.kept == file)
		change->now.kept = 0;
	if (change->displaced == file)
		change->displaced = 0;
	return note_member(w, &(struct member_delta){.group = group, .file = file});
}

int group_set_stays(struct catalog_writer *w, uint64_t group, bool stays)
{
	struct group_change *change;
	int r = touch(w, group, &change);

	if (r == 0)
		change->stays = stays;
	return r == -ENOENT ? 0 : r;
}

int group_note_held(struct catalog_writer *w, uint64_t group, bool held)
{
	struct group_change *change;
	int r = touch(w, group, &change);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	change->outdated = true;
	change->held += held ? 1 : -1;
	return 0;
}

static void note_place(struct group_change *change, bool emptied)
{
	/* what a member in such a place retained can be free now */
	change->outdated |= emptied || (change->now.maps && change->now.retained > 0);
	change->now.maps |= emptied;
}

int group_note_places(struct catalog_writer *w, uint64_t group, bool emptied)
{
	struct group_change *change;
	int r = touch(w, group, &change);

	if (r == 0)
		note_place(change, emptied);
	return r == -ENOENT ? 0 : r;
}

int group_set_retained(struct catalog_writer *w, uint64_t group, uint64_t retained, uint64_t due)
{
	struct group_change *change;
	int r = touch(w, group, &change);

	if (r == 0) {
		change->now.retained = retained;
		change->mapped = true;
		change->due = due;
	}
	return r;
}

int group_keep(struct catalog_writer *w, uint64_t group, uint64_t file)
{
	struct group_change *change;
	int r = touch(w, group, &change);

	if (r == 0)
		change->now.kept = file;
	return r;
}

/* ---- the end of the transaction ------------------------------------------------------ */

static void count(struct catalog_totals *totals, const struct group_record *group, bool add)
{
	uint64_t sign = add ? 1 : UINT64_MAX; /* modulo 2^64: plus or minus one */

	if (!group_is_visible(group))
		return;
	totals->groups += sign;
	totals->redundant_files += sign * (group->inodes - 1);
	(add ? size_sum_add : size_sum_subtract)(&totals->redundant_bytes, group_redundant(group));
	(add ? size_sum_add : size_sum_subtract)(&totals->reclaimable_bytes,
						 group_reclaimable(group));
}

/* Returns whether only the mapping of a group was renewed, with the same result. */
static bool is_unchanged(const struct group_change *change)
{
	return change->mapped && !change->members_changed && !change->outdated &&
	       change->before.kept == change->now.kept &&
	       change->before.retained == change->now.retained;
}

static int choose_if_none(struct kept_choice *choice, struct group_change *change)
{
	int r = 0;

	if (change->dropped || change->now.inodes == 0)
		return 0;
	choice->emptied = false;
	if (!change->now.kept)
		r = kept_choose(choice, change->id, &change->now.kept);
	else if (change->has_unjudged && !change->now.maps)
		r = kept_any_is_emptied(choice, change->id, &choice->emptied);
	change->now.maps |= choice->emptied;
	return r;
}

/* Adds the group to the table unmapped, or removes it. */
static int flush_mapping(struct catalog_writer *w, struct group_change *change)
{
	struct key key = key_number(change->id);
	bool maps;

	change->now.maps |= change->held > 0;
	maps = group_is_visible(&change->now) && change->now.maps;
	change->now.retained = maps ? change->now.retained : 0;
	if (maps && (change->members_changed || change->outdated ||
		     change->before.kept != change->now.kept))
		return store_put(&w->store, TABLE_UNMAPPED, key, encode_number(0));
	if (!change->before.maps || (maps && !change->mapped))
		return 0;
	if (maps && change->due)
		return store_put(&w->store, TABLE_UNMAPPED, key, encode_number(change->due));
	return store_forget(&w->store, TABLE_UNMAPPED, key);
}

static int flush_rank(struct catalog_writer *w, const struct group_change *change)
{
	struct key before = key_rank(group_reclaimable(&change->before), change->id);
	struct key now = key_rank(group_reclaimable(&change->now), change->id);
	bool had = group_is_visible(&change->before), has = group_is_visible(&change->now);
	int r = 0;

	if (had && has && before.length == now.length &&
	    memcmp(before.data, now.data, now.length) == 0)
		return 0;
	w->totals.order += had || has;
	if (had)
		r = store_delete(&w->store, TABLE_RANK, before);
	if (r == 0 && has)
		r = store_put(&w->store, TABLE_RANK, now, encode_nothing());
	return r;
}

static int flush_record(struct catalog_writer *w, struct group_change *change)
{
	struct key key = key_number(change->id);
	int r;

	if (change->dropped)
		return 0;
	if (change->now.inodes == 0 && !change->stays) {
		r = store_forget(&w->store, TABLE_BYHASH,
				 key_hash(change->now.hash, change->now.ordinal));
		if (r == 0 && change->stored)
			r = store_delete(&w->store, TABLE_GROUP, key);
		return r < 0 ? r : store_forget(&w->store, TABLE_DIGEST, key);
	}
	if (change->members_changed || change->outdated ||
	    change->now.kept != change->before.kept || !change->stored)
		change->now.changed = clock_now();
	return store_put(&w->store, TABLE_GROUP, key, encode_group(&change->now));
}

/* Keeps the former copy if group_keep_again() took its place and the trash or a rule prefers it. */
static int restore_displaced(struct kept_choice *choice, struct group_change *change)
{
	uint64_t former = change->displaced;
	bool displaces = false;
	int r = former ? kept_is_displaced(choice, change->now.kept, former, &displaces) : 0;

	change->displaced = 0;
	if (displaces)
		change->now.kept = former;
	return r;
}

/* Notes the place of a member that joined or has other names. */
static int judge_place(struct kept_choice *choice, struct group_change *change, uint64_t file)
{
	bool emptied = false;
	int r;

	if (change->now.maps && change->members_changed)
		return 0; /* is mapped again */
	r = kept_is_emptied(choice, change->id, file, &emptied);
	note_place(change, emptied);
	return r;
}

static int judge_rival(struct catalog_writer *w, struct kept_choice *choice,
		       const struct kept_rival *rival)
{
	struct group_change *change;
	bool needed;
	int r = touch(w, rival->group, &change);

	if (r == 0)
		r = judge_place(choice, change, rival->file);
	if (r < 0 || !change->now.kept || change->judged)
		return r == -ENOENT ? 0 : r;
	r = restore_displaced(choice, change);
	needed = rival->file == change->now.kept;
	if (r == 0 && !needed)
		r = kept_is_displaced(choice, change->now.kept, rival->file, &needed);
	if (r == 0 && needed) {
		r = kept_judge(choice, rival->group, &change->now.kept);
		change->judged = true;
	}
	return r == -ENOENT ? 0 : r; /* the rival has no name any more */
}

static int by_group(const void *a, const void *b)
{
	const struct kept_rival *x = a, *y = b;

	return x->group != y->group ? numbers_compare(x->group, y->group)
				    : numbers_compare(x->file, y->file);
}

/* Replaces kept copies that other members displace. A file with many names is a rival once for each
 * that changed. */
static int judge_rivals(struct catalog_writer *w)
{
	struct kept_rival *rivals = (struct kept_rival *)(void *)w->rivals.data;
	size_t count = w->rivals.length / sizeof(*rivals);
	struct kept_choice choice = {.reader = &w->store.reader,
				     .rules = &w->keep,
				     .joined = w->joined,
				     .joined_count = w->joined_count};
	int r = 0;

	sort_unless_sorted(rivals, count, sizeof(*rivals), by_group);
	for (size_t i = 0; r == 0 && i < count; i++) {
		if (i == 0 || by_group(&rivals[i - 1], &rivals[i]) != 0)
			r = judge_rival(w, &choice, &rivals[i]);
	}
	kept_choice_deinit(&choice);
	return r;
}

static int by_id(const struct group_change *a, const struct group_change *b)
{
	return numbers_compare(a->id, b->id);
}

int groups_flush(struct catalog_writer *w)
{
	struct kept_choice choice = {.reader = &w->store.reader,
				     .rules = &w->keep,
				     .joined = w->joined,
				     .joined_count = w->joined_count};
	struct group_change *change, *next;
	int r = judge_rivals(w);

	if (r < 0)
		return r;
	HASH_SORT(w->groups, by_id); /* kept_choose() needs this order to find joined files */
	HASH_ITER(hh, w->groups, change, next)
	{
		r = choose_if_none(&choice, change);
		if (r == 0)
			r = flush_mapping(w, change);
		if (r == 0 && is_unchanged(change))
			continue;
		if (r == 0)
			r = flush_rank(w, change);
		if (r == 0)
			r = flush_record(w, change);
		if (r == 0 && change->before.inodes + change->now.inodes > 0)
			r = commit_delta_add(&w->delta, DELTA_GROUPS,
					     &(struct delta_group){change->before, change->now});
		if (r < 0)
			break;
		count(&w->totals, &change->before, false);
		count(&w->totals, &change->now, true);
	}
	kept_choice_deinit(&choice);
	return r;
}

void groups_discard(struct catalog_writer *w)
{
	struct group_change *change, *next;

	HASH_ITER(hh, w->groups, change, next)
	{
		HASH_DELETE(hh, w->groups, change);
		free(change);
	}
	w->last_group = NULL;
	bytes_free(&w->rivals);
}
