/* SPDX-License-Identifier: MIT */
#include "mount/watcher_reply.h"

#include <string.h>
#include <unistd.h>

#include "view/node.h"

void watcher_replies_init(struct watcher_replies *replies)
{
	*replies = (struct watcher_replies){.now = {.folder = 0}};
	pthread_mutex_init(&replies->lock, NULL);
}

void watcher_replies_deinit(struct watcher_replies *replies)
{
	pthread_mutex_destroy(&replies->lock);
}

/* Each placeholder node is used once, as the kernel can still have the inode of an earlier one. */
void watcher_reply_begin(struct watcher_replies *replies, struct watcher_reply reply)
{
	pthread_mutex_lock(&replies->lock);
	replies->now = reply;
	atomic_store(&replies->folder, reply.folder);
	replies->placeholder = node_make(NODE_PLACEHOLDER, node_id(replies->placeholder) + 1);
	pthread_mutex_unlock(&replies->lock);
}

void watcher_reply_end(struct watcher_replies *replies)
{
	pthread_mutex_lock(&replies->lock);
	replies->now = (struct watcher_reply){.folder = 0};
	atomic_store(&replies->folder, 0);
	pthread_mutex_unlock(&replies->lock);
}

/* ---- replies ------------------------------------------------------------------------- */

static void fill_attributes(struct stat *attributes, uint64_t node, bool directory)
{
	*attributes = (struct stat){
		.st_ino = node_inode(node),
		.st_mode = directory ? S_IFDIR | S_IRWXU : S_IFREG | S_IRUSR,
		.st_nlink = directory ? 2 : 1,
		.st_uid = getuid(),
		.st_gid = getgid(),
	};
}

static void fill_entry(struct fuse_entry_param *entry, uint64_t node, bool directory)
{
	*entry = (struct fuse_entry_param){.ino = node};
	fill_attributes(&entry->attr, node, directory);
}

static bool is_name(const struct watcher_reply *now, uint64_t folder, const char *name)
{
	return now->folder && now->folder == folder && strcmp(now->name, name) == 0;
}

static bool is_removed_folder(const struct watcher_reply *now, uint64_t parent, const char *name)
{
	return now->parent && now->parent == parent && strcmp(now->folder_name, name) == 0;
}

bool watcher_reply_is_changing(struct watcher_replies *replies, uint64_t folder, const char *name)
{
	bool is;

	if (atomic_load(&replies->folder) != folder)
		return false;
	pthread_mutex_lock(&replies->lock);
	is = is_name(&replies->now, folder, name);
	pthread_mutex_unlock(&replies->lock);
	return is;
}

bool watcher_reply_lookup(struct watcher_replies *replies, uint64_t folder, const char *name,
			  struct fuse_entry_param *entry)
{
	const struct watcher_reply *now = &replies->now;
	bool known = true;

	pthread_mutex_lock(&replies->lock);
	if (is_name(now, folder, name))
		fill_entry(entry, now->exists ? replies->placeholder : 0, now->directory);
	else if (is_removed_folder(now, folder, name))
		fill_entry(entry, now->folder, true);
	else
		known = false;
	pthread_mutex_unlock(&replies->lock);
	return known;
}

bool watcher_reply_getattr(struct watcher_replies *replies, uint64_t node, struct stat *attributes)
{
	bool gone;

	pthread_mutex_lock(&replies->lock);
	gone = replies->now.parent && replies->now.folder == node;
	pthread_mutex_unlock(&replies->lock);
	if (gone)
		fill_attributes(attributes, node, true);
	return gone;
}

bool watcher_reply_change(struct watcher_replies *replies, uint64_t folder, const char *name,
			  bool exists, struct fuse_entry_param *entry)
{
	const struct watcher_reply *now = &replies->now;
	bool known;

	pthread_mutex_lock(&replies->lock);
	known = is_name(now, folder, name) && now->exists != exists;
	if (known && entry)
		fill_entry(entry, replies->placeholder, now->directory);
	pthread_mutex_unlock(&replies->lock);
	return known;
}
