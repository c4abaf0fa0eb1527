/* SPDX-License-Identifier: MIT */
#include "view/invalidation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "catalog/scan.h"

/* ---- copying a delta ----------------------------------------------------------------- */

static size_t text_length(const struct commit_delta *delta)
{
	size_t length = 0;

	for (size_t i = 0; i < delta->name_count; i++) {
		size_t end = (size_t)delta->names[i].offset + delta->names[i].length;

		if (end > length)
			length = end;
	}
	return length;
}

/* Copies an array to *at and advances *at, aligned for any type. */
static void *put_array(char **at, const void *array, size_t size)
{
	char *copy = *at;

	if (size)
		memcpy(copy, array, size);
	*at += (size + sizeof(uint64_t) - 1) / sizeof(uint64_t) * sizeof(uint64_t);
	return copy;
}

int invalidation_new(struct invalidation **invalidation, const struct commit_delta *delta)
{
	const size_t names = delta->name_count * sizeof(*delta->names);
	const size_t dirs = delta->dir_count * sizeof(*delta->dirs);
	const size_t files = delta->file_count * sizeof(*delta->files);
	const size_t groups = delta->group_count * sizeof(*delta->groups);
	const size_t redundancy = delta->redundancy_count * sizeof(*delta->redundancy);
	const size_t holders = delta->holder_count * sizeof(*delta->holders);
	const size_t folder_groups = delta->folder_group_count * sizeof(*delta->folder_groups);
	const size_t errors = delta->error_count * sizeof(*delta->errors);
	const size_t text = text_length(delta);
	struct invalidation *made =
		malloc(sizeof(*made) + names + dirs + files + groups + redundancy + holders +
		       folder_groups + errors + text + 9 * sizeof(uint64_t));
	char *at = (char *)(made + 1);

	if (!made)
		return -ENOMEM;
	*made = (struct invalidation){.time = clock_now(), .delta = *delta};
	made->delta.groups = put_array(&at, delta->groups, groups);
	made->delta.names = put_array(&at, delta->names, names);
	made->delta.dirs = put_array(&at, delta->dirs, dirs);
	made->delta.files = put_array(&at, delta->files, files);
	made->delta.redundancy = put_array(&at, delta->redundancy, redundancy);
	made->delta.holders = put_array(&at, delta->holders, holders);
	made->delta.folder_groups = put_array(&at, delta->folder_groups, folder_groups);
	made->delta.errors = put_array(&at, delta->errors, errors);
	made->delta.text = put_array(&at, delta->text, text);
	*invalidation = made;
	return 0;
}

void invalidation_free(struct invalidation *invalidation)
{
	free(invalidation);
}

/* ---- all directories ----------------------------------------------------------------- */

static int add_folder(struct bytes *folders, uint64_t id)
{
	const struct delta_dir folder = {.dir = id};

	return bytes_append(folders, &folder, sizeof(folder));
}

static int add_folders_in(struct catalog_reader *reader, uint64_t id, struct bytes *folders)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct entry_record entry;
	int r = catalog_scan_entries(reader, id, 0, &scan);

	while (r == 0 && (r = catalog_next_entry(scan, &entry)) == 0) {
		if (entry.kind == ENTRY_DIR)
			r = add_folder(folders, entry.child);
	}
	return r == -ENOENT ? 0 : r;
}

static int find_all_folders(const struct view *view, struct bytes *folders)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	const struct delta_dir *found;
	int r = catalog_read_begin(view->catalog, &reader);

	for (size_t i = 0; r == 0 && i < view->sources->count; i++)
		r = add_folder(folders, view->sources->list[i].root);
	for (size_t i = 0; r == 0 && i < folders->length / sizeof(*found); i++) {
		found = (const void *)folders->data;
		r = add_folders_in(reader, found[i].dir, folders);
	}
	return r;
}

int invalidation_new_all(struct invalidation **invalidation, const struct view *view)
{
	CLEANUP_BYTES struct bytes folders = {0};
	struct commit_delta delta = {0};
	int r = find_all_folders(view, &folders);

	delta.dirs = (const void *)folders.data;
	delta.dir_count = folders.length / sizeof(*delta.dirs);
	return r < 0 ? r : invalidation_new(invalidation, &delta);
}
