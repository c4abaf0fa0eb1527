/* SPDX-License-Identifier: MIT */
#include "index/scan_scope.h"

#include <errno.h>
#include <string.h>

#include "catalog/query.h"
#include "catalog/scan_settings.h"

void scan_scope_free(struct scan_scope *scope)
{
	text_list_free(&scope->excludes);
	*scope = (struct scan_scope){0};
}

/* Adds the globs of the options; with known, only those that the last scan also had. */
static int add_excludes(struct scan_scope *scope, const struct text_list *globs,
			const struct scan_settings *known)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < globs->count; i++) {
		if (!known || scan_settings_exclude(known, globs->items[i]))
			r = text_list_add(&scope->excludes, globs->items[i],
					  strlen(globs->items[i]));
	}
	return r;
}

/* Reads the options of the last scan. Sets known->recorded to false if there was none. The update
 * of a damaged index finds the damage again, and rebuilds the index. */
static int read_known(struct catalog *catalog, struct scan_settings *known, uint64_t *min_size)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	int r = catalog_read_begin(catalog, &reader);

	if (r == 0)
		r = catalog_get_scan_settings(reader, known);
	if (r == 0)
		r = catalog_get_min_size(reader, min_size);
	if (r != -EUCLEAN)
		return r;
	known->recorded = false;
	return 0;
}

int scan_scope_find(struct scan_scope *scope, const struct index_settings *settings,
		    struct catalog *catalog)
{
	CLEANUP_SCAN_SETTINGS struct scan_settings known = {0};
	uint64_t min_size = 0;
	int r = catalog ? read_known(catalog, &known, &min_size) : 0;

	*scope = (struct scan_scope){.min_size = settings->min_size,
				     .cross_mounts = settings->cross_file_systems};
	if (r < 0)
		return r;
	if (!known.recorded)
		return add_excludes(scope, &settings->excludes, NULL);
	if (min_size < scope->min_size)
		scope->min_size = min_size;
	scope->cross_mounts |= known.cross_mounts;
	return add_excludes(scope, &settings->excludes, &known);
}
