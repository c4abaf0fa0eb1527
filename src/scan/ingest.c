/* SPDX-License-Identifier: MIT */
#include "scan/ingest.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/sort.h"
#include "base/stop.h"
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

/* A range of file ids. */
struct size_run {
	struct catalog *catalog;
	struct deferred_file *files;
	size_t capacity;
	size_t count;
	uint64_t next; /* the first file after the range; 0: none */
};

static int compare_sizes(const void *a, const void *b)
{
	const struct deferred_file *x = a, *y = b;
	int order = numbers_compare(x->size, y->size);

	if (order == 0)
		order = numbers_compare(x->prefix, y->prefix);
	if (order == 0)
		order = numbers_compare(x->group, y->group);
	return order ? order : numbers_compare(x->file, y->file);
}

static void set_size_key(const void *record, struct sort_key *key)
{
	const struct deferred_file *file = record;

	key->major = file->size;
	key->minor = file->prefix;
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
	key->minor = file->file;
}

static const struct sort_order by_group = {set_group_key, compare_groups};

/* Adds the contents of the files, which are sorted by id, to the run. */
static int fill_contents(struct size_run *run, struct catalog_reader *reader)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct content_record content;
	uint64_t file = 0;
	size_t at = 0;
	int r = run->count ? catalog_scan_contents(reader, run->files[0].file - 1, &scan) : -ENOENT;

	while (r == 0 && (r = catalog_next_content(scan, &file, &content)) == 0) {
		while (at < run->count && run->files[at].file < file)
			at++;
		if (at == run->count)
			return 0;
		if (run->files[at].file != file)
			continue;
		run->files[at].prefix = content.prefix;
		run->files[at].group = content.group;
	}
	return r == -ENOENT ? 0 : r;
}

static int fill(struct size_run *run, struct catalog_reader *reader, uint64_t from)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct file_record file;
	struct kept_rank rank;
	int r = catalog_scan_files(reader, from - 1, &scan);

	run->count = 0;
	run->next = 0;
	while (r == 0 && (r = catalog_next_file(scan, &file)) == 0) {
		if (!S_ISREG(file.attributes.mode) || file.names == 0)
			continue;
		if (run->count == run->capacity) {
			run->next = file.id;
			break;
		}
		kept_rank_set_inode(&rank, file.first_seen, &file.attributes);
		run->files[run->count++] =
			(struct deferred_file){.size = file.attributes.size,
					       .file = file.id,
					       .dir = file.names == 1 ? file.dir : 0,
					       .mtime = rank.mtime.tv_sec,
					       .birth = rank.birth,
					       .first_seen = rank.first_seen,
					       .copy_mark = file.copy_mark,
					       .has_links = file_has_links(&file),
					       .maps = catalog_maps_file(run->catalog, &file)};
	}
	return r == 0 || r == -ENOENT ? fill_contents(run, reader) : r;
}

/* Lists the whole run, so that after a kill each file is in both lists or in none. */
static int list_body(struct catalog_writer *w, void *context)
{
	struct size_run *run = context;
	int r;

	catalog_reconsider_kept(w);
	key_sort(run->files, run->count, sizeof(*run->files), &by_size);
	r = catalog_list_deferred(w, run->files, run->count);
	key_sort(run->files, run->count, sizeof(*run->files), &by_group);
	if (r == 0)
		r = catalog_join_deferred(w, run->files, run->count);
	if (r == 0)
		catalog_set_unlisted(w, run->next);
	return r;
}

static int list_run(struct size_run *run, uint64_t from)
{
	struct catalog_reader *reader = NULL;
	int r = catalog_read_begin(run->catalog, &reader);

	if (r == 0)
		r = fill(run, reader, from);
	catalog_read_end(reader);
	return r < 0 ? r : catalog_write(run->catalog, list_body, run);
}

int ingest_list_sizes(struct catalog *catalog, size_t run_files)
{
	struct size_run run = {.catalog = catalog, .capacity = run_files};
	struct catalog_totals totals = {0};
	int r = catalog_totals_now(catalog, &totals);
	uint64_t from = totals.unlisted;

	if (r == 0 && from) {
		run.files = calloc(run_files, sizeof(*run.files));
		r = run.files ? 0 : -ENOMEM;
	}
	while (r == 0 && from && !stop_requested()) {
		r = list_run(&run, from);
		from = run.next;
	}
	free(run.files);
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

/* Rechecks the directories. of_scan: as in batch_writer_new(). */
static int recheck(struct ingest *ingest, const struct recheck *rechecks, size_t count,
		   bool of_scan, struct early_tables *tables)
{
	struct early_writer *early = tables ? early_writer_new(tables, ingest) : NULL;
	struct batch_writer *writer = NULL;
	int r, finished;

	r = batch_writer_new(&writer, ingest->catalog, ingest->hooks, of_scan, early);
	if (r == 0) {
		r = walk_rechecks(ingest, writer, early ? tables : NULL, rechecks, count);
		finished = batch_writer_finish(writer);
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
		r = ingest_list_sizes(ingest->catalog, SIZES_RUN_FILES);
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
		r = ingest_list_sizes(ingest->catalog, SIZES_RUN_FILES);
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
