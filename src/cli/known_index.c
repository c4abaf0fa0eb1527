/* SPDX-License-Identifier: MIT */
#include "cli/known_index.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/kernel.h"
#include "base/path.h"
#include "index/catalog.h"
#include "index/mount_point.h"
#include "index/query.h"
#include "row/json_path.h"
#include "scan/index_folder.h"
#include "scan/status_file.h"

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

/* ---- what a view serves ------------------------------------------------------------- */

static int read_status(struct served_sources *served, const json_t *status)
{
	const json_t *sources = json_object_get(status, "sources");
	int r = 0;

	if (status_file_number(status, "pid_namespace") == pid_namespace())
		served->pid = (pid_t)status_file_number(status, "pid");
	served->answers = true;
	served->shared = json_is_true(json_object_get(status, "shared"));
	for (size_t i = 0; r == 0 && i < json_array_size(sources); i++) {
		CLEANUP_BYTES struct bytes path = {0};

		r = json_get_path(json_array_get(sources, i), "path", &path);
		if (r == 0)
			r = text_list_add(&served->paths, (const char *)path.data, path.length);
	}
	return r;
}

/* Reads the index in a folder. Returns 1 if its last view was mounted there, 0 if not, or
 * -errno. */
static int read_index(struct served_sources *served, const char *folder, const char *mount_point)
{
	CLEANUP_KNOWN_INDEX struct known_index index = {0};
	int r = known_index_read(&index, folder);

	if (r < 0 || index.outcome != 0 ||
	    strcmp((const char *)index.last_view.data, mount_point) != 0)
		return r;
	if (index.pid > 0 && strcmp(index.mount_point, mount_point) == 0)
		served->pid = index.pid;
	r = text_list_add_all(&served->paths, index.sources.items);
	return r < 0 ? r : 1;
}

static int read_known_indexes(struct served_sources *served, const char *mount_point)
{
	CLEANUP_TEXT_LIST struct text_list folders = {0};
	int r = index_folders_list(&folders);

	for (size_t i = 0; r == 0 && i < folders.count; i++)
		r = read_index(served, folders.items[i], mount_point);
	return r < 0 ? r : 0;
}

int served_sources_read(struct served_sources *served, const char *mount_point)
{
	json_auto_t *status = NULL;
	int r = status_file_read(mount_point, &status);

	*served = (struct served_sources){0};
	if (r == -ENOMEM)
		return r;
	return r == 0 ? read_status(served, status) : read_known_indexes(served, mount_point);
}

void served_sources_free(struct served_sources *served)
{
	text_list_free(&served->paths);
}

bool served_sources_are_in(const struct served_sources *served, const char *path)
{
	for (size_t i = 0; i < served->paths.count; i++) {
		if (path_below(served->paths.items[i], path))
			return true;
	}
	return false;
}

/* ---- a view that shows a mount point ------------------------------------------------ */

/* Finds the source of a view that contains the mount point. Returns 1 if there is one, 0 if not, or
 * -ENOMEM. */
static int find_source(const char *mount_point, const char *view, struct bytes *source)
{
	CLEANUP_SERVED_SOURCES struct served_sources served = {0};
	json_auto_t *status = NULL;
	int r = status_file_read(view, &status);

	if (r == 0)
		r = read_status(&served, status);
	for (size_t i = 0; r == 0 && i < served.paths.count; i++) {
		if (!path_below(mount_point, served.paths.items[i]))
			continue;
		r = bytes_append_text(source, served.paths.items[i]);
		return r == 0 && bytes_text(source) ? 1 : -ENOMEM;
	}
	return r == -ENOMEM ? r : 0;
}

int showing_view_find(const char *mount_point, struct showing_view *showing)
{
	CLEANUP_TEXT_LIST struct text_list views = {0};
	int r;

	*showing = (struct showing_view){0};
	r = mount_points_list(&views);
	for (size_t i = 0; r == 0 && i < views.count; i++) {
		r = find_source(mount_point, views.items[i], &showing->source);
		if (r == 1)
			showing->view = strdup(views.items[i]);
		if (r == 1 && !showing->view)
			r = -ENOMEM;
	}
	return r < 0 ? r : 0;
}

void showing_view_free(struct showing_view *showing)
{
	free(showing->view);
	bytes_free(&showing->source);
	*showing = (struct showing_view){0};
}
