/* SPDX-License-Identifier: MIT */
#include "choose/missing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "base/path.h"
#include "choose/copies.h"
#include "choose/filter.h"
#include "choose/report.h"
#include "index/emptied_place.h"
#include "index/paths.h"
#include "index/query.h"
#include "index/scan.h"
#include "index/source.h"

/* Number of directories whose area is remembered. */
#define AREAS 16384

enum area {
	AREA_OTHER, /* in no folder of both lists */
	AREA_OF,
	AREA_IN,
	/* in folders->in, but in a place that something else empties: AREA_EMPTIED plus an enum
	 * emptied_place */
	AREA_EMPTIED,
};
#define AREAS_ALL (AREA_EMPTIED + EMPTIED_PLACES)

struct missing_finder {
	const struct missing_folders *folders;
	struct catalog_reader *reader;
	const struct sources *sources;
	const struct filter *filter;
	uint64_t group; /* the last group that was read; 0: none */
	bool group_is_in; /* a member of it is in folders->in */
	struct missing_example example; /* a member of it in an emptied place in folders->in */
	bool group_is_distrusted; /* its members in folders->in can be those in folders->of */
	struct missing_example untrusted; /* such a member */
	struct {
		uint64_t dir;
		enum area area;
	} areas[AREAS]; /* a directory is at the number of its id modulo AREAS */
};

/* ---- areas ---------------------------------------------------------------------------------- */

/* Returns the number of bytes of the longest path in the list that contains the path plus 1, or 0
 * if none does. */
static size_t longest_above(char *const *list, const char *path)
{
	size_t longest = 0;

	for (; *list; list++) {
		if (path_below(path, *list) && strlen(*list) + 1 > longest)
			longest = strlen(*list) + 1;
	}
	return longest;
}

static enum area area_of_path(const struct missing_folders *folders, const char *path)
{
	size_t of = longest_above(folders->of, path);
	size_t in = longest_above(folders->in, path);

	if (of == 0 && in == 0)
		return AREA_OTHER;
	return of >= in ? AREA_OF : AREA_IN;
}

static int read_area(const struct missing_finder *finder, uint64_t dir, enum area *area)
{
	CLEANUP_BYTES struct bytes relative = {0};
	CLEANUP_BYTES struct bytes path = {0};
	enum emptied_place place;
	struct location location;
	int r = catalog_dir_location(finder->reader, dir, &relative, &location);

	if (r == 0 && !bytes_text(&relative))
		r = -ENOMEM;
	if (r == 0)
		r = source_absolute_path(finder->sources, location.source, bytes_text(&relative),
					 &path);
	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	if (!bytes_text(&path))
		return -ENOMEM;
	*area = area_of_path(finder->folders, bytes_text(&path));
	place = emptied_place_in(finder->sources->list[location.source].path, bytes_text(&relative),
				 relative.length);
	place = emptied_first(place, location.place);
	if (*area == AREA_IN && place != PLACE_LASTS)
		*area = AREA_EMPTIED + (enum area)place;
	return 0;
}

static int find_area(struct missing_finder *finder, uint64_t dir, enum area *area)
{
	size_t at = dir % AREAS;
	int r;

	if (finder->areas[at].dir != dir) {
		r = read_area(finder, dir, &finder->areas[at].area);
		if (r < 0) {
			finder->areas[at].dir = 0;
			return r;
		}
		finder->areas[at].dir = dir;
	}
	*area = finder->areas[at].area;
	return 0;
}

/* ---- files ---------------------------------------------------------------------------------- */

/* Sets *area to that of a name. An excluded name is in no area. */
static int find_name_area(struct missing_finder *finder, uint64_t dir, uint64_t cookie,
			  enum area *area)
{
	bool excluded;
	int r = find_area(finder, dir, area);

	if (r < 0 || *area < AREA_IN)
		return r;
	r = filter_excludes_entry(finder->filter, finder->reader, dir, cookie, &excluded);
	if (excluded)
		*area = AREA_OTHER;
	return r;
}

/* Where the names of a file are. */
struct places {
	uint64_t names_of; /* number of names in folders->of */
	/* A name is in folders->in, and the inode has all of its known names. If it has less links,
	 * another mount shows one of them, too: this can be the name in folders->in. */
	bool is_in;
	/* the last name in folders->in that is in a place that something else empties, and the
	 * place; PLACE_LASTS: none */
	struct missing_example example;
	/* the last name in folders->of and in folders->in; undefined if there is none */
	struct missing_example name_of, name_in;
};

static int find_places(struct missing_finder *finder, const struct file_record *file,
		       struct places *places)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	uint64_t dir, cookie, names[AREAS_ALL] = {0}, known = 0;
	enum area area;
	int r = catalog_scan_names(finder->reader, file, &scan);

	while (r == 0 && (r = catalog_next_name(scan, &dir, &cookie)) == 0) {
		r = find_name_area(finder, dir, cookie, &area);
		if (r < 0)
			break;
		names[area]++;
		known++;
		if (area == AREA_OF)
			places->name_of = (struct missing_example){PLACE_LASTS, dir, cookie};
		if (area == AREA_IN)
			places->name_in = (struct missing_example){PLACE_LASTS, dir, cookie};
		if (area > AREA_EMPTIED)
			places->example =
				(struct missing_example){(enum emptied_place)(area - AREA_EMPTIED),
							 dir, cookie};
	}
	places->names_of = names[AREA_OF];
	places->is_in = names[AREA_IN] > 0 && file->attributes.links >= known;
	return r == -ENOENT && scan ? 0 : r;
}

static int find_places_of(struct missing_finder *finder, uint64_t id, struct places *places)
{
	struct file_record file;
	int r = catalog_get_file(finder->reader, id, &file);

	return r < 0 ? r : find_places(finder, &file, places);
}

int missing_example_path(const struct missing_example *example, const struct sources *sources,
			 struct catalog_reader *reader, struct bytes *path)
{
	int r = source_entry_path(sources, reader, example->dir, example->cookie, path);

	if (r == 0 && !bytes_text(path))
		r = -ENOMEM;
	return r == -ENOENT ? -EUCLEAN : r;
}

static int name_path(const struct missing_finder *finder, const struct missing_example *name,
		     struct bytes *path)
{
	return missing_example_path(name, finder->sources, finder->reader, path);
}

/* ---- proof ---------------------------------------------------------------------------------- */

/* Maximum of copies in folders->in that are examined for a group. If a file system shows a whole
 * folder once more, none of them is accepted. */
#define EXAMINED_MAX 64

/* Adds a member in folders->of to the proof. Returns 0 or -errno. */
static int prove_add(struct missing_finder *finder, const struct places *places)
{
	const struct missing_proof *proof = &finder->folders->proof;
	CLEANUP_BYTES struct bytes path = {0};
	int r = places->names_of > 0 ? name_path(finder, &places->name_of, &path) : 0;

	return r < 0 || places->names_of == 0 ? r : proof->add(proof->context, bytes_text(&path));
}

/* Returns 1 if a member in folders->in proves that the content is elsewhere, 0 or -errno. A member
 * with names in both is only one inode, which loses one of its names. */
static int prove_is_other(struct missing_finder *finder, const struct places *places)
{
	const struct missing_proof *proof = &finder->folders->proof;
	CLEANUP_BYTES struct bytes path = {0};
	int r;

	if (!places->is_in || places->names_of > 0)
		return places->is_in;
	finder->untrusted = places->name_in;
	r = name_path(finder, &places->name_in, &path);
	return r < 0 ? r : proof->is_other(proof->context, bytes_text(&path));
}

/* Adds all members in folders->of, or finds one in folders->in that is another file. Returns 1 if
 * it was found, 0 or -errno. */
static int prove_pass(struct missing_finder *finder, uint64_t group, bool adds)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	unsigned int examined = 0;
	uint64_t file;
	int r = catalog_scan_members(finder->reader, group, 0, &scan);

	while (r == 0 && examined < EXAMINED_MAX && (r = catalog_next_member(scan, &file)) == 0) {
		struct places places = {0};

		r = find_places_of(finder, file, &places);
		if (r < 0)
			return r == -ENOENT ? -EUCLEAN : r;
		r = adds ? prove_add(finder, &places) : prove_is_other(finder, &places);
		examined += !adds && places.is_in;
	}
	return r == -ENOENT && scan ? 0 : r;
}

/* Clears group_is_in of the last group if its copies are possibly files of folders->of. */
static int prove_group(struct missing_finder *finder)
{
	const struct missing_proof *proof = &finder->folders->proof;
	int r;

	if (!finder->group_is_in || !proof->begin)
		return 0;
	r = proof->begin(proof->context);
	if (r == 0)
		r = prove_pass(finder, finder->group, true);
	if (r == 0)
		r = prove_pass(finder, finder->group, false);
	finder->group_is_distrusted = r == 0;
	finder->group_is_in = r > 0;
	return r < 0 ? r : 0;
}

static int read_group(struct missing_finder *finder, uint64_t group)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct places places = {0};
	uint64_t file;
	int r = catalog_scan_members(finder->reader, group, 0, &scan);

	while (r == 0 && !places.is_in && (r = catalog_next_member(scan, &file)) == 0)
		r = find_places_of(finder, file, &places);
	if (r < 0 && r != -ENOENT)
		return r;
	finder->group = group;
	finder->group_is_in = places.is_in;
	finder->example = places.example;
	finder->group_is_distrusted = false;
	return prove_group(finder);
}

/* Counts a missing file whose content has a copy in folders->in that does not count. */
static void tally_missing(const struct missing_finder *finder, bool is_distrusted,
			  const struct missing_example *example, struct missing_tally *tally)
{
	if (is_distrusted) {
		tally->distrusted++;
		tally->untrusted = finder->untrusted;
	} else if (example->place != PLACE_LASTS) {
		tally->emptied[example->place]++;
		tally->examples[example->place] = *example;
	}
}

int missing_find(struct missing_finder *finder, const struct size_entry *entry,
		 struct missing_tally *tally, bool *missing)
{
	struct places places = {0};
	bool is_distrusted = false;
	int r = find_places_of(finder, entry->file, &places);

	*missing = places.names_of > 0 && !places.is_in;
	if (r < 0 || places.names_of == 0)
		return r;
	tally->files++;
	tally->bytes = size_add(tally->bytes, entry->size);
	tally->linked += places.is_in;
	if (*missing && entry->group != 0) {
		if (finder->group != entry->group)
			r = read_group(finder, entry->group);
		*missing = !finder->group_is_in;
		places.example = finder->example;
		is_distrusted = finder->group_is_distrusted;
	}
	if (r == 0 && *missing)
		tally_missing(finder, is_distrusted, &places.example, tally);
	return r;
}

int missing_find_other(struct missing_finder *finder, const struct file_record *file,
		       struct missing_tally *tally, bool *missing)
{
	struct places places = {0};
	int r = find_places(finder, file, &places);

	*missing = false;
	if (r < 0 || places.names_of == 0)
		return r;
	if (S_ISREG(file->attributes.mode))
		tally->empty++;
	else if (S_ISLNK(file->attributes.mode))
		tally->symlinks++;
	else
		tally->special++;
	*missing =
		S_ISLNK(file->attributes.mode) && finder->folders->others == MISSING_LIST_SYMLINKS;
	return 0;
}

int missing_keep_names(struct missing_finder *finder, struct copies *names)
{
	size_t kept = 0;
	enum area area;
	int r;

	for (size_t i = 0; i < names->count; i++) {
		r = find_area(finder, names->list[i].dir, &area);
		if (r < 0)
			return r;
		if (area == AREA_OF)
			names->list[kept++] = names->list[i];
	}
	names->count = kept;
	return 0;
}

int missing_finder_new(struct missing_finder **finder, const struct report *report)
{
	*finder = calloc(1, sizeof(**finder));
	if (!*finder)
		return -ENOMEM;
	(*finder)->folders = report->missing;
	(*finder)->reader = report->reader;
	(*finder)->sources = report->sources;
	(*finder)->filter = report->filter;
	return 0;
}

void missing_finder_free(struct missing_finder *finder)
{
	free(finder);
}

void missing_finder_set_reader(struct missing_finder *finder, struct catalog_reader *reader)
{
	finder->reader = reader;
}

/* ---- folders -------------------------------------------------------------------------------- */

/* Returns 0 if the folder was entered, an enum missing_fault, or -errno. */
static int check_folder(const char *path, struct catalog_reader *reader,
			const struct sources *sources)
{
	struct entry_record entry = {.kind = ENTRY_FILE};
	struct dir_record dir = {0};
	int r = -ENOENT;

	for (size_t i = 0; r == -ENOENT && i < sources->count; i++) {
		const char *rest = path_below(path, sources->list[i].path);

		if (path_below(sources->list[i].path, path))
			return 0;
		if (rest)
			r = catalog_find_path(reader, sources->list[i].root, rest, &entry);
	}
	if (r == -ENOENT || (r == 0 && entry.kind != ENTRY_DIR))
		return MISSING_NOT_INDEXED;
	if (r == 0)
		r = catalog_get_dir(reader, entry.child, &dir);
	if (r < 0)
		return r;
	return dir.flags & DIR_NOT_ENTERED ? MISSING_NOT_ENTERED : 0;
}

static int check_list(char *const *list, struct catalog_reader *reader,
		      const struct sources *sources, const char **folder)
{
	int r = 0;

	for (; r == 0 && *list; list++) {
		*folder = *list;
		r = check_folder(*list, reader, sources);
	}
	return r;
}

int missing_check(const struct missing_folders *folders, struct catalog_reader *reader,
		  const struct sources *sources, const char **folder)
{
	int r = check_list(folders->of, reader, sources, folder);

	return r != 0 ? r : check_list(folders->in, reader, sources, folder);
}

int missing_count_not_entered(const struct missing_folders *folders, struct catalog_reader *reader,
			      const struct sources *sources, uint64_t *count)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	AUTO_FREE struct missing_finder *finder = calloc(1, sizeof(*finder));
	struct dir_record dir;
	enum area area;
	int r = finder ? catalog_scan_dirs(reader, 0, &scan) : -ENOMEM;

	*count = 0;
	if (r < 0)
		return r;
	*finder = (struct missing_finder){.folders = folders, .reader = reader, .sources = sources};
	while (r == 0 && (r = catalog_next_dir(scan, &dir)) == 0) {
		if (!(dir.flags & DIR_NOT_ENTERED))
			continue;
		r = read_area(finder, dir.id, &area);
		*count += r == 0 && area == AREA_OF;
	}
	return r == -ENOENT ? 0 : r;
}

/* Sets *is_of to whether an unreadable directory or file is in folders->of. */
static int error_is_of(struct missing_finder *finder, const struct error_entry *error, bool *is_of)
{
	struct places places = {0};
	enum area area = AREA_OTHER;
	int r = error->kind == ERROR_DIR ? find_area(finder, error->id, &area)
					 : find_places_of(finder, error->id, &places);

	*is_of = area == AREA_OF || places.names_of > 0;
	return r;
}

int missing_count_unread(const struct missing_folders *folders, struct catalog_reader *reader,
			 const struct sources *sources, uint64_t *count)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct filter all = FILTER_NONE;
	const struct report report = {.missing = folders,
				      .reader = reader,
				      .sources = sources,
				      .filter = &all};
	struct missing_finder *finder = NULL;
	struct error_entry error;
	bool is_of;
	int r = missing_finder_new(&finder, &report);

	*count = 0;
	if (r == 0)
		r = catalog_scan_errors(reader, &scan);
	while (r == 0 && (r = catalog_next_error(scan, &error)) == 0) {
		r = error_is_of(finder, &error, &is_of);
		*count += r == 0 && is_of;
	}
	missing_finder_free(finder);
	return r == -ENOENT ? 0 : r;
}
