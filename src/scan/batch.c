/* SPDX-License-Identifier: MIT */
#include "scan/batch.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/thread.h"

/* Maximum number of changes in a transaction. The number is large so that commits, which wait for
 * the disk, are rare. It keeps the dirty pages and the batch (about 200 bytes a change) within 16
 * MiB. */
#define BATCH_CHANGES ((size_t)32 << 10)
#define BATCHES_MAX 3
/* Number of changes that are committed early if the writer thread is idle: at the start of a walk,
 * or if walking is slower than writing. */
#define BATCH_CHANGES_EARLY ((size_t)4 << 10)

struct batch {
	struct batch *next;
	struct name_change *changes;
	size_t count;
	size_t capacity;
	struct arena names;
	bool more_follow; /* changes of the recheck are possibly not in it or in an earlier one */
};

struct batch_writer {
	struct catalog *catalog;
	const struct ingest_hooks *hooks;
	struct early_writer *early; /* NULL: no file was read during the walk */
	bool of_scan;
	bool removes; /* a name was possibly removed */
	uint32_t scan; /* number of the scan, or 0 before its first batch was committed */
	uint32_t batch_scan; /* number of this batch, in the transaction in progress */
	pthread_t thread;
	bool runs; /* the thread was started */
	pthread_mutex_t lock;
	pthread_cond_t filled; /* a batch was queued, or the writer ends */
	pthread_cond_t freed; /* a batch can be filled again */
	struct batch *filling;
	struct batch *queue; /* full batches, oldest first; the first is being committed */
	struct batch *idle;
	unsigned int batches;
	bool idling; /* the thread waits, or was not started */
	bool ending;
	int error;
};

static void batch_free(struct batch *batch)
{
	free(batch->changes);
	arena_free(&batch->names);
	free(batch);
}

static uint32_t number_of(const struct batch_writer *writer, struct catalog_writer *w)
{
	if (!writer->of_scan)
		return catalog_next_scan(w);
	return writer->scan ? writer->scan : catalog_begin_scan(w);
}

/* Returns whether the walk read files of the batch, or leaves them to be read late. */
static bool has_read_files(const struct batch *batch)
{
	for (size_t i = 0; i < batch->count; i++) {
		const struct early_mark *mark = batch->changes[i].context;

		if (mark && mark->kind != EARLY_SIZE)
			return true;
	}
	return false;
}

/* Returns whether the lists of the files of the batch are deferred. In a large scan, ingest_names()
 * completes the lists at the end, which is faster. After a recheck the comparison needs the lists
 * at once. */
static bool is_deferred(const struct batch_writer *writer, const struct batch *batch)
{
	return writer->of_scan && (batch->count >= BATCH_CHANGES_EARLY || has_read_files(batch));
}

static int apply_body(struct catalog_writer *w, void *context)
{
	struct batch_writer *writer = context;
	struct batch *batch = writer->queue;
	int r = 0;

	writer->batch_scan = number_of(writer, w);
	if (writer->early)
		r = early_writer_commit(writer->early, w);
	if (r == 0 && is_deferred(writer, batch))
		r = catalog_defer_lists(w);
	return r < 0 ? r : catalog_apply(w, batch->changes, batch->count, writer->batch_scan);
}

static bool says_same_bytes(const struct name_change *change)
{
	return (change->kind == NAME_ADD_FILE || change->kind == NAME_UPDATE_FILE) &&
	       change->flags & FILE_SAME_BYTES;
}

/* Returns whether the content stays known only because the index has all links of the file. */
static bool relies_on_links(const struct name_change *change)
{
	return says_same_bytes(change) && change->attributes.links > 1;
}

typedef bool change_test_fn(const struct name_change *change);

static bool has_any(const struct batch *batch, change_test_fn *is)
{
	for (size_t i = 0; i < batch->count; i++) {
		if (is(&batch->changes[i]))
			return true;
	}
	return false;
}

static void withdraw(struct batch *batch, change_test_fn *is)
{
	for (size_t i = 0; i < batch->count; i++) {
		if (is(&batch->changes[i]))
			batch->changes[i].flags &= ~(uint32_t)FILE_SAME_BYTES;
	}
}

/* Returns whether the index possibly has names after the commit that are gone, as a later batch or
 * a later round removes them, or has a name twice. A file then seems to have all its links, while
 * one is outside of the sources, through which it was possibly written to. */
static bool may_miscount_names(const struct batch_writer *writer, const struct batch *batch)
{
	return (batch->more_follow && writer->removes) ||
	       writer->hooks->may_miscount_names(writer->hooks->context);
}

/* Removes FILE_SAME_BYTES from all changes of the batch if renames are no longer trusted, and from
 * those of files with several links if the index possibly has names that are gone. */
static void withdraw_same_bytes(const struct batch_writer *writer, struct batch *batch)
{
	if (!has_any(batch, says_same_bytes))
		return;
	if (writer->hooks->trust(writer->hooks->context) != RENAME_TRUSTED)
		withdraw(batch, says_same_bytes);
	else if (has_any(batch, relies_on_links) && may_miscount_names(writer, batch))
		withdraw(batch, relies_on_links);
}

static struct batch *wait_for_batch(struct batch_writer *writer)
{
	struct batch *batch;

	pthread_mutex_lock(&writer->lock);
	writer->idling = !writer->queue;
	while (!writer->queue && !writer->ending)
		pthread_cond_wait(&writer->filled, &writer->lock);
	batch = writer->queue;
	pthread_mutex_unlock(&writer->lock);
	return batch;
}

static int commit_batch(struct batch_writer *writer, const struct batch *batch)
{
	int r = catalog_write(writer->catalog, apply_body, writer);

	if (r == 0 && writer->of_scan)
		writer->scan = writer->batch_scan;
	if (r < 0 || !writer->early)
		return r;
	early_writer_committed(writer->early);
	/* Only contents of deferred files can be written. Other batches have no file that was read.
	 */
	if (!is_deferred(writer, batch))
		return 0;
	return early_writer_resolve(writer->early, batch->changes, batch->count);
}

static void *write_batches(void *context)
{
	struct batch_writer *writer = context;
	struct batch *batch;
	int r;

	while ((batch = wait_for_batch(writer))) {
		if (writer->hooks)
			withdraw_same_bytes(writer, batch);
		r = writer->error ? 0 : commit_batch(writer, batch);
		arena_reset(&batch->names);
		batch->count = 0;
		batch->more_follow = false;
		pthread_mutex_lock(&writer->lock);
		if (r < 0)
			writer->error = r;
		writer->queue = batch->next;
		batch->next = writer->idle;
		writer->idle = batch;
		pthread_cond_broadcast(&writer->freed);
		pthread_mutex_unlock(&writer->lock);
	}
	return NULL;
}

int batch_writer_new(struct batch_writer **writer, struct catalog *catalog,
		     const struct ingest_hooks *hooks, bool of_scan, struct early_writer *early)
{
	struct batch_writer *made = calloc(1, sizeof(*made));

	*writer = NULL;
	if (!made)
		return -ENOMEM;
	made->catalog = catalog;
	made->hooks = hooks;
	made->of_scan = of_scan;
	made->early = early;
	pthread_mutex_init(&made->lock, NULL);
	pthread_cond_init(&made->filled, NULL);
	pthread_cond_init(&made->freed, NULL);
	made->idling = true;
	*writer = made;
	return 0;
}

void batch_writer_note_removals(struct batch_writer *writer)
{
	writer->removes = true;
}

/* Returns the batch to fill, or NULL if memory ran out. Waits while all batches are queued. The
 * caller holds the lock. */
static struct batch *batch_to_fill(struct batch_writer *writer)
{
	while (!writer->filling) {
		if (writer->idle) {
			writer->filling = writer->idle;
			writer->idle = writer->idle->next;
			writer->filling->next = NULL;
		} else if (writer->batches < BATCHES_MAX) {
			writer->filling = calloc(1, sizeof(*writer->filling));
			if (!writer->filling)
				return NULL;
			writer->batches++;
		} else {
			pthread_cond_wait(&writer->freed, &writer->lock);
		}
	}
	return writer->filling;
}

/* Starts the thread if it does not run yet. If that fails, sets the error, so that no batch is
 * committed. The caller holds the lock. */
static void start_thread(struct batch_writer *writer)
{
	if (writer->runs)
		return;
	writer->error = thread_start(&writer->thread, write_batches, writer);
	writer->runs = writer->error == 0;
}

static void queue_filled(struct batch_writer *writer)
{
	struct batch **end = &writer->queue;

	while (*end)
		end = &(*end)->next;
	*end = TAKE(writer->filling);
	writer->idling = false;
	pthread_cond_signal(&writer->filled);
}

static int batch_append(struct batch *batch, const struct name_change *change)
{
	struct name_change *copy;
	int r = array_reserve(&batch->changes, &batch->capacity, batch->count + 1,
			      sizeof(*batch->changes));

	if (r < 0)
		return r;
	copy = &batch->changes[batch->count];
	*copy = *change;
	copy->name.bytes = arena_copy(&batch->names, change->name.bytes, change->name.length);
	copy->target.bytes = arena_copy(&batch->names, change->target.bytes, change->target.length);
	if (!copy->name.bytes || !copy->target.bytes)
		return -ENOMEM;
	batch->count++;
	return 0;
}

/* Queues the batch that is being filled. The caller holds the lock. */
static void pass_on(struct batch_writer *writer)
{
	writer->filling->more_follow = true;
	queue_filled(writer);
	start_thread(writer);
}

/* Appends changes to the batch that is being filled, and to further ones if they do not fit in one.
 * Changes of one directory are committed together if possible, as LMDB then fills pages. The caller
 * holds the lock. */
static int append_all(struct batch_writer *writer, const struct name_change *changes, size_t count)
{
	struct batch *batch;
	int r = 0;

	if (writer->filling && writer->filling->count + count > BATCH_CHANGES)
		pass_on(writer);
	for (size_t i = 0; r == 0 && !writer->error && i < count; i++) {
		batch = batch_to_fill(writer);
		r = batch ? batch_append(batch, &changes[i]) : -ENOMEM;
		if (r == 0 && batch->count == BATCH_CHANGES)
			pass_on(writer);
	}
	if (writer->filling && writer->idling && writer->filling->count >= BATCH_CHANGES_EARLY)
		pass_on(writer);
	return r < 0 ? r : writer->error;
}

int batch_writer_put(struct batch_writer *writer, const struct name_change *changes, size_t count)
{
	int r;

	pthread_mutex_lock(&writer->lock);
	r = append_all(writer, changes, count);
	pthread_mutex_unlock(&writer->lock);
	return r;
}

static int contents_body(struct catalog_writer *w, void *context)
{
	return early_writer_commit(context, w);
}

/* Commits the contents that remain after the last batch. */
static int commit_contents(struct batch_writer *writer)
{
	int r = early_writer_finish(writer->early);

	if (r == 0)
		r = catalog_write(writer->catalog, contents_body, writer->early);
	if (r == 0)
		early_writer_committed(writer->early);
	return r;
}

int batch_writer_finish(struct batch_writer *writer, bool complete)
{
	struct batch *batch;
	int r;

	pthread_mutex_lock(&writer->lock);
	if (writer->filling) {
		writer->filling->more_follow = !complete;
		queue_filled(writer);
	}
	writer->ending = true;
	pthread_cond_signal(&writer->filled);
	pthread_mutex_unlock(&writer->lock);
	if (writer->runs)
		pthread_join(writer->thread, NULL);
	else
		(void)write_batches(writer);
	if (writer->early && writer->error == 0)
		writer->error = commit_contents(writer);
	while ((batch = writer->idle)) {
		writer->idle = batch->next;
		batch_free(batch);
	}
	pthread_mutex_destroy(&writer->lock);
	pthread_cond_destroy(&writer->filled);
	pthread_cond_destroy(&writer->freed);
	r = writer->error;
	free(writer);
	return r;
}
