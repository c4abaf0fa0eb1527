/* SPDX-License-Identifier: MIT */
#include "ingest/sizes.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/sort.h"
#include "base/stop.h"
#include "catalog/change.h"
#include "catalog/extents.h"
#include "catalog/kept_order.h"
#include "catalog/query.h"
#include "catalog/scan.h"

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
