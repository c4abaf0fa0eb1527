/* SPDX-License-Identifier: MIT */
#include "view/follow/pending_files.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/sort.h"
#include "index/change.h"
#include "index/query.h"
#include "index/scan.h"
#include "scan/ingest.h"

void pending_files_free(struct pending_files *pending)
{
	bytes_free(&pending->waiting);
	bytes_free(&pending->failed);
	bytes_free(&pending->alone);
}

static int add(struct pending_files *pending, struct catalog_reader *reader, uint64_t file)
{
	int error, r = catalog_get_error(reader, ERROR_FILE, file, &error);

	if (r < 0 || (error && !ingest_error_is_temporary(error)))
		return r;
	return bytes_append(error ? &pending->failed : &pending->waiting, &file, sizeof(file));
}

static int add_alone(struct pending_files *pending, struct catalog_reader *reader, uint64_t file)
{
	int error, r = catalog_get_error(reader, ERROR_FILE, file, &error);

	return r < 0 || !error ? r : bytes_append(&pending->alone, &file, sizeof(file));
}

static int find_of_size(struct pending_files *pending, struct catalog_reader *reader, uint64_t size)
{
	struct size_entry from = {.size = size}, entry, last = {0};
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct pending_files before = *pending;
	size_t files = 0;
	int r = catalog_scan_sizes(reader, &from, &scan);

	while (r == 0 && (r = catalog_next_size(scan, &entry)) == 0 && entry.size == size) {
		files++;
		last = entry;
		if (entry.prefix)
			break; /* the unread files of a size come first */
		r = add(pending, reader, entry.file);
	}
	if ((r < 0 && r != -ENOENT) || files != 1 || last.prefix)
		return r == -ENOENT ? 0 : r;
	pending->waiting.length = before.waiting.length;
	pending->failed.length = before.failed.length;
	return add_alone(pending, reader, last.file);
}

int pending_files_find(struct pending_files *pending, struct catalog *catalog,
		       const uint64_t *sizes, size_t count)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	uint64_t min_size = 0;
	int r = catalog_read_begin(catalog, &reader);

	if (r == 0)
		r = catalog_get_min_size(reader, &min_size);
	for (size_t i = 0; r == 0 && i < count; i++) {
		if (sizes[i] >= min_size)
			r = find_of_size(pending, reader, sizes[i]);
	}
	if (r == 0 && pending->waiting.length > 0)
		qsort(pending->waiting.data, pending->waiting.length / sizeof(uint64_t),
		      sizeof(uint64_t), numbers_by_value);
	return r;
}

int pending_files_find_failed(struct catalog *catalog, struct due_files *files)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct error_entry entry;
	int r = catalog_read_begin(catalog, &reader);

	if (r == 0)
		r = catalog_scan_errors(reader, &scan);
	while (r == 0 && (r = catalog_next_error(scan, &entry)) == 0) {
		if (entry.kind != ERROR_FILE)
			continue;
		r = array_reserve(&files->list, &files->capacity, files->count + 1,
				  sizeof(*files->list));
		if (r == 0)
			files->list[files->count++] = entry.id;
	}
	return r == -ENOENT ? 0 : r;
}

static int forgive_body(struct catalog_writer *w, void *context)
{
	const struct bytes *alone = context;
	const uint64_t *files = (const void *)alone->data;
	int r = 0;

	for (size_t i = 0; r == 0 && i < alone->length / sizeof(*files); i++)
		r = catalog_set_error(w, ERROR_FILE, files[i], 0);
	return r;
}

int pending_files_forgive(const struct pending_files *pending, struct catalog *catalog)
{
	struct bytes alone = pending->alone;

	return alone.length > 0 ? catalog_write(catalog, forgive_body, &alone) : 0;
}
