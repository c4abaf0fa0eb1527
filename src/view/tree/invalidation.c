/* SPDX-License-Identifier: MIT */
#include "view/tree/invalidation.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "index/scan.h"

int invalidation_new(struct invalidation **invalidation, struct commit_delta *delta)
{
	struct invalidation *made = malloc(sizeof(*made));

	if (!made)
		return -ENOMEM;
	*made = (struct invalidation){.time = clock_now(), .delta = *delta};
	*delta = (struct commit_delta){0};
	*invalidation = made;
	return 0;
}

void invalidation_free(struct invalidation *invalidation)
{
	if (invalidation)
		commit_delta_free(&invalidation->delta);
	free(invalidation);
}

/* ---- all directories ----------------------------------------------------------------- */

static int add_folder(struct commit_delta *delta, uint64_t id)
{
	return commit_delta_add(delta, DELTA_DIRS, &(struct delta_dir){.dir = id});
}

static int add_folders_in(struct catalog_reader *reader, uint64_t id, struct commit_delta *delta)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct entry_record entry;
	int r = catalog_scan_entries(reader, id, 0, &scan);

	while (r == 0 && (r = catalog_next_entry(scan, &entry)) == 0) {
		if (entry.kind == ENTRY_DIR)
			r = add_folder(delta, entry.child);
	}
	return r == -ENOENT ? 0 : r;
}

static int find_all_folders(const struct view *view, struct commit_delta *delta)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	const struct delta_dir *found;
	size_t count;
	int r = catalog_read_begin(view->catalog, &reader);

	for (size_t i = 0; r == 0 && i < view->sources->count; i++)
		r = add_folder(delta, view->sources->list[i].root);
	found = commit_delta_list(delta, DELTA_DIRS, &count);
	for (size_t i = 0; r == 0 && i < count; i++) {
		r = add_folders_in(reader, found[i].dir, delta);
		found = commit_delta_list(delta, DELTA_DIRS, &count);
	}
	return r;
}

int invalidation_new_all(struct invalidation **invalidation, const struct view *view)
{
	struct commit_delta delta = {0};
	int r = find_all_folders(view, &delta);

	if (r == 0)
		r = invalidation_new(invalidation, &delta);
	commit_delta_free(&delta);
	return r;
}
