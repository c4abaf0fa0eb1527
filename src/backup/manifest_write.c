/* SPDX-License-Identifier: MIT */
#include "backup/manifest_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "backup/manifest.h"
#include "base/array.h"
#include "base/error.h"
#include "base/log.h"
#include "base/quote.h"
#include "base/stop.h"
#include "catalog/paths.h"
#include "catalog/query.h"
#include "catalog/scan.h"
#include "source/source.h"

/* An entry of a directory: a subdirectory or a redundant name. */
struct child {
	size_t name; /* offset in the names of the level */
	size_t length;
	uint64_t id; /* of the directory or file */
	uint32_t source;
	bool is_dir;
};

/* A directory from the root to the current one. */
struct level {
	struct child *children; /* sorted by name */
	size_t count;
	size_t capacity;
	size_t next; /* index of the next child to visit */
	struct bytes names;
	size_t path_length; /* bytes of the directory's path */
};

struct writing {
	const struct manifest_task *task;
	struct level *levels;
	size_t depth;
	size_t capacity;
	struct manifest_name name; /* the current name; its path is the current path */
	struct bytes line;
	struct hash_state *hash;
	uint64_t lines;
	uint64_t left_out;
};

/* ---- levels ------------------------------------------------------------------------------ */

static int add_child(struct level *level, struct child child, const char *name, size_t length)
{
	int r = array_reserve(&level->children, &level->capacity, level->count + 1,
			      sizeof(*level->children));

	if (r < 0)
		return r;
	child.name = level->names.length;
	child.length = length;
	level->children[level->count++] = child;
	return bytes_append(&level->names, name, length);
}

static int compare_children(const void *left, const void *right, void *context)
{
	const struct level *level = context;
	const struct child *a = left;
	const struct child *b = right;
	size_t shorter = a->length < b->length ? a->length : b->length;
	int order = memcmp(level->names.data + a->name, level->names.data + b->name, shorter);

	return order != 0 ? order : (a->length > b->length) - (a->length < b->length);
}

static void sort_children(struct level *level)
{
	if (level->count > 1)
		qsort_r(level->children, level->count, sizeof(*level->children), compare_children,
			level);
}

static int push(struct writing *writing, struct level **level)
{
	int r = array_reserve(&writing->levels, &writing->capacity, writing->depth + 1,
			      sizeof(*writing->levels));

	if (r < 0)
		return r;
	*level = &writing->levels[writing->depth++];
	**level = (struct level){.path_length = writing->name.path.length};
	return 0;
}

static void pop(struct writing *writing)
{
	struct level *level = &writing->levels[--writing->depth];

	free(level->children);
	bytes_free(&level->names);
}

/* Adds an entry to the level if it is a directory or a redundant name. */
static int add_entry(struct writing *writing, struct level *level, const struct entry_record *entry,
		     uint32_t source)
{
	struct child child = {
		.id = entry->child,
		.source = source,
		.is_dir = entry->kind == ENTRY_DIR,
	};
	bool wanted = child.is_dir;
	struct group_record group;
	int r = 0;

	if (entry->kind == ENTRY_FILE)
		r = catalog_is_redundant(writing->task->reader, entry->child, &wanted, &group);
	if (r < 0 || !wanted)
		return r;
	return add_child(level, child, entry->name.bytes, entry->name.length);
}

static int enter_dir(struct writing *writing, uint64_t id, uint32_t source)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct entry_record entry;
	struct level *level;
	int r;

	r = push(writing, &level);
	if (r < 0)
		return r;
	r = catalog_scan_entries(writing->task->reader, id, 0, &scan);
	while (r == 0 && (r = catalog_next_entry(scan, &entry)) == 0)
		r = add_entry(writing, level, &entry, source);
	if (r != -ENOENT)
		return r;
	sort_children(level);
	return 0;
}

/* Enters the root of uniques/. If there is one source, the root is its tree. If there are several,
 * the root has a folder for each source. */
static int enter_root(struct writing *writing)
{
	const struct sources *sources = writing->task->sources;
	struct level *level;
	int r;

	if (sources->count == 1)
		return enter_dir(writing, sources->list[0].root, 0);
	r = push(writing, &level);
	for (uint32_t i = 0; r == 0 && i < sources->count; i++) {
		const char *tree = sources->list[i].tree;

		r = add_child(level,
			      (struct child){
				      .id = sources->list[i].root,
				      .source = i,
				      .is_dir = true,
			      },
			      tree, strlen(tree));
	}
	if (r == 0)
		sort_children(level);
	return r;
}

/* ---- a line ------------------------------------------------------------------------------ */

static int write_line(struct writing *writing)
{
	hash_state_update(writing->hash, writing->line.data, writing->line.length);
	return writing->task->write(writing->task->context, writing->line.data,
				    writing->line.length);
}

/* Sets the content of the current name: the path in uniques/ of the kept copy of the group. */
static int set_content(struct writing *writing, const struct group_record *group)
{
	struct catalog_reader *reader = writing->task->reader;
	struct bytes *content = &writing->name.content;
	CLEANUP_BYTES struct bytes relative = {0};
	struct file_record kept;
	uint32_t source;
	int r;

	content->length = 0;
	r = catalog_get_file(reader, group->kept, &kept);
	if (r == 0)
		r = catalog_entry_path(reader, kept.dir, kept.cookie, &relative, &source);
	if (r == 0 && source >= writing->task->sources->count)
		r = -EUCLEAN;
	if (r == 0)
		r = bytes_append_text(content, writing->task->sources->list[source].tree);
	if (r == 0 && content->length > 0)
		r = bytes_append(content, "/", 1);
	if (r == 0)
		r = bytes_append(content, relative.data, relative.length);
	return r == -ENOENT ? -EUCLEAN : r; /* the kept copy of a group must have a name */
}

static void set_record(struct manifest_name *name, const struct file_record *file,
		       const struct group_record *group)
{
	const struct attributes *attributes = &file->attributes;

	name->hash = group->hash;
	name->size = group->size;
	name->mode = attributes->mode & ALLPERMS;
	name->uid = attributes->uid;
	name->gid = attributes->gid;
	name->mtime = attributes->mtime;
	name->links = file->names;
	name->inode = file->names > 1 ? file->id : 0;
}

/* Reads the extended attributes, which are not in the index, from the file itself. Returns 0,
 * -ESTALE if the file differs from the indexed one, or another -errno. */
static int set_xattrs(struct writing *writing, const struct file_record *file)
{
	const struct manifest_task *task = writing->task;
	struct attributes now;
	AUTO_CLOSE int fd = source_open_file(task->sources, task->reader, file, O_PATH);
	int r;

	if (fd < 0)
		return fd;
	r = xattrs_read(&writing->name.xattrs, fd);
	if (r == 0)
		r = source_attributes(task->catalog, fd, &now);
	if (r == 0 && !attributes_same_signature(&now, &file->attributes))
		r = -ESTALE;
	return r;
}

/* Logs that the manifest lacks the current name, and counts it. */
static int leave_out(struct writing *writing, const struct child *child, int error)
{
	const struct sources *sources = writing->task->sources;
	struct bytes *path = &writing->name.path;
	size_t tree = strlen(sources->list[child->source].tree);
	CLEANUP_BYTES struct bytes absolute = {0};
	int r;

	if (!bytes_text(path))
		return -ENOMEM;
	r = source_absolute_path(sources, child->source,
				 bytes_text(path) + tree + (tree > 0 ? 1 : 0), &absolute);
	if (r < 0)
		return r;
	log_warning("cannot add %s to the manifest: %s; left out",
		    quote_bytes((const char *)absolute.data, absolute.length),
		    error == -ESTALE || error == -ENOENT ? "it changed meanwhile"
							 : error_text(error));
	writing->left_out++;
	return 0;
}

/* Returns whether a failure concerns the index or this process instead of one file. */
static bool is_fatal(int result)
{
	return result == -EUCLEAN || result == -ENOMEM || result == -EMFILE || result == -ENFILE;
}

static int write_name(struct writing *writing, const struct child *child)
{
	struct group_record group;
	struct file_record file;
	bool redundant;
	int r;

	r = catalog_get_file(writing->task->reader, child->id, &file);
	if (r == 0)
		r = catalog_is_redundant(writing->task->reader, child->id, &redundant, &group);
	if (r == 0)
		r = set_content(writing, &group);
	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	set_record(&writing->name, &file, &group);
	writing->line.length = 0;
	r = set_xattrs(writing, &file);
	if (r == 0)
		r = manifest_name_encode(&writing->line, &writing->name);
	if (r < 0)
		return is_fatal(r) ? r : leave_out(writing, child, r);
	writing->lines++;
	return write_line(writing);
}

/* ---- the walk ---------------------------------------------------------------------------- */

static int visit(struct writing *writing, const struct level *level, const struct child *child)
{
	struct bytes *path = &writing->name.path;
	int r = 0;

	path->length = level->path_length;
	if (path->length > 0)
		r = bytes_append(path, "/", 1);
	if (r == 0)
		r = bytes_append(path, level->names.data + child->name, child->length);
	if (r < 0)
		return r;
	return child->is_dir ? enter_dir(writing, child->id, child->source)
			     : write_name(writing, child);
}

static int write_names(struct writing *writing)
{
	int r = enter_root(writing);

	while (r == 0 && writing->depth > 0) {
		struct level *level = &writing->levels[writing->depth - 1];
		/* a copy, as visit() can reallocate the levels */
		struct child child;

		if (stop_requested())
			return -EINTR;
		if (level->next == level->count) {
			pop(writing);
			continue;
		}
		child = level->children[level->next++];
		r = visit(writing, level, &child);
	}
	return r;
}

static int write_all(struct writing *writing)
{
	struct manifest_end end;
	int r;

	r = manifest_header_encode(&writing->line, writing->task->reader, writing->task->sources);
	if (r == 0)
		r = write_line(writing);
	if (r == 0)
		r = write_names(writing);
	if (r < 0)
		return r;
	end = (struct manifest_end){
		.lines = writing->lines,
		.hash = hash_state_digest(writing->hash),
	};
	writing->line.length = 0;
	r = manifest_end_encode(&writing->line, &end);
	return r < 0 ? r : write_line(writing);
}

int manifest_write(const struct manifest_task *task, uint64_t *left_out)
{
	struct writing writing = {.task = task, .hash = hash_state_new()};
	int r = writing.hash ? write_all(&writing) : -ENOMEM;

	while (writing.depth > 0)
		pop(&writing);
	free(writing.levels);
	manifest_name_free(&writing.name);
	bytes_free(&writing.line);
	hash_state_free(writing.hash);
	*left_out = writing.left_out;
	return r;
}
