/* SPDX-License-Identifier: MIT */
#include "report/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "catalog/paths.h"
#include "catalog/query.h"
#include "source/source.h"

/* ---- the table ----------------------------------------------------------------------------- */

/* Folders of version control. */
static const char *const names[] = {".git", ".svn", ".hg", ".bzr", ".jj", "_darcs", "CVS"};

/* Endings of folders that macOS and its programs show as one document, application or library, and
 * of bare repositories of Git. */
static const char *const endings[] = {
	".app",          ".bundle",    ".framework",    ".photoslibrary", ".photolibrary",
	".aplibrary",    ".lrlibrary", ".lrdata",       ".imovielibrary", ".fcpbundle",
	".musiclibrary", ".tvlibrary", ".sparsebundle", ".logicx",        ".band",
	".rtfd",         ".xcodeproj", ".git",
};

#define MARKER_NAMES_MAX 3

/* Sets of names. A folder that contains all names of a set is a bundle. */
static const char *const markers[][MARKER_NAMES_MAX] = {
	{"pyvenv.cfg"}, /* a virtual environment of Python */
	{"conda-meta"}, /* an environment of conda */
	{"cur", "new", "tmp"}, /* a maildir */
	{"HEAD", "objects", "refs"}, /* a bare repository of Git */
};

static bool has_bundle_name(const char *name, size_t length)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0)
			return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
		size_t ending = strlen(endings[i]);

		if (length > ending && strncasecmp(name + length - ending, endings[i], ending) == 0)
			return true;
	}
	return false;
}

/* A folder that is searched for markers. */
struct folder {
	struct catalog_reader *reader;
	uint64_t dir; /* 0: not in the index */
	int fd; /* O_PATH; -errno if the folder could not be opened */
};

/* Returns whether an error means that the file is missing or that access is denied. After any other
 * error the file can exist. */
static bool is_absent(int error)
{
	return error == -ENOENT || error == -ENOTDIR || error == -ELOOP || error == -EXDEV ||
	       error == -EACCES || error == -ENODEV;
}

/* Returns whether the name exists on the disk. statx does not follow a symlink, and does not wait
 * for a mount that does not answer. */
static bool is_on_disk(const struct folder *folder, const char *name)
{
	const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC;
	struct statx status;

	if (folder->fd < 0)
		return !is_absent(folder->fd);
	return statx(folder->fd, name, flags, 0, &status) == 0 || !is_absent(-errno);
}

static int has_name(const struct folder *folder, const char *name, bool *has)
{
	struct entry_record entry;
	int r = -ENOENT;

	if (folder->dir != 0)
		r = catalog_find_entry(folder->reader, folder->dir,
				       (struct name){name, (uint32_t)strlen(name)}, &entry);
	*has = r == 0 || (r == -ENOENT && is_on_disk(folder, name));
	return r == -ENOENT ? 0 : r;
}

static int has_marker(const struct folder *folder, const char *const *marker, bool *has)
{
	int r = 0;

	*has = true;
	for (size_t i = 0; r == 0 && *has && i < MARKER_NAMES_MAX && marker[i]; i++)
		r = has_name(folder, marker[i], has);
	return r;
}

static int has_any_marker(const struct folder *folder, bool *has)
{
	int r = 0;

	for (size_t i = 0; r == 0 && !*has && i < ARRAY_SIZE(markers); i++)
		r = has_marker(folder, markers[i], has);
	return r;
}

/* Returns whether a folder above a source is a bundle because it contains the names of a marker. */
static int is_marked_outside(const char *path, size_t length, bool *is)
{
	AUTO_FREE char *folder = strndup(path, length);
	AUTO_CLOSE int fd = -1;

	if (!folder)
		return -ENOMEM;
	fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return has_any_marker(&(struct folder){.fd = fd < 0 ? -errno : fd}, is);
}

/* Returns whether a source is in a bundle, or is a bundle by its own name. */
static int is_in_bundle(const char *source, bool *does)
{
	const char *at = source;
	int r = 0;

	while (r == 0 && !*does && *at != '\0') {
		size_t length = strcspn(at, "/");

		*does = has_bundle_name(at, length);
		at += length;
		if (*at == '/' && !*does)
			r = is_marked_outside(source, (size_t)(at - source) + (at == source), does);
		at += *at == '/';
	}
	return r;
}

static int is_marked(struct catalog_reader *reader, const struct sources *sources,
		     const struct dir_record *dir, bool *is)
{
	AUTO_CLOSE int fd = source_open_dir(sources, reader, dir->id);

	return has_any_marker(&(struct folder){.reader = reader, .dir = dir->id, .fd = fd}, is);
}

static int is_bundle(struct catalog_reader *reader, const struct sources *sources,
		     const struct dir_record *dir, bool *is)
{
	int r = 0;

	if (dir->parent != 0)
		*is = has_bundle_name(dir->name.bytes, dir->name.length);
	else if (dir->source < sources->count)
		r = is_in_bundle(sources->list[dir->source].path, is);
	return r < 0 || *is ? r : is_marked(reader, sources, dir, is);
}

/* ---- finding ------------------------------------------------------------------------------- */

void bundle_finder_free(struct bundle_finder *finder)
{
	free(finder->memos);
	bytes_free(&finder->chain);
	*finder = (struct bundle_finder){0};
}

static struct bundle_memo *memo_of(const struct bundle_finder *finder, uint64_t dir)
{
	return &finder->memos[dir % BUNDLE_MEMOS];
}

/* Fills the chain with ids from dir upwards, until the root or a directory that has a memo. Sets
 * *bundle to the bundle of that memo, or to 0 at the root. */
static int climb(struct bundle_finder *finder, struct catalog_reader *reader, uint64_t dir,
		 uint64_t *bundle)
{
	struct dir_record record = {.parent = dir};
	int r = 0;

	*bundle = 0;
	finder->chain.length = 0;
	while (r == 0 && record.parent != 0) {
		const struct bundle_memo *memo = memo_of(finder, record.parent);

		if (memo->dir == record.parent) {
			*bundle = memo->bundle;
			return 0;
		}
		r = bytes_append(&finder->chain, &record.parent, sizeof(record.parent));
		if (r == 0)
			r = catalog_get_dir(reader, record.parent, &record);
	}
	return r;
}

int bundle_find(struct bundle_finder *finder, struct catalog_reader *reader,
		const struct sources *sources, uint64_t dir, uint64_t *bundle)
{
	const uint64_t *chain;
	struct dir_record record;
	bool is;
	int r;

	if (!finder->memos)
		finder->memos = calloc(BUNDLE_MEMOS, sizeof(*finder->memos));
	if (!finder->memos)
		return -ENOMEM;
	r = climb(finder, reader, dir, bundle);
	chain = (const void *)finder->chain.data;
	for (size_t i = finder->chain.length / sizeof(*chain); r == 0 && i > 0; i--) {
		is = false;
		if (*bundle == 0)
			r = catalog_get_dir(reader, chain[i - 1], &record);
		if (r == 0 && *bundle == 0)
			r = is_bundle(reader, sources, &record, &is);
		if (is)
			*bundle = chain[i - 1];
		if (r == 0)
			*memo_of(finder, chain[i - 1]) =
				(struct bundle_memo){chain[i - 1], *bundle};
	}
	return r;
}

/* ---- counting ------------------------------------------------------------------------------ */

void bundle_tally_free(struct bundle_tally *tally)
{
	for (size_t i = 0; i < tally->count; i++)
		free(tally->list[i].path);
	*tally = (struct bundle_tally){0};
}

static int name_bundle(struct catalog_reader *reader, const struct sources *sources,
		       uint64_t bundle, char **path)
{
	CLEANUP_BYTES struct bytes relative = {0};
	CLEANUP_BYTES struct bytes absolute = {0};
	uint32_t source;
	int r = catalog_dir_path(reader, bundle, &relative, &source);

	if (r == 0 && !bytes_text(&relative))
		r = -ENOMEM;
	if (r == 0)
		r = source_absolute_path(sources, source, bytes_text(&relative), &absolute);
	if (r < 0)
		return r;
	*path = bytes_text(&absolute) ? strdup(bytes_text(&absolute)) : NULL;
	return *path ? 0 : -ENOMEM;
}

int bundle_tally_add(struct bundle_tally *tally, struct catalog_reader *reader,
		     const struct sources *sources, uint64_t bundle)
{
	struct bundle_count *count;
	int r;

	for (size_t i = 0; i < tally->count; i++) {
		if (tally->list[i].bundle == bundle) {
			tally->list[i].copies++;
			return 0;
		}
	}
	if (tally->count == BUNDLE_TALLY_MAX) {
		tally->others++;
		return 0;
	}
	count = &tally->list[tally->count];
	*count = (struct bundle_count){.bundle = bundle, .copies = 1};
	r = name_bundle(reader, sources, bundle, &count->path);
	if (r == 0)
		tally->count++;
	return r;
}
