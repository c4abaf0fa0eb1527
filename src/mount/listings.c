/* SPDX-License-Identifier: MIT */

/* Listings of directories. */

#include <stdlib.h>

#include "mount/callbacks.h"
#include "mount/lifetime.h"

/* Cookies of "." and ".."; those of the view are above. */
#define COOKIE_SELF 1
#define COOKIE_PARENT 2

/* The inode number in listings of what has none; as libfuse does it. */
#define INODE_UNKNOWN 0xffffffff

void on_opendir(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info)
{
	struct session *session = session_of(request);
	struct handle *handle;
	int r = handle_open_directory(&session->handles, session->view, node, &handle);

	if (r < 0) {
		reply_error(request, r);
		return;
	}
	info->cache_readdir = lifetime_keeps_listing(node);
	info->keep_cache = lifetime_keeps_listing(node);
	reply_open(request, info, handle);
}

/* The answer to a readdir or readdirplus while it is put together. */
struct listing_reply {
	fuse_req_t request;
	bool plus; /* with attributes, as a lookup gives them */
	uint64_t node; /* of the directory */
	struct kept *kept;
	char *data;
	size_t used, size;
};

static bool add_name(const struct view_entry *entry, void *context)
{
	struct listing_reply *reply = context;
	char *at = reply->data + reply->used;
	size_t room = reply->size - reply->used, needed;
	struct fuse_entry_param plus = {
		.ino = entry->attributes.st_ino, /* 0: the kernel makes a lookup when it needs it */
		.attr = entry->attributes,
		.attr_timeout = lifetime_of_attributes(entry->attributes.st_ino),
		.entry_timeout = lifetime_of_names(reply->node),
	};

	plus.attr.st_ino = entry->known ? node_inode(plus.ino) : INODE_UNKNOWN;
	if (entry->known && reply->plus)
		kept_mark(reply->kept, plus.attr.st_ino);
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

/* Adds "." or "..", of which the kernel wants no attributes. */
static bool add_dot(struct listing_reply *reply, const char *name, uint64_t node, uint64_t cookie)
{
	char *at = reply->data + reply->used;
	size_t room = reply->size - reply->used, needed;
	struct fuse_entry_param plus = {.attr = {.st_ino = node, .st_mode = S_IFDIR}};

	if (reply->plus)
		needed = fuse_add_direntry_plus(reply->request, at, room, name, &plus,
						(off_t)cookie);
	else
		needed = fuse_add_direntry(reply->request, at, room, name, &plus.attr,
					   (off_t)cookie);
	if (needed > room)
		return false;
	reply->used += needed;
	return true;
}

static int fill_listing(struct listing_reply *reply, struct view_listing *listing, uint64_t after)
{
	if (after < COOKIE_SELF && !add_dot(reply, ".", reply->node, COOKIE_SELF))
		return 0;
	if (after < COOKIE_PARENT &&
	    !add_dot(reply, "..", view_list_parent(listing), COOKIE_PARENT))
		return 0;
	return view_list(listing, after < VIEW_COOKIE_MIN ? 0 : after, add_name, reply);
}

static void reply_listing(fuse_req_t request, const struct fuse_file_info *info,
			  struct listing_reply *reply, off_t offset)
{
	AUTO_FREE char *data = malloc(reply->size);
	int r = -ENOMEM;

	reply->request = request;
	reply->data = data;
	reply->kept = &session_of(request)->kept;
	kept_mark(reply->kept, reply->node);
	if (data)
		r = fill_listing(reply, handle_of(info)->listing, (uint64_t)offset);
	if (r < 0)
		reply_error(request, r);
	else
		(void)fuse_reply_buf(request, data, reply->used);
}

void on_readdir(fuse_req_t request, fuse_ino_t node, size_t size, off_t offset,
		struct fuse_file_info *info)
{
	struct listing_reply reply = {.node = node, .size = size};

	reply_listing(request, info, &reply, offset);
}

void on_readdirplus(fuse_req_t request, fuse_ino_t node, size_t size, off_t offset,
		    struct fuse_file_info *info)
{
	struct listing_reply reply = {.node = node, .size = size, .plus = true};

	reply_listing(request, info, &reply, offset);
}
