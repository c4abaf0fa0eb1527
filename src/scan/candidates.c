/* SPDX-License-Identifier: MIT */
#include "scan/candidates.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "index/scan.h"

/* A size that is being collected. Its unread files are at the end of the window, from first on. */
struct size_group {
	uint64_t size;
	size_t first;
	uint64_t files;
	bool rivals;
};

static const struct size_entry behind_all = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};

/* Sets the position to the next size of candidates->sizes. */
static void next_size(struct candidates *candidates)
{
	candidates->position = behind_all;
	if (candidates->next_size < candidates->sizes->count)
		candidates->position = (struct size_entry){
			.size = candidates->sizes->list[candidates->next_size++]};
}

int candidates_begin(struct candidates *candidates)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	uint64_t min_size = 0;
	int r = catalog_read_begin(candidates->catalog, &reader);

	if (r == 0)
		r = catalog_get_min_size(reader, &min_size);
	candidates->position = (struct size_entry){
		.size = candidates->range.from > min_size ? candidates->range.from : min_size};
	while (r == 0 && candidates->sizes) {
		next_size(candidates);
		if (candidates->position.size >= min_size)
			break;
	}
	return r;
}

bool candidates_are_done(const struct candidates *candidates)
{
	return candidates->position.size == behind_all.size;
}

void window_free(struct window *window)
{
	free(window->list);
	*window = (struct window){0};
}

static int add(struct window *window, const struct size_entry *entry)
{
	int r = array_reserve(&window->list, &window->capacity, window->count + 1,
			      sizeof(*window->list));

	if (r == 0)
		window->list[window->count++] =
			(struct candidate){.file = entry->file, .size = entry->size};
	return r;
}

/* Ends a size after its last file. A file with a unique size need not be read. */
static void close_size(struct window *window, const struct size_group *group)
{
	if (group->files < 2)
		window->count = group->first;
	for (size_t i = group->first; i < window->count; i++)
		window->list[i].rivals = group->rivals;
}

static int is_wanted(const struct candidates *candidates, struct catalog_reader *reader,
		     const struct size_entry *entry, bool *wanted)
{
	const struct ingest_sizes *sizes = candidates->sizes;
	int error = 0, r = 0;

	*wanted = entry->prefix == 0;
	if (*wanted && candidates->skip_errors)
		r = catalog_get_error(reader, ERROR_FILE, entry->file, &error);
	if (error) /* the file could not be read, and did not change since */
		*wanted = sizes && sizes->again && sizes->again(sizes->context, entry->file);
	else if (*wanted && sizes && sizes->waits)
		*wanted = !sizes->waits(sizes->context, entry->file);
	return r;
}

/* Ends a window that became full within a size. All files of this size move to the next window. But
 * if the size fills the window alone, it is split, and its earlier files are rivals of the later
 * files. */
static void end_window(struct candidates *candidates, struct window *window,
		       struct size_group *group, const struct size_entry *next)
{
	candidates->split = group->first == 0;
	if (candidates->split) {
		candidates->position = *next;
		group->files = 2; /* next is a further file of this size */
		group->rivals = true; /* compared files of this size possibly follow after next */
		close_size(window, group);
	} else {
		candidates->position = (struct size_entry){.size = group->size};
		window->count = group->first;
	}
}

/* Outcome of collecting from candidates->position on. */
enum {
	WINDOW_FULL = 1
};

static int collect(struct candidates *candidates, struct window *window,
		   struct catalog_reader *reader)
{
	struct size_group group = {.size = candidates->position.size,
				   .first = window->count,
				   .files = candidates->split,
				   .rivals = candidates->split};
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct size_entry entry;
	bool wanted;
	int r = catalog_scan_sizes(reader, &candidates->position, &scan);

	while (r == 0 && (r = catalog_next_size(scan, &entry)) == 0) {
		if (candidates->sizes ? entry.size != group.size
				      : !ingest_range_has(candidates->range, entry.size))
			break;
		if (entry.size != group.size) {
			close_size(window, &group);
			group = (struct size_group){.size = entry.size, .first = window->count};
		}
		r = is_wanted(candidates, reader, &entry, &wanted);
		if (r == 0 && wanted && window->count >= candidates->window_files) {
			end_window(candidates, window, &group, &entry);
			return WINDOW_FULL;
		}
		group.files++;
		group.rivals |= entry.prefix != 0;
		if (r == 0 && wanted)
			r = add(window, &entry);
		if (candidates->sizes && entry.prefix)
			break; /* the unread files of a size come first */
	}
	close_size(window, &group);
	candidates->split = false;
	return r == -ENOENT ? 0 : r;
}

static int collect_window(struct candidates *candidates, struct window *window,
			  struct catalog_reader *reader)
{
	int r = 0;

	while (r == 0 && !candidates_are_done(candidates)) {
		r = collect(candidates, window, reader);
		if (r == 0 && candidates->sizes)
			next_size(candidates);
		else if (r == 0)
			candidates->position = behind_all;
	}
	return r < 0 ? r : 0;
}

static int by_file(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return x->file < y->file ? -1 : x->file > y->file;
}

int candidates_next(struct candidates *candidates, struct window *window)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	int r = catalog_read_begin(candidates->catalog, &reader);

	window->count = 0;
	if (r == 0)
		r = collect_window(candidates, window, reader);
	if (r == 0 && window->count > 1)
		qsort(window->list, window->count, sizeof(*window->list), by_file);
	return r;
}
