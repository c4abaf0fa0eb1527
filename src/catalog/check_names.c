/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "catalog/check_tables.h"
#include "catalog/paths.h"
#include "catalog/query.h"
#include "catalog/record.h"
#include "store/store.h"
#include "store/value.h"

/* ---- directories --------------------------------------------------------------------- */

static int check_dir_error(struct check *c, const struct dir_record *dir)
{
	int noted;
	int r = catalog_get_error(c->reader, ERROR_DIR, dir->id, &noted);

	c->expected[TABLE_ERROR] += dir->error != 0;
	return r < 0 ? r : check_claim(noted == dir->error);
}

/* Checks a directory, except its name, which check_dir_entry() checks. Directories in a cycle would
 * not be reachable from any source. In a cycle, the directory with the lowest id has a parent with
 * a greater id. Only such directories, which are few, need a search for a cycle. */
int check_dir(struct check *c, struct span key, struct span fields)
{
	struct dir_record dir;
	bool cycle = false;
	int r = 0;

	if (!key_get_number(key, &dir.id) || !decode_dir(fields, &dir))
		return -EUCLEAN;
	c->expected[TABLE_ENTRY] += dir.parent != 0;
	if (dir.parent >= dir.id)
		r = catalog_dir_is_in_cycle(c->reader, dir.id, &cycle);
	if (r == 0)
		r = check_claim(!cycle);
	if (r == 0)
		r = check_dir_error(c, &dir);
	return r < 0 ? check_found(r) : check_has_folder(c, dir.id);
}

/* ---- names in directories ------------------------------------------------------------ */

int check_redundant(struct check *c)
{
	uint64_t count = 0;
	int r = c->entry_dir ? catalog_count_redundant(c->reader, c->entry_dir, &count) : 0;

	c->expected[TABLE_REDUNDANT] += c->redundant > 0;
	return r < 0 ? r : check_claim(count == c->redundant);
}

static int check_entry_dir(struct check *c, uint64_t id)
{
	struct dir_record dir;
	int r;

	if (c->entry_dir == id)
		return 0;
	r = check_redundant(c);
	c->entry_dir = id;
	c->redundant = 0;
	return r < 0 ? r : check_found(catalog_get_dir(c->reader, id, &dir));
}

/* Checks that the cookie matches the hash of the name, and that no lower cookie has this name. */
static int check_cookie(struct check *c, const struct entry_record *entry)
{
	uint64_t first = catalog_name_cookie(c->reader, entry->name);
	struct entry_record other;
	int r = check_claim(entry->cookie - first < ENTRY_COOKIE_SLOTS);

	for (uint64_t cookie = first; r == 0 && cookie < entry->cookie; cookie++) {
		r = catalog_entry_at(c->reader, entry->dir, cookie, &other);
		if (r == 0)
			r = check_claim(!names_equal(other.name, entry->name));
		else if (r == -ENOENT)
			r = 0;
	}
	return r;
}

static int check_dir_entry(struct check *c, const struct entry_record *entry)
{
	struct dir_record dir;
	uint64_t count = 0;
	int r = check_found(catalog_get_dir(c->reader, entry->child, &dir));

	if (r == 0)
		r = catalog_count_redundant(c->reader, entry->child, &count);
	if (r < 0)
		return r;
	c->redundant += count > 0;
	c->expected[TABLE_DIR]++;
	return check_claim(dir.parent == entry->dir && names_equal(dir.name, entry->name));
}

/* Checks an entry of a file: it is the first name of the file, or TABLE_LINK has it. */
static int check_file_entry(struct check *c, const struct entry_record *entry)
{
	struct key link = key_triple(entry->child, entry->dir, entry->cookie);
	struct group_record group;
	struct file_record file;
	struct span fields;
	bool redundant = false;
	int r = check_found(catalog_get_file(c->reader, entry->child, &file));

	if (r == 0 && S_ISREG(file.attributes.mode))
		r = catalog_is_redundant(c->reader, file.id, &redundant, &group);
	if (r < 0)
		return r;
	c->redundant += redundant;
	if (file.dir == entry->dir && file.cookie == entry->cookie)
		return check_claim(file.names > 0);
	return check_found(store_get(c->reader, TABLE_LINK, &link, &fields));
}

int check_entry(struct check *c, struct span key, struct span fields)
{
	struct entry_record entry;
	int r;

	if (!key_get_pair(key, &entry.dir, &entry.cookie) || !decode_entry(fields, &entry) ||
	    entry.dir == 0)
		return -EUCLEAN;
	r = check_entry_dir(c, entry.dir);
	if (r == 0)
		r = check_cookie(c, &entry);
	if (r < 0)
		return r;
	if (entry.kind == ENTRY_DIR)
		return check_dir_entry(c, &entry);
	if (entry.kind == ENTRY_FILE)
		return check_file_entry(c, &entry);
	c->expected[TABLE_ENTRY]++; /* no other record refers to the entry */
	return check_claim(entry.child > 0 && entry.child <= INT32_MAX);
}

/* ---- errors -------------------------------------------------------------------------- */

/* Checks an error of a file. check_dir() counts errors of directories as expected. */
int check_error(struct check *c, struct span key, struct span fields)
{
	struct file_record file;
	uint64_t kind, number;
	int r;

	if (!key_get_pair(key, &kind, &file.id) || !decode_number(fields, &number) || number == 0 ||
	    number > INT32_MAX || (kind != ERROR_DIR && kind != ERROR_FILE))
		return -EUCLEAN;
	if (kind == ERROR_DIR)
		return 0;
	r = check_found(catalog_get_file(c->reader, file.id, &file));
	c->expected[TABLE_ERROR]++;
	return r < 0 ? r : check_claim(file.names > 0);
}
