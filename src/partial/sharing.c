/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/descriptor.h"
#include "base/extents.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/progress.h"
#include "base/stop.h"
#include "base/thread.h"
#include "partial/blocks.h"
#include "partial/files.h"
#include "partial/partial.h"

/* ---- grow ----------------------------------------------------------------------------------- */

/* Extends a run into the blocks beside it, of which a part can be equal, too. Any thread. */

/* Largest step. File systems with larger blocks are rare, and their runs do not grow. */
#define STEP_MAX 4096U

/* Returns the step, or 0 if runs cannot grow. */
static uint64_t find_step(const struct block_table *table, int fd)
{
	struct stat status;

	if (table->block_bits < 13 || fstat(fd, &status) < 0 ||
	    (uint64_t)status.st_blksize > STEP_MAX)
		return 0;
	return STEP_MAX;
}

/* Returns whether the blocks exist and equal no other block. A number that is not used has no
 * place. */
static bool is_free(const struct block_table *table, uint32_t number)
{
	return number < table->end && table->class_of[number] == 0 &&
	       block_table_has(table, number);
}

static bool is_equal(const struct dedupe_range *range, uint64_t source, uint64_t destination)
{
	uint8_t a[STEP_MAX], b[STEP_MAX];

	return read_fully_at(range->source, a, STEP_MAX, (off_t)source) == STEP_MAX &&
	       read_fully_at(range->destination, b, STEP_MAX, (off_t)destination) == STEP_MAX &&
	       memcmp(a, b, STEP_MAX) == 0;
}

static void grow_back(struct dedupe_range *range, uint64_t step, uint64_t limit)
{
	while (limit >= step &&
	       is_equal(range, range->source_offset - step, range->destination_offset - step)) {
		range->source_offset -= step;
		range->destination_offset -= step;
		range->length += step;
		limit -= step;
	}
}

static void grow_forward(struct dedupe_range *range, uint64_t step, uint64_t limit)
{
	while (limit >= step && is_equal(range, range->source_offset + range->length,
					 range->destination_offset + range->length)) {
		range->length += step;
		limit -= step;
	}
}

/* Returns the bytes by which the run can grow at most: less than a block, as the blocks differ. In
 * one file, both ranges must not meet. */
static uint64_t find_limit(const struct block_table *table, const struct dedupe_range *range)
{
	uint64_t block_bytes = UINT64_C(1) << table->block_bits;

	if (range->source == range->destination &&
	    range->destination_offset - range->source_offset < range->length + 2 * block_bytes)
		return 0;
	return block_bytes - 1;
}

/* Extends the range of a run in both directions, in steps of the block size of the file system, as
 * long as the bytes of both files are equal. Ends at the first step that differs or cannot be read.
 * Enters only blocks that equal no other block, so no source of another run changes its place.
 * Usually reads one step of each file at each end. */
static void run_grow(const struct block_table *table, const struct block_run *run,
		     struct dedupe_range *range)
{
	uint64_t step = find_step(table, range->destination);
	uint64_t limit = step ? find_limit(table, range) : 0;

	if (limit > 0 && run->source > 0 && is_free(table, run->source - 1) &&
	    is_free(table, run->destination - 1))
		grow_back(range, step, limit);
	if (limit > 0 && is_free(table, run->source + run->count) &&
	    is_free(table, run->destination + run->count))
		grow_forward(range, step, limit);
}

/* ---- sharing -------------------------------------------------------------------------------- */

/* Bytes per call: the limit of btrfs. */
#define CALL_BYTES (UINT64_C(16) << 20)

/* Threads that share. Each call of the kernel locks two files and mostly computes. */
#define THREADS 2U

/* Bytes that are read at once to find a file that cannot be read. */
#define READ_BYTES (UINT64_C(64) << 10)

/* What is known of a file of the table. */
struct file_state {
	int failure; /* of all runs of this destination; 0: none */
	bool named; /* a message has named the file */
};

struct sharing {
	struct partial *partial;
	struct sharing_result *result;
	struct file_state *states;
	/* For all members below, states and result, and those of partial that change. */
	pthread_mutex_t lock;
	size_t next;
	uint64_t dropped; /* files, since the present plan was made */
	int ended; /* -errno of a failure that ends all threads */
	struct progress progress;
	struct progress_counts counts;
};

/* The amounts of one run. */
struct run_amounts {
	uint64_t shared, differing;
	uint64_t holes; /* of the destination, which stay */
	int failure; /* of the destination; 0: none */
	bool is_left_out; /* a file of the run was dropped */
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

/* Shares a range in calls of CALL_BYTES, without the holes of the destination. After a failure,
 * *range is that of the failed call. */
static void share_range(const struct partial *partial, struct dedupe_range *range,
			struct run_amounts *amounts)
{
	uint64_t block_bytes = UINT64_C(1) << partial->table.block_bits;
	uint64_t left = range->length;

	while (left > 0 && !stop_requested()) {
		int64_t shared;
		uint64_t hole;

		range->length = left < CALL_BYTES ? left : CALL_BYTES;
		hole = dedupe_range_skip_hole(range);
		amounts->holes += hole;
		left -= hole;
		if (range->length == 0)
			continue;
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

/* Returns whether a failure ends the whole command. */
static bool ends_all(int failure)
{
	return is_full(failure) || failure == -ENOMEM || failure == -EMFILE || failure == -ENFILE;
}

/* Returns whether a file could not be opened because it is not the one that was hashed. */
static bool is_change(int failure)
{
	return failure == -ESTALE || failure == -ENOENT;
}

/* Logs the failure of a file, unless a message has named it. */
static void name_file(struct sharing *sharing, uint32_t file, const char *verb, int failure)
{
	uint64_t id = sharing->partial->table.files[file].id;
	bool is_first;

	pthread_mutex_lock(&sharing->lock);
	is_first = !sharing->states[file].named;
	sharing->states[file].named = true;
	pthread_mutex_unlock(&sharing->lock);
	if (is_first && is_change(failure))
		file_text_warn_changed(sharing->partial, id);
	else if (is_first)
		file_text_warn(sharing->partial, id, verb, error_text(failure));
}

/* Leaves a file out of further plans. */
static void drop_file(struct sharing *sharing, uint32_t file, int failure)
{
	struct partial *partial = sharing->partial;
	bool is_first;

	pthread_mutex_lock(&sharing->lock);
	is_first = !partial->table.files[file].dropped;
	partial->table.files[file].dropped = true;
	sharing->dropped += is_first;
	*(is_change(failure) ? &partial->changed : &partial->failed) += is_first;
	pthread_mutex_unlock(&sharing->lock);
	name_file(sharing, file, "read", failure);
}

/* Checks that a file still has the signature of the index, and that a range of it can be read.
 * Returns 0 or -errno. */
static int check_file(struct open_files *files, struct block_place place, uint64_t length)
{
	int fd = open_files_get_again(files, place.file);
	AUTO_FREE uint8_t *buffer = memory_pages(READ_BYTES);
	ssize_t got = buffer ? 1 : -ENOMEM;

	for (uint64_t at = 0; fd >= 0 && got > 0 && at < length; at += READ_BYTES) {
		size_t wanted = length - at < READ_BYTES ? (size_t)(length - at) : READ_BYTES;

		got = read_fully_at(fd, buffer, wanted, (off_t)(place.offset + at));
	}
	if (fd < 0)
		return fd;
	return got < 0 ? (int)got : 0;
}

/* Finds out which file is to blame for a range that was not shared. A source that is bad or has
 * changed is dropped. A destination that has changed gets this as its failure. */
static void blame(struct sharing *sharing, struct open_files *files, const struct block_run *run,
		  const struct dedupe_range *range, struct run_amounts *amounts)
{
	const struct block_table *table = &sharing->partial->table;
	struct block_place source = block_table_locate(table, run->source);
	struct block_place destination = block_table_locate(table, run->destination);
	uint64_t length = amounts->failure < 0 ? range->length : 0;
	int r;

	source.offset = range->source_offset;
	r = check_file(files, source, length);
	if (r < 0 && !ends_all(r)) {
		drop_file(sharing, source.file, r);
		amounts->failure = 0;
		amounts->is_left_out = true;
	} else if (r == 0) {
		r = check_file(files, destination, 0);
	}
	if (r < 0)
		amounts->differing = 0;
	if (r < 0 && !amounts->is_left_out)
		amounts->failure = r;
}

/* Opens the files of a run. Returns 0, or -errno, which is noted in *amounts. */
static int open_run(struct sharing *sharing, struct open_files *files, const struct block_run *run,
		    struct dedupe_range *range, struct run_amounts *amounts)
{
	const struct block_table *table = &sharing->partial->table;
	struct block_place source = block_table_locate(table, run->source);
	struct block_place destination = block_table_locate(table, run->destination);

	*range = (struct dedupe_range){.source_offset = source.offset,
				       .destination_offset = destination.offset,
				       .length = run_bytes(table, run)};
	range->source = open_files_get(files, source.file);
	if (range->source < 0 && !ends_all(range->source)) {
		drop_file(sharing, source.file, range->source);
		amounts->is_left_out = true;
		return range->source;
	}
	range->destination =
		range->source < 0 ? range->source : open_files_get(files, destination.file);
	if (range->destination < 0)
		amounts->failure = range->destination;
	return amounts->failure;
}

/* Looks for reasons not to try a run. If only its source was dropped, the destination is possibly
 * the source of the next plan, so a bad one is dropped now. */
static void check_run(struct sharing *sharing, struct open_files *files,
		      const struct block_run *run, struct run_amounts *amounts)
{
	const struct block_table *table = &sharing->partial->table;
	struct block_place source = block_table_locate(table, run->source);
	struct block_place destination = block_table_locate(table, run->destination);
	bool is_checked;
	int r;

	pthread_mutex_lock(&sharing->lock);
	amounts->failure = sharing->states[destination.file].failure;
	is_checked = table->files[destination.file].dropped || amounts->failure < 0;
	amounts->is_left_out =
		table->files[source.file].dropped || table->files[destination.file].dropped;
	pthread_mutex_unlock(&sharing->lock);
	if (!amounts->is_left_out || is_checked)
		return;
	r = check_file(files, destination, run_bytes(table, run));
	if (r < 0 && ends_all(r))
		amounts->failure = r;
	else if (r < 0)
		drop_file(sharing, destination.file, r);
}

static void share_run(struct sharing *sharing, struct open_files *files,
		      const struct block_run *run, struct run_amounts *amounts)
{
	struct partial *partial = sharing->partial;
	struct dedupe_range range;

	check_run(sharing, files, run, amounts);
	if (amounts->failure < 0 || amounts->is_left_out ||
	    open_run(sharing, files, run, &range, amounts) < 0)
		return;
	run_grow(&partial->table, run, &range);
	share_range(partial, &range, amounts);
	if (amounts->differing > 0 || (amounts->failure < 0 && !concerns_file(amounts->failure) &&
				       !ends_all(amounts->failure)))
		blame(sharing, files, run, &range, amounts);
}

/* Notes a failure of a destination. */
static void note_failure(struct sharing *sharing, uint32_t file, int failure)
{
	pthread_mutex_lock(&sharing->lock);
	if (concerns_file(failure))
		sharing->states[file].failure = failure;
	sharing->result->is_full |= is_full(failure);
	if (ends_all(failure))
		sharing->ended = failure;
	pthread_mutex_unlock(&sharing->lock);
	name_file(sharing, file, "share blocks of", failure);
}

static void note_run(struct sharing *sharing, const struct block_run *run,
		     const struct run_amounts *amounts)
{
	struct sharing_result *result = sharing->result;
	struct partial_count *planned = &sharing->partial->planned;
	uint64_t bytes = run_bytes(&sharing->partial->table, run);
	uint64_t finished = amounts->shared + amounts->holes;
	uint64_t done = finished + amounts->differing;

	pthread_mutex_lock(&sharing->lock);
	/* a run that grew has more shared bytes than were planned */
	planned->count -= finished >= bytes;
	planned->bytes -= finished < bytes ? finished : bytes;
	result->shared.count += amounts->shared > 0;
	result->shared.bytes += amounts->shared;
	result->differing.count += amounts->differing > 0;
	result->differing.bytes += amounts->differing;
	if (amounts->failure < 0 || amounts->is_left_out) {
		result->refused.count++;
		result->refused.bytes += done < bytes ? bytes - done : 0;
	}
	sharing->counts.bytes_done += bytes;
	progress_update(&sharing->progress, &sharing->counts);
	pthread_mutex_unlock(&sharing->lock);
	if (amounts->failure < 0)
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
	sharing.states = calloc(partial->table.file_count + 1, sizeof(*sharing.states));
	if (!sharing.states)
		return -ENOMEM;
	pthread_mutex_init(&sharing.lock, NULL);
	r = share_plan(&sharing);
	while (r == 0 && sharing.dropped > 0 && !result->is_full) {
		r = partial_plan_again(partial);
		if (r == 0)
			r = share_plan(&sharing);
	}
	pthread_mutex_destroy(&sharing.lock);
	free(sharing.states);
	return r;
}
