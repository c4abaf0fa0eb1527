/* SPDX-License-Identifier: MIT */

/* Names, attributes, extended attributes. */

#include <stdlib.h>

#include "mount/callbacks.h"
#include "mount/lifetime.h"

void on_lookup(fuse_req_t request, fuse_ino_t parent, const char *name)
{
	struct session *session = session_of(request);
	struct fuse_entry_param entry = {.entry_timeout = lifetime_of_names(parent)};
	int r;

	kept_mark(&session->kept, node_inode(parent));
	r = view_lookup(session->view, parent, name, &entry.attr);
	if (r < 0 && (r != -ENOENT || entry.entry_timeout <= 0)) {
		reply_error(request, r);
		return;
	}
	if (r == 0) { /* else the kernel remembers that there is no such name */
		entry.ino = entry.attr.st_ino;
		entry.attr.st_ino = node_inode(entry.ino);
		entry.attr_timeout = lifetime_of_attributes(entry.ino);
		kept_mark(&session->kept, entry.attr.st_ino);
	}
	(void)fuse_reply_entry(request, &entry);
}

void on_getattr(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info)
{
	struct session *session = session_of(request);
	struct stat attributes;
	int r;

	(void)info;
	kept_mark(&session->kept, node_inode(node));
	r = view_getattr(session->view, node, &attributes);
	if (r < 0) {
		reply_error(request, r);
		return;
	}
	attributes.st_ino = node_inode(node);
	(void)fuse_reply_attr(request, &attributes, lifetime_of_attributes(node));
}

void on_readlink(fuse_req_t request, fuse_ino_t node)
{
	struct bytes target CLEANUP_BYTES = {0};
	int r = view_readlink(session_of(request)->view, node, &target);
	const char *text = r == 0 ? bytes_text(&target) : NULL;

	if (text)
		(void)fuse_reply_readlink(request, text);
	else
		reply_error(request, r < 0 ? r : -ENOMEM);
}

void on_statfs(fuse_req_t request, fuse_ino_t node)
{
	struct statvfs statfs;
	int r = view_statfs(session_of(request)->view, &statfs);

	(void)node;
	if (r < 0)
		reply_error(request, r);
	else
		(void)fuse_reply_statfs(request, &statfs);
}

/* ---- extended attributes ------------------------------------------------------------- */

/* Replies with length bytes of value, with the length alone where size was 0, or an error. */
static void reply_xattr(fuse_req_t request, const char *value, size_t size, long length)
{
	if (length < 0)
		reply_error(request, (int)length);
	else if (size == 0)
		(void)fuse_reply_xattr(request, (size_t)length);
	else
		(void)fuse_reply_buf(request, value, (size_t)length);
}

void on_getxattr(fuse_req_t request, fuse_ino_t node, const char *name, size_t size)
{
	AUTO_FREE char *value = malloc(size ? size : 1);
	long length = -ENOMEM;

	if (value)
		length = view_getxattr(session_of(request)->view, node, name, value, size);
	reply_xattr(request, value, size, length);
}

void on_listxattr(fuse_req_t request, fuse_ino_t node, size_t size)
{
	AUTO_FREE char *list = malloc(size ? size : 1);
	long length = -ENOMEM;

	if (list)
		length = view_listxattr(session_of(request)->view, node, list, size);
	reply_xattr(request, list, size, length);
}
