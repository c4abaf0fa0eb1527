/* SPDX-License-Identifier: MIT */

/* Requests that list directories. */

#include "view/fuse/callbacks.h"
#include "view/fuse/kernel_cache.h"
#include "view/fuse/requester.h"

/* st_ino of entries whose inode is unknown. libfuse uses the same value. */
#define INODE_UNKNOWN 0xffffffff

static bool emit_none(const struct view_entry *entry, void *context)
{
	(void)entry;
	(void)context;
	return false;
}

/* In a shared mount, listings are not cached, and opendir checks the permission, as for a directory
 * of the source. */
static void open_shared(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info)
{
	CLEANUP_REQUESTER struct requester requester;
	int r = requester_init(&requester, request);

	if (r == 0 && requester.call.caller)
		r = view_list(&requester.call, node, 0, emit_none, NULL);
	if (r < 0)
		reply_error(request, r);
	else
		(void)fuse_reply_open(request, info);
}

/* An open directory has no state. After ENOSYS the kernel caches all listings and sends no more
 * opendir and releasedir requests: a find(1) over cached directories sends no request. */
void on_opendir(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info)
{
	const struct session *session = session_of(request);

	if (session->settings.options.shared) {
		open_shared(request, node, info);
	} else if (session->needs_opendir) {
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

/* The reply to a readdir or readdirplus request while it is built. */
struct listing_reply {
	fuse_req_t request;
	bool plus; /* readdirplus */
	uint64_t node; /* node of the directory */
	struct session *session;
	enum listing_attributes attributes; /* of files, for readdirplus */
	char *data;
	size_t used, size;
};

/* Can the kernel use the attributes of this entry? If it does not cache the name, it sends a lookup
 * anyway. */
static bool has_use(const struct listing_reply *reply, const struct view_entry *entry)
{
	if (!reply->plus || entry->cookie < VIEW_COOKIE_MIN ||
	    entry_timeout_of(reply->node, reply->session->settings.options.shared) <= 0)
		return false;
	return reply->attributes == LISTING_OF_ALL || S_ISDIR(entry->attributes.st_mode);
}

/* Returns the attributes of an entry, as a lookup does, or its inode number and type only. */
static struct fuse_entry_param attributes_of(const struct listing_reply *reply,
					     const struct view_entry *entry)
{
	struct fuse_entry_param plus = {.attr = entry->attributes};
	struct session *session = reply->session;
	bool shared = session->settings.options.shared;

	plus.attr.st_ino =
		entry->known ? view_inode(session->view, entry->attributes.st_ino) : INODE_UNKNOWN;
	if (!has_use(reply, entry))
		return plus;
	/* With ino 0 the kernel sends a lookup when it needs the entry. Only a lookup makes the
	 * kernel replace an inode of another generation. */
	if (node_generation((uint32_t)entry->attributes.st_dev) > 0)
		return plus;
	plus.ino = entry->attributes.st_ino;
	plus.attr_timeout = attr_timeout_of(plus.ino, shared);
	if (!watcher_reply_is_changing(&session->replies, reply->node, entry->name))
		plus.entry_timeout = entry_timeout_of(reply->node, shared);
	if (entry->known)
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

/* Marks the directory before the view is queried. */
static int mark_listing(struct session *session, uint64_t node)
{
	cached_marks_set(&session->cached, node_inode(node));
	return node_has_copies(node) ? listed_groups_add(&session->listed, node) : 0;
}

static void reply_listing(fuse_req_t request, struct listing_reply *reply, off_t offset)
{
	struct session *session = session_of(request);
	struct buffer buffer = buffers_take(&session->buffers, reply->size);
	CLEANUP_REQUESTER struct requester requester;
	int r = requester_init(&requester, request);

	if (r == 0)
		r = buffer.data ? mark_listing(session, reply->node) : -ENOMEM;
	reply->request = request;
	reply->data = buffer.data;
	reply->session = session;
	if (r == 0)
		r = view_list(&requester.call, reply->node, (uint64_t)offset, add_name, reply);
	if (r < 0)
		reply_error(request, r);
	else
		(void)fuse_reply_buf(request, buffer.data, reply->used);
	buffers_return(&session->buffers, buffer);
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
	struct listing_habits *habits = &session_of(request)->habits;
	struct listing_reply reply = {.node = node, .size = size, .plus = true};

	(void)info;
	/* few processes list all groups without a look into their folders */
	reply.attributes =
		node_is_source_dir(node)
			? listing_habits_choose(habits, fuse_req_ctx(request)->pid, offset == 0)
			: LISTING_OF_ALL;
	reply_listing(request, &reply, offset);
}
