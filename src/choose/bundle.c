/* SPDX-License-Identifier: MIT */
#include "choose/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/path.h"
#include "choose/copies.h"
#include "choose/report.h"
#include "choose/rules.h"
#include "index/managed.h"
#include "index/paths.h"
#include "index/query.h"
#include "index/source.h"

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

/* A folder of the index. */
struct indexed {
	struct catalog_reader *reader;
	const struct sources *sources;
	uint64_t dir;
	int error; /* of a lookup: 0 or -errno */
};

static bool has_entry(void *context, const char *name)
{
	struct indexed *indexed = context;
	struct entry_record entry;
	int r = catalog_find_entry(indexed->reader, indexed->dir,
				   (struct name){name, (uint32_t)strlen(name)}, &entry);

	if (r < 0 && r != -ENOENT)
		indexed->error = r;
	return r == 0;
}

static int open_indexed(void *context)
{
	const struct indexed *indexed = context;

	return source_open_dir(indexed->sources, indexed->reader, indexed->dir);
}

static void add(struct managed_folder *found, struct managed_folder folder)
{
	found->is_bundle |= folder.is_bundle;
	if (!found->kind)
		found->kind = folder.kind;
}

/* Adds what the folders above a source are, and what the source is by its own name. */
static void add_above(struct managed_folder *found, const char *source)
{
	const char *at = source;

	while (*at != '\0') {
		size_t length = strcspn(at, "/");

		found->is_bundle |= has_bundle_name(at, length);
		if (at[length] == '/')
			add(found, managed_folder_find_at(source, (size_t)(at - source) + length));
		at += length + (at[length] == '/');
	}
}

/* Adds what a folder of the index is. */
static int add_dir(struct managed_folder *found, struct catalog_reader *reader,
		   const struct sources *sources, const struct dir_record *dir)
{
	const uint32_t lacks_names = DIR_NOT_ENTERED | DIR_NOT_SEARCHED | DIR_PARTIAL;
	struct indexed indexed = {reader, sources, dir->id, 0};
	struct managed_query query = {.name = dir->name.bytes,
				      .length = dir->name.length,
				      .has = has_entry,
				      .is_complete = dir->error == 0 && !(dir->flags & lacks_names),
				      .open = open_indexed,
				      .context = &indexed};

	if (dir->parent != 0) {
		found->is_bundle |= has_bundle_name(query.name, query.length);
	} else if (dir->source < sources->count) {
		query.name = path_base_name(sources->list[dir->source].path);
		query.length = strlen(query.name);
		add_above(found, sources->list[dir->source].path);
	}
	add(found, managed_folder_find(&query));
	return indexed.error;
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
 * *place to that of the memo, or to nothing at the root. */
static int climb(struct bundle_finder *finder, struct catalog_reader *reader, uint64_t dir,
		 struct bundle_place *place)
{
	struct dir_record record = {.parent = dir};
	int r = 0;

	*place = (struct bundle_place){.bundle = 0};
	finder->chain.length = 0;
	while (r == 0 && record.parent != 0) {
		const struct bundle_memo *memo = memo_of(finder, record.parent);

		if (memo->dir == record.parent) {
			*place = memo->place;
			return 0;
		}
		r = bytes_append(&finder->chain, &record.parent, sizeof(record.parent));
		if (r == 0)
			r = catalog_get_dir(reader, record.parent, &record);
	}
	return r;
}

/* Adds what a directory is to the place of the directory that contains it. */
static int descend(struct catalog_reader *reader, const struct sources *sources, uint64_t dir,
		   struct bundle_place *place)
{
	struct managed_folder found = {.is_bundle = place->bundle != 0, .kind = place->kind};
	struct dir_record record;
	int r = catalog_get_dir(reader, dir, &record);

	if (r == 0)
		r = add_dir(&found, reader, sources, &record);
	if (r < 0)
		return r;
	if (found.is_bundle && place->bundle == 0)
		place->bundle = dir;
	if (found.kind && !place->kind) {
		place->store = dir;
		place->kind = found.kind;
	}
	return 0;
}

int bundle_find(struct bundle_finder *finder, struct catalog_reader *reader,
		const struct sources *sources, uint64_t dir, struct bundle_place *place)
{
	const uint64_t *chain;
	int r;

	if (!finder->memos)
		finder->memos = calloc(BUNDLE_MEMOS, sizeof(*finder->memos));
	if (!finder->memos)
		return -ENOMEM;
	r = climb(finder, reader, dir, place);
	chain = (const void *)finder->chain.data;
	for (size_t i = finder->chain.length / sizeof(*chain); r == 0 && i > 0; i--) {
		if (!place->kind)
			r = descend(reader, sources, chain[i - 1], place);
		if (r == 0)
			*memo_of(finder, chain[i - 1]) = (struct bundle_memo){chain[i - 1], *place};
	}
	return r;
}

/* Finds out whether a file is in a set or written in place. Sets *plain if its content shows that
 * no file of the group is recognized by its content. */
static void examine_file(const struct report *report, struct copies *copies, struct copy *copy,
			 bool *plain)
{
	AUTO_CLOSE int fd = source_open_dir(report->sources, report->reader, copy->dir);
	struct managed_file file = {.kind = NULL};

	if (fd >= 0)
		file = managed_file_find(fd, path_base_name(copy_path(copies, copy)));
	if (file.in_set && !copy->place.kind)
		copy->place.kind = file.kind;
	if (file.kind)
		copies->written_in_place = true;
	*plain |= file.was_read && !file.kind;
}

int bundle_find_copies(struct bundle_finder *finder, const struct report *report,
		       struct copies *copies, uint64_t size)
{
	bool plain = copies->folders || !managed_size_is_possible(size, report->rules->links);
	int r = 0;

	copies->written_in_place = false;
	for (size_t i = 0; r == 0 && i < copies->count; i++) {
		struct copy *copy = &copies->list[i];

		r = bundle_find(finder, report->reader, report->sources, copy->dir, &copy->place);
		if (r == 0 && !copies->folders &&
		    (!plain || managed_name_is_possible(copy_path(copies, copy))))
			examine_file(report, copies, copy, &plain);
	}
	return r;
}

int bundle_find_name(struct bundle_finder *finder, const struct report *report,
		     const struct copies *copies, size_t index, struct bundle_place *place)
{
	const struct copy *copy = &copies->list[index];
	const char *path = copy_path(copies, copy);
	size_t above = (size_t)(path_base_name(path) - path);
	AUTO_FREE char *folder = strndup(path, above ? above - 1 : 0);
	struct entry_record entry = {.child = report->sources->list[copy->source].root};
	int r = folder ? 0 : -ENOMEM;

	if (r == 0 && above > 0)
		r = catalog_find_path(report->reader, entry.child, folder, &entry);
	if (r == 0)
		r = bundle_find(finder, report->reader, report->sources, entry.child, place);
	return r == -ENOENT ? -EUCLEAN : r;
}
