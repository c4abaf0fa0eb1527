/* SPDX-License-Identifier: MIT */
#include "partial/sharing.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/dedupe_range.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/progress.h"
#include "base/stop.h"
#include "base/threads.h"
#include "partial/file_text.h"
#include "partial/grow.h"
#include "partial/open_files.h"

/* Bytes per call: the limit of btrfs. */
#define CALL_BYTES (UINT64_C(16) << 20)

/* Threads that share. Each call of the kernel locks two files and mostly computes. */
#define THREADS 2U

/* Highest number of plans. Each further one goes without the sources that turned out to be bad. */
#define ROUNDS_MAX 16U

/* Bytes that are read at once to find the file that cannot be read. */
#define READ_BYTES (UINT64_C(64) << 10)

struct sharing {
	struct partial *partial;
	struct sharing_result *result;
	/* For each file: the failure of all its runs, 1 if only a run failed, or 0. */
	int *failed;
	/* For all members below, failed and result, and those of partial that change. */
	pthread_mutex_t lock;
	size_t next;
	uint64_t dropped; /* sources, in this round */
	int ended; /* -errno of a failure that ends all threads */
	struct progress progress;
	struct progress_counts counts;
};

/* The amounts of one run. */
struct run_amounts {
	uint64_t shared, differing;
	int failure; /* 0: none */
	bool is_of_source; /* the failure */
};

static bool is_full(int failure)
{
	return failure == -ENOSPC || failure == -EDQUOT;
}

/* Shares a range block by block, after a part of it was found to differ. */
static void share_blocks(const struct partial *partial, const struct dedupe_range *whole,
			 struct run_amounts *amounts)
{
	uint64_t block_bytes = UINT64_C(1) << partial->table.block_bits;

	for (uint64_t at = 0; at < whole->length && amounts->failure == 0; at += block_bytes) {
		struct dedupe_range range = *whole;
		int64_t shared;

		range.source_offset += at;
		range.destination_offset += at;
		range.length = whole->length - at < block_bytes ? whole->length - at : block_bytes;
		shared = dedupe_range(&range);
		if (shared < 0)
			amounts->failure = (int)shared;
		else if (shared == 0)
			amounts->differing += range.length;
		else
			amounts->shared += (uint64_t)shared;
	}
}

/* Shares a range in calls of CALL_BYTES. After a failure, *range is that of the failed call. */
static void share_range(const struct partial *partial, struct dedupe_range *range,
			struct run_amounts *amounts)
{
	uint64_t block_bytes = UINT64_C(1) << partial->table.block_bits;
	uint64_t left = range->length;

	while (left > 0 && !stop_requested()) {
		int64_t shared;

		range->length = left < CALL_BYTES ? left : CALL_BYTES;
		shared = dedupe_range(range);
		if (shared < 0)
			amounts->failure = (int)shared;
		else if (shared > 0)
			amounts->shared += (uint64_t)shared;
		else if (range->length > block_bytes)
			share_blocks(partial, range, amounts);
		else
			amounts->differing += range->length;
		if (amounts->failure < 0)
			return;
		if (shared == 0)
			shared = (int64_t)range->length;
		range->source_offset += (uint64_t)shared;
		range->destination_offset += (uint64_t)shared;
		left -= (uint64_t)shared;
	}
}

/* Returns whether a failure concerns all runs of the destination. */
static bool concerns_file(int failure)
{
	return failure == -EPERM || failure == -EACCES || failure == -EROFS ||
	       failure == -ETXTBSY || failure == -EXDEV || failure == -EOPNOTSUPP;
}

/* Returns whether the source of a failed call cannot be read. */
static bool is_source_bad(const struct dedupe_range *range, int failure)
{
	uint8_t buffer[READ_BYTES];
	long got = 1;

	if (concerns_file(failure) || is_full(failure) || failure == -ENOMEM)
		return false;
	for (uint64_t at = 0; got > 0 && at < range->length; at += READ_BYTES)
		got = read_fully_at(range->source, buffer, READ_BYTES,
				    (long)(range->source_offset + at));
	return got < 0;
}

/* Leaves a source out of further plans: no other file can share its blocks. */
static void drop_source(struct sharing *sharing, uint32_t file, int failure)
{
	struct partial *partial = sharing->partial;
	struct block_file *source = &partial->table.files[file];
	bool changed = failure == -ESTALE || failure == -ENOENT, is_first;

	pthread_mutex_lock(&sharing->lock);
	is_first = !source->dropped;
	source->dropped = true;
	sharing->dropped += is_first;
	*(changed ? &partial->changed : &partial->failed) += is_first;
	pthread_mutex_unlock(&sharing->lock);
	if (is_first)
		file_text_warn(partial, source->id, changed ? "share blocks of" : "read",
			       changed ? "it changed meanwhile; run the command again"
				       : error_text(failure));
}

static void share_run(struct sharing *sharing, struct open_files *files,
		      const struct block_run *run, struct run_amounts *amounts)
{
	struct partial *partial = sharing->partial;
	struct block_place source = block_table_locate(&partial->table, run->source);
	struct block_place destination = block_table_locate(&partial->table, run->destination);
	struct dedupe_range range = {.source_offset = source.offset,
				     .destination_offset = destination.offset,
				     .length = run_bytes(&partial->table, run)};

	pthread_mutex_lock(&sharing->lock);
	if (sharing->failed[destination.file] < 0)
		amounts->failure = sharing->failed[destination.file];
	amounts->is_of_source = partial->table.files[source.file].dropped;
	pthread_mutex_unlock(&sharing->lock);
	if (amounts->failure < 0 || amounts->is_of_source)
		return;
	range.source = open_files_get(files, source.file);
	range.destination =
		range.source < 0 ? range.source : open_files_get(files, destination.file);
	if (range.destination < 0) {
		amounts->failure = range.destination;
		amounts->is_of_source = range.source < 0;
	} else {
		run_grow(&partial->table, run, &range);
		share_range(partial, &range, amounts);
		amounts->is_of_source =
			amounts->failure < 0 && is_source_bad(&range, amounts->failure);
	}
	if (amounts->is_of_source)
		drop_source(sharing, source.file, amounts->failure);
}

/* Notes a failure of a destination, and logs it if it is the first one of the file. */
static void note_failure(struct sharing *sharing, uint32_t file, int failure)
{
	int before;

	pthread_mutex_lock(&sharing->lock);
	before = sharing->failed[file];
	if (before == 0)
		sharing->failed[file] = concerns_file(failure) ? failure : 1;
	sharing->result->is_full |= is_full(failure);
	if (is_full(failure) || failure == -ENOMEM)
		sharing->ended = failure;
	pthread_mutex_unlock(&sharing->lock);
	if (before == 0)
		file_text_warn(sharing->partial, sharing->partial->table.files[file].id,
			       "share blocks of",
			       failure == -ESTALE ? "it changed meanwhile; run the command again"
						  : error_text(failure));
}

static void note_run(struct sharing *sharing, const struct block_run *run,
		     const struct run_amounts *amounts)
{
	struct sharing_result *result = sharing->result;
	struct partial_count *planned = &sharing->partial->planned;
	uint64_t bytes = run_bytes(&sharing->partial->table, run);
	uint64_t done = amounts->shared + amounts->differing;

	pthread_mutex_lock(&sharing->lock);
	/* a run that grew has more shared bytes than were planned */
	planned->count -= amounts->shared > 0;
	planned->bytes -= amounts->shared < bytes ? amounts->shared : bytes;
	result->shared.count += amounts->shared > 0;
	result->shared.bytes += amounts->shared;
	result->differing.count += amounts->differing > 0;
	result->differing.bytes += amounts->differing;
	if (amounts->failure < 0 || amounts->is_of_source) {
		result->refused.count++;
		result->refused.bytes += done < bytes ? bytes - done : 0;
	}
	sharing->counts.bytes_done += bytes;
	progress_update(&sharing->progress, &sharing->counts);
	pthread_mutex_unlock(&sharing->lock);
	if (amounts->failure < 0 && !amounts->is_of_source)
		note_failure(sharing,
			     block_table_locate(&sharing->partial->table, run->destination).file,
			     amounts->failure);
}

static const struct block_run *take_run(struct sharing *sharing)
{
	const struct run_list *runs = &sharing->partial->runs;
	const struct block_run *run = NULL;

	pthread_mutex_lock(&sharing->lock);
	if (sharing->ended == 0 && sharing->next < runs->count && !stop_requested())
		run = &runs->list[sharing->next++];
	pthread_mutex_unlock(&sharing->lock);
	return run;
}

static void *share_runs(void *context)
{
	struct sharing *sharing = context;
	const struct block_run *run;
	struct open_files files;

	open_files_init(&files, sharing->partial);
	while ((run = take_run(sharing))) {
		struct run_amounts amounts = {0};

		share_run(sharing, &files, run, &amounts);
		note_run(sharing, run, &amounts);
	}
	open_files_deinit(&files);
	return NULL;
}

/* Shares the runs of the present plan. */
static int share_plan(struct sharing *sharing)
{
	struct partial *partial = sharing->partial;
	int r;

	sharing->next = 0;
	sharing->dropped = 0;
	sharing->result->differing = (struct partial_count){0};
	sharing->result->refused = (struct partial_count){0};
	sharing->counts = (struct progress_counts){.bytes_total = partial->planned.bytes};
	progress_start(&sharing->progress, partial->settings->progress, "sharing");
	r = threads_run(partial->seeks ? 1 : THREADS, share_runs, sharing);
	progress_end(&sharing->progress, &sharing->counts);
	if (r == 0 && stop_requested())
		r = -EINTR;
	return r == 0 && !sharing->result->is_full ? sharing->ended : r;
}

int sharing_run(struct partial *partial, struct sharing_result *result)
{
	struct sharing sharing = {.partial = partial, .result = result};
	int r;

	*result = (struct sharing_result){0};
	sharing.failed = calloc(partial->table.file_count + 1, sizeof(*sharing.failed));
	if (!sharing.failed)
		return -ENOMEM;
	pthread_mutex_init(&sharing.lock, NULL);
	r = share_plan(&sharing);
	for (unsigned int round = 1; round < ROUNDS_MAX && r == 0 && sharing.dropped > 0; round++) {
		r = partial_plan_again(partial);
		if (r == 0)
			r = share_plan(&sharing);
	}
	pthread_mutex_destroy(&sharing.lock);
	free(sharing.failed);
	return r;
}
