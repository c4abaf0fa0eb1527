/* SPDX-License-Identifier: MIT */
#include "catalog/tree.h"

#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "catalog/errors.h"
#include "catalog/file.h"
#include "catalog/folders.h"
#include "catalog/query.h"
#include "catalog/redundant.h"
#include "catalog/scan.h"
#include "store/store.h"
#include "store/value.h"

int tree_add_entry(struct catalog_writer *w, struct entry_record *entry)
{
	uint64_t end = entry->cookie + ENTRY_COOKIE_SLOTS;
	int r;

	do {
		struct key key = key_pair(entry->dir, entry->cookie);

		r = store_add(&w->store, TABLE_ENTRY, &key, encode_entry(entry));
	} while (r == -EEXIST && ++entry->cookie < end);
	if (r == 0)
		r = folders_note_name(w, entry->dir, entry->cookie);
	if (r == 0 && entry->kind == ENTRY_DIR)
		r = folders_note_dir(w, entry->child);
	return r < 0 ? r : delta_add_name(w, entry->dir, entry->name);
}

static int remove_dir_record(struct catalog_writer *w, uint64_t id)
{
	struct key key = key_number(id);
	int r = store_delete(&w->store, TABLE_DIR, &key);

	if (r == 0)
		r = catalog_set_error(w, ERROR_DIR, id, 0);
	if (r == 0)
		r = folders_note_dir(w, id);
	w->totals.directories--;
	return r < 0 ? r : delta_add(w, DELTA_DIRS, &(struct delta_dir){.dir = id, .gone = true});
}

/* A list of directory ids used as a stack. */
static int push_id(struct bytes *stack, uint64_t id)
{
	return bytes_append(stack, &id, sizeof(id));
}

static bool pop_id(struct bytes *stack, uint64_t *id)
{
	if (stack->length == 0)
		return false;
	stack->length -= sizeof(*id);
	memcpy(id, stack->data + stack->length, sizeof(*id));
	return true;
}

/* Removes one name. If the name is a directory, its id is pushed on the stack. */
static int remove_entry(struct catalog_writer *w, const struct entry_record *entry,
			struct bytes *dirs)
{
	struct key key = key_pair(entry->dir, entry->cookie);
	enum entry_kind kind = entry->kind;
	uint64_t child = entry->child, dir = entry->dir;
	int r = store_delete(&w->store, TABLE_ENTRY, &key);

	if (r == 0)
		r = folders_note_name(w, entry->dir, entry->cookie);
	if (r < 0)
		return r;
	if (kind == ENTRY_FILE)
		return file_remove_name(w, child, entry->dir, entry->cookie);
	if (kind != ENTRY_DIR)
		return 0;
	r = redundant_note_dir(w, child, dir, false);
	return r < 0 ? r : push_id(dirs, child);
}

/* Gets the first remaining entry of a directory. Returns -ENOENT if it is empty. */
static int first_entry(struct catalog_writer *w, uint64_t dir, struct entry_record *entry)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	int r = catalog_scan_entries(&w->store.reader, dir, 0, &scan);

	return r < 0 ? r : catalog_next_entry(scan, entry);
}

/* Empties and removes the directories on the stack. */
static int remove_dirs(struct catalog_writer *w, struct bytes *dirs)
{
	struct entry_record entry;
	uint64_t id;
	int r = 0;

	while (r == 0 && pop_id(dirs, &id)) {
		while (r == 0 && (r = first_entry(w, id, &entry)) == 0)
			r = remove_entry(w, &entry, dirs);
		if (r == -ENOENT)
			r = remove_dir_record(w, id);
	}
	return r == -ENOENT ? -EUCLEAN : r;
}

int tree_remove_name(struct catalog_writer *w, uint64_t dir, uint64_t cookie, uint64_t child)
{
	CLEANUP_BYTES struct bytes dirs = {0};
	struct entry_record entry;
	int r = catalog_entry_at(&w->store.reader, dir, cookie, &entry);

	if (r == -ENOENT)
		return 0; /* the name was removed with its directory */
	if (r < 0)
		return r;
	if (child && (entry.kind == ENTRY_UNKNOWN || entry.child != child))
		return 0;
	r = delta_add_name(w, dir, entry.name);
	if (r == 0)
		r = remove_entry(w, &entry, &dirs);
	return r < 0 ? (r == -ENOENT ? -EUCLEAN : r) : remove_dirs(w, &dirs);
}

int tree_remove_dir(struct catalog_writer *w, uint64_t id)
{
	CLEANUP_BYTES struct bytes dirs = {0};
	int r = push_id(&dirs, id);

	return r < 0 ? r : remove_dirs(w, &dirs);
}
