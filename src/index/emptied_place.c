/* SPDX-License-Identifier: MIT */
#include "index/emptied_place.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/descriptor.h"
#include "base/filesystem.h"
#include "base/mountinfo.h"

#define NAMES_MAX 3

/* The name of the tag in a folder that is a cache. */
#define CACHE_TAG "CACHEDIR.TAG"

/* Names of folders, each in the one before. In a name, % stands for digits. */
struct place_row {
	const char *names[NAMES_MAX];
	enum emptied_place place;
	bool any_case; /* file systems of Windows ignore the case */
};

static const struct place_row rows[] = {
	/* https://specifications.freedesktop.org/trash-spec/: Trash in $XDG_DATA_HOME, and .Trash
	 * and .Trash-UID on other disks. gvfs deletes from expunged (trashlib/trashexpunge.c). */
	{{"Trash", "files"}, PLACE_TRASH, false},
	{{"Trash", "info"}, PLACE_TRASH, false},
	{{"Trash", "expunged"}, PLACE_TRASH, false},
	{{".Trash-%"}, PLACE_TRASH, false},
	/* with a folder for each user; and the trash in a home of macOS and of GNOME 2 */
	{{".Trash"}, PLACE_TRASH, false},
	/* macOS, on disks and in AFP shares: lib/ignore/nukes_darwin.go of Syncthing */
	{{".Trashes"}, PLACE_TRASH, false},
	{{"Network Trash Folder"}, PLACE_TRASH, false},
	/* Windows since Vista, with NTFS before, and with FAT before (Wikipedia, "Trash
	 * (computing)") */
	{{"$Recycle.Bin"}, PLACE_TRASH, true},
	{{"RECYCLER"}, PLACE_TRASH, true},
	{{"RECYCLED"}, PLACE_TRASH, true},
	/* Samba (vfs_recycle(8)), as OpenMediaVault and TrueNAS use it */
	{{".recycle"}, PLACE_TRASH, false},
	/* Samba as the "Recycle Bin" plugin of Unraid configures it */
	{{".Recycle.Bin"}, PLACE_TRASH, false},
	/* Synology DSM and TerraMaster; QNAP QTS, and before QTS 3.8 a share for each volume */
	{{"#recycle"}, PLACE_TRASH, false},
	{{"@Recycle"}, PLACE_TRASH, false},
	{{"Network Recycle Bin %"}, PLACE_TRASH, false},
	/* the trash translator of GlusterFS, with the default of its option trash-dir */
	{{".trashcan"}, PLACE_TRASH, false},
	/* Nextcloud and ownCloud: apps/files_trashbin, files_versions and groupfolders */
	{{"files_trashbin"}, PLACE_TRASH, false},
	{{"files_versions"}, PLACE_TRASH, false},
	{{"__groupfolders", "trash"}, PLACE_TRASH, false},
	/* https://docs.syncthing.net/users/versioning.html */
	{{".stversions"}, PLACE_TRASH, false},
	/* Resilio Sync, and before version 2 BitTorrent Sync; deleted after 30 days by default */
	{{".sync", "Archive"}, PLACE_TRASH, false},
	{{".SyncArchive"}, PLACE_TRASH, false},
	/* Dropbox deletes old and deleted files from it after 3 days. */
	{{".dropbox.cache"}, PLACE_TRASH, false},
	/* MEGA: files that a synchronization deleted */
	{{".debris"}, PLACE_TRASH, false},
	/* snapper(8) of openSUSE, with a number for each snapshot */
	{{".snapshots", "%", "snapshot"}, PLACE_SNAPSHOT, false},
	/* zfsprops(7), snapdir */
	{{".zfs", "snapshot"}, PLACE_SNAPSHOT, false},
	/* NetApp ONTAP, Dell PowerScale and others, by NFS and by SMB */
	{{".snapshot"}, PLACE_SNAPSHOT, false},
	{{"~snapshot"}, PLACE_SNAPSHOT, false},
	/* https://docs.ceph.com/en/latest/dev/cephfs-snapshots/; no listing shows its name */
	{{".snap"}, PLACE_SNAPSHOT, false},
	/* Synology DSM; QNAP QTS */
	{{"#snapshot"}, PLACE_SNAPSHOT, false},
	{{"@Recently-Snapshot"}, PLACE_SNAPSHOT, false},
	/* https://github.com/linuxmint/timeshift: copies by rsync, and subvolumes of btrfs */
	{{"timeshift", "snapshots"}, PLACE_SNAPSHOT, false},
	{{"timeshift-btrfs", "snapshots"}, PLACE_SNAPSHOT, false},
};

/* Where a walk along a path is. */
struct state {
	enum emptied_place place;
	/* For the first 16 rows of several names: how many names match the end of the path, in two
	 * bits. */
	uint32_t matched;
};
#define MATCHED_BITS 2
#define MATCHED_MASK 3U

const char *emptied_place_text(enum emptied_place place)
{
	static const char *const texts[EMPTIED_PLACES] = {
		[PLACE_SNAPSHOT] = "in a snapshot",
		[PLACE_CACHE] = "in a cache",
		[PLACE_TRASH] = "in a trash",
		[PLACE_MEMORY] = "in memory",
	};

	return texts[place];
}

static bool is_number(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (!isdigit((unsigned char)text[i]))
			return false;
	}
	return length > 0;
}

static bool is_name(const struct place_row *row, const char *pattern, const char *name,
		    size_t length)
{
	size_t whole, prefix;

	if (pattern[0] != name[0] && pattern[0] != '%' && !row->any_case) /* nearly always */
		return false;
	whole = strlen(pattern);
	prefix = strcspn(pattern, "%");
	if (prefix < whole)
		return length > prefix && memcmp(name, pattern, prefix) == 0 &&
		       is_number(name + prefix, length - prefix);
	return length == whole && (row->any_case ? strncasecmp(name, pattern, length)
						 : strncmp(name, pattern, length)) == 0;
}

/* Returns whether a name can be one of the table; false for most names. */
static bool is_candidate(char first)
{
	return strchr("$#@~._TRNrtf", first);
}

static bool has_several(const struct place_row *row)
{
	return row->names[1];
}

/* Returns the number of names that match after this one. */
static unsigned int match(const struct place_row *row, unsigned int matched, const char *name,
			  size_t length)
{
	if (matched > 0 && is_name(row, row->names[matched], name, length))
		return matched + 1;
	return is_name(row, row->names[0], name, length);
}

static struct state step(struct state state, const char *name, size_t length)
{
	struct state next = {.place = state.place};
	unsigned int shift = 0;

	if (state.matched == 0 && !is_candidate(name[0]))
		return next;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct place_row *row = &rows[i];
		unsigned int matched = has_several(row) ? state.matched >> shift & MATCHED_MASK : 0;

		matched = match(row, matched, name, length);
		if (matched > 0 && (matched == NAMES_MAX || !row->names[matched]))
			next.place = emptied_first(next.place, row->place);
		else
			next.matched |= matched << shift;
		shift += has_several(row) ? MATCHED_BITS : 0;
	}
	return next;
}

static struct state walk(struct state state, const char *path, size_t length)
{
	const char *end = path + length;

	while (path < end) {
		const char *slash = memchr(path, '/', (size_t)(end - path));
		size_t name = (size_t)((slash ? slash : end) - path);

		if (name > 0)
			state = step(state, path, name);
		path += name + (slash ? 1 : 0);
	}
	return state;
}

static struct state walk_folder(const char *source, const char *path, size_t length)
{
	return walk(walk((struct state){0}, source, strlen(source)), path, length);
}

enum emptied_place emptied_place_of(const char *source, const char *path, size_t length)
{
	const char *slash = length > 0 ? memrchr(path, '/', length) : NULL;

	return emptied_place_in(source, path, slash ? (size_t)(slash - path) : 0);
}

enum emptied_place emptied_place_in(const char *source, const char *path, size_t length)
{
	return walk_folder(source, path, length).place;
}

enum emptied_place emptied_place_of_mount(int fd, const char *path)
{
	AUTO_FREE char *inner = NULL;

	if (mountinfo_inner_path(mountinfo_of(fd), path, &inner) < 0)
		return PLACE_LASTS;
	return emptied_place_in("", inner, strlen(inner)) == PLACE_TRASH ? PLACE_TRASH
									 : PLACE_LASTS;
}

bool is_cache_tag(const char *name)
{
	return name[0] == CACHE_TAG[0] && strcmp(name, CACHE_TAG) == 0;
}

bool is_cache_at(int fd)
{
	static const char signature[] = "Signature: 8a477f597d28d172789f06886806bc55";
	AUTO_CLOSE int tag = open_beneath_for_reading(fd, CACHE_TAG, 0, false);
	char begin[sizeof(signature) - 1];

	return tag >= 0 && pread(tag, begin, sizeof(begin), 0) == (ssize_t)sizeof(begin) &&
	       memcmp(begin, signature, sizeof(begin)) == 0;
}

bool is_below_cache(const char *path)
{
	AUTO_FREE char *above = strdup(path);
	char *slash;
	bool is_below = false;

	while (above && !is_below && (slash = strrchr(above, '/'))) {
		AUTO_CLOSE int fd = -1;

		*slash = '\0';
		fd = open(slash == above ? "/" : above, O_PATH | O_DIRECTORY | O_CLOEXEC);
		is_below = fd >= 0 && is_cache_at(fd);
	}
	return is_below;
}

enum emptied_place emptied_place_at(int fd, const char *path)
{
	enum emptied_place place = emptied_place_of("", path, strlen(path));

	place = emptied_first(place, emptied_place_of_mount(fd, path));
	if (filesystem_is_in_memory_at(fd))
		place = emptied_first(place, PLACE_MEMORY);
	if (is_below_cache(path))
		place = emptied_first(place, PLACE_CACHE);
	return filesystem_is_snapshot_at(fd) ? emptied_first(place, PLACE_SNAPSHOT) : place;
}

uint32_t emptied_place_state(const char *source, const char *path, size_t length)
{
	struct state state = walk_folder(source, path, length);

	return state.matched * EMPTIED_PLACES + state.place;
}
