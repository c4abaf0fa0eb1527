/* SPDX-License-Identifier: MIT */

/* Reading files and symlinks, of the sources and of .twinfs/. */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "catalog/query.h"
#include "view/node.h"
#include "view/own_file.h"
#include "view/query.h"
#include "view/view.h"

/* Opens the source of a file node of one type, through the signature gate. */
static int open_source(const struct view_query *query, uint64_t node, mode_t type, int flags,
		       struct file_record *file)
{
	int r;

	if (node_kind(node) != NODE_FILE)
		return -EINVAL;
	r = catalog_get_file(query->reader, node_id(node), file);
	if (r < 0)
		return r == -ENOENT ? -ESTALE : r;
	if ((file->attributes.mode & S_IFMT) != type)
		return -EINVAL;
	return source_open_file(query->view->sources, query->reader, file, flags);
}

int view_open(struct view *view, uint64_t node, struct view_file *file)
{
	struct view_query query CLEANUP_QUERY = {0};
	struct file_record record;
	int r = query_begin(&query, view);

	*file = (struct view_file){.fd = -1};
	if (r < 0)
		return query_error(r);
	if (node == FIXED_STATUS) {
		r = own_file_status(&query, &file->content);
	} else if (node == FIXED_ERRORS) {
		r = own_file_errors(&query, &file->content);
	} else {
		r = open_source(&query, node, S_IFREG, 0, &record);
		if (r >= 0) {
			file->fd = r;
			file->signature = attributes_digest(&record.attributes);
			r = 0;
		}
	}
	if (r < 0)
		view_close(file);
	return query_error(r);
}

void view_close(struct view_file *file)
{
	cleanup_close(&file->fd);
	file->fd = -1;
	bytes_free(&file->content);
}

int view_readlink(struct view *view, uint64_t node, struct bytes *target)
{
	struct view_query query CLEANUP_QUERY = {0};
	struct file_record record;
	AUTO_CLOSE int fd = -1;
	ssize_t length;
	int r = query_begin(&query, view);

	if (r == 0)
		r = fd = open_source(&query, node, S_IFLNK, O_PATH, &record);
	if (r < 0)
		return query_error(r);
	query_end(&query);
	r = bytes_reserve(target, PATH_MAX);
	if (r < 0)
		return r;
	length = readlinkat(fd, "", (char *)target->data + target->length, PATH_MAX);
	if (length < 0)
		return -errno;
	if (length >= PATH_MAX)
		return -ENAMETOOLONG;
	target->length += (size_t)length;
	return 0;
}
