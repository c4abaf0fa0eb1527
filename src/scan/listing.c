/* SPDX-License-Identifier: MIT */
#include "scan/listing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/descriptor.h"
#include "base/filesystem.h"
#include "base/path.h"
#include "base/sort.h"
#include "index/emptied_place.h"
#include "index/operands.h"
#include "index/own.h"
#include "index/patterns.h"
#include "index/source.h"
#include "scan/early_files.h"

/* Size of the buffer for getdents64: a large directory takes few calls. */
#define BUFFER_BYTES ((size_t)64 << 10)

/* How often a directory is listed again for its names that do not exist. A name that a program
 * deletes and creates all the time can be missing several times. */
#define ROUNDS 4

void listing_free(struct listing *listing)
{
	arena_free(&listing->memory);
	free(listing->entries);
	free(listing->buffer);
	*listing = (struct listing){0};
}

void listing_clear(struct listing *listing)
{
	arena_reset(&listing->memory);
	listing->count = 0;
	listing->partial = false;
	listing->quarantined = false;
	listing->tagged = false;
}

static struct listed *add_bytes(struct listing *listing, const char *name, size_t length)
{
	struct listed *listed = arena_take(&listing->memory, sizeof(*listed));

	if (!listed || array_reserve(&listing->entries, &listing->capacity, listing->count + 1,
				     sizeof(struct listed *)) < 0)
		return NULL;
	*listed = (struct listed){
		.name = {arena_copy(&listing->memory, name, length), (uint32_t)length}};
	listing->entries[listing->count++] = listed;
	return listed->name.bytes ? listed : NULL;
}

static struct listed *add(struct listing *listing, const char *name)
{
	return add_bytes(listing, name, strlen(name));
}

/* ---- excludes -------------------------------------------------------------------------- */

bool exclude_has_paths(char *const *globs)
{
	for (char *const *glob = globs; glob && *glob; glob++) {
		if (glob_has_slash(*glob))
			return true;
	}
	return false;
}

static bool path_matches(const char *glob, const char *dir_path, const char *name)
{
	CLEANUP_BYTES struct bytes path = {0};

	if (bytes_format(&path, "%s%s%s", dir_path, *dir_path ? "/" : "", name) < 0)
		return false;
	return glob_matches(glob, bytes_text(&path));
}

enum exclusion exclude_matches(char *const *globs, const char *dir_path, const char *name,
			       size_t *which)
{
	enum exclusion found = EXCLUDE_NONE;

	for (size_t i = 0; globs && globs[i]; i++) {
		const char *glob = globs[i];
		bool folder = glob_is_for_folders(glob);

		if (folder && found == EXCLUDE_FOLDER)
			continue;
		if (!(glob_has_slash(glob) ? path_matches(glob, dir_path, name)
					   : glob_matches(glob, name)))
			continue;
		*which = i;
		if (!folder)
			return EXCLUDE_NAME;
		found = EXCLUDE_FOLDER;
	}
	return found;
}

/* Returns whether the name is a directory. type: of getdents64(2). */
static bool is_folder(const struct listed_dir *dir, const char *name, unsigned char type)
{
	struct statx status;

	if (type != DT_UNKNOWN)
		return type == DT_DIR;
	return statx(dir->fd, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC,
		     STATX_TYPE, &status) == 0 &&
	       S_ISDIR(status.stx_mode);
}

static bool is_excluded(const struct listed_dir *dir, const char *name, unsigned char type)
{
	size_t which;

	switch (exclude_matches(dir->excludes, dir->path, name, &which)) {
	case EXCLUDE_NONE:
		return false;
	case EXCLUDE_FOLDER:
		if (!is_folder(dir, name, type))
			return false;
		break;
	case EXCLUDE_NAME:
		break;
	}
	if (dir->patterns)
		patterns_mark(dir->patterns, which);
	return true;
}

/* ---- names ------------------------------------------------------------------------------ */

static int add_names(struct listing *listing, size_t length, const struct listed_dir *dir)
{
	const struct dirent64 *entry;
	struct listed *listed;

	for (size_t at = 0; at < length; at += entry->d_reclen) {
		entry = (const void *)((const char *)listing->buffer + at);
		if (is_dots(entry->d_name))
			continue;
		if (is_cache_tag(entry->d_name))
			listing->tagged = true;
		if (is_excluded(dir, entry->d_name, entry->d_type)) {
			listing->excluded++;
			listing->partial = true;
			continue;
		}
		listed = add(listing, entry->d_name);
		if (!listed)
			return -ENOMEM;
		listed->inode = entry->d_ino;
		listed->is_file = entry->d_type == DT_REG;
	}
	return 0;
}

static int by_inode(const void *a, const void *b)
{
	const struct listed *x = *(struct listed *const *)a, *y = *(struct listed *const *)b;

	return x->inode < y->inode ? -1 : x->inode > y->inode;
}

static void set_inode_key(const void *record, struct sort_key *key)
{
	const struct listed *listed = *(struct listed *const *)record;

	*key = (struct sort_key){.major = listed->inode};
}

static const struct sort_order inode_order = {set_inode_key, by_inode};

static void examine_name(struct catalog *catalog, const struct listed_dir *dir, unsigned int flags,
			 struct early_reader *early, struct listed *listed)
{
	bool reads = early && !own_is_quarantine(listed->name.bytes, listed->name.length);
	int r = reads ? early_reader_examine(early, listed)
		      : source_attributes_at(catalog, dir->fd, listed->name.bytes, flags,
					     &listed->attributes);

	listed->error = r < 0 ? -r : 0;
	listed->mount_root = r == SOURCE_MOUNT_ROOT;
	if (r >= 0 && own_is_quarantine(listed->name.bytes, listed->name.length))
		listed->error = EBUSY;
}

/* Returns flags of source_attributes_at(). */
static unsigned int flags_for(const struct listing *listing, const struct listed_dir *dir)
{
	bool remote = filesystem_kind_of(listing->filesystem_type) == FILESYSTEM_REMOTE;

	return (remote ? SOURCE_REMOTE : 0) | (dir->enters_mounts ? SOURCE_ENTERS_MOUNTS : 0);
}

/* Notes a file whose ctime is not its mtime, if only that shows whether the file system has a ctime
 * of its own. Some file systems round the two times differently. */
static void observe_ctime(const struct listing *listing, struct catalog *catalog)
{
	const struct attributes *attributes;

	if (filesystem_ctime_of(listing->filesystem_type) != CTIME_UNKNOWN ||
	    !catalog_lacks_ctime(catalog, listing->filesystem_type, listing->filesystem))
		return;
	for (size_t i = 0; i < listing->count; i++) {
		attributes = &listing->entries[i]->attributes;
		if (listing->entries[i]->error || !S_ISREG(attributes->mode) ||
		    attributes->filesystem != listing->filesystem ||
		    attributes->ctime.tv_sec == attributes->mtime.tv_sec)
			continue;
		catalog_note_ctime(catalog, listing->filesystem);
		return;
	}
}

static void examine_names(struct listing *listing, struct catalog *catalog,
			  const struct listed_dir *dir)
{
	unsigned int flags = flags_for(listing, dir);
	bool early = listing->early && dir->is_new &&
		     early_reader_enter(listing->early, dir->fd, listing->filesystem,
					listing->filesystem_type);

	key_sort(listing->entries, listing->count, sizeof(struct listed *), &inode_order);
	for (size_t i = 0; i < listing->count; i++)
		examine_name(catalog, dir, flags, early ? listing->early : NULL,
			     listing->entries[i]);
	observe_ctime(listing, catalog);
}

/* Removes the names that do not exist, except those that are listed again. */
static void drop_missing(struct listing *listing)
{
	size_t left = 0;

	for (size_t i = 0; i < listing->count; i++) {
		if (listing->entries[i]->error != ENOENT || listing->entries[i]->listed_again)
			listing->entries[left++] = listing->entries[i];
	}
	listing->count = left;
}

static int by_name(const void *a, const void *b)
{
	const struct listed *x = *(struct listed *const *)a, *y = *(struct listed *const *)b;

	return strcmp(x->name.bytes, y->name.bytes);
}

/* Removes names that occur twice: getdents64 can return a name twice if the name is replaced
 * between two calls. */
static void drop_repeated(struct listing *listing)
{
	struct listed **entries = listing->entries;
	size_t left = 0;

	if (listing->count > 1)
		qsort(entries, listing->count, sizeof(struct listed *), by_name);
	for (size_t i = 0; i < listing->count; i++) {
		if (left == 0 || by_name(&entries[left - 1], &entries[i]) != 0)
			entries[left++] = entries[i];
	}
	listing->count = left;
}

/* All directories of a file system have its type, so one call is enough. */
static void find_type(struct listing *listing, const struct listed_dir *dir)
{
	if (dir->filesystem && dir->filesystem == listing->filesystem)
		return;
	listing->filesystem_type = filesystem_type_at(dir->fd);
	listing->filesystem = dir->filesystem;
}

static int mark_listed(struct listing *listing, size_t length, const struct listed_dir *dir)
{
	const struct dirent64 *entry;
	struct listed key, *wanted = &key, **found;

	(void)dir;
	for (size_t at = 0; at < length; at += entry->d_reclen) {
		entry = (const void *)((const char *)listing->buffer + at);
		key.name.bytes = entry->d_name;
		found = bsearch(&wanted, listing->entries, listing->count, sizeof(*found), by_name);
		if (found)
			(*found)->listed_again = true;
	}
	return 0;
}

/* Passes the entries of the directory to a function, in portions of listing->buffer. Returns the
 * number of portions, or -errno. */
static int read_entries(struct listing *listing, const struct listed_dir *dir,
			int (*pass)(struct listing *, size_t, const struct listed_dir *))
{
	int portions = 0, r = 0;
	ssize_t length;

	while (r == 0 && (length = getdents64(dir->fd, listing->buffer, BUFFER_BYTES)) != 0) {
		r = length < 0 ? -errno : pass(listing, (size_t)length, dir);
		portions++;
	}
	return r < 0 ? r : portions;
}

/* Lists the directory again. Names that do not exist and are not listed any more were deleted. */
static int list_again(struct listing *listing, struct catalog *catalog,
		      const struct listed_dir *dir)
{
	unsigned int flags = flags_for(listing, dir);
	struct listed *listed;
	int r;

	for (size_t i = 0; i < listing->count; i++)
		listing->entries[i]->listed_again = false;
	qsort(listing->entries, listing->count, sizeof(struct listed *), by_name);
	r = lseek(dir->fd, 0, SEEK_SET) < 0 ? -errno : read_entries(listing, dir, mark_listed);
	drop_missing(listing);
	for (size_t i = 0; i < listing->count; i++) {
		listed = listing->entries[i];
		if (listed->error == ENOENT)
			examine_name(catalog, dir, flags, NULL, listed);
	}
	return r;
}

static bool has_missing(const struct listing *listing)
{
	for (size_t i = 0; i < listing->count; i++) {
		if (listing->entries[i]->error == ENOENT)
			return true;
	}
	return false;
}

int listing_read(struct listing *listing, struct catalog *catalog, const struct listed_dir *dir)
{
	int r;

	listing_clear(listing);
	find_type(listing, dir);
	if (!listing->buffer)
		listing->buffer = malloc(BUFFER_BYTES);
	if (!listing->buffer)
		return -ENOMEM;
	r = read_entries(listing, dir, add_names);
	if (r > 1)
		drop_repeated(listing);
	if (r >= 0)
		examine_names(listing, catalog, dir);
	for (int i = 0; r >= 0 && i < ROUNDS && has_missing(listing); i++)
		r = list_again(listing, catalog, dir);
	return r < 0 ? r : 0;
}

/* Returns false if the directory certainly has no such name. */
static bool may_exist(const struct listed_dir *dir, const char *name)
{
	struct stat status;

	return fstatat(dir->fd, name, &status, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) == 0 ||
	       errno != ENOENT;
}

static void drop_quarantined(struct listing *listing)
{
	size_t left = 0;

	for (size_t i = 0; i < listing->count; i++) {
		const struct name *name = &listing->entries[i]->name;

		if (own_is_quarantine(name->bytes, name->length))
			listing->quarantined = listing->partial = true;
		else
			listing->entries[left++] = listing->entries[i];
	}
	listing->count = left;
}

int listing_recheck(struct listing *listing, struct catalog *catalog, const struct listed_dir *dir,
		    const struct recheck *recheck)
{
	const struct name_events *name;
	struct listed *listed;
	bool reliable;

	listing_clear(listing);
	find_type(listing, dir);
	/* On some file systems a store through a mapping changes no time, so only the close event
	 * reports the store. That event can have the name of a hard link that was removed since. So
	 * on such file systems a rename alone never explains a changed ctime. */
	reliable =
		dir->reports_writes && filesystem_keeps(listing->filesystem_type, PROMISE_STORES);
	for (size_t i = 0; i < recheck->count; i++) {
		name = recheck->names[i];
		listing->tagged |= is_cache_tag(name->name);
		if (is_excluded(dir, name->name, DT_UNKNOWN)) {
			listing->partial |= may_exist(dir, name->name);
			continue;
		}
		listed = add(listing, name->name);
		if (!listed)
			return -ENOMEM;
		listed->events = name->events;
		listed->keeps_bytes =
			reliable && name_events_keep_bytes(name->events, recheck->trust);
	}
	examine_names(listing, catalog, dir);
	drop_missing(listing);
	drop_quarantined(listing);
	return 0;
}

/* Leaves out operands that were files and are none now, and folders that are none. */
static void drop_replaced(struct listing *listing)
{
	size_t left = 0;

	for (size_t i = 0; i < listing->count; i++) {
		struct listed *listed = listing->entries[i];
		uint32_t mode = listed->attributes.mode;

		if (listed->error || (listed->is_file ? S_ISREG(mode) : S_ISDIR(mode)))
			listing->entries[left++] = listed;
	}
	listing->count = left;
}

int listing_read_operands(struct listing *listing, struct catalog *catalog,
			  const struct listed_dir *dir, const struct operands *operands,
			  struct operand_range range)
{
	struct operand_name name;
	struct listed *listed;

	listing_clear(listing);
	find_type(listing, dir);
	listing->partial = true;
	while (operands_next_name(operands, &range, &name)) {
		listed = add_bytes(listing, name.bytes, name.length);
		if (!listed)
			return -ENOMEM;
		listed->is_file = name.is_file;
		if (is_excluded(dir, listed->name.bytes, name.is_file ? DT_REG : DT_DIR)) {
			listing->excluded++;
			listing->count--;
		}
	}
	examine_names(listing, catalog, dir);
	drop_replaced(listing);
	return 0;
}

/* ---- what is twinfs's own ---------------------------------------------------------------- */

/* What has to be found out about a directory at most once. */
struct own_dir {
	const struct own *own;
	int fd;
	int is_live; /* own_is_marked(); -1: not found out yet */
};

static bool is_own_file(struct own_dir *dir, const struct name *name)
{
	if (!own_is_file_name(name->bytes, name->length))
		return false;
	if (dir->is_live < 0)
		dir->is_live = own_is_marked(dir->fd);
	return dir->is_live;
}

/* Only a directory, a hard link and a mount point can be found outside of the folders of twinfs. */
static bool is_own(struct own_dir *dir, const struct listed *listed)
{
	const struct attributes *attributes = &listed->attributes;

	if (listed->error)
		return is_own_file(dir, &listed->name);
	if ((S_ISDIR(attributes->mode) || attributes->links > 1 || listed->mount_root) &&
	    own_has(dir->own, attributes))
		return true;
	if (S_ISDIR(attributes->mode))
		return own_is_staging(dir->fd, listed->name.bytes, listed->name.bytes);
	return is_own_file(dir, &listed->name);
}

void listing_hide(struct listing *listing, const struct own *own, int dir, const char *name,
		  const struct attributes *attributes)
{
	struct own_dir own_dir = {.own = own, .fd = dir, .is_live = -1};
	const char *slash = strrchr(name, '/');
	size_t left = 0;

	if (dir < 0)
		return;
	/* an earlier version indexed it, or it is one since it was indexed */
	if (own_has(own, attributes) || own_is_staging(dir, slash ? slash + 1 : name, ".")) {
		listing_clear(listing);
		listing->partial = true;
	}
	for (size_t i = 0; i < listing->count; i++) {
		if (is_own(&own_dir, listing->entries[i]))
			listing->partial = true;
		else
			listing->entries[left++] = listing->entries[i];
	}
	listing->count = left;
}
