/* SPDX-License-Identifier: MIT */
#include "daemon/source_roots.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/directory.h"
#include "base/log.h"
#include "base/quote.h"
#include "catalog/query.h"
#include "source/source_change.h"

/* State of the path of a source. */
enum root_state {
	ROOT_SAME,
	ROOT_NEW, /* another directory on the same file system */
	ROOT_MISSING,
};

/* Returns whether the directory is on the file system that the index has for the source. */
static bool is_on_filesystem_of(const struct sources *sources, const struct source *source, int fd)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	struct attributes now;
	struct dir_record root;

	return catalog_read_begin(sources->catalog, &reader) == 0 &&
	       catalog_get_dir(reader, source->root, &root) == 0 &&
	       source_attributes(sources->catalog, fd, &now) == 0 &&
	       now.filesystem == root.attributes.filesystem;
}

/* Returns whether the device of a directory, or the server, does not work any more. Such a device
 * has lost all names, unless the kernel has cached the listing. */
static bool is_dead(int fd)
{
	switch (-directory_check_empty(fd, NULL)) {
	case EIO:
	case ENXIO:
	case ENODEV:
	case ENOMEDIUM:
	case ENOTCONN:
	case ESHUTDOWN:
	case EUCLEAN:
		return true;
	default:
		return false;
	}
}

/* Examines the path of a source. Sets *fd to the directory that is at the path now, or -1 if no
 * directory can be opened. */
static enum root_state examine(const struct sources *sources, const struct source *source, int *fd)
{
	struct stat before, now;

	*fd = open(source->path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (*fd < 0 || fstat(*fd, &now) < 0 || fstat(source->fd, &before) < 0)
		return ROOT_MISSING;
	if (is_same_inode(&before, &now) && before.st_nlink > 0)
		return is_dead(*fd) ? ROOT_MISSING : ROOT_SAME;
	/* an empty new root is possibly the mount point of an unmounted disk, or is not filled yet
	 */
	return is_on_filesystem_of(sources, source, *fd) && !source_is_emptied(sources, source, *fd)
		       ? ROOT_NEW
		       : ROOT_MISSING;
}

/* Replaces the old root by the directory fd, under the same descriptor number. Returns false if
 * that failed. */
static bool replace(struct source *source, unsigned int number, int fd, struct watch *watch)
{
	if (dup3(fd, source->fd, O_CLOEXEC) < 0)
		return false;
	if (watch)
		watch_remove(watch, number, source->root);
	return true;
}

uint64_t source_roots_check(const struct sources *sources, struct watch *watch)
{
	uint64_t walk = 0;

	for (unsigned int i = 0; i < sources->count; i++) {
		struct source *source = &sources->list[i];
		AUTO_CLOSE int fd = -1;
		enum root_state state = examine(sources, source, &fd);
		bool was_missing = atomic_load(&source->missing);
		bool missing = state == ROOT_MISSING;

		if (state == ROOT_NEW)
			missing = !replace(source, i, fd, watch);
		atomic_store(&source->missing, missing);
		if (missing && !was_missing)
			log_warning("cannot find source %s: removed, moved or unmounted, or its "
				    "disk fails; its "
				    "files cannot be read until it is back",
				    quote_path(source->path));
		else if (!missing && was_missing)
			log_info("source %s is back", quote_path(source->path));
		if (!missing && (was_missing || state == ROOT_NEW) && i < WATCH_QUEUES_MAX)
			walk |= UINT64_C(1) << i;
	}
	return walk;
}
