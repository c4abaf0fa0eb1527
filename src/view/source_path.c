/* SPDX-License-Identifier: MIT */
#include "view/source_path.h"

#include <errno.h>

#include "catalog/kept_order.h"
#include "catalog/paths.h"
#include "catalog/query.h"
#include "source/source.h"
#include "view/access.h"
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

static int append_absolute(const struct view_query *query, struct bytes *relative, uint32_t source,
			   struct bytes *path)
{
	const char *text = bytes_text(relative);

	if (!text)
		return -ENOMEM;
	return source_absolute_path(query->view->sources, source, text, path);
}

int source_path_of(const struct view_query *query, uint64_t node, struct bytes *path)
{
	CLEANUP_BYTES struct bytes relative = {0};
	uint32_t source;
	int r;

	if (node_is_source_dir(node))
		r = catalog_dir_path(query->reader, node_id(node), &relative, &source);
	else
		r = file_path(query, node_id(node), &relative, &source);
	return r < 0 ? r : append_absolute(query, &relative, source, path);
}

int source_path_for(const struct view_query *query, uint64_t node, struct bytes *path)
{
	CLEANUP_BYTES struct bytes relative = {0};
	struct file_record file;
	struct kept_rank rank = {0};
	int r;

	if (!query->caller || node_is_source_dir(node))
		return source_path_of(query, node, path);
	r = catalog_get_file(query->reader, node_id(node), &file);
	if (r == 0 && file.names == 1)
		return source_path_of(query, node, path);
	if (r == 0)
		r = access_find_file(query, &file, &relative, &rank);
	if (r < 0)
		return r == -EACCES ? -ENODATA : r;
	return append_absolute(query, &relative, rank.source, path);
}
