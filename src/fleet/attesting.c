/* SPDX-License-Identifier: MIT */
#include "fleet/attesting.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/filesystem.h"
#include "base/log.h"
#include "base/path.h"
#include "fleet/reading_pool.h"
#include "index/emptied_place.h"
#include "index/managed.h"
#include "index/source.h"

/* A file system with a listed file. */
struct device {
	dev_t device; /* st_dev */
	int fd; /* a file on it, open since before the first file was read */
	size_t row; /* of that file */
};

/* What the reading threads share. A result belongs to the thread that took the row. */
struct attesting {
	const struct attesting_task *task;
	pthread_mutex_t lock; /* for the members below */
	struct device *devices;
	size_t count, capacity;
};

const char *attested_reason(enum attested_state state)
{
	static const char *const reasons[ATTESTED_STATES] = {
		[ATTESTED_UNREAD] = "unreadable",
		[ATTESTED_KEPT] = "kept",
		[ATTESTED_MISSING] = "missing",
		[ATTESTED_CHANGED] = "changed",
		[ATTESTED_UNREADABLE] = "unreadable",
		[ATTESTED_BUSY] = "busy",
		[ATTESTED_IN_TRASH] = "in a trash",
		[ATTESTED_REMOTE] = "on a network file system",
		[ATTESTED_IN_MEMORY] = "in memory",
		[ATTESTED_IN_SNAPSHOT] = "in a snapshot",
		[ATTESTED_IN_CACHE] = "in a cache",
		[ATTESTED_IN_STORE] = "in a store",
	};

	return reasons[state];
}

/* ---- paths --------------------------------------------------------------------------- */

static const struct source *source_of(const struct attesting_task *task, size_t row)
{
	return &task->sources->list[task->numbers[task->list->rows[row].source]];
}

/* Opens the file of a row below its source. Returns a descriptor or -errno. */
static int open_row(const struct attesting_task *task, size_t row)
{
	const struct source *source = source_of(task, row);

	return source->fd < 0 ? -ENOENT
			      : open_beneath_for_reading(source->fd, task->list->rows[row].path, 0,
							 task->sources->cross_mounts);
}

/* Returns the quoted absolute path of a row, for a message. */
static const char *quote_row(const struct attesting_task *task, size_t row)
{
	CLEANUP_BYTES struct bytes path = {0};
	uint32_t number = (uint32_t)(source_of(task, row) - task->sources->list);
	const char *relative = task->list->rows[row].path;

	return source_absolute_path(task->sources, number, relative, &path) == 0
		       ? quote_bytes((const char *)path.data, path.length)
		       : quote_path(relative);
}

/* ---- file systems -------------------------------------------------------------------- */

/* Syncs a file system. The descriptor reports each failed write since it was opened. Returns 0 or
 * -ECANCELED, logged. */
static int sync_device(struct attesting *attesting, const struct device *device)
{
	if (syncfs(device->fd) == 0)
		return 0;
	log_error("cannot sync the file system of %s: %s; nothing was attested",
		  quote_row(attesting->task, device->row), error_text(errno));
	return -ECANCELED;
}

static const struct device *find_device(const struct attesting *attesting, dev_t device)
{
	for (size_t i = 0; i < attesting->count; i++) {
		if (attesting->devices[i].device == device)
			return &attesting->devices[i];
	}
	return NULL;
}

/* Adds and syncs the file system of a row. The file is opened again, as the lease of the other
 * descriptor must end when that one is closed. Returns 0, ATTESTED_CHANGED or -errno. */
static int add_device(struct attesting *attesting, size_t row, dev_t expected)
{
	struct device device = {.device = expected, .row = row};
	struct stat status;
	int r = array_reserve(&attesting->devices, &attesting->capacity, attesting->count + 1,
			      sizeof(*attesting->devices));

	if (r < 0)
		return r;
	device.fd = open_row(attesting->task, row);
	if (device.fd < 0)
		return reading_pool_ends(device.fd) ? device.fd : (int)ATTESTED_CHANGED;
	r = fstat(device.fd, &status) == 0 && status.st_dev == expected ? 0 : ATTESTED_CHANGED;
	if (r == 0)
		r = sync_device(attesting, &device);
	if (r == 0)
		attesting->devices[attesting->count++] = device;
	else
		(void)close(device.fd);
	return r;
}

/* Syncs the file system of a row, unless that was done. */
static int sync_first(struct attesting *attesting, size_t row, dev_t device)
{
	int r = 0;

	pthread_mutex_lock(&attesting->lock);
	if (!find_device(attesting, device))
		r = add_device(attesting, row, device);
	pthread_mutex_unlock(&attesting->lock);
	return r;
}

static int sync_all(struct attesting *attesting)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < attesting->count; i++)
		r = sync_device(attesting, &attesting->devices[i]);
	return r;
}

/* ---- a file -------------------------------------------------------------------------- */

/* Returns the state for a failure to open a file. */
static int judge_opening(int error)
{
	switch (-error) {
	case ENOENT:
	case ENOTDIR:
	case ELOOP:
	case EXDEV:
	case ESTALE:
		return ATTESTED_MISSING;
	case ENXIO:
	case ENODEV:
		return ATTESTED_CHANGED;
	default:
		return error;
	}
}

/* Returns 0, an enum attested_state or -errno. */
static int examine(struct attesting *attesting, size_t row, int fd)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode) ||
	    (uint64_t)status.st_size != attesting->task->list->rows[row].size)
		return ATTESTED_CHANGED;
	if (!filesystem_is_of_this_host(fd))
		return ATTESTED_REMOTE;
	if (filesystem_is_in_memory_at(fd))
		return ATTESTED_IN_MEMORY;
	if (filesystem_is_snapshot_at(fd))
		return ATTESTED_IN_SNAPSHOT;
	return sync_first(attesting, row, status.st_dev);
}

/* Drops the cached pages of a file, so that it is read from the disk. Dirty pages, and pages that a
 * program has mapped, stay in the cache; the former are written first. */
static int drop_cache(int fd)
{
	if (sync_file_range(fd, 0, 0,
			    SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
				    SYNC_FILE_RANGE_WAIT_AFTER) < 0 &&
	    errno != ESPIPE && errno != ENOSYS)
		return -errno;
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	return 0;
}

/* Checks that the name of a row leads to the open file. Returns 0 or ATTESTED_CHANGED. */
static int check_name(const struct attesting_task *task, size_t row, int fd)
{
	AUTO_CLOSE int again = open_row(task, row);
	struct stat file, named;

	return again >= 0 && fstat(fd, &file) == 0 && fstat(again, &named) == 0 &&
			       is_same_inode(&file, &named)
		       ? 0
		       : ATTESTED_CHANGED;
}

/* Hashes a file that is held. Returns ATTESTED_KEPT, another enum attested_state, or -errno. */
static int hash(struct pool_thread *thread, const struct attesting_task *task, size_t row,
		const struct reading *reading)
{
	const struct listed_file *file = &task->list->rows[row];
	uint8_t sha256[SHA256_BYTES];
	int r = drop_cache(reading->fd);

	if (r < 0)
		return r;
	thread->held = reading;
	r = file_sha256_read(&thread->reader, reading->fd, file->size,
			     reading->attributes.blocks * 512 < file->size, sha256);
	thread->held = NULL;
	if (r == -EBUSY)
		return ATTESTED_BUSY;
	if (r < 0)
		return r;
	if (r == FILE_SHA256_CHANGED || memcmp(sha256, file->sha256, sizeof(sha256)) != 0)
		return ATTESTED_CHANGED;
	r = check_name(task, row, reading->fd);
	return r == 0 ? (int)ATTESTED_KEPT : r;
}

/* Returns the state for an enum reading_outcome, or -errno. */
static int judge_reading(int result)
{
	if (result <= 0)
		return result;
	return result == READING_BUSY ? ATTESTED_BUSY : ATTESTED_CHANGED;
}

/* Holds and hashes an open file, and closes it. Returns an enum attested_state or -errno. */
static int prove(struct pool_thread *thread, const struct attesting_task *task, size_t row, int fd)
{
	struct catalog *catalog = task->sources->catalog;
	struct reading reading;
	int state, r = reading_take(&reading, catalog, fd);

	if (r != 0)
		return judge_reading(r);
	/* the size can have changed before the reading began */
	state = reading.attributes.size == task->list->rows[row].size
			? hash(thread, task, row, &reading)
			: (int)ATTESTED_CHANGED;
	if (state != ATTESTED_KEPT) {
		reading_abandon(&reading);
		return state;
	}
	task->results[row].inode = reading.attributes.inode;
	task->results[row].born_ns = clock_ns(reading.attributes.btime);
	r = reading_close(&reading, catalog);
	return r == 0 ? state : judge_reading(r);
}

/* Returns the state for a place that the names of the folders in the path do not show, or
 * ATTESTED_UNREAD. */
static enum attested_state judge_folder(const char *path)
{
	const char *name = path_base_name(path);
	AUTO_FREE char *folder = strndup(path, (size_t)(name - path));
	AUTO_CLOSE int fd = folder ? open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;

	if (fd < 0)
		return ATTESTED_UNREAD;
	if (emptied_place_of_mount(fd, path) == PLACE_TRASH)
		return ATTESTED_IN_TRASH;
	if (is_below_cache(path))
		return ATTESTED_IN_CACHE;
	if (managed_find_above(path) || managed_file_find(fd, name).in_set)
		return ATTESTED_IN_STORE;
	return ATTESTED_UNREAD;
}

/* Returns the state for a place where something else changes or deletes files, by the folders of
 * the file, or ATTESTED_UNREAD. */
static enum attested_state judge_place(const struct attesting_task *task, size_t row)
{
	CLEANUP_BYTES struct bytes path = {0};
	const struct source *source = source_of(task, row);
	const char *below = task->list->rows[row].path;
	enum emptied_place place = emptied_place_of(source->path, below, strlen(below));

	if (place == PLACE_TRASH)
		return ATTESTED_IN_TRASH;
	if (place == PLACE_SNAPSHOT)
		return ATTESTED_IN_SNAPSHOT;
	if (source_absolute_path(task->sources, (uint32_t)(source - task->sources->list), below,
				 &path) < 0 ||
	    !bytes_text(&path))
		return ATTESTED_UNREAD;
	return judge_folder(bytes_text(&path));
}

/* Returns an enum attested_state or -errno. */
static int read_file(struct attesting *attesting, struct pool_thread *thread, size_t row)
{
	const struct attesting_task *task = attesting->task;
	enum attested_state place = judge_place(task, row);
	int fd, r;

	if (place != ATTESTED_UNREAD)
		return place;
	fd = open_row(task, row);
	if (fd < 0)
		return judge_opening(fd);
	r = examine(attesting, row, fd);
	if (r == 0)
		return prove(thread, task, row, fd);
	(void)close(fd);
	return r;
}

/* Reads a row. Returns 0, or -errno that concerns all files. */
static int read_row(void *context, struct pool_thread *thread, size_t row)
{
	struct attesting *attesting = context;
	struct attested *attested = &attesting->task->results[row];
	int r;

	if (attested->state != (thread->again ? ATTESTED_BUSY : ATTESTED_UNREAD))
		return 0;
	r = read_file(attesting, thread, row);
	if (r < 0 && (reading_pool_ends(r) || r == -ECANCELED))
		return r;
	attested->state = r < 0 ? ATTESTED_UNREADABLE : (enum attested_state)r;
	attested->error = r < 0 ? r : 0;
	return 0;
}

/* ---- all files ----------------------------------------------------------------------- */

static int open_for_place(void *context, size_t row, uint64_t *size)
{
	const struct attesting *attesting = context;

	*size = attesting->task->list->rows[row].size;
	return open_row(attesting->task, row);
}

/* The list has the order of the files in the inventory. */
static uint64_t place_of(const void *context, size_t row)
{
	(void)context;
	return row;
}

static int read_all(struct attesting *attesting)
{
	const struct attesting_task *task = attesting->task;
	const struct reading_pool_task pool = {
		.sources = task->sources,
		.count = task->list->count,
		.bytes = task->list->bytes,
		.label = "reading",
		.progress = task->progress,
		.disk = task->disk,
		.open = open_for_place,
		.place = place_of,
		.read = read_row,
		.context = attesting,
	};

	return reading_pool_run(&pool);
}

/* Logs why a row is not attested. */
static void explain(const struct attesting_task *task, size_t row)
{
	const struct attested *attested = &task->results[row];
	const char *cause = attested->state == ATTESTED_UNREADABLE
				    ? error_text(attested->error)
				    : attested_reason(attested->state);

	if (attested->state != ATTESTED_KEPT)
		log_warning("did not attest %s: %s", quote_row(task, row), cause);
}

static void close_devices(struct attesting *attesting)
{
	for (size_t i = 0; i < attesting->count; i++)
		(void)close(attesting->devices[i].fd);
	free(attesting->devices);
}

int attesting_run(const struct attesting_task *task)
{
	struct attesting attesting = {.task = task};
	int r;

	pthread_mutex_init(&attesting.lock, NULL);
	r = read_all(&attesting);
	if (r == 0)
		r = sync_all(&attesting);
	pthread_mutex_destroy(&attesting.lock);
	close_devices(&attesting);
	for (size_t i = 0; r == 0 && i < task->list->count; i++)
		explain(task, i);
	if (r < 0 && r != -ECANCELED && r != -EINTR && r != -ENOMEM)
		log_error("cannot read the files of the keep list: %s; nothing was attested",
			  error_text(r));
	return r;
}
