/* SPDX-License-Identifier: MIT */
#include "cli/plan_sources.h"

#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/log.h"
#include "base/path.h"
#include "base/quote.h"
#include "catalog/catalog.h"
#include "catalog/query.h"
#include "index/index_folder.h"
#include "index/index_open.h"
#include "plan/plan_file.h"
#include "source/source.h"

/* Adds the sources if one of them has the path. */
static int add_if_covering(const struct sources *sources, const char *path, struct text_list *found)
{
	bool covers = false;
	int r = 0;

	for (size_t i = 0; i < sources->count; i++)
		covers = covers || path_below(path, sources->list[i].path);
	for (size_t i = 0; covers && r == 0 && i < sources->count; i++)
		r = text_list_add(found, sources->list[i].path, strlen(sources->list[i].path));
	return r;
}

/* Returns whether the index has whole sources, which a scan of these would not widen. */
static int is_of_sources(struct catalog *catalog, bool *is)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	bool of_operands = false;
	int r = catalog_read_begin(catalog, &reader);

	if (r == 0)
		r = catalog_is_of_operands(reader, &of_operands);
	*is = !of_operands;
	return r;
}

/* Adds the sources of one index if they have the path. An index that cannot be read has none, and
 * neither has one of single files. */
static int look_in(const char *folder, const char *path, struct text_list *found)
{
	struct sources sources = {0};
	struct catalog *catalog = NULL;
	bool is = false;
	int r = index_open_read_only(folder, &catalog);

	if (r != 0)
		return r == -ENOMEM ? r : 0;
	r = is_of_sources(catalog, &is);
	if (r == 0 && is)
		r = sources_open(&sources, catalog, NULL, false);
	if (r == 0)
		r = add_if_covering(&sources, path, found);
	sources_close(&sources);
	catalog_close(catalog);
	return r;
}

static int list_folders(const struct index_settings *settings, struct text_list *folders)
{
	AUTO_FREE char *given = NULL;
	int r;

	if (!settings->folder)
		return index_folders_list(folders);
	r = index_folder_given(settings->folder, &given);
	return r < 0 ? r : text_list_add(folders, given, strlen(given));
}

int plan_sources_find(const char *plan_file, const struct index_settings *settings,
		      struct text_list *sources)
{
	CLEANUP_TEXT_LIST struct text_list folders = {0};
	CLEANUP_BYTES struct bytes path = {0};
	size_t indexes = 0;
	int r = plan_file_first_path(plan_file, &path);

	if (r == -ENODATA)
		log_error("the plan %s has no group", quote_path(plan_file));
	if (r < 0)
		return r;
	r = list_folders(settings, &folders);
	for (size_t i = 0; r == 0 && i < folders.count; i++) {
		size_t before = sources->count;

		r = look_in(folders.items[i], bytes_text(&path), sources);
		indexes += sources->count > before;
	}
	if (r < 0) {
		log_error("cannot find the sources of the plan: %s", error_text(r));
		return r;
	}
	if (indexes == 1)
		return 0;
	log_error("%s has %s in its sources; give the SOURCE... of the plan %s",
		  indexes == 0 ? "no index" : "more than one index", quote_path(bytes_text(&path)),
		  quote_path(plan_file));
	return -ENOENT;
}
