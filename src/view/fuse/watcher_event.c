/* SPDX-License-Identifier: MIT */
#include "view/fuse/watcher_event.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/descriptor.h"
#include "base/sort.h"
#include "index/mount_point.h"
#include "view/tree/node.h"

bool watcher_event_is_possible(void)
{
	/* mount_setattr(2) exists since Linux 5.12; a container can refuse the call */
	return mount_setattr(-1, "", 0, NULL, 0) < 0 && errno == EINVAL;
}

/* ---- route -------------------------------------------------------------------------- */

/* Clones the mount to a private one that is not read-only. */
static int open_own_mount(const char *point)
{
	struct mount_attr attributes = {.attr_clr = MOUNT_ATTR_RDONLY};
	int fd = open_tree(AT_FDCWD, point, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	int r;

	if (fd < 0)
		return -errno;
	if (mount_setattr(fd, "", AT_EMPTY_PATH, &attributes, sizeof(attributes)) == 0)
		return fd;
	r = -errno;
	(void)close(fd);
	return r;
}

/* Makes the superblock of a mount writable. */
static int make_writable(int root)
{
	AUTO_CLOSE int context = fspick(root, "", FSPICK_EMPTY_PATH | FSPICK_CLOEXEC);

	if (context < 0 || fsconfig(context, FSCONFIG_SET_FLAG, "rw", NULL, 0) < 0 ||
	    fsconfig(context, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0) < 0)
		return -errno;
	return 0;
}

static int open_visible_mount(const char *point)
{
	int fd = open(point, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int watcher_event_route_open(struct watcher_event_route *route, const char *point, dev_t device)
{
	struct stat status;
	int r = 0;

	route->root = mount_is_privileged() ? open_own_mount(point) : open_visible_mount(point);
	if (route->root < 0)
		return route->root;
	if (fstat(route->root, &status) < 0)
		r = -errno;
	else if (status.st_dev != device)
		r = -ESTALE;
	if (r == 0 && !route->superblock_writable && mount_is_privileged()) {
		r = make_writable(route->root);
		route->superblock_writable = r == 0;
	}
	if (r < 0)
		watcher_event_route_close(route);
	return r;
}

static void close_folder(struct watcher_event_route *route)
{
	cleanup_close(&route->folder);
	route->folder = -1;
}

void watcher_event_route_close(struct watcher_event_route *route)
{
	close_folder(route);
	cleanup_close(&route->root);
	route->root = -1;
}

/* ---- events ------------------------------------------------------------------------- */

/* Opens the folder, unless it is the folder of the last event. */
static int open_folder(struct watcher_event_route *route, const struct watcher_event *event)
{
	struct stat status;
	int fd;

	if (route->folder >= 0 && route->inode == event->folder)
		return 0;
	close_folder(route);
	fd = open_beneath(route->root, event->path, O_PATH | O_DIRECTORY, false);
	if (fd < 0)
		return fd;
	route->folder = fd;
	route->inode = event->folder;
	if (fstat(fd, &status) == 0 && status.st_ino == node_seen_inode(event->folder))
		return 0;
	close_folder(route);
	return -ESTALE;
}

static int change(int folder, const struct watcher_event *event)
{
	/* any file type works: the kernel looks a new name up again */
	const mode_t file = S_IFREG | S_IRUSR;

	switch (event->kind) {
	case WATCHER_EVENT_CREATED:
		return event->directory ? mkdirat(folder, event->name, S_IRWXU)
					: mknodat(folder, event->name, file, 0);
	case WATCHER_EVENT_DELETED:
		return unlinkat(folder, event->name, event->directory ? AT_REMOVEDIR : 0);
	case WATCHER_EVENT_CHANGED:
		return utimensat(folder, event->name, NULL, AT_SYMLINK_NOFOLLOW);
	case WATCHER_EVENT_MOVED:
	case WATCHER_EVENT_ENDED:
		break;
	}
	return 0;
}

/* Moves the name from the folder. The kernel finds the inode of a directory by its old name first:
 * a rename that holds the locks of two folders could not move its dentry there. */
static int move(const struct watcher_event_route *route, const struct watcher_event *event)
{
	AUTO_CLOSE int to = open_beneath(route->root, event->to_path, O_PATH | O_DIRECTORY, false);
	struct stat status;

	if (to < 0)
		return to;
	if (fstat(to, &status) < 0 || status.st_ino != node_seen_inode(event->to_folder))
		return -ESTALE;
	if (fstatat(route->folder, event->name, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
	    renameat2(route->folder, event->name, to, event->to_name, RENAME_NOREPLACE) < 0)
		return -errno;
	return 0;
}

/* Opens and closes a node that is gone. */
static int end_watches(struct watcher_event_route *route, const char *path)
{
	int fd;

	close_folder(route);
	fd = open_beneath(route->root, path, O_PATH, false);
	if (fd < 0)
		return fd;
	(void)close(fd);
	return 0;
}

static bool is_inside(const char *name)
{
	return !strchr(name, '/') && !is_dots(name);
}

int watcher_event_raise(struct watcher_event_route *route, const struct watcher_event *event)
{
	/* the order is not trusted: the daemon parses untrusted data, and this process can be
	 * root */
	bool inside = is_inside(event->name);
	int r;

	if (event->kind == WATCHER_EVENT_ENDED)
		return end_watches(route, event->path);
	r = inside ? open_folder(route, event) : -EINVAL;
	if (r == 0 && event->kind == WATCHER_EVENT_MOVED)
		return is_inside(event->to_name) ? move(route, event) : -EINVAL;
	if (r == 0 && change(route->folder, event) < 0)
		r = -errno;
	return r;
}

/* ---- watcher reply ------------------------------------------------------------------ */

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
	atomic_store(&replies->to_folder, reply.to_folder);
	replies->placeholder = node_make(NODE_PLACEHOLDER, node_id(replies->placeholder) + 1);
	pthread_mutex_unlock(&replies->lock);
}

void watcher_reply_end(struct watcher_replies *replies)
{
	pthread_mutex_lock(&replies->lock);
	replies->now = (struct watcher_reply){.folder = 0};
	atomic_store(&replies->folder, 0);
	atomic_store(&replies->to_folder, 0);
	pthread_mutex_unlock(&replies->lock);
}

/* ---- replies ------------------------------------------------------------------------ */

static void fill_attributes(struct stat *attributes, uint64_t node, mode_t mode, off_t size)
{
	*attributes = (struct stat){
		.st_ino = node_seen_inode(node),
		.st_mode = mode,
		.st_size = size,
		.st_nlink = S_ISDIR(mode) ? 2 : 1,
		.st_uid = getuid(),
		.st_gid = getgid(),
	};
}

/* The kernel must not lose pages of a file that a program has open, so a file that is gone keeps
 * its size. */
static void fill_name(const struct watcher_replies *replies, struct fuse_entry_param *entry)
{
	const struct listed_name *name = replies->now.name;
	mode_t placeholder = name->directory ? S_IFDIR | S_IRWXU : S_IFREG | S_IRUSR;

	*entry = (struct fuse_entry_param){.ino = name->node ? name->node : replies->placeholder};
	fill_attributes(&entry->attr, entry->ino, name->node ? name->mode : placeholder,
			name->node ? name->size : 0);
}

/* The mounter may write to a folder that is gone. */
static void fill_gone(const struct watcher_reply *now, struct stat *attributes)
{
	mode_t mode = now->gone_mode ? now->gone_mode : S_IFDIR | S_IRWXU;

	fill_attributes(attributes, now->folder, mode, now->gone_size);
	attributes->st_nlink = 0;
}

static bool is_name(const struct watcher_reply *now, uint64_t folder, const char *name)
{
	return now->name && now->folder == folder && strcmp(now->name->text, name) == 0;
}

static bool is_target(const struct watcher_reply *now, uint64_t folder, const char *name)
{
	return now->to_name && now->to_folder == folder && strcmp(now->to_name, name) == 0;
}

static bool is_gone(const struct watcher_reply *now, uint64_t parent, const char *name)
{
	return now->parent && now->parent == parent && strcmp(now->gone_name, name) == 0;
}

bool watcher_reply_is_changing(struct watcher_replies *replies, uint64_t folder, const char *name)
{
	bool is;

	if (atomic_load(&replies->folder) != folder && atomic_load(&replies->to_folder) != folder)
		return false;
	pthread_mutex_lock(&replies->lock);
	is = is_name(&replies->now, folder, name) || is_target(&replies->now, folder, name);
	pthread_mutex_unlock(&replies->lock);
	return is;
}

bool watcher_reply_lookup(struct watcher_replies *replies, uint64_t folder, const char *name,
			  struct fuse_entry_param *entry)
{
	const struct watcher_reply *now = &replies->now;
	bool known = true;

	pthread_mutex_lock(&replies->lock);
	*entry = (struct fuse_entry_param){0};
	if (is_name(now, folder, name)) {
		if (now->exists)
			fill_name(replies, entry);
	} else if (is_gone(now, folder, name)) {
		entry->ino = now->folder;
		entry->generation = now->gone_generation;
		fill_gone(now, &entry->attr);
	} else {
		known = is_target(now, folder, name); /* missing until the rename */
	}
	pthread_mutex_unlock(&replies->lock);
	return known;
}

bool watcher_reply_getattr(struct watcher_replies *replies, uint64_t node, struct stat *attributes)
{
	bool gone;

	pthread_mutex_lock(&replies->lock);
	gone = replies->now.parent && replies->now.folder == node;
	if (gone)
		fill_gone(&replies->now, attributes);
	pthread_mutex_unlock(&replies->lock);
	return gone;
}

bool watcher_reply_change(struct watcher_replies *replies, uint64_t folder, const char *name,
			  bool exists, struct fuse_entry_param *entry)
{
	const struct watcher_reply *now = &replies->now;
	bool known;

	pthread_mutex_lock(&replies->lock);
	known = is_name(now, folder, name) && now->exists != exists && !now->to_name;
	if (known && entry)
		fill_name(replies, entry);
	pthread_mutex_unlock(&replies->lock);
	return known;
}

bool watcher_reply_move(struct watcher_replies *replies, uint64_t folder, const char *name,
			uint64_t to_folder, const char *to_name)
{
	const struct watcher_reply *now = &replies->now;
	bool known;

	pthread_mutex_lock(&replies->lock);
	known = is_name(now, folder, name) && is_target(now, to_folder, to_name);
	pthread_mutex_unlock(&replies->lock);
	return known;
}

/* ---- names of a folder -------------------------------------------------------------- */

void watcher_names_free(struct watcher_names *list)
{
	free(list->names);
	arena_free(&list->memory);
	*list = (struct watcher_names){0};
}

int watcher_names_add(struct watcher_names *list, struct listed_name name)
{
	if (array_reserve(&list->names, &list->capacity, list->count + 1, sizeof(*list->names)) < 0)
		return -ENOMEM;
	name.text = arena_copy(&list->memory, name.text, strlen(name.text));
	if (!name.text)
		return -ENOMEM;
	list->names[list->count++] = name;
	return 0;
}

int watcher_names_copy(struct watcher_names *list, const struct watcher_names *from)
{
	int r = 0;

	for (size_t i = 0; i < from->count && r == 0; i++)
		r = watcher_names_add(list, from->names[i]);
	if (r < 0)
		watcher_names_free(list);
	return r;
}

static int by_text(const void *a, const void *b)
{
	const struct listed_name *first = a, *second = b;

	return strcmp(first->text, second->text);
}

void watcher_names_sort(struct watcher_names *list)
{
	sort_unless_sorted(list->names, list->count, sizeof(*list->names), by_text);
}

const struct listed_name *watcher_names_find(const struct watcher_names *list, const char *text)
{
	const struct listed_name wanted = {.text = text};

	if (list->count == 0)
		return NULL;
	return bsearch(&wanted, list->names, list->count, sizeof(wanted), by_text);
}

/* Does a name refer to another folder, or to another type of file? */
static bool is_replaced(const struct listed_name *before, const struct listed_name *now)
{
	return before->directory != now->directory ||
	       (now->directory && before->node != now->node && before->node);
}

int watcher_names_mark_changed(struct watcher_names *list, const struct watcher_names *now,
			       const struct listed_name *names, size_t count)
{
	struct watcher_names left = {0}, added = {0};
	bool *removed = calloc(list->count + 1, sizeof(*removed));
	int r = removed ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && r == 0; i++) {
		const struct listed_name *known = watcher_names_find(list, names[i].text);
		const struct listed_name *there = watcher_names_find(now, names[i].text);

		if (known && there && !is_replaced(known, there))
			removed[known - list->names] = true;
		else if (!known && !there)
			r = watcher_names_add(&added, names[i]);
	}
	watcher_names_sort(&added);
	for (size_t i = 0; i < list->count && r == 0; i++) {
		if (!removed[i])
			r = watcher_names_add(&left, list->names[i]);
	}
	for (size_t i = 0; i < added.count && r == 0; i++) {
		if (i == 0 || strcmp(added.names[i].text, added.names[i - 1].text) != 0)
			r = watcher_names_add(&left, added.names[i]);
	}
	free(removed);
	watcher_names_free(&added);
	if (r < 0) {
		watcher_names_free(&left);
		return r;
	}
	watcher_names_sort(&left);
	watcher_names_free(list);
	*list = left;
	return 0;
}

/* Removes the created names, and changes the digests of changed ones. */
static int revert_names(struct watcher_names *list, const struct watched_difference *changes,
			size_t count)
{
	AUTO_FREE bool *created = calloc(list->count + 1, sizeof(*created));
	size_t kept = 0;

	if (!created)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct listed_name *known = watcher_names_find(list, changes[i].name->text);

		if (known && changes[i].kind == WATCHER_EVENT_CREATED)
			created[known - list->names] = true;
		if (known && changes[i].kind == WATCHER_EVENT_CHANGED)
			list->names[known - list->names].digest ^= 1;
	}
	for (size_t i = 0; i < list->count; i++) {
		if (!created[i])
			list->names[kept++] = list->names[i];
	}
	list->count = kept;
	return 0;
}

int watcher_names_revert(struct watcher_names *list, const struct watched_difference *changes,
			 size_t count)
{
	int r = revert_names(list, changes, count);
	struct watcher_names left = *list;

	for (size_t i = 0; r == 0 && i < count; i++) {
		if (changes[i].kind != WATCHER_EVENT_DELETED)
			continue;
		left.names = list->names;
		if (!watcher_names_find(&left, changes[i].name->text))
			r = watcher_names_add(list, *changes[i].name);
	}
	watcher_names_sort(list);
	return r;
}

/* ---- differences -------------------------------------------------------------------- */

/* Compares the next names of both lists. If the result is below 0, the name in before was deleted.
 * If it is above 0, the name in now was created. */
static int order_of(const struct watcher_names *before, size_t i, const struct watcher_names *now,
		    size_t j)
{
	if (i == before->count || j == now->count)
		return i == before->count ? 1 : -1;
	return strcmp(before->names[i].text, now->names[j].text);
}

/* Reports a name that exists before and now. */
static int differ(const struct listed_name *before, const struct listed_name *now,
		  watcher_names_differ_fn *each, void *context)
{
	struct watched_difference change = {WATCHER_EVENT_DELETED, true, before, NULL};
	int r;

	if (is_replaced(before, now)) {
		r = each(context, &change);
		change = (struct watched_difference){WATCHER_EVENT_CREATED, true, now, NULL};
		return r == 0 ? each(context, &change) : r;
	}
	change = (struct watched_difference){WATCHER_EVENT_CHANGED, false, now, before};
	return before->digest != now->digest ? each(context, &change) : 0;
}

int watcher_names_differ(const struct watcher_names *before, const struct watcher_names *now,
			 watcher_names_differ_fn *each, void *context)
{
	size_t i = 0, j = 0;
	int r = 0;

	while (r == 0 && (i < before->count || j < now->count)) {
		struct watched_difference change = {.kind = WATCHER_EVENT_CREATED};
		int order = order_of(before, i, now, j);

		if (order < 0)
			change.kind = WATCHER_EVENT_DELETED;
		change.name = order < 0 ? &before->names[i] : &now->names[j];
		r = order ? each(context, &change)
			  : differ(&before->names[i], &now->names[j], each, context);
		i += order <= 0;
		j += order >= 0;
	}
	return r;
}
