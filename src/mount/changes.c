/* SPDX-License-Identifier: MIT */

/* Requests that change something get EROFS. The mounter process gets success for the requests by
 * which it raises inotify events (mount/watcher_event.h), but nothing changes. Without these
 * functions libfuse replies ENOSYS, which the kernel translates to other errors. */

#include "mount/callbacks.h"

static void make(fuse_req_t request, fuse_ino_t parent, const char *name)
{
	struct session *session = session_of(request);
	struct fuse_entry_param entry;

	if (watcher_thread_is_from_mounter(&session->watcher, request) &&
	    watcher_reply_change(&session->replies, parent, name, true, &entry))
		(void)fuse_reply_entry(request, &entry);
	else
		reply_error(request, -EROFS);
}

static void remove_name(fuse_req_t request, fuse_ino_t parent, const char *name)
{
	struct session *session = session_of(request);
	bool replies = watcher_thread_is_from_mounter(&session->watcher, request) &&
		       watcher_reply_change(&session->replies, parent, name, false, NULL);

	reply_error(request, replies ? 0 : -EROFS);
}

void on_mknod(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode, dev_t device)
{
	(void)mode;
	(void)device;
	make(request, parent, name);
}

void on_mkdir(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode)
{
	(void)mode;
	make(request, parent, name);
}

void on_unlink(fuse_req_t request, fuse_ino_t parent, const char *name)
{
	remove_name(request, parent, name);
}

void on_rmdir(fuse_req_t request, fuse_ino_t parent, const char *name)
{
	remove_name(request, parent, name);
}

/* Replies to the mounter process with the unchanged attributes. */
void on_setattr(fuse_req_t request, fuse_ino_t node, struct stat *attributes, int wanted,
		struct fuse_file_info *info)
{
	const struct session *session = session_of(request);

	(void)attributes;
	(void)wanted;
	if (watcher_thread_is_from_mounter(&session->watcher, request))
		on_getattr(request, node, info);
	else
		reply_error(request, -EROFS);
}

void on_symlink(fuse_req_t request, const char *target, fuse_ino_t parent, const char *name)
{
	(void)target;
	(void)parent;
	(void)name;
	reply_error(request, -EROFS);
}

/* NOLINTNEXTLINE(readability-function-size): libfuse's signature */
void on_rename(fuse_req_t request, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
	       const char *new_name, unsigned int flags)
{
	(void)parent;
	(void)name;
	(void)new_parent;
	(void)new_name;
	(void)flags;
	reply_error(request, -EROFS);
}

void on_link(fuse_req_t request, fuse_ino_t node, fuse_ino_t parent, const char *name)
{
	(void)node;
	(void)parent;
	(void)name;
	reply_error(request, -EROFS);
}

void on_create(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode,
	       struct fuse_file_info *info)
{
	(void)parent;
	(void)name;
	(void)mode;
	(void)info;
	reply_error(request, -EROFS);
}

/* NOLINTNEXTLINE(readability-function-size): libfuse's signature */
void on_setxattr(fuse_req_t request, fuse_ino_t node, const char *name, const char *value,
		 size_t size, int flags)
{
	(void)node;
	(void)name;
	(void)value;
	(void)size;
	(void)flags;
	reply_error(request, -EROFS);
}

void on_removexattr(fuse_req_t request, fuse_ino_t node, const char *name)
{
	(void)node;
	(void)name;
	reply_error(request, -EROFS);
}
