/* SPDX-License-Identifier: MIT */
#define HASH_NONFATAL_OOM 1
#include "watch/dirty.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

struct dirty_entry {
	UT_hash_handle hh;
	struct dirty_name *name; /* behind this, in the same piece of memory */
};

/* The key is the directory's number with the name behind it, as they lie in struct dirty_name. */
#define KEY(name) (&(name)->dir)
#define KEY_LENGTH(name) (sizeof((name)->dir) + (name)->length)

static size_t entry_bytes(const struct dirty_name *name)
{
	/* malloc's own, and the entry's share of the hash table */
	const size_t around = 32;

	return sizeof(struct dirty_entry) + sizeof(*name) + name->length + 1 + around;
}

static struct dirty_entry *new_entry(uint64_t dir, const char *name, uint32_t length)
{
	size_t size = sizeof(struct dirty_entry) + sizeof(struct dirty_name) + length + 1;
	struct dirty_entry *entry = malloc(size);

	if (!entry)
		return NULL;
	entry->name = (struct dirty_name *)(entry + 1);
	entry->name->dir = dir;
	entry->name->why = 0;
	entry->name->length = length;
	if (length > 0)
		memcpy(entry->name->name, name, length);
	entry->name->name[length] = '\0';
	return entry;
}

static void add_why(struct dirty_name *name, uint32_t why)
{
	if ((why & DIRTY_CONTENT) && !(why & DIRTY_CLOSED))
		name->why &= ~(uint32_t)DIRTY_CLOSED;
	if (name->why & DIRTY_ARRIVED && why & (DIRTY_ARRIVED | DIRTY_REMOVED))
		name->why |= DIRTY_LOST;
	name->why |= why;
}

/* Takes the entry, which is in no table; not with -ENOMEM. */
static int insert(struct dirty *dirty, struct dirty_entry *entry, uint32_t why)
{
	struct dirty_entry *there;

	HASH_FIND(hh, dirty->table, KEY(entry->name), KEY_LENGTH(entry->name), there);
	if (there) {
		free(entry);
		add_why(there->name, why);
		return 0;
	}
	HASH_ADD_KEYPTR(hh, dirty->table, KEY(entry->name), KEY_LENGTH(entry->name), entry);
	if (!entry->hh.tbl)
		return -ENOMEM;
	entry->name->why = why;
	dirty->count++;
	dirty->bytes += entry_bytes(entry->name);
	return 0;
}

int dirty_note(struct dirty *dirty, uint64_t dir, const char *name, uint32_t length, uint32_t why)
{
	struct dirty_entry *entry = new_entry(dir, name, length);
	int r;

	if (!entry)
		return -ENOMEM;
	r = insert(dirty, entry, why);
	if (r < 0)
		free(entry);
	return r;
}

/* Takes the entry out of the table. */
static void detach(struct dirty *dirty, struct dirty_entry *entry)
{
	HASH_DEL(dirty->table, entry);
	dirty->count--;
	dirty->bytes -= entry_bytes(entry->name);
}

static int move_entries(struct dirty *dirty, struct dirty *later)
{
	struct dirty_entry *entry, *next;
	uint32_t why;
	int r;

	HASH_ITER(hh, later->table, entry, next)
	{
		why = entry->name->why;
		detach(later, entry);
		r = insert(dirty, entry, why);
		if (r < 0) {
			free(entry);
			return r;
		}
	}
	return 0;
}

static void move_queues(struct dirty *dirty, struct dirty *later)
{
	dirty->overflowed |= later->overflowed;
	dirty->strayed |= later->strayed;
	dirty->left |= later->left;
	later->overflowed = 0;
	later->strayed = later->left = false;
}

int dirty_merge(struct dirty *dirty, struct dirty *later)
{
	move_queues(dirty, later);
	if (dirty->table)
		return move_entries(dirty, later);
	dirty->table = later->table;
	dirty->count = later->count;
	dirty->bytes = later->bytes;
	*later = (struct dirty){0};
	return 0;
}

void dirty_note_lost(struct dirty *dirty, const struct dirty *earlier)
{
	struct dirty_entry *entry, *before;

	for (entry = dirty->table; entry; entry = entry->hh.next) {
		if (!(entry->name->why & DIRTY_ARRIVED))
			continue;
		HASH_FIND(hh, earlier->table, KEY(entry->name), KEY_LENGTH(entry->name), before);
		if (before && before->name->why & DIRTY_ARRIVED)
			entry->name->why |= DIRTY_LOST;
	}
}

static int compare_names(const void *left, const void *right)
{
	const struct dirty_name *a = *(const struct dirty_name *const *)left;
	const struct dirty_name *b = *(const struct dirty_name *const *)right;
	int r;

	if (a->dir != b->dir)
		return a->dir < b->dir ? -1 : 1;
	r = memcmp(a->name, b->name, a->length < b->length ? a->length : b->length);
	if (r != 0)
		return r;
	return (a->length > b->length) - (a->length < b->length);
}

int dirty_list(const struct dirty *dirty, const struct dirty_name ***list, size_t *count)
{
	const struct dirty_name **names = malloc((dirty->count + 1) * sizeof(const void *));
	const struct dirty_entry *entry;
	size_t filled = 0;

	if (!names)
		return -ENOMEM;
	for (entry = dirty->table; entry; entry = entry->hh.next)
		names[filled++] = entry->name;
	qsort(names, filled, sizeof(const void *), compare_names);
	*list = names;
	*count = filled;
	return 0;
}

void dirty_reset(struct dirty *dirty)
{
	struct dirty_entry *entry, *next;

	/* the table goes first: taking out one by one would cost more */
	entry = dirty->table;
	HASH_CLEAR(hh, dirty->table);
	for (; entry; entry = next) {
		next = entry->hh.next;
		free(entry);
	}
	*dirty = (struct dirty){0};
}
