/* SPDX-License-Identifier: MIT */
#include "backup/manifest_names.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backup/content_hash.h"
#include "backup/manifest.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/metadata.h"
#include "base/stop.h"
#include "base/text.h"
#include "index/paths.h"
#include "index/query.h"
#include "index/scan.h"
#include "index/source.h"
#include "scan/reading.h"

/* An entry of a directory that is visited. */
struct child {
	size_t name; /* offset in the names of the level */
	size_t length;
	uint64_t id; /* of the directory or file; of ENTRY_UNKNOWN: the errno */
	uint32_t source;
	enum entry_kind kind;
};

/* A directory from the root to the current one. */
struct names_level {
	struct child *children; /* sorted by name */
	size_t count;
	size_t capacity;
	size_t next; /* index of the next child to visit */
	struct bytes names;
	size_t path_length; /* bytes of the directory's path */
};

struct names_walk {
	const struct manifest_index *index;
	bool all; /* false: only the names that uniques/ leaves out */
	/* Called for each name, which is borrowed for the call. Returns 0, -EOVERFLOW if the name
	 * cannot be represented, or another -errno, which ends the visit. */
	int (*visit)(void *context, const struct manifest_name *name);
	void *context;
	struct manifest_figures *figures;
	struct names_level *levels;
	size_t depth;
	size_t capacity;
	struct manifest_name name; /* the current name; its path is the current path */
};

/* ---- levels ------------------------------------------------------------------------------ */

static int add_child(struct names_level *level, struct child child, const char *name, size_t length)
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
	const struct names_level *level = context;
	const struct child *a = left;
	const struct child *b = right;
	size_t shorter = a->length < b->length ? a->length : b->length;
	int order = memcmp(level->names.data + a->name, level->names.data + b->name, shorter);

	return order != 0 ? order : (a->length > b->length) - (a->length < b->length);
}

static void sort_children(struct names_level *level)
{
	if (level->count > 1)
		qsort_r(level->children, level->count, sizeof(*level->children), compare_children,
			level);
}

static int push(struct names_walk *walk, struct names_level **level)
{
	int r = array_reserve(&walk->levels, &walk->capacity, walk->depth + 1,
			      sizeof(*walk->levels));

	if (r < 0)
		return r;
	*level = &walk->levels[walk->depth++];
	**level = (struct names_level){.path_length = walk->name.path.length};
	return 0;
}

static void pop(struct names_walk *walk)
{
	struct names_level *level = &walk->levels[--walk->depth];

	free(level->children);
	bytes_free(&level->names);
}

/* Adds an entry to the level if it is a directory or a name of the manifest. */
static int add_entry(struct names_walk *walk, struct names_level *level,
		     const struct entry_record *entry, uint32_t source)
{
	const struct child child = {
		.id = entry->child,
		.source = source,
		.kind = entry->kind,
	};
	bool wanted = walk->all || entry->kind == ENTRY_DIR;
	struct group_record group;
	int r = 0;

	if (!wanted && entry->kind == ENTRY_FILE)
		r = catalog_is_redundant(walk->index->reader, entry->child, &wanted, &group);
	if (r < 0 || !wanted)
		return r;
	return add_child(level, child, entry->name.bytes, entry->name.length);
}

/* Returns whether a directory could not be listed, so that the index lacks the names in it. */
static bool is_unread(const struct dir_record *dir)
{
	return dir->error && (dir->flags & DIR_NOT_SEARCHED) == 0;
}

/* Lists the current directory if it could not be read. */
static int note_unread(struct names_walk *walk, uint64_t id)
{
	struct bytes *path = &walk->name.path;
	struct dir_record dir;
	int r = walk->index->unread ? catalog_get_dir(walk->index->reader, id, &dir) : -ENOENT;

	if (r < 0 || !is_unread(&dir))
		return r == -ENOENT ? 0 : r;
	return bytes_text(path) ? text_list_add(walk->index->unread, bytes_text(path), path->length)
				: -ENOMEM;
}

static int enter_dir(struct names_walk *walk, uint64_t id, uint32_t source)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct entry_record entry;
	struct names_level *level;
	int r = push(walk, &level);

	if (r == 0)
		r = note_unread(walk, id);
	if (r < 0)
		return r;
	r = catalog_scan_entries(walk->index->reader, id, 0, &scan);
	while (r == 0 && (r = catalog_next_entry(scan, &entry)) == 0)
		r = add_entry(walk, level, &entry, source);
	if (r != -ENOENT)
		return r;
	sort_children(level);
	return 0;
}

/* Enters the root of uniques/. If there is one source, the root is its tree. If there are several,
 * the root has a folder for each source. */
static int enter_root(struct names_walk *walk)
{
	const struct sources *sources = walk->index->sources;
	struct names_level *level;
	int r;

	if (sources->count == 1)
		return enter_dir(walk, sources->list[0].root, 0);
	r = push(walk, &level);
	for (uint32_t i = 0; r == 0 && i < sources->count; i++) {
		const char *tree = sources->list[i].tree;

		r = add_child(level,
			      (struct child){
				      .id = sources->list[i].root,
				      .source = i,
				      .kind = ENTRY_DIR,
			      },
			      tree, strlen(tree));
	}
	if (r == 0)
		sort_children(level);
	return r;
}

/* ---- a name ------------------------------------------------------------------------------ */

/* Appends the absolute path of the current name in its source. */
static int absolute_path(struct names_walk *walk, const struct child *child, struct bytes *absolute)
{
	const struct sources *sources = walk->index->sources;
	size_t tree = strlen(sources->list[child->source].tree);
	const char *path = bytes_text(&walk->name.path);

	return path ? source_absolute_path(sources, child->source, path + tree + (tree > 0 ? 1 : 0),
					   absolute)
		    : -ENOMEM;
}

/* Logs that the manifest lacks the current name, and counts it. */
static int leave_out(struct names_walk *walk, const struct child *child, int error)
{
	CLEANUP_BYTES struct bytes absolute = {0};
	int r = absolute_path(walk, child, &absolute);

	if (r < 0)
		return r;
	log_warning("cannot add %s to the manifest: %s; left out",
		    quote_bytes((const char *)absolute.data, absolute.length),
		    error == -ESTALE || error == -ENOENT ? "it changed meanwhile"
							 : error_text(error));
	walk->figures->left_out++;
	return 0;
}

/* Returns whether a failure concerns the index or this process instead of one file. */
static bool is_fatal(int result)
{
	return result == -EUCLEAN || result == -ENOMEM || result == -EMFILE || result == -ENFILE;
}

/* Sets the content of the current name: the path in uniques/ of the kept copy of the group. */
static int set_content(struct names_walk *walk, const struct group_record *group)
{
	struct catalog_reader *reader = walk->index->reader;
	struct bytes *content = &walk->name.content;
	CLEANUP_BYTES struct bytes relative = {0};
	struct file_record kept;
	uint32_t source;
	int r;

	content->length = 0;
	r = catalog_get_file(reader, group->kept, &kept);
	if (r == 0)
		r = catalog_entry_path(reader, kept.dir, kept.cookie, &relative, &source);
	if (r == 0 && source >= walk->index->sources->count)
		r = -EUCLEAN;
	if (r == 0)
		r = bytes_append_text(content, walk->index->sources->list[source].tree);
	if (r == 0 && content->length > 0)
		r = bytes_append(content, "/", 1);
	if (r == 0)
		r = bytes_append(content, relative.data, relative.length);
	return r == -ENOENT ? -EUCLEAN : r; /* the kept copy of a group must have a name */
}

static void set_attributes(struct manifest_name *name, const struct attributes *attributes)
{
	name->type = attributes->mode & S_IFMT;
	name->size = S_ISREG(name->type) ? attributes->size : 0;
	name->device = attributes->rdev;
	name->mode = attributes->mode & ALLPERMS;
	name->uid = attributes->uid;
	name->gid = attributes->gid;
	name->mtime = attributes->mtime;
}

static int read_target(struct manifest_name *name, int fd)
{
	ssize_t length;
	int r = bytes_reserve(&name->target, PATH_MAX);

	if (r < 0)
		return r;
	length = readlinkat(fd, "", (char *)name->target.data, PATH_MAX);
	if (length < 0)
		return -errno;
	name->target.length = (size_t)length;
	return 0;
}

/* Reads the extended attributes and the flags. */
static int read_attributes(struct manifest_name *name, int fd)
{
	int r = xattrs_read(&name->xattrs, fd);

	return r < 0 ? r : inode_flags_read(fd, &name->flags);
}

/* Reads from the file itself what is not in the index: the extended attributes, the flags, and the
 * target of a symlink. Returns 0, -ESTALE if the file differs from the indexed one, or another
 * -errno. */
static int read_rest(struct names_walk *walk, const struct file_record *file)
{
	const struct manifest_index *index = walk->index;
	struct attributes now;
	AUTO_CLOSE int fd = source_open_file(index->sources, index->reader, file, O_PATH);
	int r;

	if (fd < 0)
		return fd;
	r = read_attributes(&walk->name, fd);
	if (r == 0 && S_ISLNK(walk->name.type))
		r = read_target(&walk->name, fd);
	if (r == 0)
		r = source_attributes(index->sources->catalog, fd, &now);
	if (r == 0 && !attributes_same_signature(&now, &file->attributes))
		r = -ESTALE;
	return r;
}

/* Logs that the manifest lacks the hash of the current name. */
static int lack_hash(struct names_walk *walk, const struct child *child, int result)
{
	CLEANUP_BYTES struct bytes absolute = {0};
	int r = absolute_path(walk, child, &absolute);

	if (r < 0)
		return r;
	log_warning("cannot prove the content of %s: %s; the manifest has no hash of it",
		    quote_bytes((const char *)absolute.data, absolute.length),
		    result == READING_BUSY ? "a program is writing to it"
		    : result > 0           ? "it changed meanwhile"
					   : error_text(result));
	walk->figures->unproved++;
	return 0;
}

/* Sets the hash of a regular file that is not redundant. */
static int set_hash(struct names_walk *walk, const struct child *child,
		    const struct file_record *file)
{
	struct manifest_name *name = &walk->name;
	int r = content_hash_find(walk->index->reader, walk->index->known, file, &name->hash);

	if (is_fatal(r))
		return r;
	name->hashed = r == 0;
	if (r != 0)
		return lack_hash(walk, child, r);
	name->read = (struct manifest_read){file->id, file_digest(file)};
	return 0;
}

/* Visits the current name, unless reading it failed. A name that the visitor cannot represent is
 * left out. */
static int pass_on(struct names_walk *walk, const struct child *child, int r)
{
	if (r == 0) {
		r = walk->visit(walk->context, &walk->name);
		if (r == 0)
			walk->figures->names++;
		if (r != -EOVERFLOW)
			return r;
	}
	return is_fatal(r) ? r : leave_out(walk, child, r);
}

static int visit_file(struct names_walk *walk, const struct child *child)
{
	struct manifest_name *name = &walk->name;
	struct group_record group;
	struct file_record file;
	bool redundant = false;
	int r;

	r = catalog_get_file(walk->index->reader, child->id, &file);
	if (r == 0)
		r = catalog_is_redundant(walk->index->reader, child->id, &redundant, &group);
	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	set_attributes(name, &file.attributes);
	name->links = file.names;
	name->inode = file.names > 1 ? file.id : 0;
	if (redundant) {
		r = set_content(walk, &group);
		name->hashed = true;
		name->hash = group.hash;
	} else if (S_ISREG(name->type)) {
		r = set_hash(walk, child, &file);
	}
	return r < 0 ? r : pass_on(walk, child, read_rest(walk, &file));
}

/* Sets the metadata of a directory. That of another file system is empty in uniques/ and has no
 * extended attributes. Sets *result to 0, or -errno if the directory cannot be opened or read. */
static int set_dir(const struct manifest_index *index, uint64_t id, struct manifest_name *name,
		   int *result)
{
	struct dir_record dir;
	AUTO_CLOSE int fd = -1;
	int r = catalog_get_dir(index->reader, id, &dir);

	*result = 0;
	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	set_attributes(name, &dir.attributes);
	name->unread = is_unread(&dir);
	if (dir.flags & DIR_NOT_ENTERED)
		return 0;
	fd = source_open_dir(index->sources, index->reader, id);
	*result = fd < 0 ? fd : read_attributes(name, fd);
	return 0;
}

/* Visits a directory itself. */
static int visit_dir(struct names_walk *walk, const struct child *child)
{
	int result;
	int r = set_dir(walk->index, child->id, &walk->name, &result);

	return r < 0 ? r : pass_on(walk, child, result);
}

/* Sets the metadata of the root of uniques/, with the path ".", if it is the root of the only
 * source. If there are several sources, the name stays empty. */
static int set_root(const struct manifest_index *index, struct manifest_name *root)
{
	int result;
	int r;

	if (index->sources->count != 1)
		return 0;
	r = set_dir(index, index->sources->list[0].root, root, &result);
	if (r == 0)
		r = result;
	return r < 0 ? r : bytes_append_text(&root->path, ".");
}

/* ---- the walk ---------------------------------------------------------------------------- */

/* Sets the path of the current name, and empties its other members. */
static int set_path(struct names_walk *walk, const struct names_level *level,
		    const struct child *child)
{
	struct bytes *path = &walk->name.path;
	size_t length = level->path_length;
	int r = 0;

	manifest_name_clear(&walk->name);
	path->length = length;
	if (length > 0)
		r = bytes_append(path, "/", 1);
	return r < 0 ? r : bytes_append(path, level->names.data + child->name, child->length);
}

static int visit(struct names_walk *walk, const struct names_level *level,
		 const struct child *child)
{
	int r = set_path(walk, level, child);

	if (r < 0)
		return r;
	switch (child->kind) {
	case ENTRY_DIR:
		if (walk->all)
			r = visit_dir(walk, child);
		return r < 0 ? r : enter_dir(walk, child->id, child->source);
	case ENTRY_FILE:
		return visit_file(walk, child);
	case ENTRY_UNKNOWN:
	default:
		return leave_out(walk, child, -(int)child->id);
	}
}

static int visit_all(struct names_walk *walk)
{
	int r = enter_root(walk);

	while (r == 0 && walk->depth > 0) {
		struct names_level *level = &walk->levels[walk->depth - 1];
		/* a copy, as visit() can reallocate the levels */
		struct child child;

		if (stop_requested())
			return -EINTR;
		if (level->next == level->count) {
			pop(walk);
			continue;
		}
		child = level->children[level->next++];
		r = visit(walk, level, &child);
	}
	return r;
}

/* Visits all names and sets the figures. A name is left out if its file cannot be opened or differs
 * from the indexed one, or if the visitor cannot represent it. Returns 0, -EINTR if
 * stop_requested(), the result of visit(), or another -errno. */
static int visit_names(struct names_walk *walk)
{
	int r = visit_all(walk);

	while (walk->depth > 0)
		pop(walk);
	free(walk->levels);
	manifest_name_free(&walk->name);
	return r;
}

/* ---- manifest write ------------------------------------------------------------------------- */

struct manifest_writing {
	const struct manifest_task *task;
	struct bytes line;
	struct hash_state *hash; /* of all lines so far */
};

static int write_line(struct manifest_writing *writing)
{
	hash_state_update(writing->hash, writing->line.data, writing->line.length);
	return writing->task->write(writing->task->context, writing->line.data,
				    writing->line.length);
}

static int write_name(void *context, const struct manifest_name *name)
{
	struct manifest_writing *writing = context;
	int r;

	writing->line.length = 0;
	r = manifest_name_encode(&writing->line, name);
	return r < 0 ? r : write_line(writing);
}

static int write_header(struct manifest_writing *writing)
{
	CLEANUP_MANIFEST_NAME struct manifest_name root = {0};
	const struct manifest_task *task = writing->task;
	int r = 0;

	manifest_name_clear(&root);
	if (task->format == MANIFEST_ALL)
		r = set_root(&task->index, &root);
	if (r == 0)
		r = manifest_header_encode(&writing->line, task->format, task->index.reader,
					   task->index.sources, &root);
	return r < 0 ? r : write_line(writing);
}

static int write_all(struct manifest_writing *writing, struct manifest_figures *figures)
{
	const struct manifest_task *task = writing->task;
	struct names_walk walk = {
		.index = &task->index,
		.all = task->format == MANIFEST_ALL,
		.visit = write_name,
		.context = writing,
		.figures = figures,
	};
	struct manifest_end end;
	int r = write_header(writing);

	*figures = (struct manifest_figures){0};
	if (r == 0)
		r = visit_names(&walk);
	if (r < 0)
		return r;
	end = (struct manifest_end){
		.lines = figures->names,
		.hash = hash_state_digest(writing->hash),
	};
	writing->line.length = 0;
	r = manifest_end_encode(&writing->line, &end);
	return r < 0 ? r : write_line(writing);
}

int manifest_write(const struct manifest_task *task, struct manifest_figures *figures)
{
	struct manifest_writing writing = {.task = task, .hash = hash_state_new()};
	int r = writing.hash ? write_all(&writing, figures) : -ENOMEM;

	bytes_free(&writing.line);
	hash_state_free(writing.hash);
	return r;
}

/* ---- manifest compare ----------------------------------------------------------------------- */

struct comparing {
	const struct manifest_comparison *comparison;
	struct manifest_reader reader; /* its name is the next one of the manifest */
	struct manifest_compared *result;
};

/* ---- one name ---------------------------------------------------------------------------- */

static bool same_content(const struct manifest_name *a, const struct manifest_name *b)
{
	if (a->unread != b->unread)
		return false;
	if (a->type != b->type || a->size != b->size || a->hashed != b->hashed)
		return S_ISDIR(a->type) && S_ISDIR(b->type);
	return hash128_equal(a->hash, b->hash) && a->device == b->device &&
	       bytes_compare(&a->target, &b->target) == 0;
}

/* The time of a directory changes with each new name, which affects no name of the manifest. */
static bool same_metadata(const struct manifest_name *a, const struct manifest_name *b)
{
	return a->mode == b->mode && a->uid == b->uid && a->gid == b->gid &&
	       (S_ISDIR(a->type) || clock_equal(a->mtime, b->mtime)) && a->links == b->links &&
	       a->flags == b->flags && xattrs_equal(&a->xattrs, &b->xattrs);
}

static enum manifest_difference find_difference(const struct manifest_name *before,
						const struct manifest_name *now)
{
	bool was_busy = S_ISREG(before->type) && !before->hashed;

	if (was_busy && S_ISREG(now->type) && now->content.length == 0)
		return MANIFEST_SAME;
	if (!same_content(before, now))
		return MANIFEST_CONTENT;
	if (bytes_compare(&before->content, &now->content) != 0)
		return MANIFEST_PLACE;
	return same_metadata(before, now) ? MANIFEST_SAME : MANIFEST_METADATA;
}

/* ---- all names --------------------------------------------------------------------------- */

static int report(struct comparing *comparing, const struct bytes *name,
		  enum manifest_difference difference)
{
	const struct manifest_comparison *comparison = comparing->comparison;

	if (difference == MANIFEST_SAME)
		return 0;
	comparing->result->affected++;
	return comparison->found(comparison->context, name, difference);
}

/* Notes a name of the manifest that the index lacks. */
static int note_gone(void *context)
{
	struct comparing *comparing = context;
	const struct manifest_name *before = &comparing->reader.name;

	comparing->result->unread += before->unread;
	return report(comparing, &before->path, MANIFEST_GONE);
}

/* Compares a name of the index. Names of the manifest before it are gone. */
static int compare_name(void *context, const struct manifest_name *name)
{
	struct comparing *comparing = context;
	struct manifest_reader *reader = &comparing->reader;
	bool found;
	int r = manifest_reader_seek(reader, &name->path, note_gone, comparing, &found);

	if (r < 0)
		return r;
	if (!found)
		return reader->format == MANIFEST_ALL
			       ? 0
			       : report(comparing, &name->path, MANIFEST_NEW);
	comparing->result->unread += reader->name.unread;
	r = report(comparing, &reader->name.path, find_difference(&reader->name, name));
	return r < 0 ? r : manifest_reader_advance(reader);
}

/* Compares the root, if the manifest has its metadata. */
static int compare_root(struct comparing *comparing)
{
	CLEANUP_MANIFEST_NAME struct manifest_name now = {0};
	const struct manifest_name *before = &comparing->reader.root;
	int r;

	if (before->path.length == 0)
		return 0;
	manifest_name_clear(&now);
	r = set_root(&comparing->comparison->index, &now);
	if (r < 0)
		return r;
	return report(comparing, &before->path,
		      same_metadata(before, &now) ? MANIFEST_SAME : MANIFEST_METADATA);
}

static int compare_all(struct comparing *comparing)
{
	struct manifest_figures figures = {0};
	struct names_walk walk = {
		.index = &comparing->comparison->index,
		.all = comparing->reader.format == MANIFEST_ALL,
		.visit = compare_name,
		.context = comparing,
		.figures = &figures,
	};
	bool found;
	int r = compare_root(comparing);

	if (r == 0)
		r = manifest_reader_advance(&comparing->reader);
	if (r == 0)
		r = visit_names(&walk);
	return r < 0 ? r
		     : manifest_reader_seek(&comparing->reader, NULL, note_gone, comparing, &found);
}

int manifest_compare(const struct manifest_comparison *comparison, struct manifest_compared *result)
{
	struct comparing comparing = {.comparison = comparison, .result = result};
	int r = manifest_reader_init(&comparing.reader, comparison->fd, comparison->path);

	*result = (struct manifest_compared){0};
	if (r == 0)
		r = compare_all(&comparing);
	manifest_reader_deinit(&comparing.reader);
	return r;
}

/* ---- directories ------------------------------------------------------------------------- */

int manifest_find_below(int fd, const char *path, const struct text_list *directories,
			const char **found)
{
	CLEANUP_MANIFEST_READER struct manifest_reader reader = {0};
	const struct bytes *name = &reader.name.path;
	size_t i = 0;
	int r = manifest_reader_init(&reader, fd, path);

	*found = NULL;
	while (r == 0 && i < directories->count && (r = manifest_reader_next(&reader)) == 0) {
		for (; !*found && i < directories->count; i++) {
			char *text = directories->items[i];
			const struct bytes directory = {.data = (uint8_t *)text,
							.length = strlen(text)};

			if (path_is_below(name, &directory))
				*found = text;
			else if (path_order(name, &directory) <= 0)
				break;
		}
		if (*found)
			return 0;
	}
	return r == MANIFEST_END ? 0 : r;
}
