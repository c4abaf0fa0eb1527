/* SPDX-License-Identifier: MIT */
#include "backup/tree_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/descriptor.h"
#include "base/directory.h"
#include "base/stop.h"

/* A directory from the root to the current one, with its subdirectories. */
struct level {
	size_t path_length; /* bytes of the directory's path */
	struct bytes names; /* names of subdirectories, each followed by a NUL */
	size_t next; /* offset of the next name to walk */
};

struct walk {
	int root;
	const struct tree_visitor *visitor;
	struct bytes path; /* of the current directory */
	struct level *levels;
	size_t depth;
	size_t capacity;
};

static int append_name(struct bytes *path, const char *name)
{
	int r = 0;

	if (path->length > 0)
		r = bytes_append(path, "/", 1);
	return r < 0 ? r : bytes_append_text(path, name);
}

/* Reports a failure of the current directory to the visitor. */
static int fail(struct walk *walk, int error)
{
	const char *path = bytes_text(&walk->path);

	if (!path || error == -ENOMEM)
		return -ENOMEM;
	return walk->visitor->failed(walk->visitor->context, path, error);
}

/* Reports a failure of a name in a directory to the visitor. */
static int fail_at(const struct walk *walk, const struct tree_dir *dir, const char *name, int error)
{
	CLEANUP_BYTES struct bytes path = {0};

	if (bytes_append_text(&path, dir->path) < 0 || append_name(&path, name) < 0 ||
	    !bytes_text(&path))
		return -ENOMEM;
	return walk->visitor->failed(walk->visitor->context, bytes_text(&path), error);
}

static int push(struct walk *walk)
{
	int r = array_reserve(&walk->levels, &walk->capacity, walk->depth + 1,
			      sizeof(*walk->levels));

	if (r == 0)
		walk->levels[walk->depth++] = (struct level){.path_length = walk->path.length};
	return r;
}

static void pop(struct walk *walk)
{
	bytes_free(&walk->levels[--walk->depth].names);
}

/* Opens the current directory. */
static int open_dir(struct walk *walk, struct tree_dir *dir)
{
	dir->path = bytes_text(&walk->path);
	if (!dir->path)
		return -ENOMEM;
	dir->fd = open_beneath_for_reading(walk->root, dir->path, O_DIRECTORY, true);
	if (dir->fd < 0)
		return dir->fd;
	return fstat(dir->fd, &dir->status) < 0 ? -errno : 0;
}

/* Stores a subdirectory in the level, or passes any other entry to the visitor. Uses the type from
 * readdir(3) if it suffices. */
static int meet_name(struct walk *walk, const struct tree_dir *dir, const struct dirent *entry)
{
	const struct tree_visitor *visitor = walk->visitor;
	bool is_dir = entry->d_type == DT_DIR;
	struct stat status = {0};

	if (!is_dir && (entry->d_type == DT_UNKNOWN || visitor->item)) {
		if (fstatat(dir->fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0)
			return fail_at(walk, dir, entry->d_name, -errno);
		is_dir = S_ISDIR(status.st_mode);
	}
	if (is_dir)
		return bytes_append(&walk->levels[walk->depth - 1].names, entry->d_name,
				    strlen(entry->d_name) + 1);
	return visitor->item ? visitor->item(visitor->context, dir, entry->d_name, &status) : 0;
}

/* The directory that is read. */
struct reading {
	struct walk *walk;
	const struct tree_dir *dir;
	int result; /* of the last entry */
};

static int meet_entry(void *context, int directory, const struct dirent *entry)
{
	struct reading *reading = context;

	(void)directory;
	reading->result = meet_name(reading->walk, reading->dir, entry);
	return reading->result;
}

/* Reads the directory that was pushed last. */
static int read_names(struct walk *walk, const struct tree_dir *dir)
{
	struct reading reading = {walk, dir, 0};
	int again = fcntl(dir->fd, F_DUPFD_CLOEXEC, 0);
	int r = directory_read(again < 0 ? -errno : again, meet_entry, &reading);

	return r == 0 || reading.result != 0 ? r : fail(walk, r);
}

/* Enters the current directory. */
static int go_down(struct walk *walk)
{
	const struct tree_visitor *visitor = walk->visitor;
	struct tree_dir dir = {.fd = -1};
	int r = open_dir(walk, &dir);
	bool opened = r == 0;

	if (!opened)
		r = fail(walk, r);
	else if (visitor->enter)
		r = visitor->enter(visitor->context, &dir);
	if (r == 0 && opened)
		r = push(walk);
	if (r == 0 && opened)
		r = read_names(walk, &dir);
	cleanup_close(&dir.fd);
	return r == TREE_PASS_OVER ? 0 : r;
}

/* Leaves the current directory. */
static int go_up(struct walk *walk)
{
	const struct tree_visitor *visitor = walk->visitor;
	struct tree_dir dir = {.fd = -1};
	int r = 0;

	pop(walk);
	if (!visitor->leave)
		return 0;
	r = open_dir(walk, &dir);
	if (r < 0)
		r = fail(walk, r);
	else
		r = visitor->leave(visitor->context, &dir);
	cleanup_close(&dir.fd);
	return r;
}

static int step(struct walk *walk)
{
	struct level *level = &walk->levels[walk->depth - 1];
	const char *name;
	int r;

	walk->path.length = level->path_length;
	if (level->next == level->names.length)
		return go_up(walk);
	name = (const char *)level->names.data + level->next;
	level->next += strlen(name) + 1;
	r = append_name(&walk->path, name);
	return r < 0 ? r : go_down(walk);
}

int tree_walk(int root, const struct tree_visitor *visitor)
{
	struct walk walk = {.root = root, .visitor = visitor};
	int r = go_down(&walk);

	while (r == 0 && walk.depth > 0)
		r = stop_requested() ? -EINTR : step(&walk);
	while (walk.depth > 0)
		pop(&walk);
	free(walk.levels);
	bytes_free(&walk.path);
	return r;
}
