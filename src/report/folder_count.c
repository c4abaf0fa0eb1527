/* SPDX-License-Identifier: MIT */
#include "report/folder_count.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/size.h"
#include "catalog/query.h"
#include "report/folder_walk.h"
#include "report/sorter.h"

/* Highest number of bytes of inodes with several names that are sorted in memory: 40,000 names. */
#define LINKS_BYTES (1UL << 20)

int folder_count_begin(struct folder_count *count)
{
	*count = (struct folder_count){0};
	return sorter_new(&count->links, LINKS_BYTES);
}

void folder_count_free(struct folder_count *count)
{
	sorter_free(count->links);
	*count = (struct folder_count){0};
}

struct counting {
	struct folder_count *count;
	struct catalog_reader *reader;
};

static int count_name(void *context, const struct entry_record *entry)
{
	const struct counting *counting = context;
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
	count->bytes = size_add(count->bytes, file.attributes.size);
	return 0;
}

int folder_count_add(struct folder_count *count, struct catalog_reader *reader, uint64_t dir)
{
	struct counting counting = {.count = count, .reader = reader};

	return folder_walk(reader, dir, count_name, &counting);
}

/* Counts an inode if all its names were visited. */
static int count_links(struct folder_count *count, struct catalog_reader *reader, uint64_t id,
		       uint64_t visited)
{
	struct file_record file;
	int r = catalog_get_file(reader, id, &file);

	if (r == 0 && file.names == visited && file.attributes.links <= visited)
		count->bytes = size_add(count->bytes, file.attributes.size);
	return r == -ENOENT ? -EUCLEAN : r;
}

int folder_count_finish(struct folder_count *count, struct catalog_reader *reader, uint64_t *bytes)
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
	*bytes = count->bytes;
	return r;
}
