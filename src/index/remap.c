/* SPDX-License-Identifier: MIT */
#include "index/remap.h"

#include <errno.h>

#include "base/error.h"
#include "base/log.h"
#include "base/path.h"
#include "base/quote.h"
#include "index/current_index.h"
#include "index/served_sources.h"
#include "index/view_sync.h"
#include "mountpoint/table.h"
#include "sharing/mapping.h"

static int explain(const struct current_index *index, int result)
{
	if (result < 0)
		log_error("cannot update in the index %s what can be freed: %s",
			  quote_path(catalog_folder(index->catalog)), error_text(result));
	return result;
}

int index_remap_begin(const struct current_index *index)
{
	return explain(index, index->served ? 0 : mapping_begin_again(index->catalog));
}

static int remap_own(struct current_index *index)
{
	uint64_t due;

	return index->served ? 0 : mapping_run(index->catalog, index->sources, true, &due);
}

/* Returns whether a source contains another one, or is the same. */
static bool have_common_files(const struct sources *sources, const struct served_sources *served)
{
	for (size_t i = 0; i < sources->count; i++) {
		for (size_t j = 0; j < served->paths.count; j++) {
			const char *a = sources->list[i].path, *b = served->paths.items[j];

			if (path_below(a, b) || path_below(b, a))
				return true;
		}
	}
	return false;
}

static int remap_view(const struct current_index *index, const char *point)
{
	CLEANUP_SERVED_SOURCES struct served_sources served = {0};
	int r = served_sources_read(&served, point);

	if (r < 0 || !served.answers || !have_common_files(index->sources, &served))
		return r == -ENOMEM ? r : 0;
	r = view_remap(point);
	if (r < 0)
		log_warning("cannot update in the view at %s what can be freed: %s; read its "
			    ".twinfs/remap",
			    quote_path(point), error_text(r));
	return 0;
}

static int remap_views(const struct current_index *index)
{
	CLEANUP_TABLE struct mount_table table = {0};
	int r = mount_table_read(&table);

	for (size_t i = 0; r == 0 && i < table.count; i++) {
		if (mount_entry_is_view(&table.entries[i]))
			r = remap_view(index, table.entries[i].point);
	}
	return r;
}

int index_remap(struct current_index *index)
{
	int r = remap_own(index);

	if (r == 0)
		r = remap_views(index);
	return explain(index, r);
}
