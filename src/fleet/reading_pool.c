/* SPDX-License-Identifier: MIT */
#include "fleet/reading_pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/sort.h"
#include "base/stop.h"
#include "base/thread.h"
#include "scan/disk.h"

struct pool_place {
	uint64_t place; /* on the disk, if it seeks; otherwise as the task says */
	size_t content;
};

/* What the reading threads share. A content belongs to the thread that took it. */
struct reading_pool {
	const struct reading_pool_task *task;
	struct pool_place *order;
	bool again; /* the contents are read once more */
	pthread_mutex_t lock; /* for the members below */
	size_t next;
	int result;
	struct progress progress;
	struct progress_counts counts;
};

bool reading_pool_ends(int result)
{
	return result == -EINTR || result == -ENOMEM || result == -EUCLEAN || result == -EMFILE ||
	       result == -ENFILE;
}

/* ---- order --------------------------------------------------------------------------- */

static bool seeks(const struct reading_pool_task *task)
{
	const struct disk_files files = {
		.sources = task->sources,
		.count = task->count,
		.open = task->open,
		.context = task->context,
	};

	if (task->disk != INGEST_DISK_AUTO)
		return task->disk == INGEST_DISK_ROTATING;
	return disk_files_seek(&files);
}

static int compare_places(const void *left, const void *right)
{
	const struct pool_place *a = left, *b = right;

	return numbers_compare(a->place, b->place);
}

/* Sorts the contents by their places. A file that cannot be opened is reported later. */
static void sort_contents(struct reading_pool *pool, bool by_disk)
{
	const struct reading_pool_task *task = pool->task;
	uint64_t size;

	for (size_t i = 0; i < task->count; i++)
		pool->order[i] = (struct pool_place){task->place(task->context, i), i};
	for (size_t i = 0; by_disk && i < task->count && !stop_requested(); i++) {
		AUTO_CLOSE int fd = task->open(task->context, i, &size);

		if (fd >= 0)
			pool->order[i].place = disk_fetch_place(fd);
	}
	sort_unless_sorted(pool->order, task->count, sizeof(*pool->order), compare_places);
}

/* ---- threads ------------------------------------------------------------------------- */

/* Returns whether the lease of the file that the thread reads is unbroken. */
static bool is_unbroken(const struct pool_thread *thread)
{
	return !thread->held || reading_is_unbroken(thread->held);
}

static int count_bytes(void *context, uint64_t bytes)
{
	const struct pool_thread *thread = context;
	struct reading_pool *pool = thread->pool;

	pthread_mutex_lock(&pool->lock);
	pool->counts.bytes_done += pool->again ? 0 : bytes;
	progress_update(&pool->progress, &pool->counts);
	pthread_mutex_unlock(&pool->lock);
	if (stop_requested())
		return -EINTR;
	return is_unbroken(thread) ? 0 : -EBUSY;
}

/* Takes the next content. Returns NULL if none is left or the threads must end. */
static const struct pool_place *take_content(struct reading_pool *pool)
{
	const struct pool_place *place = NULL;

	pthread_mutex_lock(&pool->lock);
	if (pool->result == 0 && pool->next < pool->task->count)
		place = &pool->order[pool->next++];
	pthread_mutex_unlock(&pool->lock);
	return place;
}

static void end_content(struct reading_pool *pool, int result)
{
	pthread_mutex_lock(&pool->lock);
	if (result < 0 && pool->result == 0)
		pool->result = result;
	pool->counts.files_done += !pool->again;
	progress_update(&pool->progress, &pool->counts);
	pthread_mutex_unlock(&pool->lock);
}

static void *read_contents(void *context)
{
	struct reading_pool *pool = context;
	const struct reading_pool_task *task = pool->task;
	struct pool_thread thread = {
		.pool = pool,
		.opener = FILE_OPENER_INIT(task->sources),
		.again = pool->again,
	};
	const struct pool_place *place;
	int r = file_sha256_init(&thread.reader);

	thread.reader.progress = count_bytes;
	thread.reader.context = &thread;
	if (r < 0)
		end_content(pool, r);
	while (r == 0 && (place = take_content(pool))) {
		r = stop_requested() ? -EINTR : task->read(task->context, &thread, place->content);
		end_content(pool, r);
	}
	file_opener_deinit(&thread.opener);
	file_sha256_deinit(&thread.reader);
	return NULL;
}

/* Reads all contents, then those once more that should be tried again. */
static int run_threads(struct reading_pool *pool, unsigned int threads)
{
	int r;

	progress_start(&pool->progress, pool->task->progress, pool->task->label);
	r = threads_run(threads, read_contents, pool);
	if (r == 0 && pool->result == 0) {
		pool->again = true;
		pool->next = 0;
		r = threads_run(threads, read_contents, pool);
	}
	progress_end(&pool->progress, &pool->counts);
	return r < 0 ? r : pool->result;
}

int reading_pool_run(const struct reading_pool_task *task)
{
	struct reading_pool pool = {
		.task = task,
		.counts = {.files_total = task->count, .bytes_total = task->bytes},
	};
	bool by_disk;
	int r;

	if (task->count == 0)
		return 0;
	pool.order = calloc(task->count, sizeof(*pool.order));
	if (!pool.order)
		return -ENOMEM;
	pthread_mutex_init(&pool.lock, NULL);
	by_disk = seeks(task);
	sort_contents(&pool, by_disk);
	r = run_threads(&pool, by_disk ? 1 : threads_that_read());
	pthread_mutex_destroy(&pool.lock);
	free(pool.order);
	return r;
}
