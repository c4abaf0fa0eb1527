/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/sort.h"
#include "index/change.h"
#include "index/file.h"
#include "index/folders.h"
#include "index/group.h"
#include "index/kept.h"
#include "index/paths.h"
#include "index/query.h"
#include "index/record.h"
#include "index/redundant.h"
#include "index/scan.h"
#include "index/store/store.h"
#include "index/store/value.h"
#include "index/writer.h"

/* ---- tree ----------------------------------------------------------------------------------- */

/* Entries of directories within a write transaction. */

/* Adds the entry under the first free cookie of its hash, from entry->cookie on, and sets
 * entry->cookie. Returns 0, -EEXIST if too many names have the same hash, or another -errno. */
static int tree_add_entry(struct catalog_writer *w, struct entry_record *entry)
{
	uint64_t end = entry->cookie + ENTRY_COOKIE_SLOTS;
	int r;

	do {
		struct key key = key_pair(entry->dir, entry->cookie);

		r = store_add(&w->store, TABLE_ENTRY, key, encode_entry(entry));
	} while (r == -EEXIST && ++entry->cookie < end);
	if (r == 0)
		r = folders_note_name(w, entry->dir, entry->cookie);
	if (r == 0)
		r = redundant_note_listing(w, entry->dir, true);
	if (r == 0 && entry->kind == ENTRY_DIR)
		r = folders_note_dir(w, entry->child);
	return r < 0 ? r : delta_add_name(w, entry->dir, entry->name, entry->kind == ENTRY_DIR);
}

static int remove_dir_record(struct catalog_writer *w, uint64_t id)
{
	int r = store_delete(&w->store, TABLE_DIR, key_number(id));

	if (r == 0)
		r = catalog_set_error(w, ERROR_DIR, id, 0);
	if (r == 0)
		r = folders_note_dir(w, id);
	if (r == 0)
		r = redundant_note_gone(w, id);
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
	enum entry_kind kind = entry->kind;
	uint64_t child = entry->child, dir = entry->dir;
	int r = store_delete(&w->store, TABLE_ENTRY, key_pair(entry->dir, entry->cookie));

	if (r == 0)
		r = folders_note_name(w, entry->dir, entry->cookie);
	if (r == 0)
		r = redundant_note_listing(w, dir, true);
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

/* Removes a name; a directory is removed with its whole tree. Does nothing if the name is missing.
 *
 * child	0, or the expected child: if the name refers to something else, it is not removed
 *
 * Returns 0 or -errno. */
static int tree_remove_name(struct catalog_writer *w, uint64_t dir, uint64_t cookie, uint64_t child)
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
	r = delta_add_name(w, dir, entry.name, entry.kind == ENTRY_DIR);
	if (r == 0)
		r = remove_entry(w, &entry, &dirs);
	return r < 0 ? (r == -ENOENT ? -EUCLEAN : r) : remove_dirs(w, &dirs);
}

/* Removes a directory that has no entry in a parent, with its whole tree. Returns 0 or -errno. */
static int tree_remove_dir(struct catalog_writer *w, uint64_t id)
{
	CLEANUP_BYTES struct bytes dirs = {0};
	int r = push_id(&dirs, id);

	return r < 0 ? r : remove_dirs(w, &dirs);
}

/* ---- move ----------------------------------------------------------------------------------- */

/* Moves directories within a write transaction. First all moving directories are removed from their
 * old parents, so that directories can exchange their names. Then all are added to their new
 * parents. The records of their trees do not change. */

struct moves {
	const struct name_change **list; /* the last move of each directory; borrowed */
	uint64_t *places; /* kept_get_place() of each directory before its move */
	size_t count;
};

/* Maximum number of moved names whose groups are checked in the transaction of the move. */
#define JUDGED_MAX 10000

/* Sorts by directory. The last change of each directory is first. */
static int by_id_then_last(const void *a, const void *b)
{
	const struct name_change *x = *(const struct name_change *const *)a;
	const struct name_change *y = *(const struct name_change *const *)b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x > y ? -1 : x < y;
}

static int by_order(const void *a, const void *b)
{
	const struct name_change *x = *(const struct name_change *const *)a;
	const struct name_change *y = *(const struct name_change *const *)b;

	return x < y ? -1 : x > y;
}

/* Collects the moves. If a directory moves twice, the last move counts. */
static int collect(const struct name_change *changes, size_t count, struct moves *moves)
{
	size_t all = 0;

	*moves = (struct moves){0};
	for (size_t i = 0; i < count; i++)
		all += changes[i].kind == NAME_MOVE_DIR;
	if (all == 0)
		return 0;
	moves->list = calloc(all, sizeof(*moves->list));
	moves->places = calloc(all, sizeof(*moves->places));
	if (!moves->list || !moves->places)
		return -ENOMEM;
	all = 0;
	for (size_t i = 0; i < count; i++) {
		if (changes[i].kind == NAME_MOVE_DIR)
			moves->list[all++] = &changes[i];
	}
	qsort(moves->list, all, sizeof(*moves->list), by_id_then_last);
	for (size_t i = 0; i < all; i++) {
		if (i == 0 || moves->list[i]->id != moves->list[i - 1]->id)
			moves->list[moves->count++] = moves->list[i];
	}
	qsort(moves->list, moves->count, sizeof(*moves->list), by_order);
	return 0;
}

static void moves_free(struct moves *moves)
{
	free(moves->list);
	free(moves->places);
}

/* ---- leaving the old parents --------------------------------------------------------- */

static int detach(struct catalog_writer *w, const struct name_change *change)
{
	struct entry_record entry;
	struct dir_record dir;
	struct key key;
	int r = catalog_get_dir(&w->store.reader, change->id, &dir);

	if (r < 0)
		return r == -ENOENT ? -ESTALE : r;
	/* a directory cannot change its source, as all dir_records below have the source's number;
	 * the root of a source cannot move */
	if (dir.source != change->source || dir.parent == 0)
		return -ESTALE;
	r = catalog_find_entry(&w->store.reader, dir.parent, dir.name, &entry);
	if (r == 0 && (entry.kind != ENTRY_DIR || entry.child != dir.id))
		r = -ENOENT;
	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	r = delta_add_name(w, dir.parent, dir.name, true);
	if (r == 0)
		r = redundant_note_dir(w, dir.id, dir.parent, false);
	if (r == 0)
		r = folders_note_name(w, entry.dir, entry.cookie);
	if (r == 0)
		r = redundant_note_listing(w, dir.parent, true);
	key = key_pair(entry.dir, entry.cookie);
	return r < 0 ? r : store_delete(&w->store, TABLE_ENTRY, key);
}

/* Collects the moves of changes, which must stay valid, and removes the directories from their old
 * parents. The caller must call moves_free(), even after a failure. Returns 0, -ESTALE as
 * catalog_apply(), or another -errno. */
static int moves_detach(struct catalog_writer *w, const struct name_change *changes, size_t count,
			struct moves *moves)
{
	int r = collect(changes, count, moves);

	for (size_t i = 0; r == 0 && i < moves->count; i++) {
		r = detach(w, moves->list[i]);
		if (r == 0)
			r = kept_get_place(&w->store.reader, moves->list[i]->id, &moves->places[i]);
	}
	return r;
}

/* ---- entering the new parents -------------------------------------------------------- */

/* Writes the directory's record with its new parent. The entry of its name is added later. */
static int put_record(struct catalog_writer *w, const struct name_change *change)
{
	struct dir_record dir;
	int r = catalog_get_dir(&w->store.reader, change->id, &dir);

	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	dir.parent = change->dir;
	dir.name = change->name;
	dir.attributes = change->attributes;
	r = store_put(&w->store, TABLE_DIR, key_number(change->id), encode_dir(&dir));
	if (r == 0)
		r = redundant_note_listing(w, change->id, false);
	return r < 0 ? r
		     : delta_add(w, DELTA_DIRS,
				 &(struct delta_dir){.dir = change->id, .moved = true});
}

static int refuse_cycle(struct catalog_writer *w, const struct name_change *change)
{
	bool cycle;
	int r = catalog_dir_is_in_cycle(&w->store.reader, change->id, &cycle);

	if (r < 0)
		return r == -ENOENT ? 0 : r; /* attach() handles a missing parent */
	return cycle ? -ELOOP : 0;
}

static int attach(struct catalog_writer *w, const struct name_change *change)
{
	struct entry_record displaced, entry = {.dir = change->dir,
						.kind = ENTRY_DIR,
						.child = change->id,
						.name = change->name};
	struct dir_record parent;
	int r = catalog_get_dir(&w->store.reader, change->dir, &parent);

	if (r == -ENOENT)
		return tree_remove_dir(w, change->id);
	if (r < 0)
		return r;
	if (parent.source != change->source)
		return -ESTALE;
	r = catalog_find_entry(&w->store.reader, change->dir, change->name, &displaced);
	if (r == 0)
		r = tree_remove_name(w, displaced.dir, displaced.cookie, 0);
	if (r < 0 && r != -ENOENT)
		return r;
	r = redundant_note_dir(w, change->id, change->dir, true);
	entry.cookie = catalog_name_cookie(&w->store.reader, change->name);
	return r < 0 ? r : tree_add_entry(w, &entry);
}

/* Has kept copies chosen again if a move changed the place of files. */
static int compare_places(struct catalog_writer *w, const struct moves *moves)
{
	uint64_t place;
	int r = 0;

	for (size_t i = 0; r == 0 && i < moves->count; i++) {
		r = kept_get_place(&w->store.reader, moves->list[i]->id, &place);
		if (r == 0 && place != moves->places[i])
			groups_choose_again(w, false);
		else if (r == -ENOENT) /* its new parent is missing */
			r = 0;
	}
	return r;
}

/* Has the kept copies checked of the groups of files in a directory, and pushes its subdirectories.
 * Counts the names. */
static int judge_dir(struct catalog_writer *w, uint64_t dir, struct bytes *dirs, size_t *count)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct content_record content;
	struct entry_record entry;
	int r = catalog_scan_entries(&w->store.reader, dir, 0, &scan);

	while (r == 0 && (r = catalog_next_entry(scan, &entry)) == 0 && ++*count <= JUDGED_MAX) {
		if (entry.kind == ENTRY_DIR)
			r = push_id(dirs, entry.child);
		if (entry.kind != ENTRY_FILE)
			continue;
		r = catalog_get_content(&w->store.reader, entry.child, &content);
		if (r == 0 && content.group)
			r = group_judge(w, content.group, entry.child);
		if (r == -ENOENT)
			r = 0;
	}
	return r == -ENOENT ? 0 : r;
}

/* Has kept copies checked if keep rules use the paths of the moved files: those of the groups of
 * these files, or all if there are many. */
static int judge_paths(struct catalog_writer *w, const struct moves *moves)
{
	CLEANUP_BYTES struct bytes dirs = {0};
	size_t count = 0;
	uint64_t dir;
	int r = 0;

	if (!keep_rules_use_paths(&w->keep))
		return 0;
	for (size_t i = 0; r == 0 && i < moves->count; i++)
		r = push_id(&dirs, moves->list[i]->id);
	while (r == 0 && count <= JUDGED_MAX && pop_id(&dirs, &dir))
		r = judge_dir(w, dir, &dirs, &count);
	if (r == 0 && count > JUDGED_MAX)
		groups_choose_again(w, false);
	return r;
}

/* Adds the moving directories to their new parents. Returns 0, -ESTALE or -ELOOP as
 * catalog_apply(), or another -errno. */
static int moves_attach(struct catalog_writer *w, const struct moves *moves)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < moves->count; i++)
		r = put_record(w, moves->list[i]);
	for (size_t i = 0; r == 0 && i < moves->count; i++)
		r = refuse_cycle(w, moves->list[i]);
	for (size_t i = 0; r == 0 && i < moves->count; i++)
		r = attach(w, moves->list[i]);
	if (r == 0)
		r = judge_paths(w, moves);
	return r < 0 ? r : compare_places(w, moves);
}

/* ---- apply ---------------------------------------------------------------------------------- */

/* Additions are applied in passes, and each pass in the order of the keys of its table. In that
 * order LMDB appends, or finds the position on the current page.
 *
 *   removals -> inode numbers (which file is it?) -> entries -> directories, files and links
 *            -> sizes -> updates
 *
 * Moved directories leave their old parents before the removals. Moved directories enter their new
 * parents after new directories are added and before all other additions.
 */

/* A name to add. */
struct addition {
	struct name_change *change;
	uint64_t id; /* of the file or directory; 0: of another kind */
	bool known; /* the index had the file before this batch */
};

struct additions {
	struct addition *list;
	size_t count;
};

struct change_batch {
	struct catalog_writer *w;
	struct name_change *changes;
	size_t count;
	uint32_t scan;
	struct additions additions;
	struct moves moves;
};

/* ---- finding the file of a name ------------------------------------------------------ */

/* Sorts the names of one inode together, the name with the latest ctime first. If several inodes
 * had the same number, the youngest inode is last, so the number refers to the youngest. */
static int compare_inodes(const void *a, const void *b)
{
	const struct addition *x = a, *y = b;
	const struct attributes *p = &x->change->attributes, *q = &y->change->attributes;
	int order = numbers_compare(p->filesystem, q->filesystem);

	if (order == 0)
		order = numbers_compare(p->inode, q->inode);
	if (order == 0)
		order = clock_compare(p->btime, q->btime);
	if (order == 0)
		order = numbers_compare(p->mode & S_IFMT, q->mode & S_IFMT);
	if (order == 0)
		order = clock_compare(q->ctime, p->ctime);
	return order ? order : numbers_compare(x->id, y->id);
}

static void set_inode_key(const void *record, struct sort_key *key)
{
	const struct attributes *attributes =
		&((const struct addition *)record)->change->attributes;

	key->major = attributes->filesystem;
	key->minor = attributes->inode;
}

static const struct sort_order by_inode = {set_inode_key, compare_inodes};

static int compare_entries(const void *a, const void *b)
{
	const struct name_change *p = ((const struct addition *)a)->change;
	const struct name_change *q = ((const struct addition *)b)->change;
	int order = numbers_compare(p->dir, q->dir);

	return order ? order : numbers_compare(p->cookie, q->cookie);
}

static void set_entry_key(const void *record, struct sort_key *key)
{
	const struct name_change *change = ((const struct addition *)record)->change;

	key->major = change->dir;
	key->minor = change->cookie;
}

static const struct sort_order by_entry = {set_entry_key, compare_entries};

static int compare_ids(const void *a, const void *b)
{
	const struct addition *x = a, *y = b;
	int order = numbers_compare(x->id, y->id);

	return order ? order : compare_entries(a, b);
}

static void set_id_key(const void *record, struct sort_key *key)
{
	key->major = 0;
	key->minor = ((const struct addition *)record)->id;
}

static const struct sort_order by_id = {set_id_key, compare_ids};

static int compare_sizes(const void *a, const void *b)
{
	const struct addition *x = a, *y = b;
	int order = numbers_compare(x->change->attributes.size, y->change->attributes.size);

	return order ? order : numbers_compare(x->id, y->id);
}

static void set_size_key(const void *record, struct sort_key *key)
{
	const struct addition *addition = record;

	key->major = addition->change->attributes.size;
	key->minor = addition->id;
}

static const struct sort_order by_size = {set_size_key, compare_sizes};

static void sort(struct additions *additions, const struct sort_order *order)
{
	key_sort(additions->list, additions->count, sizeof(*additions->list), order);
}

static bool is_file(const struct addition *addition)
{
	return addition->change->kind == NAME_ADD_FILE;
}

static bool same_inode(const struct addition *a, const struct addition *b)
{
	return is_file(a) && is_file(b) &&
	       attributes_same_inode(&a->change->attributes, &b->change->attributes);
}

/* Finds the file in the index, or adds it with the id of the addition. */
static int identify(struct catalog_writer *w, struct inode_cursor *inodes,
		    struct addition *addition)
{
	const struct attributes *attributes = &addition->change->attributes;
	struct file_record known;
	uint64_t *file;
	int r = inodes_seek(w, inodes, attributes, &file);

	if (r < 0)
		return r;
	r = *file ? catalog_get_file(&w->store.reader, *file, &known) : -ENOENT;
	if (r < 0 && r != -ENOENT)
		return r;
	if (r == 0 && attributes_same_inode(&known.attributes, attributes)) {
		addition->id = *file;
		addition->known = true;
		return 0;
	}
	/* The number is new. Or the index has another inode under this number, whose names other
	 * changes remove; or a file of this batch, which has no record yet. */
	*file = addition->id;
	inodes->changed = true;
	return 0;
}

/* Sets the id of each file. Names of one inode get the same id. New ids follow the order of
 * entries, so the files of a directory are adjacent in the file table. */
static int identify_files(struct catalog_writer *w, struct additions *additions)
{
	struct addition *list = additions->list;
	struct inode_cursor inodes = {0};
	int r = 0;

	for (size_t i = 0; i < additions->count; i++) {
		if (!is_file(&list[i]))
			continue;
		list[i].id = catalog_new_id(w->catalog);
		if (!list[i].id)
			return -errno;
	}
	sort(additions, &by_inode);
	for (size_t i = 0; r == 0 && i < additions->count; i++) {
		if (!is_file(&list[i]))
			continue;
		if (i > 0 && same_inode(&list[i - 1], &list[i])) {
			list[i].id = list[i - 1].id;
			list[i].known = list[i - 1].known;
			/* if stat(2) of the two names differs, the newest result counts */
			list[i].change->attributes = list[i - 1].change->attributes;
		} else {
			r = identify(w, &inodes, &list[i]);
		}
	}
	return r < 0 ? r : inodes_flush(w, &inodes);
}

/* ---- writing additions --------------------------------------------------------------- */

static struct entry_record entry_of(const struct addition *addition)
{
	const struct name_change *change = addition->change;
	struct entry_record entry = {.dir = change->dir,
				     .cookie = change->cookie,
				     .name = change->name};

	if (change->kind == NAME_ADD_DIR) {
		entry.kind = ENTRY_DIR;
		entry.child = change->id;
	} else if (change->kind == NAME_ADD_FILE) {
		entry.kind = ENTRY_FILE;
		entry.child = addition->id;
	} else {
		entry.kind = ENTRY_UNKNOWN;
		entry.child = (uint64_t)change->error;
	}
	return entry;
}

static int add_entry(struct catalog_writer *w, struct addition *addition)
{
	struct entry_record entry = entry_of(addition);
	int r = tree_add_entry(w, &entry);

	addition->change->cookie = entry.cookie;
	return r;
}

static int add_dir(struct catalog_writer *w, const struct name_change *change)
{
	struct dir_record dir = {.id = change->id,
				 .parent = change->dir,
				 .source = change->source,
				 .flags = change->flags,
				 .error = change->error,
				 .attributes = change->attributes,
				 .name = change->name};
	int r = store_put(&w->store, TABLE_DIR, key_number(dir.id), encode_dir(&dir));

	if (r == 0)
		r = catalog_note_dir(w, &dir);
	w->totals.directories++;
	return r;
}

/* Writes the record of a new file. run has the count names of the file in this batch. */
static int add_file(struct catalog_writer *w, const struct addition *run, size_t count,
		    uint32_t scan)
{
	struct file_record file = {.id = run->id,
				   .dir = run->change->dir,
				   .cookie = run->change->cookie,
				   .names = (uint32_t)count,
				   .first_seen = scan,
				   .copy_mark = has_copy_mark(run->change->name.bytes,
							      run->change->name.length),
				   .attributes = run->change->attributes};
	int r = file_add(w, &file);

	for (size_t i = 1; r == 0 && i < count; i++) {
		const struct file_name link = {.file = file.id,
					       .dir = run[i].change->dir,
					       .cookie = run[i].change->cookie};

		r = link_add(w, &link, 0);
	}
	return r;
}

static size_t run_length(const struct additions *additions, size_t first)
{
	size_t end = first + 1;

	while (end < additions->count && additions->list[end].id == additions->list[first].id)
		end++;
	return end - first;
}

/* Returns the flags that all of these names have, and FILE_UNTRUSTED if any of them has it. */
static uint32_t common_flags(const struct addition *run, size_t count)
{
	uint32_t flags = UINT32_MAX, untrusted = 0;

	for (size_t i = 0; i < count; i++) {
		flags &= run[i].change->flags;
		untrusted |= run[i].change->flags & FILE_UNTRUSTED;
	}
	return flags | untrusted;
}

/* Adds the count names of a file. */
static int add_names(struct catalog_writer *w, const struct addition *run, size_t count,
		     uint32_t scan)
{
	uint32_t flags = common_flags(run, count);
	int r = 0;

	if (S_ISLNK(run->change->attributes.mode))
		r = folders_put_target(w, run->id, run->change->target);
	if (r < 0)
		return r;
	if (!run->known) {
		run->change->id = count == 1 ? run->id : 0;
		return add_file(w, run, count, scan);
	}
	for (size_t n = 0; r == 0 && n < count; n++)
		r = file_add_name(w, run[n].change,
				  &(struct name_run){.file = run[n].id,
						     .flags = flags,
						     .left = (uint32_t)(count - n)});
	return r;
}

static int add_dirs_and_files(struct catalog_writer *w, struct additions *additions, uint32_t scan)
{
	const struct addition *at;
	size_t count;
	int r = 0;

	sort(additions, &by_id);
	for (size_t i = 0; r == 0 && i < additions->count; i += count) {
		at = &additions->list[i];
		count = is_file(at) ? run_length(additions, i) : 1;
		if (is_file(at))
			r = add_names(w, at, count, scan);
		else if (at->change->kind == NAME_ADD_DIR)
			r = add_dir(w, at->change);
	}
	return r;
}

static int list_sizes(struct catalog_writer *w, struct additions *additions)
{
	const struct content_record unread = {0};
	const struct addition *at = additions->list;
	uint64_t last = 0;
	int r = 0;

	if (w->totals.unlisted) /* new files are deferred */
		return 0;
	sort(additions, &by_size);
	for (size_t i = 0; r == 0 && i < additions->count; i++) {
		if (!is_file(&at[i]) || at[i].known || at[i].id == last)
			continue;
		last = at[i].id;
		if (S_ISREG(at[i].change->attributes.mode))
			r = file_list_size(w, last, at[i].change->attributes.size, &unread);
	}
	return r;
}

/* A directory that is new in this batch. */
struct new_dir {
	uint64_t id;
	bool missing; /* its parent is missing, so it is not added */
};

static int compare_new_dirs(const void *a, const void *b)
{
	const struct new_dir *x = a, *y = b;

	return numbers_compare(x->id, y->id);
}

static struct new_dir *list_new_dirs(const struct additions *additions, size_t *count)
{
	struct new_dir *list = calloc(additions->count + 1, sizeof(*list));

	*count = 0;
	for (size_t i = 0; list && i < additions->count; i++) {
		if (additions->list[i].change->kind == NAME_ADD_DIR)
			list[(*count)++].id = additions->list[i].change->id;
	}
	if (list)
		qsort(list, *count, sizeof(*list), compare_new_dirs);
	return list;
}

static int dir_is_missing(struct catalog_writer *w, uint64_t id, const struct new_dir *new_dirs,
			  size_t count, bool *missing)
{
	const struct new_dir key = {.id = id}, *found;
	struct dir_record dir;
	int r;

	found = bsearch(&key, new_dirs, count, sizeof(key), compare_new_dirs);
	*missing = found && found->missing;
	if (found)
		return 0;
	r = catalog_get_dir(&w->store.reader, id, &dir);
	*missing = r == -ENOENT;
	return *missing ? 0 : r;
}

/* Removes additions whose directory is missing. The list is sorted by entry, and a new directory
 * has a greater id than its parent. */
static int drop_without_parent(struct catalog_writer *w, struct additions *additions)
{
	size_t new_count, left = 0;
	AUTO_FREE struct new_dir *new_dirs = list_new_dirs(additions, &new_count);
	struct new_dir key, *found;
	uint64_t dir = 0;
	bool missing = true;
	int r = new_dirs ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < additions->count; i++) {
		const struct name_change *change = additions->list[i].change;

		if (change->dir != dir)
			r = dir_is_missing(w, change->dir, new_dirs, new_count, &missing);
		dir = change->dir;
		key.id = change->id;
		found = NULL;
		if (missing && change->kind == NAME_ADD_DIR)
			found = bsearch(&key, new_dirs, new_count, sizeof(key), compare_new_dirs);
		if (found)
			found->missing = true;
		if (!missing)
			additions->list[left++] = additions->list[i];
	}
	additions->count = left;
	return r;
}

static int add_all(struct catalog_writer *w, struct additions *additions, uint32_t scan)
{
	int r;

	for (size_t i = 0; i < additions->count; i++) {
		struct name_change *change = additions->list[i].change;

		change->cookie = catalog_name_cookie(&w->store.reader, change->name);
	}
	sort(additions, &by_entry);
	r = drop_without_parent(w, additions);
	if (r == 0)
		r = identify_files(w, additions);
	sort(additions, &by_entry);
	for (size_t i = 0; r == 0 && i < additions->count; i++)
		r = add_entry(w, &additions->list[i]);
	if (r == 0)
		r = add_dirs_and_files(w, additions, scan);
	return r < 0 ? r : list_sizes(w, additions);
}

/* ---- updates ------------------------------------------------------------------------- */

/* Records what the listing of a directory found. The caller writes the record. */
static int set_findings(struct catalog_writer *w, struct dir_record *dir,
			const struct name_change *change)
{
	int r = 0;

	if (dir->flags != change->flags || dir->error != change->error)
		r = folders_note_dir(w, dir->id);
	if (((dir->flags ^ change->flags) & DIR_PLACE) && w->totals.groups > 0)
		groups_choose_again(w, false);
	dir->flags = change->flags;
	dir->error = change->error;
	return r < 0 ? r : catalog_note_dir(w, dir);
}

static int update_dir(struct catalog_writer *w, const struct name_change *change)
{
	char name[NAME_BYTES_MAX];
	struct dir_record dir;
	int r = catalog_get_dir(&w->store.reader, change->id, &dir);

	if (r < 0)
		return r == -ENOENT ? 0 : r; /* the directory was removed meanwhile */
	memcpy(name, dir.name.bytes, dir.name.length);
	dir.name.bytes = name;
	if (change->kind != NAME_FAIL_DIR)
		dir.attributes = change->attributes;
	if (change->kind != NAME_TOUCH_DIR)
		r = set_findings(w, &dir, change);
	if (r == 0)
		r = store_put(&w->store, TABLE_DIR, key_number(change->id), encode_dir(&dir));
	if (r == 0)
		r = redundant_note_listing(w, dir.id, false);
	return r < 0 ? r : delta_add(w, DELTA_DIRS, &(struct delta_dir){.dir = dir.id});
}

static int update_file(struct catalog_writer *w, const struct name_change *change)
{
	struct file_record file;
	int r = file_update(w, change);

	if (r < 0 || !S_ISLNK(change->attributes.mode))
		return r;
	r = catalog_get_file_name(&w->store.reader, change->id, &file);
	if (r < 0)
		return r == -ENOENT ? 0 : r; /* the file was removed meanwhile */
	return folders_put_target(w, change->id, change->target);
}

/* ---- the order of changes ------------------------------------------------------------ */

static bool is_dir_update(const struct name_change *change)
{
	return change->kind == NAME_UPDATE_DIR || change->kind == NAME_TOUCH_DIR ||
	       change->kind == NAME_FAIL_DIR;
}

static bool is_addition(const struct name_change *change)
{
	return change->kind == NAME_ADD_DIR || change->kind == NAME_ADD_FILE ||
	       change->kind == NAME_ADD_UNKNOWN;
}

static int detach_and_remove(struct change_batch *batch)
{
	const struct name_change *changes = batch->changes;
	struct catalog_writer *w = batch->w;
	int r = moves_detach(w, changes, batch->count, &batch->moves);

	for (size_t i = 0; r == 0 && i < batch->count; i++) {
		if (changes[i].kind == NAME_REMOVE)
			r = tree_remove_name(w, changes[i].dir, changes[i].cookie, changes[i].id);
	}
	return r;
}

static int add_some(struct change_batch *batch, bool dirs, bool others)
{
	struct additions *additions = &batch->additions;

	additions->count = 0;
	for (size_t i = 0; i < batch->count; i++) {
		struct name_change *change = &batch->changes[i];

		if (is_addition(change) && (change->kind == NAME_ADD_DIR ? dirs : others))
			additions->list[additions->count++] =
				(struct addition){.change = change,
						  .id = change->kind == NAME_ADD_DIR ? change->id
										     : 0};
	}
	return additions->count ? add_all(batch->w, additions, batch->scan) : 0;
}

/* Adds new directories first, as the new parent of a moved directory can be a new directory. */
static int move_and_add(struct change_batch *batch)
{
	int r;

	if (batch->moves.count == 0)
		return add_some(batch, true, true);
	r = add_some(batch, true, false);
	if (r == 0)
		r = moves_attach(batch->w, &batch->moves);
	return r < 0 ? r : add_some(batch, false, true);
}

int catalog_apply(struct catalog_writer *w, struct name_change *changes, size_t count,
		  uint32_t scan)
{
	struct change_batch batch = {.w = w, .changes = changes, .count = count, .scan = scan};
	int r = 0;

	batch.additions.list = calloc(count ? count : 1, sizeof(*batch.additions.list));
	if (!batch.additions.list)
		r = -ENOMEM;
	if (r == 0)
		r = detach_and_remove(&batch);
	if (r == 0)
		r = move_and_add(&batch);
	free(batch.additions.list);
	moves_free(&batch.moves);
	for (size_t i = 0; r == 0 && i < count; i++) {
		if (is_dir_update(&changes[i]))
			r = update_dir(w, &changes[i]);
		else if (changes[i].kind == NAME_UPDATE_FILE)
			r = update_file(w, &changes[i]);
	}
	return r;
}
