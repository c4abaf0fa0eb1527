/* SPDX-License-Identifier: MIT */
#include "ingest/listing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/descriptor.h"
#include "base/filesystem_kind.h"
#include "base/key_sort.h"
#include "ingest/early_reader.h"
#include "ingest/exclude.h"
#include "source/patterns.h"

/* Size of the buffer for getdents64: a large directory takes few calls. */
#define BUFFER_BYTES ((size_t)64 << 10)

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
}

static struct listed *add(struct listing *listing, const char *name)
{
	struct listed *listed = arena_take(&listing->memory, sizeof(*listed));
	size_t length = strlen(name);

	if (!listed || array_reserve(&listing->entries, &listing->capacity, listing->count + 1,
				     sizeof(struct listed *)) < 0)
		return NULL;
	*listed = (struct listed){
		.name = {arena_copy(&listing->memory, name, length), (uint32_t)length}};
	listing->entries[listing->count++] = listed;
	return listed->name.bytes ? listed : NULL;
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

static int add_names(struct listing *listing, size_t length, const struct listed_dir *dir)
{
	const struct dirent64 *entry;
	struct listed *listed;

	for (size_t at = 0; at < length; at += entry->d_reclen) {
		entry = (const void *)((const char *)listing->buffer + at);
		if (is_dots(entry->d_name))
			continue;
		if (is_excluded(dir, entry->d_name, entry->d_type)) {
			listing->excluded++;
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

static void examine_names(struct listing *listing, struct catalog *catalog,
			  const struct listed_dir *dir)
{
	bool remote = filesystem_kind_of(listing->filesystem_type) == FILESYSTEM_REMOTE;
	bool early = listing->early && dir->is_new &&
		     early_reader_enter(listing->early, dir->fd, listing->filesystem,
					listing->filesystem_type);
	struct listed *listed;
	size_t found = 0;
	int r;

	key_sort(listing->entries, listing->count, sizeof(struct listed *), &inode_order);
	for (size_t i = 0; i < listing->count; i++) {
		listed = listing->entries[i];
		r = early ? early_reader_examine(listing->early, listed)
			  : source_attributes_at(catalog, dir->fd, listed->name.bytes, remote,
						 &listed->attributes);
		listed->error = r < 0 ? -r : 0;
		listed->mount_root = r == SOURCE_MOUNT_ROOT;
		if (listed->error != ENOENT)
			listing->entries[found++] = listed;
	}
	listing->count = found;
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

int listing_read(struct listing *listing, struct catalog *catalog, const struct listed_dir *dir)
{
	unsigned int calls = 0;
	ssize_t length;
	int r = 0;

	listing_clear(listing);
	find_type(listing, dir);
	if (!listing->buffer)
		listing->buffer = malloc(BUFFER_BYTES);
	if (!listing->buffer)
		return -ENOMEM;
	do {
		length = getdents64(dir->fd, listing->buffer, BUFFER_BYTES);
		if (length < 0)
			r = -errno;
		else
			r = add_names(listing, (size_t)length, dir);
		calls++;
	} while (r == 0 && length > 0);
	if (r == 0 && calls > 2) /* the last call returned no name */
		drop_repeated(listing);
	if (r == 0)
		examine_names(listing, catalog, dir);
	return r;
}

int listing_recheck(struct listing *listing, struct catalog *catalog, const struct listed_dir *dir,
		    const struct recheck *recheck)
{
	const struct name_events *name;
	struct listed *listed;
	bool reliable_times;

	listing_clear(listing);
	find_type(listing, dir);
	/* On some file systems a store through a mapping changes no time, so only the close event
	 * reports the store. That event can have the name of a hard link that was removed since. So
	 * on such file systems a rename alone never explains a changed ctime. */
	reliable_times = filesystem_times_are_reliable(listing->filesystem_type);
	for (size_t i = 0; i < recheck->count; i++) {
		name = recheck->names[i];
		if (is_excluded(dir, name->name, DT_UNKNOWN))
			continue;
		listed = add(listing, name->name);
		if (!listed)
			return -ENOMEM;
		listed->events = name->events;
		listed->keeps_bytes =
			reliable_times && name_events_keep_bytes(name->events, recheck->trust);
	}
	examine_names(listing, catalog, dir);
	return 0;
}
