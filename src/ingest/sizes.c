/* SPDX-License-Identifier: MIT */
#include "ingest/sizes.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/stop.h"
#include "catalog/change.h"
#include "catalog/query.h"
#include "catalog/scan.h"

/* Number of files that are added in one transaction. Its changed pages take a few MiB. */
#define LISTED_FILES ((size_t)32 << 10)

/* A range of file ids, sorted by size. */
struct run {
	struct sized_file *files;
	size_t capacity;
	size_t count;
	size_t done; /* number of files that were added to the list */
	uint64_t next; /* the first file after the range; 0: none */
};

static int by_size(const void *a, const void *b)
{
	const struct sized_file *x = a, *y = b;

	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	return x->file < y->file ? -1 : x->file > y->file;
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
			(struct sized_file){.size = file.attributes.size, .file = file.id};
	}
	if (r < 0 && r != -ENOENT)
		return r;
	qsort(run->files, run->count, sizeof(*run->files), by_size);
	return 0;
}

static int list_body(struct catalog_writer *w, void *context)
{
	struct run *run = context;
	size_t left = run->count - run->done, count = left < LISTED_FILES ? left : LISTED_FILES;
	int r = catalog_list_sizes(w, run->files + run->done, count);

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
