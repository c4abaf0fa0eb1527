/* SPDX-License-Identifier: MIT */
#include "report/folder_count.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/size.h"
#include "catalog/extents.h"
#include "catalog/query.h"
#include "report/folder_walk.h"
#include "report/sorter.h"

/* Highest number of bytes of inodes with several names that are sorted in memory: 40,000 names. */
#define LINKS_BYTES (1UL << 20)

int folder_count_begin(struct folder_count *count)
{
	int r;

	*count = (struct folder_count){0};
	r = sorter_new(&count->links, LINKS_BYTES);
	return r < 0 ? r : sorter_new(&count->sharers, LINKS_BYTES);
}

void folder_count_free(struct folder_count *count)
{
	sorter_free(count->links);
	sorter_free(count->sharers);
	*count = (struct folder_count){0};
}

/* Counts an inode that would be removed. */
static int count_inode(struct folder_count *count, struct catalog_reader *reader,
		       const struct file_record *file)
{
	struct extent_record extents = {.own = file->attributes.size};
	int r = catalog_get_extents(reader, file->id, &extents);

	if (r < 0 && r != -ENOENT)
		return r;
	count->bytes = size_add(count->bytes, extents.own);
	if (!extents.sharing)
		return 0;
	return sorter_add(count->sharers, &extents.sharing, sizeof(extents.sharing), file->id);
}

struct folder_counting {
	struct folder_count *count;
	struct catalog_reader *reader;
};

static int count_name(void *context, const struct entry_record *entry)
{
	const struct folder_counting *counting = context;
	struct folder_count *count = counting->count;
	struct file_record file;
	int r;

	if (entry->kind != ENTRY_FILE)
		return 0;
	r = catalog_get_file(counting->reader, entry->child, &file);
	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	if (!S_ISREG(file.attributes.mode))
		return 0;
	count->files++;
	/* a directory that is mounted twice gives its files more names than links */
	if (file.attributes.links > 1 || file.names > 1)
		return sorter_add(count->links, "", 0, file.id);
	return count_inode(count, counting->reader, &file);
}

int folder_count_add(struct folder_count *count, struct catalog_reader *reader, uint64_t dir)
{
	struct folder_counting counting = {.count = count, .reader = reader};

	return folder_walk(reader, dir, count_name, &counting);
}

/* Counts an inode if all its names were visited. */
static int count_links(struct folder_count *count, struct catalog_reader *reader, uint64_t id,
		       uint64_t visited)
{
	struct file_record file;
	int r = catalog_get_file(reader, id, &file);

	if (r == 0 && file.names == visited && file.attributes.links <= visited)
		r = count_inode(count, reader, &file);
	return r == -ENOENT ? -EUCLEAN : r;
}

static int finish_links(struct folder_count *count, struct catalog_reader *reader)
{
	uint64_t last = 0, visited = 0, id;
	int r = sorter_finish(count->links);

	while (r == 0 && (r = sorter_next(count->links, &id)) == 0) {
		if (id != last && visited > 0)
			r = count_links(count, reader, last, visited);
		visited = id == last ? visited + 1 : 1;
		last = id;
	}
	if (r == -ENOENT)
		r = visited > 0 ? count_links(count, reader, last, visited) : 0;
	return r;
}

/* Counts what some files hold together, if all files that share it were counted.
 *
 * file		one of them
 * counted	their number */
static int count_joint(struct folder_count *count, struct catalog_reader *reader, uint64_t file,
		       uint64_t counted)
{
	struct extent_record extents;
	int r = catalog_get_extents(reader, file, &extents);

	if (r == 0 && extents.sharers == counted)
		count->bytes = size_add(count->bytes, extents.joint);
	return r;
}

static int finish_sharers(struct folder_count *count, struct catalog_reader *reader)
{
	uint64_t last = 0, file = 0, counted = 0, sharing, next;
	int r = sorter_finish(count->sharers);

	while (r == 0 &&
	       (r = sorter_next_key(count->sharers, &sharing, sizeof(sharing), &next)) == 0) {
		if (sharing != last && counted > 0)
			r = count_joint(count, reader, file, counted);
		counted = sharing == last ? counted + 1 : 1;
		last = sharing;
		file = next;
	}
	if (r == -ENOENT)
		r = counted > 0 ? count_joint(count, reader, file, counted) : 0;
	return r;
}

int folder_count_finish(struct folder_count *count, struct catalog_reader *reader, uint64_t *bytes)
{
	int r = finish_links(count, reader);

	if (r == 0)
		r = finish_sharers(count, reader);
	*bytes = count->bytes;
	return r;
}
