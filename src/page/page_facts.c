/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/numbers.h"
#include "base/sort.h"
#include "base/stop.h"
#include "choose/filter.h"
#include "choose/folder_tree.h"
#include "choose/report.h"
#include "choose/rules.h"
#include "choose/selection.h"
#include "index/paths.h"
#include "index/query.h"
#include "index/scan.h"
#include "index/source.h"
#include "page/page.h"
#include "page/page_parts.h"

/* ---- what is being gathered ----------------------------------------------------------------- */

/* Highest number of files that are read in one snapshot, which takes one or two milliseconds. */
#define PORTION 2048

/* The position at which the next portion begins. */
struct position {
	uint64_t file; /* the last file counted */
	struct rank_entry rank; /* the current group; group 0: none yet */
	uint64_t member; /* the last file counted in the current group */
	bool grouped; /* all groups are counted */
};

/* Where a folder is in the list of shown folders. */
struct fact_place {
	uint64_t dir;
	size_t folder;
};

/* The groups of equal folders. */
struct equal_gathering {
	struct rules rules;
	struct folder_count whole;
	uint64_t group; /* the last one that was counted */
};

/* What is elsewhere. */
struct elsewhere_gathering {
	struct missing_finder *finder; /* of source number elsewhere.count; NULL: not begun */
	struct missing_folders folders;
	char *of[2], *in[ELSEWHERE_SOURCES_MAX];
	struct size_entry after; /* the last file that was examined */
};

struct gathering {
	const struct page_settings *settings;
	struct page_facts *facts;
	struct catalog_reader *reader; /* snapshot of the current portion */
	struct folders folders;
	struct fact_place *places; /* of all shown folders, by dir */
	struct fact_place last; /* the folder of the last file, and the shown folder that has it */
	struct equal_gathering equal;
	struct elsewhere_gathering elsewhere;
	struct position at;
	size_t left; /* files that the portion may still read */
	struct filter all; /* used if the settings have no filter */
	struct filter *filter;
};

/* ---- what could not be read --------------------------------------------------------------- */

static void unreadable_facts_free(struct unreadable_facts *facts)
{
	for (size_t i = 0; i < facts->count; i++)
		bytes_free(&facts->list[i].path);
}

static int find_path(const struct gathering *g, const struct error_entry *error, struct bytes *path)
{
	const struct sources *sources = g->settings->sources;
	struct file_record file;
	int r;

	if (error->kind == ERROR_DIR)
		return source_dir_path(sources, g->reader, error->id, path);
	r = catalog_get_file(g->reader, error->id, &file);
	return r < 0 ? r : source_file_path(sources, g->reader, &file, path);
}

/* Adds an error, unless its file has no name. */
static int add_unreadable(struct gathering *g, const struct error_entry *error)
{
	struct unreadable_facts *facts = &g->facts->unreadable;
	struct unreadable *added = &facts->list[facts->count];
	int r = find_path(g, error, &added->path);

	if (r == -ENOENT)
		return 0;
	facts->count++;
	added->error = error->error;
	return r;
}

static int list_unreadable(struct gathering *g)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct error_entry error;
	int r = catalog_scan_errors(g->reader, &scan);

	while (r == 0 && g->facts->unreadable.count < UNREADABLE_MAX &&
	       (r = catalog_next_error(scan, &error)) == 0)
		r = add_unreadable(g, &error);
	return r == -ENOENT ? 0 : r;
}

/* ---- folders ------------------------------------------------------------------------------ */

static int parent_of(void *context, uint64_t id, uint64_t *parent)
{
	const struct gathering *g = context;
	struct dir_record dir;
	int r = catalog_get_dir(g->reader, id, &dir);

	*parent = r == 0 ? dir.parent : 0;
	return r == -ENOENT ? 0 : r;
}

/* Finds the folder of the file's lowest name by source and path. */
static int find_folder(const struct gathering *g, const struct file_record *file, uint64_t *folder)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	CLEANUP_BYTES struct bytes best = {0};
	CLEANUP_BYTES struct bytes path = {0};
	uint32_t best_source = UINT32_MAX;
	uint32_t source = 0;
	uint64_t dir;
	uint64_t cookie;
	int r = catalog_scan_names(g->reader, file, &scan);

	*folder = file->dir;
	if (file->names < 2)
		return r;
	while (r == 0 && (r = catalog_next_name(scan, &dir, &cookie)) == 0) {
		struct bytes swap = best;

		path.length = 0;
		r = catalog_entry_path(g->reader, dir, cookie, &path, &source);
		if (r < 0 || source > best_source ||
		    (source == best_source && bytes_compare(&path, &best) > 0))
			continue;
		best = path;
		path = swap;
		best_source = source;
		*folder = dir;
	}
	return r == -ENOENT ? 0 : r;
}

static int name_folder(const struct gathering *g, struct page_folder *folder)
{
	CLEANUP_BYTES struct bytes path = {0};
	struct arena *names = &g->facts->names;
	const struct sources *sources = g->settings->sources;
	uint32_t source = 0;
	int r = catalog_dir_path(g->reader, folder->node.dir, &path, &source);
	const char *tree;
	char *whole;

	if (r == -ENOENT) {
		folder->path = folder->name = "removed meanwhile";
		return 0;
	}
	if (r == 0 && source >= sources->count)
		r = -EUCLEAN;
	if (r == 0 && !bytes_text(&path))
		r = -ENOMEM;
	if (r < 0)
		return r;
	tree = sources->list[source].tree;
	whole = arena_take(names, strlen(tree) + path.length + 2);
	if (!whole)
		return -ENOMEM;
	(void)sprintf(whole, "%s%s%s", tree, *tree && path.length > 0 ? "/" : "",
		      bytes_text(&path));
	folder->path = whole;
	folder->name = strrchr(whole, '/') ? strrchr(whole, '/') + 1 : whole;
	if (folder->node.depth == 1)
		folder->name = sources->list[source].path;
	return 0;
}

/* Returns the number of bytes below which a folder is folded into its parent. The number is at
 * least 1, so that a folder with only empty files is always folded. */
static uint64_t least_of_folder(uint64_t all)
{
	uint64_t least = all / PAGE_FOLDERS_PART + (all % PAGE_FOLDERS_PART != 0);

	return least > 0 ? least : 1;
}

static int compare_places(const void *left, const void *right)
{
	const struct fact_place *a = left;
	const struct fact_place *b = right;

	return numbers_compare(a->dir, b->dir);
}

/* Lists the places of the shown folders. Place 0 is that of all sources. */
static int list_places(struct gathering *g)
{
	const struct page_facts *facts = g->facts;

	g->places = calloc(facts->folder_count, sizeof(*g->places));
	if (!g->places)
		return -ENOMEM;
	for (size_t i = 0; i < facts->folder_count; i++)
		g->places[i] = (struct fact_place){facts->folders[i].node.dir, i};
	qsort(g->places, facts->folder_count, sizeof(*g->places), compare_places);
	return 0;
}

/* Finds the shown folder that has a directory: itself, or its nearest ancestor that is shown. */
static int find_shown(struct gathering *g, uint64_t dir, size_t *folder)
{
	struct fact_place sought = {.dir = dir};
	const struct fact_place *found = NULL;
	int r = 0;

	while (r == 0 && !found) {
		found = bsearch(&sought, g->places, g->facts->folder_count, sizeof(sought),
				compare_places);
		if (!found)
			r = parent_of(g, sought.dir, &sought.dir);
	}
	*folder = found ? found->folder : 0;
	return r;
}

static int make_folders(struct gathering *g)
{
	const struct folders_map map = {parent_of, g};
	struct page_facts *facts = g->facts;
	AUTO_FREE struct folder_node *nodes = NULL;
	size_t count = 0;
	int r = folders_finish(&g->folders, &map, least_of_folder(facts->summary.redundant_bytes));

	if (r == 0)
		r = folders_tree(&g->folders, &map, &nodes, &count);
	if (r < 0)
		return r;
	assert(nodes);
	facts->folders = calloc(count + 1, sizeof(*facts->folders));
	if (!facts->folders)
		return -ENOMEM;
	facts->folder_count = count;
	facts->folders[0] =
		(struct page_folder){.node = nodes[0], .path = "", .name = "all sources"};
	for (size_t i = 1; i < count && r == 0; i++) {
		facts->folders[i].node = nodes[i];
		r = name_folder(g, &facts->folders[i]);
	}
	return r < 0 ? r : list_places(g);
}

/* ---- groups ------------------------------------------------------------------------------- */

/* Adds a group to the facts, with the names of its first copies. */
static int add_group(struct gathering *g, const struct group_record *group)
{
	struct page_group *added = &g->facts->groups[g->facts->group_count++];
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	size_t inodes = 1;
	uint64_t file;
	int r = catalog_scan_members(g->reader, group->id, 0, &scan);

	added->group = *group;
	if (r == 0)
		r = copies_add_file(&added->copies, g->reader, group->kept, FATE_KEPT);
	while (r == 0 && inodes < PAGE_GROUP_INODES_MAX &&
	       (r = catalog_next_member(scan, &file)) == 0) {
		if (file == group->kept)
			continue;
		r = copies_add_file(&added->copies, g->reader, file, FATE_REDUNDANT);
		inodes++;
	}
	copies_sort(&added->copies);
	return r == -ENOENT ? 0 : r;
}

/* Sets kind to the extension of the first name of a file. */
static int find_kind(const struct gathering *g, const struct file_record *file,
		     char kind[static KIND_NAME_MAX + 1])
{
	struct entry_record entry;
	int r = catalog_entry_at(g->reader, file->dir, file->cookie, &entry);

	if (r == 0)
		kind_name(kind, entry.name.bytes, entry.name.length);
	return r == -ENOENT ? -EUCLEAN : r;
}

static int count_redundant(struct gathering *g, uint64_t id)
{
	const struct folders_map map = {parent_of, g};
	char kind[KIND_NAME_MAX + 1];
	struct file_record file;
	uint64_t folder = 0;
	int r = catalog_get_file(g->reader, id, &file);

	if (r == 0)
		r = find_folder(g, &file, &folder);
	if (r == 0)
		r = find_kind(g, &file, kind);
	if (r == 0)
		r = kinds_add_copy(&g->facts->kinds, kind, file.attributes.size);
	if (r < 0)
		return r;
	ages_add(&g->facts->redundant, age_of(file.attributes.mtime, g->settings->now),
		 file.attributes.size);
	return folders_add(&g->folders, &map, folder, file.attributes.size);
}

/* Counts redundant copies of a group, as many as the portion permits. Returns 0, -ENOENT if all are
 * counted, or another -errno. */
static int count_members(struct gathering *g, const struct group_record *group)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	uint64_t file;
	int r = catalog_scan_members(g->reader, group->id, g->at.member, &scan);

	while (r == 0 && g->left > 0 && (r = catalog_next_member(scan, &file)) == 0) {
		if (file != group->kept)
			r = count_redundant(g, file);
		g->at.member = file;
		g->left--;
	}
	return r;
}

static int begin_group(struct gathering *g, const struct group_record *group)
{
	g->at.member = 0;
	summary_add_group(&g->facts->summary, group);
	return g->facts->group_count < PAGE_GROUPS_MAX ? add_group(g, group) : 0;
}

/* Returns the place of a group among those that are shown, or NULL if the page has enough groups
 * with more reclaimable bytes. Without excluded names, groups are not in the order of the index. */
static struct page_group *make_room(struct gathering *g, const struct group_record *group)
{
	struct page_facts *facts = g->facts;
	size_t at = facts->group_count;

	while (at > 0 && group_reclaimable(&facts->groups[at - 1].group) < group_reclaimable(group))
		at--;
	if (at == PAGE_GROUPS_MAX)
		return NULL;
	if (facts->group_count == PAGE_GROUPS_MAX)
		copies_free(&facts->groups[--facts->group_count].copies);
	memmove(&facts->groups[at + 1], &facts->groups[at],
		(facts->group_count++ - at) * sizeof(*facts->groups));
	facts->groups[at] = (struct page_group){.group = *group};
	return &facts->groups[at];
}

/* Counts a group without its excluded names. Its copies are moved to the page if it is shown. */
static int count_copies(struct gathering *g, const struct group_record *group,
			struct copies *copies)
{
	struct page_group *shown;
	size_t named = 0, inodes = 0;
	int r = 0;

	summary_add_group(&g->facts->summary, group);
	for (size_t i = 0; r == 0 && i < copies->count; i++) {
		struct copy *copy = &copies->list[i];
		bool first = i == 0 || copy->file != copies->list[i - 1].file;

		inodes += first;
		named += inodes <= PAGE_GROUP_INODES_MAX;
		copy->fate = copy->file == group->kept ? FATE_KEPT : FATE_REDUNDANT;
		if (first && copy->fate == FATE_REDUNDANT)
			r = count_redundant(g, copy->file);
	}
	shown = make_room(g, group);
	if (!shown)
		return r;
	copies->count = named;
	shown->copies = *copies;
	*copies = (struct copies){0};
	return r;
}

/* Counts a group if the filter selects it. */
static int count_selected(struct gathering *g, const struct group_record *indexed)
{
	CLEANUP_COPIES struct copies copies = {0};
	struct group_record group = *indexed;
	bool selected = false;
	int r = copies_collect(&copies, g->reader, &group);

	g->left -= copies.count < g->left ? copies.count : g->left;
	if (r < 0)
		return r;
	filter_remove_excluded(g->filter, &copies);
	r = filter_selects_group(g->filter, g->settings->sources, &copies, &selected);
	if (r < 0 || !selected)
		return r;
	group.inodes = copies_count_inodes(&copies);
	if (g->settings->rules)
		r = rules_apply(g->settings->rules, g->settings->sources, &group, &copies);
	if (r == 0)
		r = retained_find(g->reader, &group, &copies);
	group.kept = copies.list[0].file; /* another one if the kept copy is excluded */
	return r < 0 ? r : count_copies(g, &group, &copies);
}

/* Returns whether the kept copies can be others than those of the index. */
static bool has_own_rules(const struct page_settings *settings)
{
	return settings->rules && settings->rules->keep && settings->rules->keep->count > 0;
}

/* Counts a group, or goes on with it. Returns 0, -ENOENT if the portion has all its members, or
 * another -errno. */
static int count_group(struct gathering *g, const struct group_record *group, bool begun)
{
	int r = 0;

	if (filter_needs_names(g->filter) || has_own_rules(g->settings))
		return begun ? 0 : count_selected(g, group);
	if (!filter_has_copies(g->filter, group->inodes))
		return 0;
	if (!begun)
		r = begin_group(g, group);
	return r == 0 ? count_members(g, group) : r;
}

static int count_groups(struct gathering *g)
{
	const struct rank_entry *from = g->at.rank.group != 0 ? &g->at.rank : NULL;
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct group_record group;
	int r = catalog_scan_ranks(g->reader, from, &scan);

	while (r == 0 && g->left > 0 && (r = catalog_next_rank(scan, &group)) == 0) {
		bool begun = group.id == g->at.rank.group;

		g->left--;
		g->at.rank = (struct rank_entry){group_reclaimable(&group), group.id};
		if (!begun && g->facts->summary.groups >= g->filter->top) {
			r = -ENOENT; /* the filter selects no further group */
			break;
		}
		if (filter_may_have(g->filter, &group))
			r = count_group(g, &group, begun);
		if (r == -ENOENT)
			r = 0;
	}
	g->at.grouped = r == -ENOENT;
	return r == -ENOENT ? 0 : r;
}

/* ---- files -------------------------------------------------------------------------------- */

/* Counts a regular file. */
static int count_file(struct gathering *g, const struct file_record *file)
{
	struct page_facts *facts = g->facts;
	uint64_t bytes = file->attributes.size;
	char kind[KIND_NAME_MAX + 1];
	struct page_folder *shown;
	uint64_t dir = 0;
	int r = find_kind(g, file, kind);

	ages_add(&facts->all, age_of(file->attributes.mtime, g->settings->now), bytes);
	if (r == 0)
		r = kinds_add_file(&facts->kinds, kind, bytes);
	if (r == 0)
		r = find_folder(g, file, &dir);
	if (r == 0 && dir != g->last.dir) {
		r = find_shown(g, dir, &g->last.folder);
		g->last.dir = dir;
	}
	if (r < 0)
		return r;
	shown = &facts->folders[g->last.folder];
	shown->own_bytes = size_add(shown->own_bytes, bytes);
	return 0;
}

/* Counts as many files as the portion permits. Returns 0, -ENOENT if all are counted, or another
 * -errno. */
static int count_files(struct gathering *g)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct file_record file;
	int r = catalog_scan_files(g->reader, g->at.file, &scan);

	while (r == 0 && g->left > 0 && (r = catalog_next_file(scan, &file)) == 0) {
		if (S_ISREG(file.attributes.mode) && file.names > 0)
			r = count_file(g, &file);
		g->at.file = file.id;
		g->left--;
	}
	return r;
}

/* Adds up the files of each folder with its descendants, and ranks the kinds. */
static void finish_files(struct page_facts *facts)
{
	kinds_rank(&facts->kinds);
	for (size_t i = facts->folder_count; i-- > 0;) {
		struct page_folder *folder = &facts->folders[i];

		folder->all_bytes = size_add(folder->all_bytes, folder->own_bytes);
		if (i > 0)
			facts->folders[folder->node.parent].all_bytes =
				size_add(facts->folders[folder->node.parent].all_bytes,
					 folder->all_bytes);
	}
}

/* ---- equal folders ------------------------------------------------------------------------ */

static void equal_facts_free(struct equal_facts *facts)
{
	for (size_t i = 0; i < facts->count; i++)
		copies_free(&facts->list[i].copies);
}

static int begin_equal(struct gathering *g)
{
	if (g->settings->rules)
		g->equal.rules = *g->settings->rules;
	/* the page spares nothing: only keep rules count */
	g->equal.rules.include_bundles = true;
	return folder_count_begin(&g->equal.whole);
}

/* Moves a group to the page, unless the page has enough groups with more reclaimable bytes. */
static void show_equal(struct equal_facts *facts, struct page_equal *group)
{
	size_t at = facts->count;

	while (at > 0 && facts->list[at - 1].reclaimable < group->reclaimable)
		at--;
	if (at == PAGE_EQUAL_MAX)
		return;
	if (facts->count == PAGE_EQUAL_MAX)
		copies_free(&facts->list[--facts->count].copies);
	memmove(&facts->list[at + 1], &facts->list[at],
		(facts->count++ - at) * sizeof(*facts->list));
	facts->list[at] = *group;
	group->copies = (struct copies){0};
}

static int count_equal_copies(struct gathering *g, const struct folder_group *folders,
			      struct page_equal *group)
{
	int r = folder_count_add_whole(&g->equal.whole, g->reader, g->filter, &group->copies);

	if (r == 0)
		r = folder_tree_reclaimable(g->reader, &group->copies, &group->reclaimable);
	group->folders = group->copies.count;
	group->files = folders->files;
	group->bytes = folders->bytes;
	g->facts->equal.groups++;
	if (r == 0)
		show_equal(&g->facts->equal, group);
	return r;
}

static int count_equal_group(struct gathering *g, const struct folder_group *folders)
{
	const struct report report = {
		.reader = g->reader,
		.sources = g->settings->sources,
		.rules = &g->equal.rules,
		.filter = g->filter,
		.folders = true,
	};
	struct group_record record = collect_record_of(folders);
	struct page_equal group = {0};
	bool selected = false;
	int r;

	if (folders->bytes == 0 || !filter_may_have(g->filter, &record))
		return 0;
	r = collect_copies(&report, NULL, &record, &group.copies);
	if (r == 0)
		r = filter_selects_group(g->filter, report.sources, &group.copies, &selected);
	if (r == 0 && selected)
		r = count_equal_copies(g, folders, &group);
	copies_free(&group.copies);
	return r;
}

static int finish_equal(struct gathering *g)
{
	struct equal_facts *facts = &g->facts->equal;
	int r = folder_count_finish(&g->equal.whole, g->reader, &facts->whole_bytes);

	facts->whole = g->equal.whole.folders;
	return r < 0 ? r : -ENOENT;
}

/* Counts groups as the portion permits; each name in them counts as a file. Returns 0, -ENOENT if
 * the facts are complete, -EINTR if stop_requested(), or another -errno. */
static int count_equal(struct gathering *g)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct folder_group folders;
	int r = catalog_scan_folder_groups(g->reader, g->equal.group, &scan);

	while (r == 0 && g->left > 0 && (r = catalog_next_folder_group(scan, &folders)) == 0) {
		uint64_t names = size_multiply(folders.folders, folders.files + 1);

		g->equal.group = folders.id;
		g->left -= names < g->left ? names : g->left;
		r = count_equal_group(g, &folders);
		if (r == -ENOENT)
			return -EUCLEAN;
	}
	return r == -ENOENT ? finish_equal(g) : r;
}

/* ---- elsewhere ---------------------------------------------------------------------------- */

static int begin_source(struct gathering *g)
{
	struct elsewhere_gathering *elsewhere = &g->elsewhere;
	const struct sources *sources = g->settings->sources;
	const struct report report = {
		.missing = &elsewhere->folders,
		.sources = sources,
		.filter = g->filter,
	};
	size_t number = g->facts->elsewhere.count, others = 0;

	for (size_t i = 0; i < sources->count; i++) {
		if (i != number)
			elsewhere->in[others++] = sources->list[i].path;
	}
	elsewhere->in[others] = NULL;
	elsewhere->of[0] = sources->list[number].path;
	elsewhere->folders = (struct missing_folders){.of = elsewhere->of, .in = elsewhere->in};
	elsewhere->after = (struct size_entry){.size = 1};
	return missing_finder_new(&elsewhere->finder, &report);
}

static int examine_file(struct gathering *g, const struct size_entry *entry)
{
	struct page_elsewhere *source = &g->facts->elsewhere.list[g->facts->elsewhere.count];
	bool missing;
	int r = missing_find(g->elsewhere.finder, entry, &source->all, &missing);

	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	if (missing) {
		source->missing++;
		source->missing_bytes = size_add(source->missing_bytes, entry->size);
	}
	g->elsewhere.after = *entry;
	return 0;
}

/* Examines files of the present source. Returns -ENOENT if none is left. */
static int examine_files(struct gathering *g)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct size_entry entry = g->elsewhere.after;
	int r;

	entry.file++;
	missing_finder_set_reader(g->elsewhere.finder, g->reader);
	r = catalog_scan_sizes(g->reader, &entry, &scan);
	while (r == 0 && g->left > 0 && (r = catalog_next_size(scan, &entry)) == 0) {
		r = examine_file(g, &entry);
		g->left--;
	}
	return r;
}

/* Examines as many files as the portion permits. Returns 0, -ENOENT if the facts are complete, or
 * another -errno. */
static int count_elsewhere(struct gathering *g)
{
	struct elsewhere_facts *facts = &g->facts->elsewhere;
	size_t count = g->settings->sources->count;
	int r = 0;

	if (count < 2 || count > ELSEWHERE_SOURCES_MAX || facts->count == count ||
	    filter_is_selective(g->filter))
		return -ENOENT;
	if (!g->elsewhere.finder)
		r = begin_source(g);
	if (r == 0)
		r = examine_files(g);
	if (r != -ENOENT)
		return r;
	missing_finder_free(TAKE(g->elsewhere.finder));
	facts->count++;
	return 0;
}

/* ---- portions ----------------------------------------------------------------------------- */

static int note_generation(const struct gathering *g)
{
	struct page_facts *facts = g->facts;
	struct catalog_totals totals;
	int r = catalog_get_totals(g->reader, &totals);

	if (r < 0)
		return r;
	facts->changed |= facts->generation != 0 && facts->generation != totals.generation;
	facts->generation = totals.generation;
	return 0;
}

static int begin_gathering(struct gathering *g)
{
	int r = summary_add_index(&g->facts->summary, g->reader);

	if (r == 0 && catalog_get_equal_parts(g->settings->sources->catalog, &g->facts->parts) < 0)
		g->facts->parts = (struct equal_parts){0};
	g->filter = g->settings->filter;
	if (g->filter)
		return r;
	g->all = FILTER_NONE;
	g->filter = &g->all;
	return r < 0 ? r : catalog_get_min_size(g->reader, &g->all.min_size);
}

/* Runs one step in a snapshot of its own. */
static int gather_portion(struct gathering *g, int (*step)(struct gathering *g))
{
	bool ends = stop_requested() || cancellation_is_requested(g->settings->cancellation);
	int r = ends ? -EINTR : catalog_read_begin(g->settings->sources->catalog, &g->reader);

	g->left = PORTION;
	if (r == 0)
		r = note_generation(g);
	if (r == 0)
		r = step(g);
	catalog_read_end(TAKE(g->reader));
	return r;
}

/* Runs a step until it returns -ENOENT. */
static int gather_portions(struct gathering *g, int (*step)(struct gathering *g))
{
	int r;

	do
		r = gather_portion(g, step);
	while (r == 0);
	return r == -ENOENT ? 0 : r;
}

/* Gathers the facts of folders. A number of groups is a number of groups of files. */
static int gather_folders(struct gathering *g)
{
	int r;

	if (g->filter->top < UINT64_MAX)
		return 0;
	r = begin_equal(g);
	if (r == 0)
		r = gather_portions(g, count_equal);
	return r < 0 ? r : gather_portions(g, count_elsewhere);
}

static int gather_all(struct gathering *g)
{
	int r = gather_portion(g, begin_gathering);

	if (r == 0)
		r = gather_portion(g, list_unreadable);
	while (r == 0 && !g->at.grouped)
		r = gather_portion(g, count_groups);
	if (r == 0)
		r = gather_portion(g, make_folders);
	if (r == 0)
		r = gather_portions(g, count_files);
	if (r == 0)
		finish_files(g->facts);
	return r < 0 ? r : gather_folders(g);
}

int page_facts_gather(struct page_facts *facts, const struct page_settings *settings)
{
	struct gathering g = {.settings = settings, .facts = facts};
	int r = gather_all(&g);

	folders_free(&g.folders);
	free(g.places);
	folder_count_free(&g.equal.whole);
	missing_finder_free(g.elsewhere.finder);
	for (size_t i = 0; r == 0 && settings->picture && i < facts->group_count; i++)
		r = stop_requested()
			    ? -EINTR
			    : settings->picture(settings->context, facts->groups[i].group.kept,
						&facts->groups[i].picture);
	return r;
}

void page_facts_free(struct page_facts *facts)
{
	for (size_t i = 0; i < facts->group_count; i++) {
		copies_free(&facts->groups[i].copies);
		bytes_free(&facts->groups[i].picture);
	}
	equal_facts_free(&facts->equal);
	kinds_free(&facts->kinds);
	unreadable_facts_free(&facts->unreadable);
	free(facts->folders);
	arena_free(&facts->names);
}
