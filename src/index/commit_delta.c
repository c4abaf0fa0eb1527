/* SPDX-License-Identifier: MIT */
#include "index/commit_delta.h"

#include <errno.h>

#include "index/query.h"
#include "index/writer.h"

static const size_t sizes[DELTA_KINDS] = {
	[DELTA_NAMES] = sizeof(struct delta_name),
	[DELTA_DIRS] = sizeof(struct delta_dir),
	[DELTA_FILES] = sizeof(struct delta_file),
	[DELTA_REDUNDANCY] = sizeof(struct delta_flip),
	[DELTA_HOLDERS] = sizeof(uint64_t),
	[DELTA_GROUPS] = sizeof(struct delta_group),
	[DELTA_FOLDER_GROUPS] = sizeof(struct delta_folder_group),
	[DELTA_ERRORS] = sizeof(struct delta_error),
};

void commit_delta_free(struct commit_delta *delta)
{
	bytes_free(&delta->text);
	for (size_t i = 0; i < DELTA_KINDS; i++)
		bytes_free(&delta->lists[i]);
}

int commit_delta_add(struct commit_delta *delta, enum delta_kind kind, const void *change)
{
	return bytes_append(&delta->lists[kind], change, sizes[kind]);
}

const void *commit_delta_list(const struct commit_delta *delta, enum delta_kind kind, size_t *count)
{
	*count = delta->lists[kind].length / sizes[kind];
	return delta->lists[kind].data;
}

const void *commit_delta_at(const struct commit_delta *delta, enum delta_kind kind, size_t index)
{
	const struct bytes *list = &delta->lists[kind];
	size_t offset = index * sizes[kind];

	return offset < list->length ? list->data + offset : NULL;
}

/* ---- changes of a transaction ---------------------------------------------------------- */

int delta_add(struct catalog_writer *w, enum delta_kind kind, const void *change)
{
	return w->observed ? commit_delta_add(&w->delta, kind, change) : 0;
}

int delta_add_name(struct catalog_writer *w, uint64_t dir, struct name name)
{
	const struct delta_name delta = {.dir = dir,
					 .offset = (uint32_t)w->delta.text.length,
					 .length = name.length};
	int r = w->observed ? bytes_append(&w->delta.text, name.bytes, name.length) : 0;

	return r < 0 ? r : delta_add(w, DELTA_NAMES, &delta);
}

int delta_finish(struct catalog_writer *w)
{
	struct delta_file *files = (void *)w->delta.lists[DELTA_FILES].data;
	size_t count = w->delta.lists[DELTA_FILES].length / sizeof(*files), left = 0;
	struct file_record file;
	int r = 0;

	for (size_t i = 0; i < count; i++) {
		if (files[i].what & DELTA_FILE_GONE) {
			r = catalog_get_file_name(&w->store.reader, files[i].file, &file);
			if (r < 0 && r != -ENOENT)
				return r;
			if (r == 0 && file.names > 0)
				files[i].what &= ~(uint32_t)DELTA_FILE_GONE;
		}
		if (files[i].what)
			files[left++] = files[i];
	}
	w->delta.lists[DELTA_FILES].length = left * sizeof(*files);
	return 0;
}
