/* SPDX-License-Identifier: MIT */
#include "partial/open_files.h"

#include <errno.h>
#include <unistd.h>

#include "catalog/query.h"
#include "partial/partial.h"
#include "source/source.h"

void open_files_init(struct open_files *files, const struct partial *partial)
{
	*files = (struct open_files){.partial = partial};
	for (size_t i = 0; i < OPEN_FILES_MAX; i++)
		files->slots[i].fd = -1;
}

void open_files_deinit(struct open_files *files)
{
	for (size_t i = 0; i < OPEN_FILES_MAX; i++) {
		if (files->slots[i].fd >= 0)
			(void)close(files->slots[i].fd);
	}
}

static int open_file(const struct partial *partial, uint32_t index)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	struct file_record file;
	int r = catalog_read_begin(partial->settings->catalog, &reader);

	if (r == 0)
		r = catalog_get_file(reader, partial->table.files[index].id, &file);
	if (r < 0)
		return r == -ENOENT ? -ESTALE : r;
	if (file_digest(&file) != partial->table.files[index].digest)
		return -ESTALE; /* the index was updated meanwhile */
	return source_open_file(partial->settings->sources, reader, &file, 0);
}

int open_files_get(struct open_files *files, uint32_t file)
{
	size_t oldest = 0;
	int fd;

	for (size_t i = 0; i < OPEN_FILES_MAX; i++) {
		if (files->slots[i].fd >= 0 && files->slots[i].file == file) {
			files->slots[i].used = ++files->uses;
			return files->slots[i].fd;
		}
		if (files->slots[i].used < files->slots[oldest].used)
			oldest = i;
	}
	fd = open_file(files->partial, file);
	if (fd < 0)
		return fd;
	if (files->slots[oldest].fd >= 0)
		(void)close(files->slots[oldest].fd);
	files->slots[oldest].fd = fd;
	files->slots[oldest].file = file;
	files->slots[oldest].used = ++files->uses;
	return fd;
}

int open_files_get_again(struct open_files *files, uint32_t file)
{
	for (size_t i = 0; i < OPEN_FILES_MAX; i++) {
		if (files->slots[i].fd >= 0 && files->slots[i].file == file) {
			(void)close(files->slots[i].fd);
			files->slots[i].fd = -1;
		}
	}
	return open_files_get(files, file);
}
