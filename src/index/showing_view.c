/* SPDX-License-Identifier: MIT */
#include "index/showing_view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "index/status_file.h"
#include "mountpoint/point.h"
#include "row/json_path.h"

/* Finds the source, in the status of a view, that contains the mount point. Returns 1 if there is
 * one, 0 if not, or -errno. */
static int find_source(const char *mount_point, const json_t *status, struct bytes *source)
{
	const json_t *sources = json_object_get(status, "sources");

	for (size_t i = 0; i < json_array_size(sources); i++) {
		const char *path;

		source->length = 0;
		if (json_get_path(json_array_get(sources, i), "path", source) < 0)
			continue;
		path = bytes_text(source);
		if (!path)
			return -ENOMEM;
		if (path_below(mount_point, path))
			return 1;
	}
	return 0;
}

int showing_view_find(const char *mount_point, struct showing_view *showing)
{
	CLEANUP_TEXT_LIST struct text_list views = {0};
	int r;

	*showing = (struct showing_view){0};
	r = mount_points_list(&views);
	for (size_t i = 0; r == 0 && i < views.count; i++) {
		json_auto_t *status = NULL;

		if (status_file_read(views.items[i], &status) == 0)
			r = find_source(mount_point, status, &showing->source);
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
