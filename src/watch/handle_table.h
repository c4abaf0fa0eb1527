/* SPDX-License-Identifier: MIT */
#ifndef WATCH_HANDLE_TABLE_H
#define WATCH_HANDLE_TABLE_H

/* The numbers of directories by their file handles (name_to_handle_at(2)). Pure code, not shared
 * between threads.
 *
 * A table with 1,000,000 directories takes 32 MiB. It stores no handles, but keys of 80 bits, which
 * are a hash with a random seed. So two of 1,000,000 directories have the same key with a
 * probability of 2^-41. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

/* The hash of a file system and a handle. */
struct handle_key {
	uint64_t low;
	uint16_t high;
};

/* Must be all zero before the first use. */
struct handle_table {
	struct handle_entry *entries;
	size_t count, capacity; /* of entries */
	/* Two hash tables with linear probing, by key and by number. A slot is 0 or 1 + the index
	 * of an entry. */
	uint32_t *slots[2];
	size_t slot_count; /* of each; 0 or a power of 2 */
};

/* Hashes a handle in the form of the kernel's events: the file system's id of 8 bytes, then a
 * struct file_handle. The seed is the same for all keys of a table. */
struct handle_key handle_key_of(const void *handle, size_t length, uint64_t seed);

/* Returns the number of a directory, or 0 if the table does not have the key. */
uint64_t handle_table_find(const struct handle_table *table, struct handle_key key);

/* Returns whether the table has a directory with this number. */
bool handle_table_has(const struct handle_table *table, uint64_t dir);

/* Adds a directory. The table must have neither the key nor the number.
 *
 * dir	above 0, below 2^48
 *
 * Returns 0 or -ENOMEM. */
MUST_CHECK int handle_table_add(struct handle_table *table, struct handle_key key, uint64_t dir);

/* Changes the number of a directory. The table must have `from` and must not have `to`. */
void handle_table_renumber(struct handle_table *table, uint64_t from, uint64_t to);

/* Removes a directory by its number, and sets *key to its key. Returns false if the table does not
 * have it. */
bool handle_table_remove(struct handle_table *table, uint64_t dir, struct handle_key *key);

/* Removes all directories and frees memory. */
void handle_table_reset(struct handle_table *table);

#endif
