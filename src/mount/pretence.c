/* SPDX-License-Identifier: MIT */
#include "mount/pretence.h"

#include <string.h>
#include <unistd.h>

#include "view/node.h"

int pretended_init(struct pretended *pretended)
{
	*pretended = (struct pretended){.now = {.folder = 0}};
	return -pthread_mutex_init(&pretended->lock, NULL);
}

void pretended_deinit(struct pretended *pretended)
{
	(void)pthread_mutex_destroy(&pretended->lock);
}

/* A node that was given once is never given again: the kernel may still hold it. */
void pretence_begin(struct pretended *pretended, struct pretence pretence)
{
	(void)pthread_mutex_lock(&pretended->lock);
	pretended->now = pretence;
	atomic_store(&pretended->folder, pretence.folder);
	pretended->stand_in = node_make(NODE_STAND_IN, node_id(pretended->stand_in) + 1);
	(void)pthread_mutex_unlock(&pretended->lock);
}

void pretence_end(struct pretended *pretended)
{
	(void)pthread_mutex_lock(&pretended->lock);
	pretended->now = (struct pretence){.folder = 0};
	atomic_store(&pretended->folder, 0);
	(void)pthread_mutex_unlock(&pretended->lock);
}

/* ---- answers ------------------------------------------------------------------------- */

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

static bool is_name(const struct pretence *now, uint64_t folder, const char *name)
{
	return now->folder && now->folder == folder && strcmp(now->name, name) == 0;
}

static bool is_gone_folder(const struct pretence *now, uint64_t above, const char *name)
{
	return now->above && now->above == above && strcmp(now->folder_name, name) == 0;
}

bool pretence_is_of(struct pretended *pretended, uint64_t folder, const char *name)
{
	bool is;

	if (atomic_load(&pretended->folder) != folder)
		return false;
	(void)pthread_mutex_lock(&pretended->lock);
	is = is_name(&pretended->now, folder, name);
	(void)pthread_mutex_unlock(&pretended->lock);
	return is;
}

bool pretend_lookup(struct pretended *pretended, uint64_t folder, const char *name,
		    struct fuse_entry_param *entry)
{
	const struct pretence *now = &pretended->now;
	bool known = true;

	(void)pthread_mutex_lock(&pretended->lock);
	if (is_name(now, folder, name))
		fill_entry(entry, now->there ? pretended->stand_in : 0, now->directory);
	else if (is_gone_folder(now, folder, name))
		fill_entry(entry, now->folder, true);
	else
		known = false;
	(void)pthread_mutex_unlock(&pretended->lock);
	return known;
}

bool pretend_getattr(struct pretended *pretended, uint64_t node, struct stat *attributes)
{
	bool gone;

	(void)pthread_mutex_lock(&pretended->lock);
	gone = pretended->now.above && pretended->now.folder == node;
	(void)pthread_mutex_unlock(&pretended->lock);
	if (gone)
		fill_attributes(attributes, node, true);
	return gone;
}

bool pretend_change(struct pretended *pretended, uint64_t folder, const char *name, bool there,
		    struct fuse_entry_param *entry)
{
	const struct pretence *now = &pretended->now;
	bool known;

	(void)pthread_mutex_lock(&pretended->lock);
	known = is_name(now, folder, name) && now->there != there;
	if (known && entry)
		fill_entry(entry, pretended->stand_in, now->directory);
	(void)pthread_mutex_unlock(&pretended->lock);
	return known;
}
