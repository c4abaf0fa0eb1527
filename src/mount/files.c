/* SPDX-License-Identifier: MIT */

/* Open files. */

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "mount/callbacks.h"
#include "mount/sync.h"

void on_open(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info)
{
	struct session *session = session_of(request);
	struct handle *handle;
	int r = -EROFS;

	if ((info->flags & O_ACCMODE) == O_RDONLY && !(info->flags & O_TRUNC))
		r = handle_open(&session->handles, session->view, node, &handle);
	if (r < 0) {
		reply_error(request, r);
		return;
	}
	if (handle->file.fd < 0)
		info->direct_io = 1; /* its size is not known before it is opened */
	else
		info->keep_cache = page_gate_may_keep(&session->gate, node_id(node),
						      handle->file.content_digest);
	reply_open(request, info, handle);
}

void on_release(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info)
{
	(void)node;
	handle_drop(handle_of(info));
	reply_error(request, 0);
}

/* Not with the descriptor: what was read is given away only after it is known to be good. */
void on_read(fuse_req_t request, fuse_ino_t node, size_t size, off_t offset,
	     struct fuse_file_info *info)
{
	struct session *session = session_of(request);
	struct handle *handle CLEANUP_HANDLE = handle_use(handle_of(info));
	AUTO_FREE char *buffer = NULL;
	long length = -ENOMEM;

	if (node == FIXED_SYNC) {
		sync_read(session, request, handle, size, (size_t)offset);
		return;
	}
	buffer = malloc(size ? size : 1);
	if (buffer)
		length = view_read(session->view, &handle->file, buffer, size, offset);
	if (length < 0)
		reply_error(request, (int)length);
	else
		(void)fuse_reply_buf(request, buffer, (size_t)length);
}

/* Only who follows events ever waits; to the kernel other files are always ready, too. */
void on_poll(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info,
	     struct fuse_pollhandle *poll)
{
	const unsigned int ready = POLLIN | POLLRDNORM;
	struct session *session = session_of(request);
	struct handle *handle = handle_of(info);

	if (node != FIXED_EVENTS) {
		if (poll)
			fuse_pollhandle_destroy(poll);
		(void)fuse_reply_poll(request, ready);
		return;
	}
	/* first, as what comes after the look at the file must wake */
	if (poll)
		handle_set_poll(handle, poll);
	(void)fuse_reply_poll(request, view_has_more(session->view, &handle->file) ? ready : 0);
}

/* lseek(2) for SEEK_DATA and SEEK_HOLE in a file that holds no hole. */
static off_t seek_in_content(const struct bytes *content, off_t offset, int whence)
{
	if (offset < 0 || (size_t)offset >= content->length)
		return -ENXIO;
	return whence == SEEK_DATA ? offset : (off_t)content->length;
}

void on_lseek(fuse_req_t request, fuse_ino_t node, off_t offset, int whence,
	      struct fuse_file_info *info)
{
	const struct view_file *file = &handle_of(info)->file;

	(void)node;
	if (whence != SEEK_DATA && whence != SEEK_HOLE) {
		reply_error(request, -EINVAL);
		return;
	}
	if (file->fd < 0) {
		offset = seek_in_content(&file->content, offset, whence);
	} else {
		offset = lseek(file->fd, offset, whence);
		if (offset < 0)
			offset = -errno;
	}
	if (offset < 0)
		reply_error(request, (int)offset);
	else
		(void)fuse_reply_lseek(request, offset);
}
