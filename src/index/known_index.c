/* SPDX-License-Identifier: MIT */
#include "index/known_index.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "catalog/catalog.h"
#include "catalog/query.h"
#include "index/index_folder.h"
#include "index/index_open.h"
#include "index/status_file.h"
#include "mountpoint/point.h"

/* Time without a scan after which an index of absent sources is old. A disk in a drawer is
 * connected more often. */
#define OLD_SECONDS (90L * 24 * 60 * 60)

void known_index_free(struct known_index *index)
{
	text_list_free(&index->sources);
	free(index->mount_point);
	bytes_free(&index->last_view);
}

static int read_paths(struct known_index *index, struct catalog *catalog)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	CLEANUP_BYTES struct bytes path = {0};
	uint64_t root;
	int r = catalog_read_begin(catalog, &reader);

	if (r == 0)
		r = catalog_is_of_operands(reader, &index->of_operands);
	if (r == 0)
		r = catalog_get_view(reader, &index->last_view);
	if (r == 0 && !bytes_text(&index->last_view))
		r = -ENOMEM;
	while (r == 0) {
		path.length = 0;
		r = catalog_get_source(reader, index->sources.count, &path, &root);
		if (r == 0)
			r = text_list_add(&index->sources, (const char *)path.data, path.length);
	}
	return r == -ENOENT ? 0 : r;
}

static bool is_absent(const struct text_list *sources)
{
	struct stat status;

	for (size_t i = 0; i < sources->count; i++) {
		if (fstatat(AT_FDCWD, sources->items[i], &status, AT_NO_AUTOMOUNT) == 0 ||
		    errno != ENOENT)
			return false;
	}
	return sources->count > 0;
}

int known_index_read(struct known_index *index, const char *folder)
{
	struct catalog *catalog = NULL;
	int r;

	*index = (struct known_index){.folder = folder, .bytes = index_folder_bytes(folder)};
	if (catalog_owner(folder, &index->pid, &index->mount_point) == -ENOMEM)
		return -ENOMEM;
	index->outcome = index_open_read_only(folder, &catalog);
	if (index->outcome != 0)
		return index->outcome == -ENOMEM ? -ENOMEM : 0;
	r = read_paths(index, catalog);
	if (r == 0)
		r = catalog_last_scan(catalog, &index->last_scan);
	catalog_close(catalog);
	index->outcome = r;
	index->absent = is_absent(&index->sources);
	return r == -ENOMEM ? r : 0;
}

/* Adds the index of a mounted view to the list, unless the list has it. A view that does not
 * answer, or is hidden from this user, is skipped. */
static int add_view_index(const char *mount_point, struct text_list *folders)
{
	CLEANUP_BYTES struct bytes folder = {0};

	if (status_file_index(mount_point, &folder) < 0)
		return 0;
	if (!bytes_text(&folder))
		return -ENOMEM;
	if (text_list_has(folders, bytes_text(&folder)))
		return 0;
	return text_list_add(folders, (const char *)folder.data, folder.length);
}

int known_indexes_list(struct text_list *folders)
{
	CLEANUP_TEXT_LIST struct text_list views = {0};
	int r = index_folders_list(folders);

	if (r == 0)
		r = mount_points_list(&views);
	for (size_t i = 0; r == 0 && i < views.count; i++)
		r = add_view_index(views.items[i], folders);
	return r;
}

bool known_index_is_old(const struct known_index *index)
{
	return index->outcome == 0 && index->absent && index->pid == 0 && index->last_scan.tv_sec &&
	       index->last_scan.tv_sec < clock_now().tv_sec - OLD_SECONDS;
}
