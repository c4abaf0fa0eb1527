/* SPDX-License-Identifier: MIT */
#include "index/source_change.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "index/paths.h"
#include "index/query.h"
#include "index/scan.h"
#include "index/scan_settings.h"

/* Sets *has to whether the index has a name in the directory. */
static int has_names(struct catalog_reader *reader, uint64_t directory, bool *has)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct entry_record entry;
	int r = catalog_scan_entries(reader, directory, 0, &scan);

	if (r == 0)
		r = catalog_next_entry(scan, &entry);
	*has = r == 0;
	return r == -ENOENT ? 0 : r;
}

bool source_is_emptied(const struct sources *sources, const struct source *source, int fd)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	bool has = false;

	return directory_check_empty(fd, NULL) == 0 &&
	       catalog_read_begin(sources->catalog, &reader) == 0 &&
	       has_names(reader, source->root, &has) == 0 && has;
}

static int compare(struct catalog_reader *reader, const struct source *source, uint64_t index,
		   enum source_change_kind *kind)
{
	struct source_identity known, now;
	bool has = false;
	int r = source_identity_get(reader, index, &known, NULL);

	*kind = SOURCE_GONE;
	if (r < 0 || source->fd < 0)
		return r;
	r = source_identity_read(source->fd, &now);
	if (r == 0)
		r = has_names(reader, source->root, &has);
	*kind = SOURCE_SAME;
	if (known.type != 0 && has && !source_identity_matches(&known, &now))
		*kind = SOURCE_REPLACED;
	else if (has && directory_check_empty(source->fd, NULL) == 0)
		*kind = SOURCE_EMPTIED;
	else if (known.type == 0 && directory_check_empty(source->fd, NULL) == 0)
		*kind = SOURCE_EMPTY;
	return r;
}

int sources_find_change(const struct sources *sources, size_t *which, enum source_change_kind *kind)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	int r = catalog_read_begin(sources->catalog, &reader);

	*kind = SOURCE_SAME;
	for (size_t i = 0; r == 0 && *kind == SOURCE_SAME && i < sources->count; i++) {
		*which = i;
		r = compare(reader, &sources->list[i], i, kind);
	}
	return r;
}

/* ---- file systems that were mounted in a source -------------------------------------------- */

/* Finds whether the directory was on another file system than its parent, as a mount point is. */
static int was_mount_root(struct catalog_reader *reader, const struct dir_record *dir, bool *was)
{
	struct dir_record above;
	int r = dir->parent ? catalog_get_dir(reader, dir->parent, &above) : 0;

	*was = r == 0 && dir->parent && above.attributes.filesystem != dir->attributes.filesystem;
	return r;
}

/* Returns whether the directory exists, is empty, and is on another file system than at the last
 * scan.
 */
static bool is_unmounted(const struct sources *sources, const struct dir_record *dir,
			 const char *path)
{
	AUTO_CLOSE int fd =
		open_beneath(sources->list[dir->source].fd, path, O_PATH | O_DIRECTORY, true);
	struct attributes now;

	return fd >= 0 && source_attributes(sources->catalog, fd, &now) == 0 &&
	       now.filesystem != dir->attributes.filesystem && directory_check_empty(fd, NULL) == 0;
}

static int examine_mount_root(const struct sources *sources, struct catalog_reader *reader,
			      const struct dir_record *dir, struct bytes *path)
{
	CLEANUP_BYTES struct bytes below = {0};
	uint32_t source;
	bool has = false; /* without a name, as of a scan of one file system, nothing is missed */
	int r = has_names(reader, dir->id, &has);

	if (r == 0 && has)
		r = catalog_dir_path(reader, dir->id, &below, &source);
	if (r < 0 || !has)
		return r;
	if (!bytes_text(&below))
		return -ENOMEM;
	if (!is_unmounted(sources, dir, bytes_text(&below)))
		return 0;
	return source_absolute_path(sources, dir->source, bytes_text(&below), path);
}

int sources_find_unmounted(const struct sources *sources, struct bytes *path)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct dir_record dir;
	bool was_mounted;
	int r = catalog_read_begin(sources->catalog, &reader);

	if (r == 0)
		r = catalog_scan_dirs(reader, 0, &scan);
	while (r == 0 && path->length == 0 && (r = catalog_next_dir(scan, &dir)) == 0) {
		if (dir.source >= sources->count)
			return -EUCLEAN;
		r = was_mount_root(reader, &dir, &was_mounted);
		if (r == 0 && was_mounted)
			r = examine_mount_root(sources, reader, &dir, path);
	}
	return r == -ENOENT ? 0 : r;
}

/* ---- file systems that keep no ctime -------------------------------------------------------- */

bool source_lacks_ctime(const struct sources *sources, size_t index, struct catalog_reader *reader)
{
	struct source_identity known;
	struct dir_record root;

	return source_identity_get(reader, index, &known, NULL) == 0 && known.type != 0 &&
	       catalog_get_dir(reader, sources->list[index].root, &root) == 0 &&
	       catalog_lacks_ctime(sources->catalog, (uint32_t)known.type,
				   root.attributes.filesystem);
}

/* ---- accepting ------------------------------------------------------------------------------ */

static int accept_body(struct catalog_writer *w, void *context)
{
	const struct sources *sources = context;
	struct source_identity now;
	int r = 0;

	for (size_t i = 0; r == 0 && i < sources->count; i++) {
		r = source_identity_read(sources->list[i].fd, &now);
		if (r == 0)
			r = source_identity_put(w, i, &now);
	}
	return r;
}

int sources_accept(const struct sources *sources)
{
	return catalog_write(sources->catalog, accept_body, (void *)(uintptr_t)sources);
}
