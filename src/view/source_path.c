/* SPDX-License-Identifier: MIT */
#include "view/source_path.h"

#include <errno.h>

#include "catalog/query.h"
#include "view/node.h"

static int file_path(const struct view_query *query, uint64_t id, struct bytes *path,
		     uint32_t *source)
{
	struct file_record file;
	int r = catalog_get_file(query->reader, id, &file);

	if (r < 0)
		return r;
	if (file.names == 0)
		return -ENOENT;
	return catalog_entry_path(query->reader, file.dir, file.cookie, path, source);
}

int source_path_of(const struct view_query *query, uint64_t node, struct bytes *path)
{
	struct bytes relative CLEANUP_BYTES = {0};
	uint32_t source;
	const char *text;
	int r;

	if (node_is_source_dir(node))
		r = catalog_dir_path(query->reader, node_id(node), &relative, &source);
	else
		r = file_path(query, node_id(node), &relative, &source);
	if (r < 0)
		return r;
	text = bytes_text(&relative);
	if (!text)
		return -ENOMEM;
	return source_absolute_path(query->view->sources, source, text, path);
}
