/* SPDX-License-Identifier: MIT */
#include "scan/ingest.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/sort.h"
#include "base/stop.h"
#include "base/thread.h"
#include "index/change.h"
#include "index/kept.h"
#include "index/patterns.h"
#include "index/query.h"
#include "index/scan.h"
#include "index/scan_settings.h"
#include "scan/early_files.h"
#include "scan/walk.h"

/* Maximum number of orphans deleted in one transaction, and number from which orphans are many. */
#define PURGE_FILES 65536

/* Maximum number of groups whose kept copy is checked in one transaction. */
#define CHOOSE_GROUPS 10000

/* ---- lists of deferred files ------------------------------------------------------------ */

/* Number of pieces of a run. Threads fill them, so there are several for each processor. */
#define PIECES 16

/* The deferred files of a range of ids, from the tables to the lists:
 *
 *   file, content --fill_pieces--> files, grouped --sort_lists--> list_body --> by size, members
 *                (all processors)               (two threads)    (one transaction)
 */
struct size_run {
	struct catalog *catalog;
	struct size_entry *files; /* room for each id, in the order of ids */
	struct deferred_file *grouped; /* those with a group; room for each id */
	uint64_t from, below; /* the ids; below is exclusive */
	uint64_t end; /* above the ids of all files */
	struct {
		size_t files, grouped; /* in the part of the lists of each piece */
	} pieces[PIECES], count;
	_Atomic size_t next; /* piece or list that no thread has taken yet */
	_Atomic int error;
};

static int compare_sizes(const void *a, const void *b)
{
	const struct size_entry *x = a, *y = b;
	int order = numbers_compare(x->size, y->size);

	if (order == 0)
		order = numbers_compare(x->prefix, y->prefix);
	if (order == 0)
		order = numbers_compare(x->group, y->group);
	return order ? order : numbers_compare(x->file, y->file);
}

static void set_size_key(const void *record, struct sort_key *key)
{
	const struct size_entry *file = record;

	key->major = file->size;
	key->minor = file->prefix >> 32; /* half of a hash differs in nearly all contents */
}

static const struct sort_order by_size = {set_size_key, compare_sizes};

static int compare_groups(const void *a, const void *b)
{
	const struct deferred_file *x = a, *y = b;
	int order = numbers_compare(x->group, y->group);

	return order ? order : numbers_compare(x->file, y->file);
}

static void set_group_key(const void *record, struct sort_key *key)
{
	const struct deferred_file *file = record;

	key->major = file->group;
	key->minor = 0; /* the list was filled in the order of files, which the sort keeps */
}

static const struct sort_order by_group = {set_group_key, compare_groups};

static struct deferred_file grouped_file(struct catalog *catalog, const struct file_record *file,
					 uint64_t group)
{
	struct kept_rank rank;

	kept_rank_set_inode(&rank, file->first_seen, &file->attributes);
	return (struct deferred_file){.size = file->attributes.size,
				      .group = group,
				      .file = file->id,
				      .dir = file->names == 1 ? file->dir : 0,
				      .mtime = rank.mtime.tv_sec,
				      .birth = rank.birth,
				      .first_seen = rank.first_seen,
				      .copy_mark = file->copy_mark,
				      .has_links = file_has_links(file),
				      .maps = catalog_maps_file(catalog, file)};
}

/* Returns the place of the first id of a piece in the lists. */
static size_t place_of(const struct size_run *run, size_t piece)
{
	return (size_t)(run->below - run->from) * piece / PIECES;
}

/* A known content, and the file that has it. */
struct content_beside {
	uint64_t file; /* UINT64_MAX after the last one */
	struct content_record content;
};

/* Goes on to the content of the file, or to the next one after it. */
static int seek_content(struct catalog_scan *scan, uint64_t file, struct content_beside *known)
{
	int r = 0;

	while (r == 0 && known->file < file)
		r = catalog_next_content(scan, &known->file, &known->content);
	if (r != -ENOENT)
		return r;
	known->file = UINT64_MAX;
	return 0;
}

static void add_deferred(struct size_run *run, size_t piece, const struct file_record *file,
			 const struct content_beside *known)
{
	const size_t place = place_of(run, piece);
	struct size_entry entry = {.size = file->attributes.size, .file = file->id};

	if (known->file == file->id) {
		entry.prefix = known->content.prefix;
		entry.group = known->content.group;
	}
	run->files[place + run->pieces[piece].files++] = entry;
	if (entry.group)
		run->grouped[place + run->pieces[piece].grouped++] =
			grouped_file(run->catalog, file, entry.group);
}

static int fill_piece(struct size_run *run, struct catalog_reader *reader, size_t piece)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL, *contents = NULL;
	uint64_t after = run->from + place_of(run, piece) - 1;
	uint64_t below = run->from + place_of(run, piece + 1);
	struct content_beside known = {0};
	struct file_record file;
	int r = catalog_scan_files(reader, after, &scan);

	if (r == 0)
		r = catalog_scan_contents(reader, after, &contents);
	while (r == 0 && (r = catalog_next_file(scan, &file)) == 0 && file.id < below) {
		if (!S_ISREG(file.attributes.mode) || file.names == 0)
			continue;
		r = seek_content(contents, file.id, &known);
		if (r == 0)
			add_deferred(run, piece, &file, &known);
	}
	return r == -ENOENT ? 0 : r;
}

/* Fills pieces until none is left. Runs in each thread, with a snapshot of its own. */
static void *fill_pieces(void *context)
{
	struct size_run *run = context;
	struct catalog_reader *reader = NULL;
	int r = catalog_read_begin(run->catalog, &reader);
	size_t piece;

	while (r == 0 && (piece = atomic_fetch_add(&run->next, 1)) < PIECES)
		r = fill_piece(run, reader, piece);
	catalog_read_end(reader);
	if (r < 0)
		atomic_store(&run->error, r);
	return NULL;
}

/* Closes the gaps between the pieces. */
static void join_pieces(struct size_run *run)
{
	for (size_t i = 0; i < PIECES; i++) {
		memmove(run->files + run->count.files, run->files + place_of(run, i),
			run->pieces[i].files * sizeof(*run->files));
		memmove(run->grouped + run->count.grouped, run->grouped + place_of(run, i),
			run->pieces[i].grouped * sizeof(*run->grouped));
		run->count.files += run->pieces[i].files;
		run->count.grouped += run->pieces[i].grouped;
	}
}

/* Sorts a list that no other thread sorts. */
static void *sort_lists(void *context)
{
	struct size_run *run = context;

	for (size_t list; (list = atomic_fetch_add(&run->next, 1)) < 2;) {
		if (list == 0)
			key_sort(run->files, run->count.files, sizeof(*run->files), &by_size);
		else
			key_sort(run->grouped, run->count.grouped, sizeof(*run->grouped),
				 &by_group);
	}
	return NULL;
}

/* Lists the whole run, so that after a kill each file is in both lists or in none. */
static int list_body(struct catalog_writer *w, void *context)
{
	struct size_run *run = context;
	int r;

	catalog_reconsider_kept(w);
	r = catalog_list_deferred(w, run->files, run->count.files);
	if (r == 0)
		r = catalog_join_deferred(w, run->grouped, run->count.grouped);
	if (r == 0)
		catalog_set_unlisted(w, run->below < run->end ? run->below : 0);
	return r;
}

static int list_run(struct size_run *run)
{
	int r;

	memset(&run->count, 0, sizeof(run->count));
	memset(run->pieces, 0, sizeof(run->pieces));
	run->next = 0;
	r = threads_run(threads_that_compute(), fill_pieces, run);
	if (r == 0)
		r = run->error;
	if (r < 0)
		return r;
	join_pieces(run);
	run->next = 0;
	r = threads_run(2, sort_lists, run);
	return r < 0 ? r : catalog_write(run->catalog, list_body, run);
}

int ingest_list_sizes(struct catalog *catalog, size_t run_ids)
{
	struct size_run run = {.catalog = catalog};
	struct catalog_totals totals = {0};
	int r = catalog_totals_now(catalog, &totals);

	if (r < 0 || !totals.unlisted)
		return r;
	run.end = catalog_ids_end(catalog);
	run.files = calloc(run_ids, sizeof(*run.files));
	run.grouped = calloc(run_ids, sizeof(*run.grouped));
	r = run.files && run.grouped ? 0 : -ENOMEM;
	run.below = totals.unlisted < run.end ? totals.unlisted : run.end;
	for (bool left = true; r == 0 && left && !stop_requested(); left = run.below < run.end) {
		run.from = run.below;
		run.below = run.end - run.from > run_ids ? run.from + run_ids : run.end;
		r = list_run(&run);
	}
	free(run.files);
	free(run.grouped);
	return r;
}

/* ---- steps of a scan -------------------------------------------------------------------- */

struct recorded {
	uint64_t min_size;
	struct scan_settings settings;
};

static int record_body(struct catalog_writer *w, void *context)
{
	struct recorded *recorded = context;
	int r = catalog_set_min_size(w, recorded->min_size);

	return r < 0 ? r : catalog_set_scan_settings(w, &recorded->settings);
}

static int record_settings(const struct ingest *ingest)
{
	const struct ingest_settings *settings = ingest->settings;
	struct recorded recorded = {.min_size = settings->min_size,
				    .settings = {.cross_mounts = settings->cross_mounts,
						 .disk = settings->disk}};
	int r = scan_settings_set_excludes(&recorded.settings,
					   settings->excludes ? settings->excludes->globs : NULL);

	if (r == 0)
		r = catalog_write(ingest->catalog, record_body, &recorded);
	scan_settings_free(&recorded.settings);
	return r;
}

static int purge_body(struct catalog_writer *w, void *context)
{
	return catalog_purge_orphans(w, PURGE_FILES, context);
}

int ingest_purge(struct catalog *catalog)
{
	bool left = true;
	int r = 0;

	while (r == 0 && left)
		r = catalog_write(catalog, purge_body, &left);
	return r;
}

int ingest_has_many_orphans(struct catalog *catalog, bool *many)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	struct catalog_totals totals;
	uint64_t orphans;
	int r = catalog_read_begin(catalog, &reader);

	if (r == 0)
		r = catalog_get_totals(reader, &totals);
	if (r == 0)
		r = catalog_count_orphans(reader, &orphans);
	*many = r == 0 && orphans > PURGE_FILES && orphans > totals.files + totals.others;
	return r;
}

static int choose_body(struct catalog_writer *w, void *context)
{
	(void)context;
	return catalog_choose_kept(w, CHOOSE_GROUPS);
}

int ingest_choose_kept(struct catalog *catalog)
{
	struct catalog_totals totals;
	int r = catalog_totals_now(catalog, &totals);

	while (r == 0 && totals.choose_from && !stop_requested()) {
		r = catalog_write(catalog, choose_body, NULL);
		if (r == 0)
			r = catalog_totals_now(catalog, &totals);
	}
	return r;
}

/* Returns whether a name was possibly removed, or replaced, in the directories. */
static bool may_remove(const struct recheck *rechecks, size_t count)
{
	const uint32_t removing = EVENT_REMOVED | EVENT_REPLACED | EVENT_MOVED_AWAY |
				  EVENT_MOVED_HERE | EVENT_MOVED_IN;
	uint32_t events;

	for (size_t i = 0; i < count; i++) {
		if (rechecks[i].scope != RECHECK_NAMES)
			return true;
		for (size_t k = 0; k < rechecks[i].count; k++) {
			events = rechecks[i].names[k]->events;
			if (events & removing || (events & EVENT_NAME && !(events & EVENT_CREATED)))
				return true;
		}
	}
	return false;
}

/* Rechecks the directories. of_scan: as in batch_writer_new(). */
static int recheck(struct ingest *ingest, const struct recheck *rechecks, size_t count,
		   bool of_scan, struct early_tables *tables)
{
	struct early_writer *early = tables ? early_writer_new(tables, ingest) : NULL;
	struct batch_writer *writer = NULL;
	int r, finished;

	r = batch_writer_new(&writer, ingest->catalog, ingest->hooks, of_scan, early);
	if (r == 0) {
		if (may_remove(rechecks, count))
			batch_writer_note_removals(writer);
		r = walk_rechecks(ingest, writer, early ? tables : NULL, rechecks, count);
		finished = batch_writer_finish(writer, r == 0 && !stop_requested());
		r = r < 0 ? r : finished;
	}
	early_writer_free(early);
	return r;
}

int ingest_recheck(struct ingest *ingest, const struct recheck *rechecks, size_t count)
{
	return recheck(ingest, rechecks, count, false, NULL);
}

/* Returns whether the walk reads files in directories that the index does not have yet. Every file
 * of the index must be listed, and the disk must not seek. */
static bool reads_early(const struct ingest *ingest)
{
	struct catalog_totals totals;

	return !ingest->settings->names_only && ingest->settings->disk != INGEST_DISK_ROTATING &&
	       catalog_totals_now(ingest->catalog, &totals) == 0 && totals.unlisted == 0;
}

static int count_nameless(struct catalog *catalog, uint64_t *count)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	int r = catalog_read_begin(catalog, &reader);

	return r == 0 ? catalog_count_orphans(reader, count) : r;
}

/* Notes names that were possibly moved past the walk where times of folders are no proof: servers
 * have clocks of their own. There, the walk has found a name of a file to be gone. */
static int note_nameless(struct ingest *ingest, uint64_t before)
{
	uint64_t now = 0;
	int r = count_nameless(ingest->catalog, &now);

	ingest->result.moved |= now > before && ingest->result.of_other_host;
	return r;
}

int ingest_names(struct ingest *ingest)
{
	const struct sources *sources = ingest->sources;
	AUTO_FREE struct recheck *rechecks = calloc(sources->count, sizeof(*rechecks));
	struct timespec begun = clock_now();
	struct early_tables *early = NULL;
	uint64_t nameless_before = 0;
	int r;

	if (!rechecks)
		return -ENOMEM;
	for (size_t i = 0; i < sources->count; i++)
		rechecks[i] = (struct recheck){.dir = sources->list[i].root, .scope = RECHECK_TREE};
	r = record_settings(ingest);
	/* An earlier scan was possibly killed before it completed the lists. */
	if (r == 0)
		r = ingest_list_sizes(ingest->catalog, SIZES_RUN_IDS);
	if (r == 0 && reads_early(ingest))
		early = early_tables_new();
	if (r == 0)
		r = count_nameless(ingest->catalog, &nameless_before);
	if (r == 0)
		r = recheck(ingest, rechecks, sources->count, true, early);
	if (r == 0)
		r = note_nameless(ingest, nameless_before);
	early_tables_free(early);
	if (r == 0 && !stop_requested())
		r = ingest_list_sizes(ingest->catalog, SIZES_RUN_IDS);
	if (r == 0)
		r = ingest_choose_kept(ingest->catalog);
	ingest->result.stopped = stop_requested();
	if (r == 0 && !ingest->result.stopped)
		catalog_note_scan(ingest->catalog, begun);
	/* Only a complete walk proves that a file without a name is deleted. A follower rechecks
	 * directories that changed during the walk, and purges files later. */
	if (r == 0 && !ingest->result.stopped && !ingest->hooks)
		r = ingest_purge(ingest->catalog);
	return r;
}
