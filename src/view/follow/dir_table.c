/* SPDX-License-Identifier: MIT */
#include "view/follow/dir_table.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/hash.h"

#define SLOTS_MIN 64

#define DIR_BITS 48
#define DIR_MASK ((UINT64_C(1) << DIR_BITS) - 1)

struct watched_dir {
	uint64_t low; /* of the key */
	uint64_t high_and_dir; /* the upper 16 bits are of the key, the rest is the number */
};

/* The two hash tables. */
enum slots_of {
	BY_KEY,
	BY_DIR,
};

struct dir_key dir_key_of(const void *handle, size_t length, uint64_t seed)
{
	return (struct dir_key){
		.low = hash64(handle, length, seed),
		.high = (uint16_t)(hash64(handle, length, ~seed) >> DIR_BITS),
	};
}

/* The watch is in the upper half. */
struct dir_key dir_key_of_watch(int number)
{
	return (struct dir_key){
		.low = (uint64_t)(uint32_t)number << 32 |
		       (uint32_t)hash64(&number, sizeof(number), 0),
	};
}

int dir_key_watch(struct dir_key key)
{
	return (int)(key.low >> 32);
}

static uint64_t dir_of(const struct watched_dir *entry)
{
	return entry->high_and_dir & DIR_MASK;
}

static struct dir_key key_of(const struct watched_dir *entry)
{
	return (struct dir_key){entry->low, (uint16_t)(entry->high_and_dir >> DIR_BITS)};
}

static bool key_equal(struct dir_key a, struct dir_key b)
{
	return a.low == b.low && a.high == b.high;
}

/* The first slot for a key or a number. */
static size_t home_of_key(const struct dir_table *table, struct dir_key key)
{
	return key.low & (table->slot_count - 1);
}

static size_t home_of_dir(const struct dir_table *table, uint64_t dir)
{
	return hash64(&dir, sizeof(dir), 0) & (table->slot_count - 1);
}

static size_t home_of(const struct dir_table *table, enum slots_of by,
		      const struct watched_dir *entry)
{
	return by == BY_KEY ? home_of_key(table, key_of(entry)) : home_of_dir(table, dir_of(entry));
}

static size_t after(const struct dir_table *table, size_t slot)
{
	return (slot + 1) & (table->slot_count - 1);
}

/* Returns the slot that leads to this entry, which must be in the table. */
static size_t slot_of(const struct dir_table *table, enum slots_of by, size_t index)
{
	size_t slot = home_of(table, by, &table->entries[index]);

	while (table->slots[by][slot] != index + 1)
		slot = after(table, slot);
	return slot;
}

static void link_entry(struct dir_table *table, enum slots_of by, size_t index)
{
	size_t slot = home_of(table, by, &table->entries[index]);

	while (table->slots[by][slot])
		slot = after(table, slot);
	table->slots[by][slot] = (uint32_t)index + 1;
}

/* Empties a slot. Later slots move up, so that no search ends too early. */
static void empty_slot(struct dir_table *table, enum slots_of by, size_t slot)
{
	uint32_t *slots = table->slots[by];
	size_t mask = table->slot_count - 1, home;

	for (size_t next = after(table, slot); slots[next]; next = after(table, next)) {
		home = home_of(table, by, &table->entries[slots[next] - 1]);
		if (((next - home) & mask) < ((next - slot) & mask))
			continue;
		slots[slot] = slots[next];
		slot = next;
	}
	slots[slot] = 0;
}

static bool find_key(const struct dir_table *table, struct dir_key key, size_t *index)
{
	const uint32_t *slots = table->slots[BY_KEY];

	if (table->count == 0)
		return false;
	for (size_t s = home_of_key(table, key); slots[s]; s = after(table, s)) {
		*index = slots[s] - 1;
		if (key_equal(key_of(&table->entries[*index]), key))
			return true;
	}
	return false;
}

static bool find_dir(const struct dir_table *table, uint64_t dir, size_t *index)
{
	const uint32_t *slots = table->slots[BY_DIR];

	if (table->count == 0)
		return false;
	for (size_t s = home_of_dir(table, dir); slots[s]; s = after(table, s)) {
		*index = slots[s] - 1;
		if (dir_of(&table->entries[*index]) == dir)
			return true;
	}
	return false;
}

uint64_t dir_table_find(const struct dir_table *table, struct dir_key key)
{
	size_t index;

	return find_key(table, key, &index) ? dir_of(&table->entries[index]) : 0;
}

bool dir_table_has(const struct dir_table *table, uint64_t dir)
{
	size_t index;

	return find_dir(table, dir, &index);
}

/* Doubles the number of slots. Returns 0, or -ENOMEM and leaves the table as it was. */
static int grow(struct dir_table *table)
{
	size_t count = table->slot_count ? 2 * table->slot_count : SLOTS_MIN;
	uint32_t *by_key = calloc(count, sizeof(*by_key));
	uint32_t *by_dir = calloc(count, sizeof(*by_dir));

	if (!by_key || !by_dir) {
		free(by_key);
		free(by_dir);
		return -ENOMEM;
	}
	free(table->slots[BY_KEY]);
	free(table->slots[BY_DIR]);
	table->slots[BY_KEY] = by_key;
	table->slots[BY_DIR] = by_dir;
	table->slot_count = count;
	for (size_t i = 0; i < table->count; i++) {
		link_entry(table, BY_KEY, i);
		link_entry(table, BY_DIR, i);
	}
	return 0;
}

int dir_table_add(struct dir_table *table, struct dir_key key, uint64_t dir)
{
	int r = 0;

	assert(dir > 0 && dir <= DIR_MASK);
	if (table->count >= UINT32_MAX - 1)
		return -ENOMEM;
	if (4 * (table->count + 1) > 3 * table->slot_count)
		r = grow(table);
	if (r == 0)
		r = array_reserve(&table->entries, &table->capacity, table->count + 1,
				  sizeof(*table->entries));
	if (r < 0)
		return r;
	table->entries[table->count] =
		(struct watched_dir){key.low, (uint64_t)key.high << DIR_BITS | dir};
	link_entry(table, BY_KEY, table->count);
	link_entry(table, BY_DIR, table->count);
	table->count++;
	return 0;
}

void dir_table_renumber(struct dir_table *table, uint64_t from, uint64_t to)
{
	struct watched_dir *entry;
	size_t index = 0;
	bool is_found = find_dir(table, from, &index);

	assert(is_found && to > 0 && to <= DIR_MASK);
	if (!is_found)
		return;
	entry = &table->entries[index];
	empty_slot(table, BY_DIR, slot_of(table, BY_DIR, index));
	entry->high_and_dir = (entry->high_and_dir & ~DIR_MASK) | to;
	link_entry(table, BY_DIR, index);
}

bool dir_table_remove(struct dir_table *table, uint64_t dir, struct dir_key *key)
{
	size_t index, last = table->count - 1;

	if (!find_dir(table, dir, &index))
		return false;
	*key = key_of(&table->entries[index]);
	for (enum slots_of by = BY_KEY; by <= BY_DIR; by++)
		empty_slot(table, by, slot_of(table, by, index));
	for (enum slots_of by = BY_KEY; by <= BY_DIR && index != last; by++)
		table->slots[by][slot_of(table, by, last)] = (uint32_t)index + 1;
	table->entries[index] = table->entries[last];
	table->count--;
	return true;
}

void dir_table_reset(struct dir_table *table)
{
	free(table->entries);
	free(table->slots[BY_KEY]);
	free(table->slots[BY_DIR]);
	*table = (struct dir_table){0};
}
