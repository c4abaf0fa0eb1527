/* SPDX-License-Identifier: MIT */
#include "backup/tree_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/descriptor.h"
#include "base/stop.h"

/* An entry of a directory. */
struct walk_entry {
	size_t name; /* offset in the names of the level */
	bool is_dir; /* according to readdir(3), which possibly does not know */
};

/* A directory from the root to the current one. */
struct walk_level {
	size_t path_length; /* bytes of the directory's path */
	struct bytes names; /* each followed by a NUL */
	struct walk_entry *entries; /* sorted by name */
	size_t count, capacity;
	size_t next; /* index of the next entry to walk */
};

struct tree_walking {
	int root;
	const struct tree_visitor *visitor;
	struct bytes path; /* of the current directory */
	struct walk_level *levels;
	size_t depth;
	size_t capacity;
	struct tree_dir dir; /* the current directory; fd -1: it is not open */
	int added; /* result of adding the last entry */
};

static int append_name(struct bytes *path, const char *name)
{
	int r = 0;

	if (path->length > 0)
		r = bytes_append(path, "/", 1);
	return r < 0 ? r : bytes_append_text(path, name);
}

int tree_path(struct bytes *path, const char *directory, const char *name)
{
	int r;

	path->length = 0;
	r = bytes_append_text(path, directory);
	return r < 0 || *name == '\0' ? r : append_name(path, name);
}

/* Reports a failure of the current directory to the visitor. */
static int fail(struct tree_walking *walk, int error)
{
	const char *path = bytes_text(&walk->path);

	if (!path || error == -ENOMEM)
		return -ENOMEM;
	return walk->visitor->failed(walk->visitor->context, path, error);
}

static int push(struct tree_walking *walk)
{
	int r = array_reserve(&walk->levels, &walk->capacity, walk->depth + 1,
			      sizeof(*walk->levels));

	if (r == 0)
		walk->levels[walk->depth++] = (struct walk_level){.path_length = walk->path.length};
	return r;
}

static void pop(struct tree_walking *walk)
{
	struct walk_level *level = &walk->levels[--walk->depth];

	bytes_free(&level->names);
	free(level->entries);
}

/* Sets the path of the current directory, which the walk possibly moved meanwhile. */
static int set_dir_path(struct tree_walking *walk)
{
	walk->dir.path = bytes_text(&walk->path);
	return walk->dir.path ? 0 : -ENOMEM;
}

static void close_dir(struct tree_walking *walk)
{
	cleanup_close(&walk->dir.fd);
	walk->dir.fd = -1;
}

/* Opens the current directory. */
static int open_dir(struct tree_walking *walk)
{
	struct tree_dir *dir = &walk->dir;
	int r;

	close_dir(walk);
	r = set_dir_path(walk);
	if (r < 0)
		return r;
	dir->fd = open_beneath_for_reading(walk->root, dir->path, O_DIRECTORY, true);
	if (dir->fd < 0)
		return dir->fd;
	return fstat(dir->fd, &dir->status) < 0 ? -errno : 0;
}

/* ---- reading a directory ------------------------------------------------------------- */

static int add_entry(void *context, int directory, const struct dirent *entry)
{
	struct tree_walking *walk = context;
	struct walk_level *level = &walk->levels[walk->depth - 1];
	bool is_dir = entry->d_type == DT_DIR;
	int r;

	(void)directory;
	if (!is_dir && entry->d_type != DT_UNKNOWN && !walk->visitor->item)
		return 0;
	r = array_reserve(&level->entries, &level->capacity, level->count + 1,
			  sizeof(*level->entries));
	if (r == 0) {
		level->entries[level->count++] = (struct walk_entry){level->names.length, is_dir};
		r = bytes_append(&level->names, entry->d_name, strlen(entry->d_name) + 1);
	}
	walk->added = r;
	return r;
}

static int compare_entries(const void *left, const void *right, void *context)
{
	const struct walk_level *level = context;
	const struct walk_entry *a = left;
	const struct walk_entry *b = right;

	return strcmp((const char *)level->names.data + a->name,
		      (const char *)level->names.data + b->name);
}

/* Reads the entries of the open directory, which was pushed last. */
static int read_entries(struct tree_walking *walk)
{
	struct walk_level *level = &walk->levels[walk->depth - 1];
	int again = fcntl(walk->dir.fd, F_DUPFD_CLOEXEC, 0);
	int r;

	walk->added = 0;
	r = directory_read(again < 0 ? -errno : again, add_entry, walk);
	if (level->count > 1)
		qsort_r(level->entries, level->count, sizeof(*level->entries), compare_entries,
			level);
	return r == 0 || walk->added != 0 ? r : fail(walk, r);
}

/* ---- the walk ------------------------------------------------------------------------ */

/* Enters the current directory. */
static int go_down(struct tree_walking *walk)
{
	const struct tree_visitor *visitor = walk->visitor;
	int r = open_dir(walk);

	if (r < 0) {
		close_dir(walk);
		return fail(walk, r);
	}
	if (visitor->enter)
		r = visitor->enter(visitor->context, &walk->dir);
	if (r == 0)
		r = push(walk);
	if (r == 0)
		r = read_entries(walk);
	if (r == TREE_PASS_OVER)
		close_dir(walk);
	return r == TREE_PASS_OVER ? 0 : r;
}

/* Leaves the current directory. */
static int go_up(struct tree_walking *walk)
{
	const struct tree_visitor *visitor = walk->visitor;
	int r = 0;

	pop(walk);
	if (visitor->leave)
		r = walk->dir.fd < 0 ? open_dir(walk) : set_dir_path(walk);
	if (r < 0)
		r = fail(walk, r);
	else if (visitor->leave)
		r = visitor->leave(visitor->context, &walk->dir);
	close_dir(walk);
	return r;
}

/* Visits an entry of the current directory that is no directory according to readdir(3). Returns 1
 * if the entry is a directory. */
static int visit_item(struct tree_walking *walk, const char *name)
{
	const struct tree_visitor *visitor = walk->visitor;
	struct stat status;
	int r = walk->dir.fd < 0 ? open_dir(walk) : set_dir_path(walk);

	if (r == 0 && fstatat(walk->dir.fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		r = -errno;
	if (r == 0 && S_ISDIR(status.st_mode))
		return 1;
	if (r == 0)
		return visitor->item ? visitor->item(visitor->context, &walk->dir, name, &status)
				     : 0;
	if (append_name(&walk->path, name) < 0)
		return -ENOMEM;
	return fail(walk, r);
}

static int step(struct tree_walking *walk)
{
	struct walk_level *level = &walk->levels[walk->depth - 1];
	const struct walk_entry *entry;
	const char *name;
	int r = 1;

	walk->path.length = level->path_length;
	if (level->next == level->count)
		return go_up(walk);
	entry = &level->entries[level->next++];
	name = (const char *)level->names.data + entry->name;
	if (!entry->is_dir)
		r = visit_item(walk, name);
	if (r <= 0)
		return r;
	r = append_name(&walk->path, name);
	return r < 0 ? r : go_down(walk);
}

int tree_walk(int root, const struct tree_visitor *visitor)
{
	struct tree_walking walk = {.root = root, .visitor = visitor, .dir = {.fd = -1}};
	int r = go_down(&walk);

	while (r == 0 && walk.depth > 0)
		r = stop_requested() ? -EINTR : step(&walk);
	while (walk.depth > 0)
		pop(&walk);
	close_dir(&walk);
	free(walk.levels);
	bytes_free(&walk.path);
	return r;
}
