/* SPDX-License-Identifier: MIT */
#include "ingest/sizes.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/key_sort.h"
#include "base/numbers.h"
#include "base/stop.h"
#include "catalog/change.h"
#include "catalog/query.h"
#include "catalog/scan.h"

/* Number of files that are added in one transaction. Its changed pages take a few MiB. */
#define LISTED_FILES ((size_t)32 << 10)

/* A range of file ids, sorted in the order of the list. */
struct run {
	struct deferred_file *files;
	size_t capacity;
	size_t count;
	size_t done; /* number of files that were added to the list */
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

/* Adds the contents of the files, which are sorted by id, to the run. */
static int fill_contents(struct run *run, struct catalog_reader *reader)
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

static int fill(struct run *run, struct catalog_reader *reader, uint64_t from)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct file_record file;
	int r = catalog_scan_files(reader, from - 1, &scan);

	run->count = run->done = 0;
	run->next = 0;
	while (r == 0 && (r = catalog_next_file(scan, &file)) == 0) {
		if (!S_ISREG(file.attributes.mode) || file.names == 0)
			continue;
		if (run->count == run->capacity) {
			run->next = file.id;
			break;
		}
		run->files[run->count++] =
			(struct deferred_file){.size = file.attributes.size,
					       .file = file.id,
					       .has_links = file_has_links(&file)};
	}
	if (r == 0 || r == -ENOENT)
		r = fill_contents(run, reader);
	if (r < 0)
		return r;
	key_sort(run->files, run->count, sizeof(*run->files), &by_size);
	return 0;
}

static int list_body(struct catalog_writer *w, void *context)
{
	struct run *run = context;
	size_t left = run->count - run->done, count = left < LISTED_FILES ? left : LISTED_FILES;
	int r;

	catalog_reconsider_kept(w);
	r = catalog_list_deferred(w, run->files + run->done, count);

	if (r == 0 && count == left)
		catalog_set_unlisted(w, run->next);
	return r;
}

static int list_run(struct run *run, struct catalog *catalog, uint64_t from)
{
	struct catalog_reader *reader = NULL;
	int r = catalog_read_begin(catalog, &reader);

	if (r == 0)
		r = fill(run, reader, from);
	catalog_read_end(reader);
	if (r < 0)
		return r;
	do {
		r = catalog_write(catalog, list_body, run);
		run->done += LISTED_FILES;
	} while (r == 0 && run->done < run->count && !stop_requested());
	return r;
}

int ingest_list_sizes(struct catalog *catalog, size_t run_files)
{
	struct run run = {.capacity = run_files};
	struct catalog_totals totals = {0};
	int r = catalog_totals_now(catalog, &totals);
	uint64_t from = totals.unlisted;

	if (r == 0 && from) {
		run.files = calloc(run_files, sizeof(*run.files));
		r = run.files ? 0 : -ENOMEM;
	}
	while (r == 0 && from && !stop_requested()) {
		r = list_run(&run, catalog, from);
		from = run.next;
	}
	free(run.files);
	return r;
}
