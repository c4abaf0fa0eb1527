/* SPDX-License-Identifier: MIT */
#define HASH_NONFATAL_OOM 1
#include "view/follow/due.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <uthash.h>

#include "base/array.h"
#include "base/sort.h"
#include "index/query.h"

/* The size of a file that is not compared. */
#define NO_SIZE UINT64_MAX

struct due_size {
	uint64_t size;
	struct due_files files;
	UT_hash_handle hh;
};

static int find_size(struct catalog_reader *reader, struct ingest_range range, uint64_t id,
		     uint64_t *size)
{
	struct file_record file;
	int r = catalog_get_file(reader, id, &file);

	*size = NO_SIZE;
	if (r == 0 && file.names > 0 && S_ISREG(file.attributes.mode) &&
	    ingest_range_has(range, file.attributes.size))
		*size = file.attributes.size;
	return r == -ENOENT ? 0 : r;
}

static struct due_size *find(const struct due *due, uint64_t number)
{
	struct due_size *size;

	HASH_FIND(hh, due->sizes, &number, sizeof(number), size);
	return size;
}

static struct due_size *find_or_add(struct due *due, uint64_t number)
{
	struct due_size *size = find(due, number);

	if (size)
		return size;
	size = calloc(1, sizeof(*size));
	if (!size)
		return NULL;
	size->size = number;
	HASH_ADD(hh, due->sizes, size, sizeof(size->size), size);
	if (size->hh.tbl)
		return size;
	free(size);
	return NULL;
}

static int append(struct due_files *files, const uint64_t *list, size_t count)
{
	int r = array_reserve(&files->list, &files->capacity, files->count + count,
			      sizeof(*files->list));

	for (size_t i = 0; r == 0 && i < count; i++)
		files->list[files->count++] = list[i];
	return r;
}

int due_add(struct due *due, struct catalog *catalog, struct ingest_range range,
	    const struct due_files *files)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	struct due_size *size;
	uint64_t number;
	int r = catalog_read_begin(catalog, &reader);

	for (size_t i = 0; r == 0 && i < files->count; i++) {
		r = find_size(reader, range, files->list[i], &number);
		if (r < 0)
			break;
		size = find_or_add(due, number);
		r = size ? append(&size->files, &files->list[i], 1) : -ENOMEM;
		due->files += r == 0;
	}
	return r;
}

static void remove_size(struct due *due, struct due_size *size)
{
	due->files -= size->files.count;
	HASH_DEL(due->sizes, size);
	free(size->files.list);
	free(size);
}

/* A file that changed its size is in the round twice, and the part of one size ended its wait for
 * the other one, too. */
static int return_file(uint64_t file, struct backoff *changed, struct backoff *failing,
		       uint64_t now_ns)
{
	if (backoff_is_taken(changed, file))
		return backoff_return(changed, file);
	if (backoff_is_taken(failing, file))
		return backoff_return(failing, file);
	if (backoff_waits(changed, file, 0) || backoff_waits(failing, file, 0))
		return 0;
	return backoff_changed(changed, file, true, now_ns);
}

int due_return(const struct due *due, struct backoff *changed, struct backoff *failing,
	       uint64_t now_ns)
{
	int r = 0;

	for (const struct due_size *size = due->sizes; size; size = size->hh.next) {
		for (size_t i = 0; r == 0 && i < size->files.count; i++)
			r = return_file(size->files.list[i], changed, failing, now_ns);
	}
	return r;
}

void due_free(struct due *due)
{
	struct due_size *size, *next;

	HASH_ITER(hh, due->sizes, size, next)
	{
		remove_size(due, size);
	}
}

/* ---- parts --------------------------------------------------------------------------- */

/* Returns the maximum number of files of a rare size. */
static size_t rare_files(const struct due *due)
{
	size_t sizes = HASH_COUNT(due->sizes);
	size_t half = sizes > 0 ? due->files / sizes / 2 : 0;

	return half > DUE_RARE_FILES ? half : DUE_RARE_FILES;
}

int due_choose(const struct due *due, enum due_choice choice, size_t files, struct due_part *part)
{
	struct due_size *size = find(due, NO_SIZE);
	size_t rare = choice == DUE_RARE ? rare_files(due) : SIZE_MAX;
	size_t most = choice == DUE_ALL ? due->files : files + (size ? size->files.count : 0);
	int r;

	part->sizes = calloc(HASH_COUNT(due->sizes) + 1, sizeof(*part->sizes));
	if (!part->sizes)
		return -ENOMEM;
	r = size ? append(&part->files, size->files.list, size->files.count) : 0;
	for (size = due->sizes; r == 0 && size && part->files.count < most; size = size->hh.next) {
		if (size->size == NO_SIZE || size->files.count > rare)
			continue;
		part->sizes[part->size_count++] = size->size;
		r = append(&part->files, size->files.list, size->files.count);
	}
	qsort(part->sizes, part->size_count, sizeof(*part->sizes), numbers_by_value);
	return r;
}

void due_remove(struct due *due, const struct due_part *part)
{
	struct due_size *size;

	for (size_t i = 0; i <= part->size_count; i++) {
		size = find(due, i < part->size_count ? part->sizes[i] : NO_SIZE);
		if (size)
			remove_size(due, size);
	}
}

int due_finish(const struct due_part *part, struct backoff *backoff, const struct bytes *unread,
	       int (*again)(struct backoff *, uint64_t file, uint64_t now_ns), uint64_t now_ns)
{
	const uint64_t *list = (const void *)unread->data;
	int r = 0;

	for (size_t i = 0; r == 0 && i < unread->length / sizeof(*list); i++) {
		if (!backoff_waits(backoff, list[i], 0))
			r = again(backoff, list[i], now_ns);
	}
	for (size_t i = 0; r == 0 && i < part->files.count; i++) {
		if (backoff_is_taken(backoff, part->files.list[i]))
			backoff_done(backoff, part->files.list[i], now_ns);
	}
	return r;
}

void due_part_free(struct due_part *part)
{
	free(part->files.list);
	free(part->sizes);
	*part = (struct due_part){0};
}
