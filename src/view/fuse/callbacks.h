/* SPDX-License-Identifier: MIT */
#ifndef VIEW_FUSE_CALLBACKS_H
#define VIEW_FUSE_CALLBACKS_H

/* One function for each FUSE operation: queries the view and replies. Several threads call them at
 * a time: those of the loop, and those of libfuse if it uses io_uring. The user data of a request
 * is the session.
 *
 * view/fuse/kernel_cache.h says when a node is marked, and has the timeouts.
 */

#include <errno.h>

#include "view/fuse/session.h"

static inline struct session *session_of(fuse_req_t request)
{
	return fuse_req_userdata(request);
}

/* A reply fails only if the request was interrupted or the connection has ended. In both cases no
 * reply is needed. */
static inline void reply_error(fuse_req_t request, int result)
{
	(void)fuse_reply_err(request, -result);
}

/* Returns the handle of an open file, which is valid until the kernel releases it. */
static inline struct handle *handle_of(const struct fuse_file_info *info)
{
	return (struct handle *)(uintptr_t)info->fh; // NOLINT(performance-no-int-to-ptr)
}

/* Replies to an open with a handle. If the request was interrupted, the reply fails and the kernel
 * never releases the handle. In that case, closes the file. */
static inline void reply_open(fuse_req_t request, struct fuse_file_info *info,
			      struct handle *handle)
{
	struct session *session = session_of(request);

	info->fh = (uintptr_t)handle;
	if (fuse_reply_open(request, info) != -ENOENT)
		return;
	if (handle->file.fd >= 0)
		backing_end(&session->backings, NULL, handle->file.node);
	handle_drop(handle);
}

/* names.c */
void on_lookup(fuse_req_t request, fuse_ino_t parent, const char *name);
void on_getattr(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info);
void on_access(fuse_req_t request, fuse_ino_t node, int mask);
void on_readlink(fuse_req_t request, fuse_ino_t node);
void on_statfs(fuse_req_t request, fuse_ino_t node);
void on_getxattr(fuse_req_t request, fuse_ino_t node, const char *name, size_t size);
void on_listxattr(fuse_req_t request, fuse_ino_t node, size_t size);

/* listings.c */
void on_opendir(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info);
void on_releasedir(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info);
void on_readdir(fuse_req_t request, fuse_ino_t node, size_t size, off_t offset,
		struct fuse_file_info *info);
void on_readdirplus(fuse_req_t request, fuse_ino_t node, size_t size, off_t offset,
		    struct fuse_file_info *info);

/* files.c */
void on_open(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info);
void on_read(fuse_req_t request, fuse_ino_t node, size_t size, off_t offset,
	     struct fuse_file_info *info);
void on_lseek(fuse_req_t request, fuse_ino_t node, off_t offset, int whence,
	      struct fuse_file_info *info);
void on_poll(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info,
	     struct fuse_pollhandle *poll);
void on_release(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info);

#endif
