/* SPDX-License-Identifier: MIT */
#include "view/notice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "catalog/query.h"
#include "catalog/scan.h"

/* ---- the copy ------------------------------------------------------------------------ */

static size_t text_length(const struct catalog_news *news)
{
	size_t length = 0;

	for (size_t i = 0; i < news->name_count; i++) {
		size_t end = (size_t)news->names[i].offset + news->names[i].length;

		if (end > length)
			length = end;
	}
	return length;
}

/* Copies an array to *at, which stays aligned for any of them, and moves behind it. */
static void *put_array(char **at, const void *array, size_t size)
{
	char *copy = *at;

	if (size)
		memcpy(copy, array, size);
	*at += (size + sizeof(uint64_t) - 1) / sizeof(uint64_t) * sizeof(uint64_t);
	return copy;
}

int view_notice_new(struct view_notice **notice, const struct catalog_news *news)
{
	const size_t names = news->name_count * sizeof(*news->names);
	const size_t dirs = news->dir_count * sizeof(*news->dirs);
	const size_t files = news->file_count * sizeof(*news->files);
	const size_t groups = news->group_count * sizeof(*news->groups);
	const size_t flips = news->flip_count * sizeof(*news->flips);
	const size_t holders = news->holder_count * sizeof(*news->holders);
	const size_t errors = news->error_count * sizeof(*news->errors);
	const size_t text = text_length(news);
	struct view_notice *made = malloc(sizeof(*made) + names + dirs + files + groups + flips +
					  holders + errors + text + 8 * sizeof(uint64_t));
	char *at = (char *)(made + 1);

	if (!made)
		return -ENOMEM;
	*made = (struct view_notice){.time = clock_now(), .news = *news};
	made->news.groups = put_array(&at, news->groups, groups);
	made->news.names = put_array(&at, news->names, names);
	made->news.dirs = put_array(&at, news->dirs, dirs);
	made->news.files = put_array(&at, news->files, files);
	made->news.flips = put_array(&at, news->flips, flips);
	made->news.holders = put_array(&at, news->holders, holders);
	made->news.errors = put_array(&at, news->errors, errors);
	made->news.text = put_array(&at, news->text, text);
	*notice = made;
	return 0;
}

void view_notice_free(struct view_notice *notice)
{
	free(notice);
}

/* ---- all folders ----------------------------------------------------------------------- */

static int add_folder(struct bytes *folders, uint64_t id)
{
	const struct news_dir folder = {.dir = id};

	return bytes_append(folders, &folder, sizeof(folder));
}

static int add_folders_in(struct catalog_reader *reader, uint64_t id, struct bytes *folders)
{
	struct catalog_scan *scan CLEANUP_SCAN = NULL;
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
	struct catalog_reader *reader CLEANUP_READER = NULL;
	const struct news_dir *found;
	int r = catalog_read_begin(view->catalog, &reader);

	for (size_t i = 0; r == 0 && i < view->sources->count; i++)
		r = add_folder(folders, view->sources->list[i].root);
	for (size_t i = 0; r == 0 && i < folders->length / sizeof(*found); i++) {
		found = (const void *)folders->data;
		r = add_folders_in(reader, found[i].dir, folders);
	}
	return r;
}

int view_notice_new_of_all(struct view_notice **notice, const struct view *view)
{
	CLEANUP_BYTES struct bytes folders = {0};
	struct catalog_news news = {0};
	int r = find_all_folders(view, &folders);

	news.dirs = (const void *)folders.data;
	news.dir_count = folders.length / sizeof(*news.dirs);
	return r < 0 ? r : view_notice_new(notice, &news);
}
