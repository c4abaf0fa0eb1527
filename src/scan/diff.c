/* SPDX-License-Identifier: MIT */
#include "scan/diff.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/filesystem.h"
#include "base/sort.h"
#include "index/paths.h"
#include "index/query.h"
#include "index/scan.h"
#include "index/scan_settings.h"
#include "index/source.h"

/* A name that the index has in the directory. */
struct known_name {
	struct name name;
	uint64_t first; /* catalog_name_cookie() of the name */
	uint64_t cookie;
	uint64_t child;
	enum entry_kind kind;
};

void diff_free(struct diff *diff)
{
	free(diff->changes);
	free(diff->dirs);
	free(diff->known);
	file_window_free(&diff->files);
	arena_free(&diff->targets);
	*diff = (struct diff){0};
}

int diff_add(struct diff *diff, const struct name_change *change)
{
	int r = array_reserve(&diff->changes, &diff->capacity, diff->count + 1,
			      sizeof(*diff->changes));

	if (r == 0)
		diff->changes[diff->count++] = *change;
	return r;
}

static int add_found_dir(struct diff *diff, const struct found_dir *dir)
{
	int r = array_reserve(&diff->dirs, &diff->dir_capacity, diff->dir_count + 1,
			      sizeof(*diff->dirs));

	if (r == 0)
		diff->dirs[diff->dir_count++] = *dir;
	return r;
}

/* ---- one name ------------------------------------------------------------------------ */

static bool is_not_entered(const struct diff_dir *dir, const struct listed *listed)
{
	return !dir->enters_mounts &&
	       (listed->mount_root || listed->attributes.filesystem != dir->filesystem);
}

/* Requests a walk if the listed directory is a bind mount: a mount of the same file system. The
 * inode has only one inotify watch, which possibly belongs to the other path. */
static void note_bind_mount(const struct diff_dir *dir, const struct listed *listed)
{
	if (dir->ingest->hooks && listed->mount_root &&
	    listed->attributes.filesystem == dir->filesystem)
		dir->ingest->hooks->needs_walk(dir->ingest->hooks->context, dir->source,
					       WALK_FOR_MOUNT);
}

static void note_not_entered(struct diff *diff, const struct diff_dir *dir,
			     const struct listed *listed)
{
	diff->not_entered++;
	if (dir->ingest->hooks)
		dir->ingest->hooks->not_entered(dir->ingest->hooks->context, dir->id, listed->name);
}

static uint32_t file_flags(const struct listed *listed)
{
	return (listed->keeps_bytes ? FILE_SAME_BYTES : 0) |
	       (name_events_are_rename(listed->events) ? FILE_MOVED : 0);
}

/* Returns true if files in the directory were possibly written without an event or a new time. A
 * recheck of single names is the result of events, so the answer is false. So it is if the walk
 * repeats a scan, which compared contents a moment ago. */
static bool may_have_hidden_stores(const struct diff_dir *dir)
{
	return dir->recheck->scope != RECHECK_NAMES && !dir->ingest->settings->repeats &&
	       filesystem_may_hide_stores(dir->filesystem_type);
}

/* Returns true if the file was possibly written while its signature stayed the same, because ctime
 * is absent. The events of a name exclude that, unless the file was elsewhere meanwhile. */
static bool may_be_rewritten(const struct diff *diff, const struct diff_dir *dir,
			     const struct listed *listed)
{
	if (!diff->lacks_ctime || !S_ISREG(listed->attributes.mode))
		return false;
	if (dir->recheck->scope == RECHECK_NAMES)
		return listed->events & (EVENTS_ARRIVED | EVENT_REPLACED) &&
		       !name_events_are_rename(listed->events);
	return !dir->ingest->settings->repeats && !dir->ingest->trusts_signatures;
}

/* Sets *is to whether the index has the directory with this id and it is the listed directory.
 * Returns 0 or -errno. */
static int is_in_index(const struct diff_dir *dir, uint64_t id, const struct listed *listed,
		       bool *is)
{
	struct dir_record record;
	int r = catalog_get_dir(dir->reader, id, &record);

	*is = r == 0 && record.parent != 0 && record.source == dir->source &&
	      attributes_same_inode(&record.attributes, &listed->attributes);
	return r == -ENOENT ? 0 : r;
}

/* Outcome: the name now refers to another inode. */
enum {
	NAME_SWAPPED = 1
};

/* Finds the id of a directory that the index does not have under this name. If the directory was
 * moved here, sets *id to its old id, and *moved. If not, *id stays a new id. Returns 0,
 * NAME_SWAPPED or -errno. */
static int identify(const struct diff_dir *dir, const struct listed *listed, uint64_t *id,
		    bool *moved)
{
	const struct ingest_hooks *hooks = dir->ingest->hooks;
	struct attributes now;
	uint64_t known;
	AUTO_CLOSE int fd = -1;
	int r;

	if (!hooks || dir->recheck->scope == RECHECK_TREE || listed->mount_root)
		return 0;
	fd = open_beneath(dir->fd, listed->name.bytes, O_PATH | O_DIRECTORY, dir->enters_mounts);
	if (fd < 0 || source_attributes(dir->ingest->catalog, fd, &now) < 0 ||
	    !attributes_same_inode(&now, &listed->attributes))
		return NAME_SWAPPED;
	known = hooks->identify(hooks->context, dir->source, fd, *id);
	if (known == *id)
		return 0;
	r = is_in_index(dir, known, listed, moved);
	if (r == 0 && *moved)
		*id = known;
	else if (r == 0) /* the old record was deleted meanwhile */
		hooks->enter(hooks->context, dir->source, fd, *id);
	return r;
}

static int add_dir(struct diff *diff, const struct diff_dir *dir, const struct listed *listed,
		   struct name_change *change)
{
	struct found_dir found = {.name = listed->name, .attributes = &listed->attributes};
	bool moved = false, entered = !is_not_entered(dir, listed);
	int r = 0;

	change->id = catalog_new_id(dir->ingest->catalog);
	if (!change->id)
		return -errno;
	change->kind = NAME_ADD_DIR;
	if (!entered)
		change->flags = DIR_NOT_ENTERED;
	else if (dir->marks_new_dirs)
		change->flags = DIR_PARTIAL;
	if (!entered)
		note_not_entered(diff, dir, listed);
	else
		note_bind_mount(dir, listed);
	if (entered)
		r = identify(dir, listed, &change->id, &moved);
	if (r == NAME_SWAPPED) {
		dir->ingest->hooks->retry(dir->ingest->hooks->context, dir->recheck);
		return 0;
	}
	if (moved)
		change->kind = NAME_MOVE_DIR;
	if (moved && dir->by_path)
		dir->ingest->hooks->add_recheck(dir->ingest->hooks->context,
						&(struct recheck){.dir = change->id,
								  .scope = RECHECK_TREE});
	if (r == 0)
		r = diff_add(diff, change);
	found.id = change->id;
	return r < 0 || moved || !entered ? r : add_found_dir(diff, &found);
}

/* Returns true if the file is possibly another one than that which the index knows by this inode
 * number and another name. FUSE file systems without birth times can number inodes in the order in
 * which programs look them up, so two files of equal size and times exchange their numbers at the
 * next mount. A recheck of single names is the result of events in one mount. */
static bool is_possibly_another(const struct diff_dir *dir, const struct attributes *attributes)
{
	static const struct timespec unknown;

	return dir->recheck->scope != RECHECK_NAMES && clock_equal(attributes->btime, unknown);
}

/* Reads the target of a symlink for a change of it. The target stays unknown if it cannot be read,
 * if it is too long, or if the name refers to another inode now. */
static int read_target(struct diff *diff, const struct diff_dir *dir, const struct listed *listed,
		       struct name_change *change)
{
	char target[TARGET_BYTES_MAX + 1];
	struct attributes now;
	ssize_t length;

	if (!S_ISLNK(listed->attributes.mode))
		return 0;
	length = readlinkat(dir->fd, listed->name.bytes, target, sizeof(target));
	if (length <= 0 || length > TARGET_BYTES_MAX ||
	    source_attributes_at(dir->ingest->catalog, dir->fd, listed->name.bytes, 0, &now) < 0 ||
	    !attributes_same_inode(&now, &listed->attributes))
		return 0;
	change->target =
		(struct name){arena_copy(&diff->targets, target, (size_t)length), (uint32_t)length};
	return change->target.bytes ? 0 : -ENOMEM;
}

static int add_name(struct diff *diff, const struct diff_dir *dir, const struct listed *listed)
{
	struct name_change change = {.source = dir->source,
				     .dir = dir->id,
				     .name = listed->name,
				     .attributes = listed->attributes};
	int r;

	if (listed->error) {
		change.kind = NAME_ADD_UNKNOWN;
		change.error = listed->error;
		return diff_add(diff, &change);
	}
	if (S_ISDIR(listed->attributes.mode))
		return add_dir(diff, dir, listed, &change);
	change.kind = NAME_ADD_FILE;
	change.context = listed->mark;
	change.flags = file_flags(listed);
	if (may_have_hidden_stores(dir) || may_be_rewritten(diff, dir, listed) ||
	    is_possibly_another(dir, &listed->attributes))
		change.flags |= FILE_UNTRUSTED;
	r = read_target(diff, dir, listed, &change);
	return r < 0 ? r : diff_add(diff, &change);
}

/* Returns whether a name that is gone stays in the index, until the poll has passed the folders to
 * which it was possibly moved. */
static bool is_held(const struct diff_dir *dir, const struct known_name *known)
{
	const struct ingest_hooks *hooks = dir->ingest->hooks;

	return dir->recheck->scope == RECHECK_POLL && known->kind != ENTRY_UNKNOWN &&
	       hooks->holds_gone(hooks->context, dir->id,
				 known->kind == ENTRY_DIR ? known->child : 0);
}

static int remove_name(struct diff *diff, const struct diff_dir *dir,
		       const struct known_name *known)
{
	struct name_change change = {.kind = NAME_REMOVE,
				     .dir = dir->id,
				     .cookie = known->cookie,
				     .id = known->kind == ENTRY_UNKNOWN ? 0 : known->child};

	return diff_add(diff, &change);
}

/* Removes a name that is not listed, unless it is held. */
static int drop_name(struct diff *diff, const struct diff_dir *dir, const struct known_name *known)
{
	return is_held(dir, known) ? 0 : remove_name(diff, dir, known);
}

static int replace_name(struct diff *diff, const struct diff_dir *dir,
			const struct known_name *known, const struct listed *listed)
{
	int r;

	if (is_held(dir, known))
		return 0;
	r = remove_name(diff, dir, known);
	return r < 0 ? r : add_name(diff, dir, listed);
}

/* Updates only the attributes of a subdirectory that is not listed. Another thread possibly lists
 * it at the same time, so the flags and the error of the record are possibly old. */
static int update_subdir(struct diff *diff, const struct dir_record *record,
			 const struct listed *listed)
{
	if (attributes_equal(&record->attributes, &listed->attributes))
		return 0;
	return diff_add(diff, &(struct name_change){.kind = NAME_TOUCH_DIR,
						    .id = record->id,
						    .attributes = listed->attributes});
}

/* Updates a directory that is not entered, also if the index of an older version does not list it
 * as one (index/scan_settings.h). */
static int update_left_out(struct diff *diff, const struct diff_dir *dir,
			   const struct dir_record *record, const struct listed *listed)
{
	CLEANUP_LEFT_OUT struct left_out list = {0};
	int r = catalog_get_left_out(dir->reader, &list);

	if (r < 0 || left_out_has(&list, record->id))
		return r < 0 ? r : update_subdir(diff, record, listed);
	return diff_add(diff, &(struct name_change){.kind = NAME_UPDATE_DIR,
						    .id = record->id,
						    .flags = record->flags,
						    .error = record->error,
						    .attributes = listed->attributes});
}

static int compare_subdir(struct diff *diff, const struct diff_dir *dir,
			  const struct known_name *known, const struct listed *listed)
{
	struct found_dir found = {.name = listed->name,
				  .attributes = &listed->attributes,
				  .id = known->child,
				  .known = true};
	uint32_t not_entered = is_not_entered(dir, listed) ? DIR_NOT_ENTERED : 0;
	struct dir_record record;
	int r = catalog_get_dir(dir->reader, known->child, &record);

	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	/* The known names below are void if the inode is another one, or if it was entered before
	 * and is not entered now, or the reverse. */
	if (!attributes_same_inode(&record.attributes, &listed->attributes) ||
	    (record.flags & DIR_NOT_ENTERED) != not_entered)
		return replace_name(diff, dir, known, listed);
	if (not_entered) {
		note_not_entered(diff, dir, listed);
		return update_left_out(diff, dir, &record, listed);
	}
	note_bind_mount(dir, listed);
	found.recorded = !record.error && !record.flags &&
			 attributes_equal(&record.attributes, &listed->attributes);
	if (dir->recheck->scope == RECHECK_TREE)
		return add_found_dir(diff, &found);
	if (listed->events & EVENT_ATTRIBUTES)
		dir->ingest->hooks->add_recheck(dir->ingest->hooks->context,
						&(struct recheck){.dir = known->child,
								  .scope = RECHECK_LISTING});
	return update_subdir(diff, &record, listed);
}

/* Adds an update of the file that the index has under this name. If the name was removed and
 * created again, the file possibly changed in between without an event. */
static int update_file(struct diff *diff, const struct diff_dir *dir, uint64_t id,
		       const struct listed *listed, bool untrusted)
{
	struct name_change change = {.kind = NAME_UPDATE_FILE,
				     .id = id,
				     .attributes = listed->attributes};
	int r = read_target(diff, dir, listed, &change);

	change.flags = (listed->events & EVENT_CREATED ? 0 : file_flags(listed)) |
		       (untrusted ? FILE_UNTRUSTED : 0);
	return r < 0 ? r : diff_add(diff, &change);
}

/* Sets *is to whether the file was possibly changed by a write that left no event and no new time.
 * Files in no group can have no hidden stores. Returns 0 or -errno. */
static int is_untrusted(const struct diff *diff, const struct diff_dir *dir,
			const struct listed *listed, uint64_t id, bool *is)
{
	struct content_record content;
	AUTO_CLOSE int fd = -1;
	int r;

	*is = may_be_rewritten(diff, dir, listed);
	if (*is || !S_ISREG(listed->attributes.mode) || !may_have_hidden_stores(dir))
		return 0;
	r = catalog_get_content(dir->reader, id, &content);
	if (r < 0 || !content.group)
		return r == -ENOENT ? 0 : r;
	fd = open_beneath_for_reading(dir->fd, listed->name.bytes, 0, dir->enters_mounts);
	*is = fd < 0 || filesystem_hides_stores_at(fd);
	return 0;
}

/* Sets *is to whether a symlink with the recorded attributes has another target. A symlink that is
 * deleted and created again within one tick of the clock can get the same inode number and times.
 * Only events say so, thus walks and polls do not search such symlinks. */
static int has_other_target(struct diff *diff, const struct diff_dir *dir,
			    const struct listed *listed, uint64_t id, bool *is)
{
	struct name_change now = {0};
	struct name known = {0};
	int r;

	*is = false;
	if (!S_ISLNK(listed->attributes.mode) || dir->recheck->scope == RECHECK_TREE ||
	    dir->recheck->scope == RECHECK_POLL)
		return 0;
	r = read_target(diff, dir, listed, &now);
	if (r == 0)
		r = catalog_get_target(dir->reader, id, &known);
	if (r < 0 && r != -ENOENT)
		return r;
	*is = known.length != now.target.length ||
	      (known.length > 0 && !names_equal(known, now.target));
	return 0;
}

/* Compares a name that is both listed and in the index. */
static int compare_name(struct diff *diff, const struct diff_dir *dir,
			const struct known_name *known, const struct listed *listed)
{
	bool is_dir = !listed->error && S_ISDIR(listed->attributes.mode);
	bool untrusted, retargeted = false;
	struct file_record file;
	int r;

	if (known->kind == ENTRY_UNKNOWN && listed->error &&
	    known->child == (uint64_t)listed->error)
		return 0;
	if (known->kind == ENTRY_DIR && is_dir)
		return compare_subdir(diff, dir, known, listed);
	if (known->kind != ENTRY_FILE || is_dir || listed->error)
		return replace_name(diff, dir, known, listed);
	r = file_window_get(&diff->files, dir->reader, known->child, &file);
	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	if (!attributes_same_inode(&file.attributes, &listed->attributes))
		return replace_name(diff, dir, known, listed);
	r = is_untrusted(diff, dir, listed, known->child, &untrusted);
	if (r == 0)
		r = has_other_target(diff, dir, listed, known->child, &retargeted);
	if (r < 0)
		return r;
	if (attributes_equal(&file.attributes, &listed->attributes) && !untrusted && !retargeted)
		return 0;
	return update_file(diff, dir, known->child, listed, untrusted);
}

/* ---- the directory ------------------------------------------------------------------- */

/* Orders names by cookie. This is the order of the index, and cookies are faster to sort than
 * names. */
static int compare_names(uint64_t first, struct name a, uint64_t other_first, struct name b)
{
	uint32_t common = a.length < b.length ? a.length : b.length;
	int order = numbers_compare(first, other_first);

	if (order == 0)
		order = memcmp(a.bytes, b.bytes, common);
	return order ? order : numbers_compare(a.length, b.length);
}

static int by_cookie(const void *a, const void *b)
{
	const struct listed *x = *(struct listed *const *)a, *y = *(struct listed *const *)b;

	return compare_names(x->cookie, x->name, y->cookie, y->name);
}

static int known_by_cookie(const void *a, const void *b)
{
	const struct known_name *x = a, *y = b;

	return compare_names(x->first, x->name, y->first, y->name);
}

static int compare_sides(const struct listed *listed, const struct known_name *known)
{
	return compare_names(listed->cookie, listed->name, known->first, known->name);
}

static void set_cookie_key(const void *record, struct sort_key *key)
{
	const struct listed *listed = *(struct listed *const *)record;

	*key = (struct sort_key){.major = listed->cookie};
}

static const struct sort_order cookie_order = {set_cookie_key, by_cookie};

static void sort_listing(const struct diff_dir *dir, struct listing *listing)
{
	for (size_t i = 0; i < listing->count; i++)
		listing->entries[i]->cookie =
			catalog_name_cookie(dir->reader, listing->entries[i]->name);
	key_sort(listing->entries, listing->count, sizeof(struct listed *), &cookie_order);
}

static int add_known(struct diff *diff, const struct diff_dir *dir,
		     const struct entry_record *entry)
{
	int r = array_reserve(&diff->known, &diff->known_capacity, diff->known_count + 1,
			      sizeof(*diff->known));

	if (r == 0)
		diff->known[diff->known_count++] =
			(struct known_name){entry->name,
					    catalog_name_cookie(dir->reader, entry->name),
					    entry->cookie, entry->child, entry->kind};
	return r;
}

/* Reads the records of the known files, if that is faster than to look up each. */
static int load_files(struct diff *diff, const struct diff_dir *dir)
{
	uint64_t first = UINT64_MAX, last = 0;
	size_t count = 0;

	for (size_t i = 0; i < diff->known_count; i++) {
		if (diff->known[i].kind != ENTRY_FILE)
			continue;
		count++;
		if (diff->known[i].child < first)
			first = diff->known[i].child;
		if (diff->known[i].child > last)
			last = diff->known[i].child;
	}
	return file_window_fill(&diff->files, dir->reader, first, last, count);
}

/* Reads all names that the index has in the directory. The names are borrowed from the snapshot. */
static int load_all_known(struct diff *diff, const struct diff_dir *dir)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct entry_record entry;
	int r = catalog_scan_entries(dir->reader, dir->id, 0, &scan);

	while (r == 0 && (r = catalog_next_entry(scan, &entry)) == 0)
		r = add_known(diff, dir, &entry);
	return r == -ENOENT ? load_files(diff, dir) : r;
}

static bool is_listed(const struct diff_dir *dir, const struct listing *listing, struct name name)
{
	const struct listed key = {.name = name, .cookie = catalog_name_cookie(dir->reader, name)};
	const struct listed *wanted = &key;

	return listing->count > 0 && bsearch(&wanted, listing->entries, listing->count,
					     sizeof(struct listed *), by_cookie);
}

/* Reads those names of the directory in the index that are rechecked. */
static int load_rechecked(struct diff *diff, const struct diff_dir *dir,
			  const struct listing *listing)
{
	const struct recheck *recheck = dir->recheck;
	struct entry_record entry;
	struct name name;
	int r = 0;

	for (size_t i = 0; r == 0 && i < recheck->count; i++) {
		name = (struct name){recheck->names[i]->name, recheck->names[i]->length};
		r = catalog_find_entry(dir->reader, dir->id, name, &entry);
		if (name_events_may_hide_link(recheck->names[i]->events, recheck->trust, r == 0,
					      is_listed(dir, listing, name)))
			dir->ingest->hooks->needs_walk(dir->ingest->hooks->context, dir->source,
						       WALK_FOR_NAME);
		if (r == 0)
			r = add_known(diff, dir, &entry);
		if (r == -ENOENT)
			r = 0;
	}
	return r;
}

/* Reads the names of the index, sorted by cookie. */
static int load_known(struct diff *diff, const struct diff_dir *dir, const struct listing *listing)
{
	int r = dir->recheck->scope == RECHECK_NAMES ? load_rechecked(diff, dir, listing)
						     : load_all_known(diff, dir);

	sort_unless_sorted(diff->known, diff->known_count, sizeof(*diff->known), known_by_cookie);
	return r;
}

static int merge(struct diff *diff, const struct diff_dir *dir, const struct listing *listing)
{
	const struct known_name *known = diff->known;
	size_t i = 0, k = 0;
	int order, r = 0;

	while (r == 0 && (i < listing->count || k < diff->known_count)) {
		if (i == listing->count)
			order = 1;
		else if (k == diff->known_count)
			order = -1;
		else
			order = compare_sides(listing->entries[i], &known[k]);
		if (order < 0)
			r = add_name(diff, dir, listing->entries[i++]);
		else if (order > 0)
			r = drop_name(diff, dir, &known[k++]);
		else
			r = compare_name(diff, dir, &known[k++], listing->entries[i++]);
	}
	return r;
}

int diff_make(struct diff *diff, const struct diff_dir *dir, struct listing *listing)
{
	int r = 0;

	diff->count = diff->dir_count = diff->known_count = diff->files.count = 0;
	arena_reset(&diff->targets);
	diff->lacks_ctime =
		catalog_lacks_ctime(dir->ingest->catalog, dir->filesystem_type, dir->filesystem);
	if (dir->known) {
		sort_listing(dir, listing);
		r = load_known(diff, dir, listing);
	}
	return r < 0 ? r : merge(diff, dir, listing);
}
