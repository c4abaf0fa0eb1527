/* SPDX-License-Identifier: MIT */
#include "index/served_sources.h"

#include <errno.h>
#include <string.h>

#include "base/boot.h"
#include "base/path.h"
#include "index/index_folder.h"
#include "index/known_index.h"
#include "index/status_file.h"
#include "row/json_path.h"

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
