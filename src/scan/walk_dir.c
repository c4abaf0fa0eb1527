/* SPDX-License-Identifier: MIT */
/* How a walk opens a directory, below which limits. scan/listing.c reads its names. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/filesystem.h"
#include "base/stop.h"
#include "base/timed_call.h"
#include "index/emptied_place.h"
#include "index/paths.h"
#include "index/query.h"
#include "index/scan.h"
#include "scan/walk.h"

/* Maximum number of directories that keep a descriptor to open their subdirectories. A tenth of the
 * process's limit of descriptors is used instead if it is lower. */
#define PARENT_DESCRIPTORS 64

/* Time within which another file system must answer. */
#define ANSWER_TIMEOUT_MS 1000

void walk_dir_budget_init(struct walk_dir_budget *budget)
{
	uint64_t most = descriptors_max() / 10;

	budget->left = most < PARENT_DESCRIPTORS ? (int)most : PARENT_DESCRIPTORS;
}

struct walk_dir *walk_dir_new(struct walk_dir *parent, struct name name)
{
	struct walk_dir *dir = calloc(1, sizeof(*dir) + name.length + 1);

	if (!dir)
		return NULL;
	atomic_init(&dir->references, 1);
	dir->fd = -1;
	dir->name_length = name.length;
	memcpy(dir->name, name.bytes, name.length);
	dir->parent = parent;
	if (parent) {
		atomic_fetch_add(&parent->references, 1);
		dir->source = parent->source;
	}
	return dir;
}

/* Sets *has to whether the index has no name in the directory. Returns 0 or -errno. */
static int has_no_name(struct catalog_reader *reader, uint64_t dir, bool *has)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct entry_record entry;
	int r = catalog_scan_entries(reader, dir, 0, &scan);

	if (r == 0)
		r = catalog_next_entry(scan, &entry);
	*has = r == -ENOENT;
	return *has ? 0 : r;
}

uint32_t walk_dir_place(const struct walk_dir *dir, const struct sources *sources, int fd,
			bool tagged)
{
	const char *path = sources->list[dir->source].path;
	uint32_t flags = 0;

	/* the names of a directory on the way to operands are not listed */
	if ((tagged || dir->is_on_way) && is_cache_at(fd))
		flags |= DIR_IS_CACHE;
	if (dir->is_root && is_below_cache(path))
		flags |= DIR_IS_CACHE;
	if (!dir->is_top)
		return flags;
	if (filesystem_is_in_memory_at(fd))
		flags |= DIR_IN_MEMORY;
	if (emptied_place_of_mount(fd, dir->is_root ? path : "") == PLACE_TRASH)
		flags |= DIR_IN_TRASH;
	return filesystem_is_snapshot_at(fd) ? flags | DIR_IN_SNAPSHOT : flags;
}

void walk_dir_set_operands(struct walk_dir *dir, const struct operands *operands)
{
	const struct walk_dir *parent = dir->parent;

	if (!operands || (parent && !parent->is_on_way))
		return;
	dir->operands =
		parent ? operands_below(operands, parent->operands, dir->name, dir->name_length)
		       : operands_all(operands);
	dir->is_on_way = !operands_end_at(operands, dir->operands);
}

/* Returns whether a directory is the root of a source, or on another file system than its parent.
 */
static bool is_top(struct catalog_reader *reader, const struct dir_record *dir)
{
	struct dir_record parent;

	return dir->parent == 0 || (catalog_get_dir(reader, dir->parent, &parent) == 0 &&
				    parent.attributes.filesystem != dir->attributes.filesystem);
}

int walk_dir_begin(struct walk_dir **dir, const struct sources *sources,
		   struct catalog_reader *reader, const struct recheck *recheck)
{
	CLEANUP_BYTES struct bytes path = {0};
	struct dir_record record;
	uint32_t source;
	bool is_new = false;
	int r = catalog_get_dir(reader, recheck->dir, &record);

	if (r == 0)
		r = catalog_dir_path(reader, recheck->dir, &path, &source);
	if (r == 0)
		r = has_no_name(reader, recheck->dir, &is_new);
	if (r != 0)
		return r;
	if (!bytes_text(&path))
		return -ENOMEM;
	*dir = walk_dir_new(NULL, (struct name){bytes_text(&path), (uint32_t)path.length});
	if (!*dir)
		return -ENOMEM;
	(*dir)->source = source;
	(*dir)->id = recheck->dir;
	(*dir)->known = true;
	(*dir)->is_new = is_new;
	(*dir)->is_root = record.parent == 0;
	(*dir)->is_top = is_top(reader, &record);
	(*dir)->scope = recheck->scope;
	(*dir)->recheck = recheck;
	(*dir)->attributes = record.attributes;
	(*dir)->expected = record.parent != 0; /* the root of a source can be another inode */
	walk_dir_set_operands(*dir, sources->operands);
	return 0;
}

/* Drops a reference. With the last one, closes and frees the directory. Accepts NULL. */
static void release(struct walk_dir *dir)
{
	while (dir && atomic_fetch_sub(&dir->references, 1) == 1) {
		struct walk_dir *parent = dir->parent;

		if (dir->fd >= 0)
			close(dir->fd);
		free(dir);
		dir = parent;
	}
}

void walk_dir_release_list(struct walk_dir *list)
{
	struct walk_dir *next;

	for (; list; list = next) {
		next = list->next;
		release(list);
	}
}

static int by_inode(const void *a, const void *b)
{
	const struct attributes *x = &(*(struct walk_dir *const *)a)->attributes;
	const struct attributes *y = &(*(struct walk_dir *const *)b)->attributes;

	if (x->filesystem != y->filesystem)
		return x->filesystem < y->filesystem ? -1 : 1;
	return x->inode < y->inode ? -1 : x->inode > y->inode;
}

struct walk_dir *walk_dir_sort(struct walk_dir *list)
{
	AUTO_FREE struct walk_dir **dirs = NULL;
	size_t count = 0;

	for (const struct walk_dir *dir = list; dir; dir = dir->next)
		count++;
	if (count > 1)
		dirs = calloc(count, sizeof(*dirs));
	if (!dirs)
		return list;
	for (size_t i = 0; i < count; i++, list = list->next)
		dirs[i] = list;
	qsort(dirs, count, sizeof(*dirs), by_inode);
	for (size_t i = 0; i < count; i++)
		dirs[i]->next = i + 1 < count ? dirs[i + 1] : NULL;
	return dirs[0];
}

/* Returns the length of the path with slashes between names. The name of the directory where the
 * walk began can be empty. */
static size_t path_length(const struct walk_dir *dir)
{
	size_t length = 0;

	for (const struct walk_dir *up = dir; up; up = up->parent) {
		if (up->name_length > 0)
			length += up->name_length + (length > 0);
	}
	return length;
}

/* Returns whether the clock was set back since the walk began, so that changes since have earlier
 * ctimes. The kernel slows a clock down by 0.05 % at most (adjtimex(2)). A clock that stands still
 * was not set. */
static bool clock_was_set_back(const struct walk_moves *moves)
{
	int64_t passed_ns = (int64_t)clock_monotonic_ns() - moves->start.monotonic_ns;
	int64_t wall_ns = clock_ns(clock_now()) - moves->start.wall_ns;

	return wall_ns != 0 && wall_ns < passed_ns - passed_ns / 1000 - MS_NS;
}

void walk_moves_begin(struct walk_moves *moves, const struct walk_start *start)
{
	moves->start = start->file_ns ? *start : walk_start_now();
	atomic_init(&moves->possible, false);
	atomic_init(&moves->of_other_host, false);
	atomic_init(&moves->last_ns, 0);
}

/* Returns the last time that a file system possibly stores as this one. FAT has steps of two
 * seconds; others, and many protocols, have whole seconds. */
static int64_t last_stored_as(struct timespec time)
{
	if (time.tv_nsec != 0)
		return clock_ns(time);
	return clock_ns(time) + (time.tv_sec % 2 ? SECOND_NS : 2 * SECOND_NS) - 1;
}

static void note_ctime(struct walk_moves *moves, struct timespec ctime)
{
	int64_t last_ns = last_stored_as(ctime), known_ns = atomic_load(&moves->last_ns);

	/* a ctime in the future is of a clock that was wrong */
	if (last_ns < moves->start.file_ns || clock_ns(ctime) > clock_ns(clock_now()))
		return;
	atomic_store(&moves->possible, true);
	while (known_ns < last_ns &&
	       !atomic_compare_exchange_weak(&moves->last_ns, &known_ns, last_ns))
		;
}

void walk_moves_note(struct walk_moves *moves, int result, const struct attributes *attributes,
		     uint32_t type)
{
	if (result == -ENOENT)
		atomic_store(&moves->possible, true);
	else if (result == 0 && !filesystem_is_stub(type, attributes->inode))
		note_ctime(moves, attributes->ctime);
}

void walk_moves_note_top(struct walk_moves *moves, int fd)
{
	if (fd >= 0 && !filesystem_is_of_this_host(fd))
		atomic_store(&moves->of_other_host, true);
}

void walk_moves_note_now(struct walk_moves *moves, int fd)
{
	struct stat status;

	if (fd >= 0 && fstat(fd, &status) == 0 &&
	    !filesystem_is_stub(filesystem_type_at(fd), status.st_ino))
		note_ctime(moves, status.st_ctim);
}

void walk_moves_report(const struct walk_moves *moves, struct ingest_result *result)
{
	result->moved = moves->possible || clock_was_set_back(moves);
	result->moved_ns = moves->last_ns;
	result->of_other_host = moves->of_other_host;
}

int walk_dir_path(const struct walk_dir *dir, struct bytes *path)
{
	size_t length = path_length(dir);
	uint8_t *at;
	int r;

	path->length = 0;
	r = bytes_reserve(path, length + 1);
	if (r < 0)
		return r;
	path->length = length;
	at = path->data + length;
	*at = '\0';
	for (const struct walk_dir *up = dir; up && at > path->data; up = up->parent) {
		if (up != dir)
			*--at = '/';
		at -= up->name_length;
		memcpy(at, up->name, up->name_length);
	}
	return 0;
}

/* Closes the parent's descriptor after its last subdirectory was opened. */
static void count_opened(struct walk_dir *parent, struct walk_dir_budget *budget)
{
	if (atomic_fetch_sub(&parent->unopened, 1) != 1)
		return;
	close(parent->fd);
	parent->fd = -1;
	atomic_fetch_add(&budget->left, 1);
}

static int open_dir(const struct walk_dir *dir, int from, const char *path, bool cross_mounts)
{
	if (dir->is_on_way)
		return open_beneath(from, path, O_PATH | O_DIRECTORY, cross_mounts);
	return open_beneath_for_reading(from, path, O_DIRECTORY, cross_mounts);
}

int walk_dir_open(struct walk_dir *dir, const struct sources *sources,
		  struct walk_dir_budget *budget, struct bytes *path)
{
	bool cross_mounts = sources->cross_mounts;
	int fd, r;

	if (dir->parent && dir->parent->fd >= 0) {
		fd = open_dir(dir, dir->parent->fd, dir->name, cross_mounts);
		count_opened(dir->parent, budget);
		return fd;
	}
	r = walk_dir_path(dir, path);
	if (r < 0)
		return r;
	return open_dir(dir, sources->list[dir->source].fd, bytes_text(path), cross_mounts);
}

int walk_dir_examine(const struct walk_dir *dir, const struct sources *sources, struct bytes *path,
		     struct attributes *attributes)
{
	AUTO_CLOSE int fd = -1;
	int r = walk_dir_path(dir, path);

	if (r < 0)
		return r;
	fd = open_beneath(sources->list[dir->source].fd, bytes_text(path), O_PATH | O_DIRECTORY,
			  sources->cross_mounts);
	return fd < 0 ? fd : source_attributes(sources->catalog, fd, attributes);
}

/* A directory to open: the descriptor to open it from, and the path. */
struct opening {
	int fd;
	const char *path;
};

/* Runs in a child process. */
static int open_and_ask(void *context)
{
	const struct opening *opening = context;
	AUTO_CLOSE int fd = open_beneath_for_reading(opening->fd, opening->path, O_DIRECTORY, true);
	struct statfs figures;

	if (fd < 0)
		return fd;
	return fstatfs(fd, &figures) < 0 ? -errno : 0;
}

int walk_dir_ask(const struct walk_dir *dir, const struct sources *sources, struct bytes *path)
{
	struct opening opening = {.fd = sources->list[dir->source].fd};
	int r = walk_dir_path(dir, path);

	opening.path = r == 0 ? bytes_text(path) : NULL;
	if (!opening.path)
		return -ENOMEM;
	return call_with_timeout(open_and_ask, &opening, opening.fd, ANSWER_TIMEOUT_MS);
}

void walk_dir_keep(struct walk_dir *dir, int *fd, unsigned int count,
		   struct walk_dir_budget *budget)
{
	if (count == 0 || *fd < 0)
		return;
	if (atomic_fetch_sub(&budget->left, 1) <= 0) {
		atomic_fetch_add(&budget->left, 1);
		return;
	}
	dir->fd = *fd;
	*fd = -1;
	atomic_init(&dir->unopened, count);
}

/* ---- queue ----------------------------------------------------------------------------- */

/* A directory that waited adds WAIT_WEIGHT, any other directory subtracts 1. At WAITS_MAX a thread
 * is admitted. So a thread that is interrupted now and then admits none. */
#define WAIT_WEIGHT 16
#define WAITS_MAX 24

void walk_queue_init(struct walk_queue *queue, unsigned int workers)
{
	*queue = (struct walk_queue){.admitted = workers};
	pthread_mutex_init(&queue->lock, NULL);
	pthread_cond_init(&queue->changed, NULL);
	pthread_cond_init(&queue->admission, NULL);
}

void walk_queue_deinit(struct walk_queue *queue)
{
	walk_dir_release_list(queue->sorted);
	walk_dir_release_list(queue->first);
	pthread_mutex_destroy(&queue->lock);
	pthread_cond_destroy(&queue->changed);
	pthread_cond_destroy(&queue->admission);
}

/* Wakes all threads, so that they end. The caller holds the lock. */
static void end(struct walk_queue *queue)
{
	queue->ended = true;
	pthread_cond_broadcast(&queue->changed);
	pthread_cond_broadcast(&queue->admission);
}

void walk_queue_join(struct walk_queue *queue)
{
	unsigned int number;

	pthread_mutex_lock(&queue->lock);
	number = queue->joined++;
	while (number >= queue->admitted && !queue->ended)
		pthread_cond_wait(&queue->admission, &queue->lock);
	pthread_mutex_unlock(&queue->lock);
}

/* The caller holds the lock. */
static void note_wait(struct walk_queue *queue, bool waited)
{
	if (!waited) {
		queue->waits -= queue->waits > 0;
		return;
	}
	queue->waits += WAIT_WEIGHT;
	if (queue->waits < WAITS_MAX)
		return;
	queue->waits = 0;
	queue->admitted++;
	pthread_cond_broadcast(&queue->admission);
}

/* The caller holds the lock. */
static void append(struct walk_queue *queue, struct walk_dir *list, struct walk_dir *last)
{
	if (queue->last)
		queue->last->next = list;
	else
		queue->first = list;
	queue->last = last;
}

/* The caller holds the lock. */
static void prepend(struct walk_queue *queue, struct walk_dir *list, struct walk_dir *last)
{
	last->next = queue->first;
	queue->first = list;
	if (!queue->last)
		queue->last = last;
}

void walk_queue_push(struct walk_queue *queue, struct walk_dir *list, struct walk_dir *last,
		     size_t count, enum walk_order order)
{
	if (count == 0)
		return;
	pthread_mutex_lock(&queue->lock);
	if (order == WALK_NEXT || queue->unsorted >= WALK_WAITING)
		prepend(queue, list, last);
	else
		append(queue, list, last);
	queue->unsorted += count;
	queue->open_dirs += count;
	if (count == 1)
		pthread_cond_signal(&queue->changed);
	else
		pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->lock);
}

/* Sorts the directories from first to last, and puts them before those that are sorted already. The
 * caller holds the lock. */
static void sort_first(struct walk_queue *queue)
{
	struct walk_dir *list = walk_dir_sort(queue->first), **end = &list;

	while (*end)
		end = &(*end)->next;
	*end = queue->sorted;
	queue->sorted = list;
	queue->first = queue->last = NULL;
	queue->unsorted = 0;
}

/* The caller holds the lock. */
static struct walk_dir *take_first(struct walk_queue *queue, bool seeks)
{
	struct walk_dir *dir;

	if (seeks && (!queue->sorted || queue->unsorted >= WALK_WAITING))
		sort_first(queue);
	dir = queue->sorted;
	if (dir) {
		queue->sorted = dir->next;
		return dir;
	}
	dir = queue->first;
	if (dir) {
		queue->first = dir->next;
		queue->unsorted--;
	}
	if (!queue->first)
		queue->last = NULL;
	return dir;
}

struct walk_dir *walk_queue_pop(struct walk_queue *queue, size_t dirs_max, bool seeks)
{
	struct walk_dir *dir = NULL;

	pthread_mutex_lock(&queue->lock);
	while (!queue->first && !queue->sorted && queue->open_dirs > 0 && !queue->error)
		pthread_cond_wait(&queue->changed, &queue->lock);
	if (queue->error || queue->open_dirs == 0 || stop_requested())
		end(queue);
	else if (queue->open_dirs <= dirs_max)
		dir = take_first(queue, seeks);
	pthread_mutex_unlock(&queue->lock);
	return dir;
}

void walk_queue_finish(struct walk_queue *queue, struct walk_dir *dir, bool waited, int error)
{
	pthread_mutex_lock(&queue->lock);
	if (error < 0 && queue->error == 0)
		queue->error = error;
	queue->open_dirs--;
	if (queue->open_dirs == 0 || queue->error)
		end(queue);
	note_wait(queue, waited);
	pthread_mutex_unlock(&queue->lock);
	release(dir);
}
