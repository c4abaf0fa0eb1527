/* SPDX-License-Identifier: MIT */
#ifndef VIEW_FOLLOW_DIR_TABLE_H
#define VIEW_FOLLOW_DIR_TABLE_H

/* The caller's numbers of watched directories, by what the kernel calls the directories in events:
 * the number of an inotify watch, or a file handle (name_to_handle_at(2)). Pure code, not shared
 * between threads.
 *
 * A table with 1,000,000 directories takes 32 MiB. It stores no handles, but keys of 80 bits, which
 * are a hash with a random seed. So two of 1,000,000 directories have the same key with a
 * probability of 2^-41. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

/* What identifies a directory in events. */
struct dir_key {
	uint64_t low; /* its low bits are those of a hash */
	uint16_t high;
};

/* Must be all zero before the first use. */
struct dir_table {
	struct watched_dir *entries;
	size_t count, capacity; /* of entries */
	/* Two hash tables with linear probing, by key and by number. A slot is 0 or 1 + the index
	 * of an entry. */
	uint32_t *slots[2];
	size_t slot_count; /* of each; 0 or a power of 2 */
};

/* Returns the key of an inotify watch, and the number of the watch that has a key. */
struct dir_key dir_key_of_watch(int number);
int dir_key_watch(struct dir_key key);

/* Hashes a handle in the form of the kernel's events: the file system's id of 8 bytes, then a
 * struct file_handle. The seed is the same for all keys of a table. */
struct dir_key dir_key_of(const void *handle, size_t length, uint64_t seed);

/* Returns the number of a directory, or 0 if the table does not have the key. */
uint64_t dir_table_find(const struct dir_table *table, struct dir_key key);

/* Returns whether the table has a directory with this number. */
bool dir_table_has(const struct dir_table *table, uint64_t dir);

/* Adds a directory. The table must have neither the key nor the number.
 *
 * dir	above 0, below 2^48
 *
 * Returns 0 or -ENOMEM. */
MUST_CHECK int dir_table_add(struct dir_table *table, struct dir_key key, uint64_t dir);

/* Changes the number of a directory. The table must have `from` and must not have `to`. */
void dir_table_renumber(struct dir_table *table, uint64_t from, uint64_t to);

/* Removes a directory by its number, and sets *key to its key. Returns false if the table does not
 * have it. */
bool dir_table_remove(struct dir_table *table, uint64_t dir, struct dir_key *key);

/* Removes all directories and frees memory. */
void dir_table_reset(struct dir_table *table);

#endif
