/* SPDX-License-Identifier: MIT */
#include "ingest/plan.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "catalog/scan.h"

/* A size that is being collected. Its unread files are at the end of the window, from first on. */
struct size_group {
	uint64_t size;
	size_t first;
	uint64_t files;
	bool rivals;
};

static const struct size_entry behind_all = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};

/* Sets the position to the next size of plan->sizes. */
static void next_size(struct plan *plan)
{
	plan->position = behind_all;
	if (plan->next_size < plan->sizes->count)
		plan->position = (struct size_entry){.size = plan->sizes->list[plan->next_size++]};
}

int plan_begin(struct plan *plan)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	uint64_t min_size = 0;
	int r = catalog_read_begin(plan->catalog, &reader);

	if (r == 0)
		r = catalog_get_min_size(reader, &min_size);
	plan->position = (struct size_entry){.size = plan->range.from > min_size ? plan->range.from
										 : min_size};
	while (r == 0 && plan->sizes) {
		next_size(plan);
		if (plan->position.size >= min_size)
			break;
	}
	return r;
}

bool plan_is_done(const struct plan *plan)
{
	return plan->position.size == behind_all.size;
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

static int is_wanted(const struct plan *plan, struct catalog_reader *reader,
		     const struct size_entry *entry, bool *wanted)
{
	const struct ingest_sizes *sizes = plan->sizes;
	int error = 0, r = 0;

	*wanted = entry->prefix == 0;
	if (*wanted && plan->skip_errors)
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
static void end_window(struct plan *plan, struct window *window, struct size_group *group,
		       const struct size_entry *next)
{
	plan->split = group->first == 0;
	if (plan->split) {
		plan->position = *next;
		group->files = 2; /* next is a further file of this size */
		group->rivals = true; /* compared files of this size possibly follow after next */
		close_size(window, group);
	} else {
		plan->position = (struct size_entry){.size = group->size};
		window->count = group->first;
	}
}

/* Outcome of collecting from plan->position on. */
enum {
	WINDOW_FULL = 1
};

static int collect(struct plan *plan, struct window *window, struct catalog_reader *reader)
{
	struct size_group group = {.size = plan->position.size,
				   .first = window->count,
				   .files = plan->split,
				   .rivals = plan->split};
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct size_entry entry;
	bool wanted;
	int r = catalog_scan_sizes(reader, &plan->position, &scan);

	while (r == 0 && (r = catalog_next_size(scan, &entry)) == 0) {
		if (plan->sizes ? entry.size != group.size
				: !ingest_range_has(plan->range, entry.size))
			break;
		if (entry.size != group.size) {
			close_size(window, &group);
			group = (struct size_group){.size = entry.size, .first = window->count};
		}
		r = is_wanted(plan, reader, &entry, &wanted);
		if (r == 0 && wanted && window->count >= plan->window_files) {
			end_window(plan, window, &group, &entry);
			return WINDOW_FULL;
		}
		group.files++;
		group.rivals |= entry.prefix != 0;
		if (r == 0 && wanted)
			r = add(window, &entry);
		if (plan->sizes && entry.prefix)
			break; /* the unread files of a size come first */
	}
	close_size(window, &group);
	plan->split = false;
	return r == -ENOENT ? 0 : r;
}

static int collect_window(struct plan *plan, struct window *window, struct catalog_reader *reader)
{
	int r = 0;

	while (r == 0 && !plan_is_done(plan)) {
		r = collect(plan, window, reader);
		if (r == 0 && plan->sizes)
			next_size(plan);
		else if (r == 0)
			plan->position = behind_all;
	}
	return r < 0 ? r : 0;
}

static int by_file(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return x->file < y->file ? -1 : x->file > y->file;
}

int plan_next(struct plan *plan, struct window *window)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	int r = catalog_read_begin(plan->catalog, &reader);

	window->count = 0;
	if (r == 0)
		r = collect_window(plan, window, reader);
	if (r == 0 && window->count > 1)
		qsort(window->list, window->count, sizeof(*window->list), by_file);
	return r;
}
