/* SPDX-License-Identifier: MIT */
#define HASH_NONFATAL_OOM 1
#include "view/follow/event_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

struct event_set_entry {
	UT_hash_handle hh;
	struct name_events *name; /* follows this struct in the same allocation */
	bool repeated; /* the name was added by event_set_add_again(): its events are old */
};

/* The key is the number of the directory followed by the name, as in struct name_events. */
#define KEY(name) (&(name)->dir)
#define KEY_LENGTH(name) (sizeof((name)->dir) + (name)->length)

static size_t entry_bytes(const struct name_events *name)
{
	/* overhead of malloc, and the share of the entry in the hash table */
	const size_t around = 32;

	return sizeof(struct event_set_entry) + sizeof(*name) + name->length + 1 + around;
}

static struct event_set_entry *new_entry(uint64_t dir, const char *name, uint32_t length)
{
	size_t size = sizeof(struct event_set_entry) + sizeof(struct name_events) + length + 1;
	struct event_set_entry *entry = malloc(size);

	if (!entry)
		return NULL;
	entry->repeated = false;
	entry->name = (struct name_events *)(entry + 1);
	entry->name->dir = dir;
	entry->name->events = 0;
	entry->name->length = length;
	if (length > 0)
		memcpy(entry->name->name, name, length);
	entry->name->name[length] = '\0';
	return entry;
}

static void add_events(struct event_set_entry *entry, uint32_t events)
{
	struct name_events *name = entry->name;

	if (events & EVENT_WRITTEN && !(events & EVENT_CLOSED))
		name->events &= ~(uint32_t)EVENT_CLOSED;
	if (name->events & EVENTS_ARRIVED && events & (EVENTS_ARRIVED | EVENT_REMOVED))
		name->events |= EVENT_REPLACED;
	name->events |= events;
}

static void add_events_again(struct event_set_entry *entry, uint32_t events)
{
	entry->repeated |= entry->name->events == 0;
	entry->name->events |= events;
}

/* Adds the entry, which is in no table. If the set already has the name, sets *existing to the
 * existing entry, otherwise to NULL. The caller frees an entry that was not added. Returns 0 or
 * -ENOMEM. */
static int insert(struct event_set *set, struct event_set_entry *entry,
		  struct event_set_entry **existing)
{
	HASH_FIND(hh, set->table, KEY(entry->name), KEY_LENGTH(entry->name), *existing);
	if (*existing)
		return 0;
	HASH_ADD_KEYPTR(hh, set->table, KEY(entry->name), KEY_LENGTH(entry->name), entry);
	if (!entry->hh.tbl)
		return -ENOMEM;
	set->count++;
	set->bytes += entry_bytes(entry->name);
	return 0;
}

/* Returns the entry of a name, which has no events if it is new; NULL if memory is short. */
static struct event_set_entry *get_or_insert(struct event_set *set, uint64_t dir, const char *name,
					     uint32_t length)
{
	struct event_set_entry *entry = new_entry(dir, name, length), *existing;

	if (!entry)
		return NULL;
	if (insert(set, entry, &existing) < 0 || existing) {
		free(entry);
		return existing;
	}
	return entry;
}

int event_set_add(struct event_set *set, uint64_t dir, const char *name, uint32_t length,
		  uint32_t events)
{
	struct event_set_entry *entry = get_or_insert(set, dir, name, length);

	if (!entry)
		return -ENOMEM;
	add_events(entry, events);
	return 0;
}

bool event_set_has_dir(const struct event_set *set, uint64_t dir)
{
	struct event_set_entry *entry;

	HASH_FIND(hh, set->table, &dir, sizeof(dir), entry);
	return entry;
}

int event_set_add_again(struct event_set *set, const struct name_events *name)
{
	struct event_set_entry *entry = get_or_insert(set, name->dir, name->name, name->length);

	if (!entry)
		return -ENOMEM;
	add_events_again(entry, name->events);
	return 0;
}

/* Removes the entry from the table. */
static void detach(struct event_set *set, struct event_set_entry *entry)
{
	HASH_DEL(set->table, entry);
	set->count--;
	set->bytes -= entry_bytes(entry->name);
}

static int move_entries(struct event_set *set, struct event_set *later)
{
	struct event_set_entry *entry, *next, *existing;
	int r;

	HASH_ITER(hh, later->table, entry, next)
	{
		detach(later, entry);
		r = insert(set, entry, &existing);
		if (r == 0 && existing && entry->repeated)
			add_events_again(existing, entry->name->events);
		else if (r == 0 && existing)
			add_events(existing, entry->name->events);
		if (r < 0 || existing)
			free(entry);
		if (r < 0)
			return r;
	}
	return 0;
}

static void move_queues(struct event_set *set, struct event_set *later)
{
	set->overflowed |= later->overflowed;
	set->has_unknown_dir |= later->has_unknown_dir;
	set->has_moved_out |= later->has_moved_out;
	later->overflowed = 0;
	later->has_unknown_dir = later->has_moved_out = false;
}

int event_set_merge(struct event_set *set, struct event_set *later)
{
	move_queues(set, later);
	if (set->table)
		return move_entries(set, later);
	set->table = later->table;
	set->count = later->count;
	set->bytes = later->bytes;
	*later = (struct event_set){0};
	return 0;
}

void event_set_note_replaced(struct event_set *set, const struct event_set *earlier)
{
	struct event_set_entry *entry, *before;

	for (entry = set->table; entry; entry = entry->hh.next) {
		if (entry->repeated || !(entry->name->events & EVENTS_ARRIVED))
			continue;
		HASH_FIND(hh, earlier->table, KEY(entry->name), KEY_LENGTH(entry->name), before);
		if (before && before->name->events & EVENTS_ARRIVED)
			entry->name->events |= EVENT_REPLACED;
	}
}

bool event_set_has_names(const struct event_set *set)
{
	const uint32_t others = EVENT_WRITTEN | EVENT_CLOSED | EVENT_ATTRIBUTES;
	const struct event_set_entry *entry;

	for (entry = set->table; entry; entry = entry->hh.next) {
		if (entry->name->events & ~others)
			return true;
	}
	return false;
}

static int compare_names(const void *left, const void *right)
{
	const struct name_events *a = *(const struct name_events *const *)left;
	const struct name_events *b = *(const struct name_events *const *)right;
	int r;

	if (a->dir != b->dir)
		return a->dir < b->dir ? -1 : 1;
	r = memcmp(a->name, b->name, a->length < b->length ? a->length : b->length);
	if (r != 0)
		return r;
	return (a->length > b->length) - (a->length < b->length);
}

int event_set_list(const struct event_set *set, const struct name_events ***list, size_t *count)
{
	const struct name_events **names = malloc((set->count + 1) * sizeof(const void *));
	const struct event_set_entry *entry;
	size_t filled = 0;

	if (!names)
		return -ENOMEM;
	for (entry = set->table; entry; entry = entry->hh.next)
		names[filled++] = entry->name;
	qsort(names, filled, sizeof(const void *), compare_names);
	*list = names;
	*count = filled;
	return 0;
}

void event_set_reset(struct event_set *set)
{
	struct event_set_entry *entry, *next;

	/* the table is cleared first: removing each entry from it would cost more */
	entry = set->table;
	HASH_CLEAR(hh, set->table);
	for (; entry; entry = next) {
		next = entry->hh.next;
		free(entry);
	}
	*set = (struct event_set){0};
}

/* ---- pending events -------------------------------------------------------------------------- */

void pending_events_overflow(struct pending_events *pending)
{
	if (pending->set.overflowed)
		return;
	event_set_reset(&pending->set);
	event_set_reset(&pending->inodes);
	pending->set.overflowed = pending->bit;
	pending->overflows++;
}

void pending_events_add(struct pending_events *pending, uint64_t dir, const char *name,
			uint32_t length, uint32_t events)
{
	if (!pending->set.overflowed && event_set_add(&pending->set, dir, name, length, events) < 0)
		pending_events_overflow(pending);
}

void pending_events_add_inode(struct pending_events *pending, uint64_t inode, uint32_t events)
{
	uint64_t number = (uint64_t)__builtin_ctzll(pending->bit);

	if (!pending->set.overflowed &&
	    event_set_add(&pending->inodes, number + 1, (const char *)&inode, sizeof(inode),
			  events) < 0)
		pending_events_overflow(pending);
}

int pending_events_take(struct pending_events *pending, struct event_set *set)
{
	int r;

	pending->set.has_moved_out = pending->moved_out > 0;
	pending->moved_out = 0;
	pending->written = pending->removed = false;
	r = event_set_merge(set, &pending->set);
	if (r == 0)
		return 0;
	pending_events_overflow(pending);
	pending->set.overflowed = 0;
	set->overflowed |= pending->bit;
	return r;
}
