/* SPDX-License-Identifier: MIT */
#include "index/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/path.h"
#include "index/change.h"
#include "index/operands.h"
#include "index/paths.h"
#include "index/query.h"

/* How long a file system may take for an answer before it counts as silent. A disk that spins up
 * can take longer, and is silent for that time. */
#define SILENT_NS (3 * SECOND_NS)

/* ---- paths --------------------------------------------------------------------------- */

/* A source path that is being resolved, and the status of its inode. */
struct given_source {
	char *path;
	struct stat status;
};

static int resolve_one(const char *given, struct given_source *source)
{
	int r = 0;

	source->path = realpath(given, NULL);
	if (!source->path || stat(source->path, &source->status) < 0)
		r = -errno;
	else if (!S_ISDIR(source->status.st_mode))
		r = -ENOTDIR;
	if (r == -ENOTDIR)
		log_error("source %s is not a directory; give the directory that contains it",
			  quote_path(given));
	else if (r < 0)
		log_error("cannot use source %s: %s", quote_path(given), error_text(r));
	return r;
}

/* Finds whether a directory is inside or the same as another source. Walks up to the root by
 * descriptors and compares inodes, which also detects bind mounts of the same directory. */
static int is_in_other(const struct given_source *sources, size_t count, size_t which, bool *inside)
{
	AUTO_CLOSE int fd = open(sources[which].path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	*inside = false;
	if (fd < 0)
		return -errno;
	do {
		if (fstat(fd, &st) < 0)
			return -errno;
		for (size_t i = 0; i < count && !*inside; i++) {
			/* the first of two equal sources is kept */
			*inside = is_same_inode(&sources[i].status, &st) && i != which &&
				  (!is_same_inode(&sources[which].status, &st) || i < which);
		}
	} while (!*inside && ascend(&fd) > 0);
	return 0;
}

static int keep_outermost(const struct given_source *sources, size_t count,
			  struct text_list *resolved)
{
	bool inside;
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		r = is_in_other(sources, count, i, &inside);
		if (r < 0) {
			log_error("cannot examine source %s: %s", quote_path(sources[i].path),
				  error_text(r));
		} else if (inside) {
			log_debug("source %s is inside another source",
				  quote_path(sources[i].path));
		} else {
			r = text_list_add(resolved, sources[i].path, strlen(sources[i].path));
		}
	}
	return r;
}

int source_paths_resolve(char *const *given, size_t count, struct text_list *resolved)
{
	struct given_source *sources = calloc(count, sizeof(*sources));
	int r = sources ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < count; i++)
		r = resolve_one(given[i], &sources[i]);
	if (r == 0)
		r = keep_outermost(sources, count, resolved);
	for (size_t i = 0; sources && i < count; i++)
		free(sources[i].path);
	free(sources);
	return r;
}

/* Appends the absolute form of a path, without slashes at its end. Returns 0 or -errno. */
static int append_absolute(const char *given, struct bytes *path)
{
	AUTO_FREE char *here = given[0] == '/' ? strdup("") : getcwd(NULL, 0);
	int r = here ? bytes_format(path, "%s/%s", here, given) : -errno;

	while (r == 0 && path->length > 1 && path->data[path->length - 1] == '/')
		path->length--;
	return r;
}

/* Resolves the longest part of a path that exists, and appends the rest. Returns 0 or -errno. */
static int recall_one(const char *given, struct bytes *path)
{
	CLEANUP_BYTES struct bytes absolute = {0};
	AUTO_FREE char *found = NULL;
	int r = append_absolute(given, &absolute);
	char *text = r == 0 && bytes_text(&absolute) ? (char *)absolute.data : NULL;
	char *rest = text ? text + absolute.length : NULL;

	if (!text)
		return r < 0 ? r : -ENOMEM;
	while (!found && rest > text) {
		char cut = *rest;

		*rest = '\0';
		found = realpath(text, NULL);
		if (!found && errno != ENOENT)
			return -errno;
		*rest = cut;
		while (!found && *--rest != '/')
			;
	}
	r = found && strcmp(found, "/") != 0 ? bytes_append_text(path, found) : 0;
	if (r == 0 && (*rest || path->length == 0))
		r = bytes_append_text(path, *rest ? rest : "/");
	return r;
}

/* Returns whether a path is inside or the same as another path of the list. */
static bool is_in_other_path(const struct text_list *paths, size_t which)
{
	for (size_t i = 0; i < paths->count; i++) {
		const char *below = path_below(paths->items[which], paths->items[i]);

		/* the first of two equal paths is kept */
		if (below && i != which && (*below || i < which))
			return true;
	}
	return false;
}

int source_paths_recall(char *const *given, size_t count, struct text_list *resolved)
{
	CLEANUP_TEXT_LIST struct text_list paths = {0};
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		CLEANUP_BYTES struct bytes path = {0};

		r = recall_one(given[i], &path);
		if (r < 0)
			log_error("cannot use source %s: %s", quote_path(given[i]), error_text(r));
		else
			r = text_list_add(&paths, (const char *)path.data, path.length);
	}
	for (size_t i = 0; r == 0 && i < paths.count; i++) {
		if (!is_in_other_path(&paths, i))
			r = text_list_add(resolved, paths.items[i], strlen(paths.items[i]));
	}
	return r;
}

/* ---- opening the sources of an index ------------------------------------------------- */

static int append_source(struct sources *sources, const char *path, uint64_t root)
{
	struct source *source;
	int r = array_reserve(&sources->list, &sources->capacity, sources->count + 1,
			      sizeof(*sources->list));

	if (r < 0)
		return r;
	source = &sources->list[sources->count++];
	*source = (struct source){.path = strdup(path), .root = root, .fd = -1};
	return source->path ? 0 : -ENOMEM;
}

static int load_sources(struct sources *sources)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	CLEANUP_BYTES struct bytes path = {0};
	uint64_t root;
	int r = catalog_read_begin(sources->catalog, &reader);

	while (r == 0) {
		path.length = 0;
		r = catalog_get_source(reader, sources->count, &path, &root);
		if (r == 0 && !bytes_text(&path))
			r = -ENOMEM;
		if (r == 0)
			r = append_source(sources, bytes_text(&path), root);
	}
	return r == -ENOENT ? 0 : r;
}

/* Opens a source and gets the attributes of its root directory. With them, the catalog identifies
 * the file system now: the UUID can be read from this directory, but not from every file. */
static int open_source(struct catalog *catalog, struct source *source,
		       struct attributes *attributes)
{
	source->fd = open(source->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (source->fd < 0)
		return -errno;
	return source_attributes(catalog, source->fd, attributes);
}

struct new_sources {
	struct sources *sources;
	struct attributes *roots;
};

static int add_sources_body(struct catalog_writer *w, void *context)
{
	const struct new_sources *new = context;
	int r = 0;

	for (size_t i = 0; r == 0 && i < new->sources->count; i++)
		r = catalog_add_source(w, i, new->sources->list[i].path, &new->roots[i],
				       new->sources->list[i].root);
	return r < 0 || !new->sources->operands ? r : catalog_mark_operands(w);
}

static int store_new_sources(struct sources *sources, char *const *paths)
{
	struct new_sources new = {.sources = sources};
	size_t count = 0;
	int r = 0;

	while (paths[count])
		count++;
	new.roots = calloc(count + 1, sizeof(*new.roots));
	if (!new.roots)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < count; i++) {
		uint64_t root = catalog_new_id(sources->catalog);

		r = root ? append_source(sources, paths[i], root) : -errno;
		if (r == 0)
			r = open_source(sources->catalog, &sources->list[i], &new.roots[i]);
	}
	if (r == 0)
		r = catalog_write(sources->catalog, add_sources_body, &new);
	free(new.roots);
	return r;
}

static bool same_paths(const struct sources *sources, char *const *paths)
{
	size_t i = 0;

	while (i < sources->count && paths[i] && strcmp(sources->list[i].path, paths[i]) == 0)
		i++;
	return i == sources->count && !paths[i];
}

/* Sets the folder of each source in the view. A single source has none. Each of several sources has
 * its base name as folder, with ~2, ~3 ... if the name is repeated. */
static int name_trees(struct sources *sources)
{
	for (size_t i = 0; i < sources->count; i++) {
		const char *base = strrchr(sources->list[i].path, '/') + 1;
		char *tree = NULL;
		bool taken = true;

		if (sources->count == 1)
			base = "";
		else if (!*base)
			base = "root";
		for (unsigned int number = 1; taken; number++) {
			free(tree);
			if ((number == 1 ? asprintf(&tree, "%s", base)
					 : asprintf(&tree, "%s~%u", base, number)) < 0)
				return -ENOMEM;
			taken = false;
			for (size_t j = 0; j < i && !taken; j++)
				taken = strcmp(sources->list[j].tree, tree) == 0;
		}
		sources->list[i].tree = tree;
	}
	return 0;
}

int sources_check_operands(const struct sources *sources)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	bool of_operands = false;
	int r = catalog_read_begin(sources->catalog, &reader);

	if (r == 0)
		r = catalog_is_of_operands(reader, &of_operands);
	if (r < 0 || of_operands == !!sources->operands)
		return r;
	log_error("cannot use the index %s: it is %s %s; choose another with --index",
		  quote_path(catalog_folder(sources->catalog)),
		  of_operands ? "of single files in" : "of the whole folder",
		  quote_path(sources->list[0].path));
	return -EXDEV;
}

static int load_or_store(struct sources *sources, char *const *paths)
{
	const char *folder = catalog_folder(sources->catalog);
	int r = load_sources(sources);

	if (r == 0 && paths && sources->count == 0)
		r = store_new_sources(sources, paths);
	if (r < 0) {
		log_error("cannot open the sources of the index %s: %s", quote_path(folder),
			  error_text(r));
		return r;
	}
	if (!paths)
		return 0;
	if (same_paths(sources, paths))
		return sources_check_operands(sources);
	log_error("the index %s belongs to other sources (%s%s); choose another index with --index",
		  quote_path(folder), quote_path(sources->list[0].path),
		  sources->count > 1 ? " ..." : "");
	return -EXDEV;
}

static int open_all(struct sources *sources, char *const *paths)
{
	struct attributes attributes;
	int r = load_or_store(sources, paths);

	for (size_t i = 0; r == 0 && i < sources->count; i++) {
		if (sources->list[i].fd < 0)
			r = open_source(sources->catalog, &sources->list[i], &attributes);
		if (r < 0 && !paths)
			r = 0;
		if (r < 0)
			log_error("cannot open source %s: %s", quote_path(sources->list[i].path),
				  error_text(r));
	}
	if (r == 0)
		r = name_trees(sources);
	if (r == 0)
		r = own_load(&sources->own, sources->catalog);
	if (r < 0)
		sources_close(sources);
	return r;
}

int sources_open(struct sources *sources, struct catalog *catalog, char *const *paths,
		 bool cross_mounts)
{
	*sources = (struct sources){.catalog = catalog, .cross_mounts = cross_mounts};
	return open_all(sources, paths);
}

int sources_open_operands(struct sources *sources, struct catalog *catalog,
			  const struct operands *operands)
{
	char *const paths[] = {operands->folder, NULL};

	*sources = (struct sources){.catalog = catalog, .cross_mounts = true, .operands = operands};
	return open_all(sources, paths);
}

bool source_lacks_moved(const struct source *source)
{
	return atomic_load(&source->moved) && !atomic_load(&source->missing);
}

size_t sources_missing(const struct sources *sources)
{
	size_t count = 0;

	for (size_t i = 0; i < sources->count; i++)
		count += atomic_load(&sources->list[i].missing);
	return count;
}

uint64_t source_silent_ns(const struct source *source)
{
	uint64_t asked_ns = atomic_load(&source->asked_ns);
	uint64_t waited_ns = asked_ns ? clock_monotonic_ns() - asked_ns : 0;

	return waited_ns >= SILENT_NS ? waited_ns : 0;
}

size_t sources_silent(const struct sources *sources)
{
	size_t count = 0;

	for (size_t i = 0; i < sources->count; i++)
		count += source_silent_ns(&sources->list[i]) > 0;
	return count;
}

void sources_close(struct sources *sources)
{
	for (size_t i = 0; i < sources->count; i++) {
		free(sources->list[i].path);
		free(sources->list[i].tree);
		if (sources->list[i].fd >= 0)
			close(sources->list[i].fd);
	}
	free(sources->list);
	own_free(&sources->own);
	*sources = (struct sources){0};
}

/* ---- opening files and directories --------------------------------------------------- */

static int source_fd(const struct sources *sources, uint32_t source)
{
	if (source >= sources->count)
		return -EUCLEAN;
	if (sources->list[source].missing || sources->list[source].fd < 0)
		return -ENODEV;
	return sources->list[source].fd;
}

/* Opens a path in a source for reading (flags 0), or with flags that include O_PATH. */
static int open_path(const struct sources *sources, uint32_t source, struct bytes *path, int flags)
{
	int fd = source_fd(sources, source);
	const char *text = bytes_text(path);

	if (fd < 0 || !text)
		return fd < 0 ? fd : -ENOMEM;
	return flags & O_PATH ? open_beneath(fd, text, flags, sources->cross_mounts)
			      : open_beneath_for_reading(fd, text, 0, sources->cross_mounts);
}

int source_open_dir(const struct sources *sources, struct catalog_reader *reader, uint64_t dir)
{
	CLEANUP_BYTES struct bytes path = {0};
	uint32_t source;
	int r = catalog_dir_path(reader, dir, &path, &source);

	return r < 0 ? r : open_path(sources, source, &path, O_PATH | O_DIRECTORY);
}

/* Opens the file at the first name of a file record. Returns -ESTALE if the name, or a component of
 * its path, is now a symlink, a mount, or of another type.
 */
static int open_name(const struct sources *sources, struct catalog_reader *reader,
		     const struct file_record *file, int flags)
{
	CLEANUP_BYTES struct bytes path = {0};
	uint32_t source;
	int fd, r = catalog_entry_path(reader, file->dir, file->cookie, &path, &source);

	if (r < 0)
		return r;
	fd = open_path(sources, source, &path, flags);
	return fd == -ELOOP || fd == -ENOTDIR || fd == -EXDEV || fd == -ENXIO ? -ESTALE : fd;
}

/* Opens a file. Returns -ESTALE if the function `same` does not accept its current attributes and
 * those of the index. */
static int open_same(const struct sources *sources, struct catalog_reader *reader,
		     const struct file_record *file, int flags,
		     bool (*same)(const struct attributes *, const struct attributes *))
{
	struct attributes now;
	int r, fd = open_name(sources, reader, file, flags);

	if (fd < 0)
		return fd;
	r = source_attributes(sources->catalog, fd, &now);
	if (r == 0 && !same(&now, &file->attributes))
		r = -ESTALE;
	if (r == 0)
		return fd;
	(void)close(fd);
	return r;
}

int source_open_file(const struct sources *sources, struct catalog_reader *reader,
		     const struct file_record *file, int flags)
{
	return open_same(sources, reader, file, flags, attributes_same_signature);
}

int source_open_inode(const struct sources *sources, struct catalog_reader *reader,
		      const struct file_record *file)
{
	return open_same(sources, reader, file, O_PATH, attributes_same_inode);
}

int source_absolute_path(const struct sources *sources, uint32_t source, const char *relative,
			 struct bytes *path)
{
	const char *root;
	int r;

	if (source >= sources->count)
		return -EUCLEAN;
	root = sources->list[source].path;
	r = bytes_append_text(path, strcmp(root, "/") == 0 ? "" : root);
	if (r == 0 && (*relative || path->length == 0))
		r = bytes_append(path, "/", 1);
	return r < 0 ? r : bytes_append_text(path, relative);
}

/* Appends the absolute path for a path that was found in the index. result: of the search */
static int append_found(const struct sources *sources, int result, uint32_t source,
			struct bytes *relative, struct bytes *path)
{
	const char *text = bytes_text(relative);

	if (result < 0 || !text)
		return result < 0 ? result : -ENOMEM;
	return source_absolute_path(sources, source, text, path);
}

int source_dir_path(const struct sources *sources, struct catalog_reader *reader, uint64_t dir,
		    struct bytes *path)
{
	CLEANUP_BYTES struct bytes relative = {0};
	uint32_t source = 0;
	int r = catalog_dir_path(reader, dir, &relative, &source);

	return append_found(sources, r, source, &relative, path);
}

int source_entry_path(const struct sources *sources, struct catalog_reader *reader, uint64_t dir,
		      uint64_t cookie, struct bytes *path)
{
	CLEANUP_BYTES struct bytes relative = {0};
	uint32_t source = 0;
	int r = catalog_entry_path(reader, dir, cookie, &relative, &source);

	return append_found(sources, r, source, &relative, path);
}

int source_file_path(const struct sources *sources, struct catalog_reader *reader,
		     const struct file_record *file, struct bytes *path)
{
	CLEANUP_BYTES struct bytes relative = {0};
	uint32_t source = 0;
	int r = catalog_file_path(reader, file, &relative, &source);

	return append_found(sources, r, source, &relative, path);
}

/* ---- space ---------------------------------------------------------------------------------- */

static bool has_device(const dev_t *devices, size_t count, dev_t device)
{
	for (size_t i = 0; i < count; i++) {
		if (devices[i] == device)
			return true;
	}
	return false;
}

static uint64_t blocks_of(const struct statvfs *one, fsblkcnt_t count)
{
	uint64_t unit = one->f_frsize ? one->f_frsize : one->f_bsize;

	return unit % SOURCE_SPACE_BLOCK == 0 ? size_multiply(count, unit / SOURCE_SPACE_BLOCK)
					      : size_multiply(count, unit) / SOURCE_SPACE_BLOCK;
}

static void add_space(struct statvfs *space, const struct statvfs *one)
{
	space->f_blocks = size_add(space->f_blocks, blocks_of(one, one->f_blocks));
	space->f_bfree = size_add(space->f_bfree, blocks_of(one, one->f_bfree));
	space->f_bavail = size_add(space->f_bavail, blocks_of(one, one->f_bavail));
	space->f_files = size_add(space->f_files, one->f_files);
	space->f_ffree = size_add(space->f_ffree, one->f_ffree);
	space->f_favail = size_add(space->f_favail, one->f_favail);
}

void sources_add_space(const struct sources *sources, struct statvfs *space)
{
	AUTO_FREE dev_t *devices = calloc(sources->count, sizeof(*devices));
	size_t count = 0;
	struct statvfs one;
	struct stat root;

	for (size_t i = 0; devices && i < sources->count; i++) {
		const struct source *source = &sources->list[i];

		if (atomic_load(&source->missing) || fstat(source->fd, &root) < 0 ||
		    has_device(devices, count, root.st_dev))
			continue;
		devices[count++] = root.st_dev;
		if (fstatvfs(source->fd, &one) == 0)
			add_space(space, &one);
	}
}
