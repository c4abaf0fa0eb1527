/* SPDX-License-Identifier: MIT */
#include "daemon/source_roots.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/log.h"
#include "base/mountinfo.h"
#include "catalog/query.h"
#include "source/source_change.h"

/* State of the path of a source. */
enum root_state {
	ROOT_SAME,
	ROOT_NEW, /* another directory on the same file system */
	ROOT_MISSING,
};

/* Returns whether the directory fd is on the file system that the index has for the source. */
static bool is_on_filesystem_of(const struct sources *sources, const struct source *source, int fd,
				dev_t device)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	struct dir_record root;

	return catalog_read_begin(sources->catalog, &reader) == 0 &&
	       catalog_get_dir(reader, source->root, &root) == 0 &&
	       catalog_confirm_filesystem(sources->catalog, fd, device, root.attributes.filesystem);
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
	/* While the old root is open, no other file system gets its st_dev. An empty new root is
	 * possibly the mount point of an unmounted disk, or is not filled yet. */
	return (before.st_dev == now.st_dev ||
		is_on_filesystem_of(sources, source, *fd, now.st_dev)) &&
			       !source_is_emptied(sources, source, *fd)
		       ? ROOT_NEW
		       : ROOT_MISSING;
}

/* Examines the path of a source. Other threads see meanwhile for how long that lasts. */
static enum root_state ask(const struct sources *sources, struct source *source, int *fd)
{
	enum root_state state;

	atomic_store(&source->asked_ns, clock_monotonic_ns());
	state = examine(sources, source, fd);
	if (source_silent_ns(source) > 0)
		log_info("source %s answers again", quote_path(source->path));
	atomic_store(&source->asked_ns, 0);
	return state;
}

/* Returns whether a root is on a mount that is in no mount table any more: it was unmounted lazily,
 * and its file system is in use until the last descriptor is closed. */
static bool is_detached(int fd)
{
	uint64_t mount = mountinfo_of(fd), parent;

	return mount != 0 && mountinfo_parent("/proc/self/mountinfo", mount, &parent) == -ENOENT;
}

/* If the root of a missing source is on a detached mount, replaces it by a descriptor that is no
 * directory, under the same number, so that the view does not keep its disk in use. */
static void let_go(const struct sources *sources, unsigned int number, struct watch *watch)
{
	const struct source *source = &sources->list[number];
	AUTO_CLOSE int nothing = -1;
	struct stat root;

	if (fstat(source->fd, &root) < 0 || !S_ISDIR(root.st_mode) || !is_detached(source->fd))
		return;
	nothing = eventfd(0, EFD_CLOEXEC);
	if (nothing < 0 || dup3(nothing, source->fd, O_CLOEXEC) < 0)
		return;
	catalog_forget_device(sources->catalog, root.st_dev);
	if (watch)
		watch_note_unmounted(watch, number);
	log_info("the view does not use the disk of %s any more", quote_path(source->path));
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
		struct watch *own = i < WATCH_QUEUES_MAX ? watch : NULL; /* others are polled */
		AUTO_CLOSE int fd = -1;
		enum root_state state = ask(sources, source, &fd);
		bool was_missing = atomic_load(&source->missing);
		bool missing = state == ROOT_MISSING;

		if (state == ROOT_NEW)
			missing = !replace(source, i, fd, own);
		else if (state == ROOT_SAME && mountinfo_of(fd) != mountinfo_of(source->fd))
			missing = dup3(fd, source->fd, O_CLOEXEC) < 0;
		atomic_store(&source->missing, missing);
		if (missing && !was_missing)
			log_warning("cannot find source %s: removed, moved or unmounted, or its "
				    "disk fails; its "
				    "files cannot be read until it is back",
				    quote_path(source->path));
		else if (!missing && was_missing)
			log_info("source %s is back", quote_path(source->path));
		if (missing)
			let_go(sources, i, own);
		if (!missing && (was_missing || state == ROOT_NEW) && i < WATCH_QUEUES_MAX)
			walk |= UINT64_C(1) << i;
	}
	return walk;
}
