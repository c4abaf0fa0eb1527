/* SPDX-License-Identifier: MIT */
#include "partial/partial.h"

#include <errno.h>

#include "base/error.h"
#include "base/log.h"
#include "base/stop.h"
#include "partial/block_hashes.h"
#include "partial/open_files.h"
#include "partial/shared_extents.h"

int partial_init(struct partial *partial, const struct partial_settings *settings)
{
	*partial = (struct partial){.settings = settings};
	return block_table_init(&partial->table, settings->block_bits);
}

void partial_deinit(struct partial *partial)
{
	run_list_free(&partial->runs);
	volumes_free(&partial->volumes);
	block_table_deinit(&partial->table);
}

static uint64_t sum_bytes(const struct partial *partial, const struct run_list *runs, size_t from)
{
	uint64_t bytes = 0;

	for (size_t i = from; i < runs->count; i++)
		bytes += run_bytes(&partial->table, &runs->list[i]);
	return bytes;
}

/* Appends the parts of a run that are not shared yet. If its files changed, appends the whole run,
 * so that its failure is reported once, when it is shared. */
static int split_run(struct partial *partial, struct open_files *files, const struct block_run *run)
{
	struct run_list *parts = &partial->runs;
	size_t before = parts->count;
	uint64_t rest;
	int r = stop_requested() ? -EINTR : shared_extents_split(files, run, parts);

	if (r < 0 && r != -EINTR && r != -ENOMEM) {
		parts->count = before;
		r = run_list_add(parts, run);
	}
	rest = run_bytes(&partial->table, run) - sum_bytes(partial, parts, before);
	partial->already.count += rest > 0;
	partial->already.bytes += rest;
	return r;
}

/* Replaces the runs by their parts that are not shared yet. */
static int leave_out_shared(struct partial *partial)
{
	CLEANUP_RUN_LIST struct run_list all = partial->runs;
	struct progress_counts counts = {.bytes_total = sum_bytes(partial, &all, 0)};
	struct progress progress;
	struct open_files files;
	int r = 0;

	partial->runs = (struct run_list){0};
	open_files_init(&files, partial);
	progress_start(&progress, partial->settings->progress, "finding shared blocks");
	for (size_t i = 0; r == 0 && i < all.count; i++) {
		r = split_run(partial, &files, &all.list[i]);
		counts.bytes_done += run_bytes(&partial->table, &all.list[i]);
		progress_update(&progress, &counts);
	}
	progress_end(&progress, &counts);
	open_files_deinit(&files);
	return r;
}

static uint32_t blocks_of(const struct partial_settings *settings)
{
	uint64_t block_bytes = UINT64_C(1) << settings->block_bits;
	uint64_t blocks = (settings->min_run + block_bytes - 1) / block_bytes;

	return blocks > BLOCKS_MAX ? BLOCKS_MAX : (uint32_t)blocks;
}

static int find_runs(struct partial *partial)
{
	int r = block_table_classify(&partial->table);

	run_list_free(&partial->runs);
	if (r == 0)
		r = runs_find(&partial->table, blocks_of(partial->settings), &partial->runs);
	if (r == 0)
		r = leave_out_shared(partial);
	if (r < 0)
		return r;
	if (!partial->seeks)
		runs_sort(&partial->runs);
	partial->planned.count = partial->runs.count;
	partial->planned.bytes = sum_bytes(partial, &partial->runs, 0);
	return 0;
}

int partial_plan_again(struct partial *partial)
{
	struct partial_count already = partial->already;
	int r = find_runs(partial);

	partial->already = already; /* without what was shared since */
	return r;
}

int partial_plan(struct partial *partial)
{
	int r = block_hashes_read(partial);

	if (r == 0)
		r = find_runs(partial);
	if (r == -ENOSPC || r == -EDQUOT)
		log_error("cannot write the temporary file with the hashes: %s; set TMPDIR to a "
			  "folder on another disk",
			  error_text(r));
	else if (r == -EOVERFLOW)
		log_error("cannot compare the blocks: the files have more than 2^32 blocks; give a "
			  "larger block size with --partial=SIZE");
	else if (r == -EINTR)
		log_error("cannot compare the blocks: interrupted; run the command again to "
			  "continue");
	else if (r < 0)
		log_error("cannot compare the blocks: %s", error_text(r));
	return r;
}
