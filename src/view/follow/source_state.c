/* SPDX-License-Identifier: MIT */
#include "view/follow/source_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/filesystem.h"
#include "base/log.h"
#include "base/mountinfo.h"
#include "index/query.h"
#include "index/source_change.h"
#include "view/follow/watch.h"

int source_states_new(struct source_state **list, const struct sources *sources,
		      enum follower_mode mode)
{
	*list = calloc(sources->count, sizeof(**list));
	if (!*list)
		return -ENOMEM;
	/* inotify does not report changes by other hosts. On FUSE, it does not report changes that
	 * bypass the mount. */
	for (size_t i = 0; i < sources->count; i++) {
		(*list)[i].is_walked = true; /* by the first walk */
		(*list)[i].polled =
			i >= WATCH_QUEUES_MAX || mode == FOLLOW_POLL || mode == FOLLOW_NONE ||
			(mode == FOLLOW_AUTO && is_remote_filesystem(sources->list[i].fd));
	}
	return 0;
}

unsigned int source_states_queues(const struct source_state *list, size_t count)
{
	unsigned int queues = 0;

	for (size_t i = 0; i < count; i++) {
		if (!list[i].polled)
			queues = (unsigned int)i + 1;
	}
	return queues;
}

void source_states_poll_all(struct source_state *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		list[i].polled = true;
}

/* Returns whether both sources can have links to the same files. */
static bool share_filesystem(const struct sources *sources, size_t a, size_t b)
{
	struct stat one, other;

	return sources->cross_mounts || fstat(sources->list[a].fd, &one) < 0 ||
	       fstat(sources->list[b].fd, &other) < 0 || one.st_dev == other.st_dev;
}

/* Does the same by the index, as the root of a missing source is possibly closed. */
static bool share_recorded_filesystem(const struct sources *sources, size_t a, size_t b)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	struct dir_record one, other;

	return sources->cross_mounts || catalog_read_begin(sources->catalog, &reader) < 0 ||
	       catalog_get_dir(reader, sources->list[a].root, &one) < 0 ||
	       catalog_get_dir(reader, sources->list[b].root, &other) < 0 ||
	       one.attributes.filesystem == other.attributes.filesystem;
}

void source_states_require_walk(struct source_state *list, const struct sources *sources,
				uint32_t source)
{
	for (size_t i = 0; i < sources->count; i++) {
		if (!atomic_load(&list[i].needs_walk) &&
		    (i == source || share_filesystem(sources, i, source)))
			atomic_store(&list[i].needs_walk, true);
	}
}

void source_states_require_walk_all(struct source_state *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		atomic_store(&list[i].needs_walk, true);
}

bool source_state_needs_walk(struct source_state *states)
{
	return !states->polled &&
	       (atomic_load(&states->needs_walk) || atomic_load(&states->is_walked_by_poll));
}

bool source_state_begin_walk(struct source_state *states, bool begins)
{
	bool needs_walk = source_state_needs_walk(states);

	/* in this order, other threads always see a need in one of both */
	if (needs_walk && begins) {
		atomic_store(&states->is_walked_by_poll, true);
		atomic_store(&states->needs_walk, false);
	} else {
		atomic_store(&states->needs_walk, needs_walk);
		atomic_store(&states->is_walked_by_poll, false);
	}
	return needs_walk && begins;
}

bool source_states_need_walk(struct source_state *list, size_t count)
{
	bool needs_walk = false;

	for (size_t i = 0; i < count; i++)
		needs_walk |= source_state_needs_walk(&list[i]);
	return needs_walk;
}

bool source_state_is_walked(struct source_state *states)
{
	return states->polled || atomic_load(&states->unwatched) > 0;
}

bool source_states_report_writes(struct source_state *list, const struct sources *sources,
				 uint32_t source)
{
	for (size_t i = 0; i < sources->count; i++) {
		if (!source_state_is_walked(&list[i]) && !atomic_load(&sources->list[i].missing))
			continue;
		if (i == source || share_recorded_filesystem(sources, i, source))
			return false;
	}
	return true;
}

static bool overlap(const struct source *a, const struct source *b)
{
	struct stat one, other;

	return fstat(a->fd, &one) == 0 && fstat(b->fd, &other) == 0 && one.st_dev == other.st_dev &&
	       mountinfo_of(a->fd) != mountinfo_of(b->fd);
}

bool sources_may_overlap(const struct sources *sources)
{
	if (sources->cross_mounts)
		return true;
	for (size_t i = 1; i < sources->count; i++) {
		for (size_t k = 0; k < i; k++) {
			if (overlap(&sources->list[i], &sources->list[k]))
				return true;
		}
	}
	return false;
}

void source_states_note_moved(struct source_state *list, const struct sources *sources)
{
	for (size_t i = 0; i < sources->count; i++) {
		if (source_state_is_walked(&list[i]))
			atomic_store(&sources->list[i].moved, true);
	}
}

bool source_states_lack_moved(const struct sources *sources)
{
	for (size_t i = 0; i < sources->count; i++) {
		if (source_lacks_moved(&sources->list[i]))
			return true;
	}
	return false;
}

int64_t source_states_note_walked(struct source_state *list, const struct sources *sources,
				  int64_t now_s)
{
	int64_t earliest_s = now_s;

	for (size_t i = 0; i < sources->count; i++) {
		if (list[i].is_walked && !list[i].is_polled_now &&
		    !atomic_load(&sources->list[i].missing)) {
			list[i].is_walked = false;
			list[i].walked_s = now_s;
		}
		if (list[i].walked_s < earliest_s)
			earliest_s = list[i].walked_s;
	}
	return earliest_s;
}

uint64_t source_states_unwatched(struct source_state *list, size_t count)
{
	uint64_t unwatched = 0;

	for (size_t i = 0; i < count; i++)
		unwatched += atomic_load(&list[i].unwatched);
	return unwatched;
}

/* ---- fanotify groups ----------------------------------------------------------------- */

static const char *remedy_for(int error)
{
	switch (error) {
	case EPERM:
		return "only root with all capabilities can do this; use --watch=auto";
	case EINVAL:
	case ENOSYS:
		return "this needs Linux 5.17 or later; use --watch=auto";
	case EMFILE:
		return "raise fs.fanotify.max_user_groups, or use --watch=auto";
	default:
		return "use --watch=auto";
	}
}

static int open_group(struct fanotify_group *group, const struct source *source,
		      enum follower_mode mode)
{
	int r;

	if (mode == FOLLOW_AUTO && is_remote_filesystem(source->fd))
		return 0;
	r = fanotify_group_open(group, source->fd);
	if (r < 0 && mode == FOLLOW_AUTO) {
		log_debug("cannot watch %s by fanotify: %s; using inotify only",
			  quote_path(source->path), error_text(r));
		return 0;
	}
	if (r < 0)
		log_error("cannot watch %s by fanotify: %s; %s", quote_path(source->path),
			  error_text(r), remedy_for(-r));
	return r;
}

void fanotify_groups_init(struct fanotify_groups *groups)
{
	for (size_t i = 0; i < ARRAY_SIZE(groups->list); i++)
		groups->list[i].fd = -1;
}

int fanotify_groups_open(struct fanotify_groups *groups, const struct sources *sources,
			 enum follower_mode mode)
{
	int r = 0;

	if (mode != FOLLOW_FANOTIFY && mode != FOLLOW_AUTO)
		return 0;
	for (size_t i = 0; r == 0 && i < sources->count && i < ARRAY_SIZE(groups->list); i++)
		r = open_group(&groups->list[i], &sources->list[i], mode);
	return r;
}

void fanotify_groups_close(struct fanotify_groups *groups)
{
	for (size_t i = 0; i < ARRAY_SIZE(groups->list); i++)
		fanotify_group_close(&groups->list[i]);
}

/* ---- source roots -------------------------------------------------------------------- */

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
