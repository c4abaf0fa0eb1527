/* SPDX-License-Identifier: MIT */

/* Listings of directories. */

#include "mount/callbacks.h"
#include "mount/lifetime.h"
#include "mount/requester.h"

/* The inode number in listings of what has none; as libfuse does it. */
#define INODE_UNKNOWN 0xffffffff

static bool want_none(const struct view_entry *entry, void *context)
{
	(void)entry;
	(void)context;
	return false;
}

/* Each listing of a shared mount is asked for, and each that is not for who asks is refused here,
 * as a directory of the source would be. */
static void open_shared(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info)
{
	CLEANUP_ASKER struct requester requester;
	int r = requester_init(&requester, request);

	if (r == 0 && requester.call.caller)
		r = view_list(&requester.call, node, 0, want_none, NULL);
	if (r < 0)
		reply_error(request, r);
	else
		(void)fuse_reply_open(request, info);
}

/* Nothing is held for an open directory. A kernel that knows this answer keeps all listings from
 * then on and never asks to open or release a directory again: a find(1) over what it holds takes
 * no request. */
void on_opendir(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info)
{
	const struct session *session = session_of(request);

	if (session->settings.shared) {
		open_shared(request, node, info);
	} else if (session->opens_directories) {
		info->cache_readdir = 1;
		info->keep_cache = 1;
		(void)fuse_reply_open(request, info);
	} else {
		reply_error(request, -ENOSYS);
	}
}

void on_releasedir(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info)
{
	(void)node;
	(void)info;
	reply_error(request, 0);
}

/* The answer to a readdir or readdirplus while it is put together. */
struct listing_reply {
	fuse_req_t request;
	bool plus; /* with attributes, as a lookup gives them */
	uint64_t node; /* of the directory */
	struct session *session;
	char *data;
	size_t used, size;
};

/* Gives the attributes of an entry as a lookup does; of "." and ".." the kernel wants none. */
static struct fuse_entry_param attributes_of(const struct listing_reply *reply,
					     const struct view_entry *entry)
{
	struct fuse_entry_param plus = {.attr = entry->attributes};
	struct session *session = reply->session;
	bool shared = session->settings.shared;

	plus.attr.st_ino =
		entry->known ? view_inode(session->view, entry->attributes.st_ino) : INODE_UNKNOWN;
	if (entry->cookie < VIEW_COOKIE_MIN)
		return plus;
	/* 0: the kernel makes a lookup when it needs it. That alone has it drop an inode of another
	 * generation. */
	if (node_generation((uint32_t)entry->attributes.st_dev) > 0)
		return plus;
	plus.ino = entry->attributes.st_ino;
	plus.attr_timeout = lifetime_of_attributes(plus.ino, shared);
	if (!watcher_reply_is_of(&session->replies, reply->node, entry->name))
		plus.entry_timeout = lifetime_of_names(reply->node, shared);
	if (entry->known && reply->plus)
		cached_marks_set(&session->cached, node_inode(plus.ino));
	return plus;
}

static bool add_name(const struct view_entry *entry, void *context)
{
	struct listing_reply *reply = context;
	char *at = reply->data + reply->used;
	size_t room = reply->size - reply->used, needed;
	const struct fuse_entry_param plus = attributes_of(reply, entry);

	if (reply->plus)
		needed = fuse_add_direntry_plus(reply->request, at, room, entry->name, &plus,
						(off_t)entry->cookie);
	else
		needed = fuse_add_direntry(reply->request, at, room, entry->name, &plus.attr,
					   (off_t)entry->cookie);
	if (needed > room)
		return false;
	reply->used += needed;
	return true;
}

/* What may change elsewhere later is noted before the view is asked. */
static int note(struct session *session, uint64_t node)
{
	cached_marks_set(&session->cached, node);
	return node_kind(node) == NODE_GROUP ? listed_groups_add(&session->listed, node) : 0;
}

static void reply_listing(fuse_req_t request, struct listing_reply *reply, off_t offset)
{
	struct session *session = session_of(request);
	struct buffer buffer = buffers_take(&session->buffers, reply->size);
	CLEANUP_ASKER struct requester requester;
	int r = requester_init(&requester, request);

	if (r == 0)
		r = buffer.data ? note(session, reply->node) : -ENOMEM;
	reply->request = request;
	reply->data = buffer.data;
	reply->session = session;
	if (r == 0)
		r = view_list(&requester.call, reply->node, (uint64_t)offset, add_name, reply);
	if (r < 0)
		reply_error(request, r);
	else
		(void)fuse_reply_buf(request, buffer.data, reply->used);
	buffers_give(&session->buffers, buffer);
}

void on_readdir(fuse_req_t request, fuse_ino_t node, size_t size, off_t offset,
		struct fuse_file_info *info)
{
	struct listing_reply reply = {.node = node, .size = size};

	(void)info;
	reply_listing(request, &reply, offset);
}

void on_readdirplus(fuse_req_t request, fuse_ino_t node, size_t size, off_t offset,
		    struct fuse_file_info *info)
{
	struct listing_reply reply = {.node = node, .size = size, .plus = true};

	(void)info;
	reply_listing(request, &reply, offset);
}
