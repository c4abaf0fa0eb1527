/* SPDX-License-Identifier: MIT */

/* lookup, getattr, access, readlink, statfs, and extended attributes. */

#include <stdlib.h>

#include "view/fuse/callbacks.h"
#include "view/fuse/kernel_cache.h"
#include "view/fuse/requester.h"

/* Sets the inode generation. The node number of a file repeats after 4096 versions. */
static void set_generation(struct session *session, struct fuse_entry_param *entry)
{
	uint32_t version = (uint32_t)entry->attr.st_dev;

	entry->generation = node_generation(version);
	if (node_kind(entry->ino) == NODE_FILE)
		generations_record(&session->generations, node_id(entry->ino), version);
}

void on_lookup(fuse_req_t request, fuse_ino_t parent, const char *name)
{
	struct session *session = session_of(request);
	bool shared = session->settings.options.shared;
	struct fuse_entry_param entry = {.entry_timeout = entry_timeout_of(parent, shared)};
	CLEANUP_REQUESTER struct requester requester;
	int r = requester_init(&requester, request);

	if (watcher_thread_is_from_mounter(&session->watcher, request) &&
	    watcher_reply_lookup(&session->replies, parent, name, &entry)) {
		(void)fuse_reply_entry(request, &entry);
		return;
	}
	if (watcher_reply_is_changing(&session->replies, parent, name))
		entry.entry_timeout = 0.0;
	cached_marks_set(&session->cached, node_inode(parent));
	if (r == 0)
		r = view_lookup(&requester.call, parent, name, &entry.attr);
	if (r < 0 && (r != -ENOENT || entry.entry_timeout <= 0)) {
		reply_error(request, r);
		return;
	}
	if (r == 0) { /* ino 0, for a missing name, makes a negative entry */
		entry.ino = entry.attr.st_ino;
		set_generation(session, &entry);
		entry.attr.st_ino = view_inode(session->view, entry.ino);
		entry.attr_timeout = attr_timeout_of(entry.ino, shared);
		if (node_kind(entry.ino) == NODE_FILE)
			listing_habits_note_use(&session->habits, fuse_req_ctx(request)->pid);
		cached_marks_set(&session->cached, node_inode(entry.ino));
	}
	(void)fuse_reply_entry(request, &entry);
}

/* A getattr of an open file is not checked: a program can get a descriptor from another user. */
void on_getattr(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info)
{
	struct session *session = session_of(request);
	const struct view_call opener = {.view = session->view};
	CLEANUP_REQUESTER struct requester requester = {.call = opener};
	double timeout = attr_timeout_of(node, session->settings.options.shared);
	struct stat attributes;
	int r = info ? 0 : requester_init(&requester, request);

	cached_marks_set(&session->cached, node_inode(node));
	if (watcher_thread_is_from_mounter(&session->watcher, request) &&
	    watcher_reply_getattr(&session->replies, node, &attributes)) {
		r = 0;
		timeout = 0.0;
	} else if (r == 0) {
		r = view_getattr(&requester.call, node, &attributes);
	}
	if (r < 0) {
		reply_error(request, r);
		return;
	}
	attributes.st_ino = view_inode(session->view, node);
	(void)fuse_reply_attr(request, &attributes, timeout);
}

/* access(2) and chdir(2), if the kernel does not check permissions. */
void on_access(fuse_req_t request, fuse_ino_t node, int mask)
{
	CLEANUP_REQUESTER struct requester requester;
	int r = requester_init(&requester, request);

	if (r == 0 && mask & W_OK)
		r = -EROFS;
	if (r == 0)
		r = view_access(&requester.call, node, mask);
	reply_error(request, r);
}

void on_readlink(fuse_req_t request, fuse_ino_t node)
{
	CLEANUP_BYTES struct bytes target = {0};
	CLEANUP_REQUESTER struct requester requester;
	int r = requester_init(&requester, request);
	const char *text;

	if (r == 0)
		r = view_readlink(&requester.call, node, &target);
	text = r == 0 ? bytes_text(&target) : NULL;
	if (text)
		(void)fuse_reply_readlink(request, text);
	else
		reply_error(request, r < 0 ? r : -ENOMEM);
}

void on_statfs(fuse_req_t request, fuse_ino_t node)
{
	CLEANUP_REQUESTER struct requester requester;
	struct statvfs statfs;
	int r = requester_init(&requester, request);

	(void)node;
	if (r == 0)
		r = view_statfs(&requester.call, &statfs);
	if (r < 0)
		reply_error(request, r);
	else
		(void)fuse_reply_statfs(request, &statfs);
}

/* ---- extended attributes ------------------------------------------------------------- */

/* Replies with the value of the attribute, or with the list of names if name is NULL; with its
 * length only if size is 0. */
static void reply_xattr(fuse_req_t request, fuse_ino_t node, const char *name, size_t size)
{
	AUTO_FREE char *value = malloc(size ? size : 1);
	CLEANUP_REQUESTER struct requester requester;
	long length = requester_init(&requester, request);

	if (!value)
		length = -ENOMEM;
	if (length == 0)
		length = name ? view_getxattr(&requester.call, node, name, value, size)
			      : view_listxattr(&requester.call, node, value, size);
	if (length < 0)
		reply_error(request, (int)length);
	else if (size == 0)
		(void)fuse_reply_xattr(request, (size_t)length);
	else
		(void)fuse_reply_buf(request, value, (size_t)length);
}

void on_getxattr(fuse_req_t request, fuse_ino_t node, const char *name, size_t size)
{
	reply_xattr(request, node, name, size);
}

void on_listxattr(fuse_req_t request, fuse_ino_t node, size_t size)
{
	reply_xattr(request, node, NULL, size);
}
