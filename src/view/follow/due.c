/* SPDX-License-Identifier: MIT */
#include "view/follow/due.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/sort.h"
#include "index/query.h"

/* The size of a file that is not compared. */
#define NO_SIZE UINT64_MAX

struct sized_file {
	uint64_t size, file;
};

static int by_size(const void *a, const void *b)
{
	const struct sized_file *x = a, *y = b;

	return numbers_compare(x->size, y->size);
}

static int find_size(struct catalog_reader *reader, struct ingest_range range,
		     struct sized_file *sized)
{
	struct file_record file;
	int r = catalog_get_file(reader, sized->file, &file);

	if (r == 0 && file.names > 0 && S_ISREG(file.attributes.mode) &&
	    ingest_range_has(range, file.attributes.size))
		sized->size = file.attributes.size;
	return r == -ENOENT ? 0 : r;
}

static int list_by_size(struct sized_file *list, const struct due_files *files,
			struct catalog *catalog, struct ingest_range range)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	int r = catalog_read_begin(catalog, &reader);

	for (size_t i = 0; r == 0 && i < files->count; i++) {
		list[i] = (struct sized_file){NO_SIZE, files->list[i]};
		r = find_size(reader, range, &list[i]);
	}
	if (r == 0)
		qsort(list, files->count, sizeof(*list), by_size);
	return r;
}

/* Returns the index after the last file that has the size of list[first]. */
static size_t end_of_size(const struct sized_file *list, size_t count, size_t first)
{
	size_t end = first + 1;

	while (end < count && list[end].size == list[first].size)
		end++;
	return end;
}

static bool is_rare(const struct sized_file *list, size_t first, size_t end)
{
	return list[first].size != NO_SIZE && end - first <= DUE_RARE_FILES;
}

static size_t count_rare(const struct sized_file *list, size_t count)
{
	size_t found = 0, end;

	for (size_t i = 0; i < count; i = end) {
		end = end_of_size(list, count, i);
		found += is_rare(list, i, end) ? end - i : 0;
	}
	return found;
}

/* Takes all files of the list, or only those of rare sizes. */
static void take(struct due *due, const struct sized_file *list, size_t count, bool rare)
{
	size_t end;

	due->files.count = 0;
	for (size_t i = 0; i < count; i = end) {
		end = end_of_size(list, count, i);
		if (rare && !is_rare(list, i, end))
			continue;
		if (list[i].size != NO_SIZE)
			due->sizes[due->size_count++] = list[i].size;
		for (size_t k = i; k < end; k++)
			due->files.list[due->files.count++] = list[k].file;
	}
}

int due_find_sizes(struct due *due, struct catalog *catalog, struct ingest_range range, bool *rare)
{
	size_t count = due->files.count, rare_count;
	AUTO_FREE struct sized_file *list = calloc(count ? count : 1, sizeof(*list));
	int r;

	due->sizes = calloc(count ? count : 1, sizeof(*due->sizes));
	if (!list || !due->sizes)
		return -ENOMEM;
	r = list_by_size(list, &due->files, catalog, range);
	if (r < 0)
		return r;
	rare_count = count_rare(list, count);
	*rare = *rare && rare_count > 0 && count - rare_count > DUE_RARE_FILES;
	take(due, list, count, *rare);
	return 0;
}

static bool has_number(const uint64_t *list, size_t count, uint64_t number)
{
	return count > 0 && bsearch(&number, list, count, sizeof(*list), numbers_by_value);
}

int due_finish(const struct due *due, struct backoff *backoff, const struct bytes *pending,
	       struct due_times times)
{
	const uint64_t *list = (const void *)pending->data;
	const uint64_t now = times.now_ns;
	const uint64_t from = times.from_ns < now ? times.from_ns : now;
	size_t count = pending->length / sizeof(*list);
	int r = 0;

	for (size_t i = 0; i < due->files.count; i++) {
		if (!backoff_waits(backoff, due->files.list[i], from) &&
		    !has_number(list, count, due->files.list[i]))
			backoff_done(backoff, due->files.list[i], now);
	}
	for (size_t i = 0; r == 0 && i < count; i++) {
		if (!backoff_waits(backoff, list[i], from))
			r = backoff_busy(backoff, list[i], now);
	}
	return r;
}

void due_free(struct due *due)
{
	free(due->files.list);
	free(due->sizes);
	*due = (struct due){0};
}
