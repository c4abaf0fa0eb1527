/* SPDX-License-Identifier: MIT */
#ifndef PARTIAL_PARTIAL_H
#define PARTIAL_PARTIAL_H

/* `dedupe --partial`: finds equal blocks in files that differ, and has the kernel share them.
 *
 *	files of the index
 *	   |  hashes from the index (index/blocks.h), or of blocks that are read
 *	   v
 *	block_table.h      blocks with equal hashes are a class
 *	runs.h             adjacent blocks that are equal at two places
 *			   without what is shared already
 *	   v
 *	sharing.h          FIDEDUPERANGE: the kernel compares all bytes under its locks
 *
 * A hash only nominates: two ranges share blocks only after the kernel found them equal. No name,
 * byte or time stamp changes, so there is no journal. After an interruption a part of the runs is
 * shared, and a second call continues. For the main thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/progress.h"
#include "partial/block_table.h"
#include "partial/files.h"
#include "partial/runs.h"
#include "scan/ingest.h"

struct catalog;
struct filter;
struct sources;

/* Everything is borrowed. */
struct partial_settings {
	unsigned int block_bits; /* the blocks have 2^block_bits bytes */
	uint64_t min_run; /* bytes; shorter runs are left out */
	const struct filter *filter; /* its sizes and excludes select the files */
	enum progress_when progress;
	enum ingest_disk disk;
	struct catalog *catalog;
	const struct sources *sources;
	bool keeps_hashes; /* this process can write to the index */
};

/* Files or runs with a cause, and their bytes. */
struct partial_count {
	uint64_t count;
	uint64_t bytes;
};

struct partial {
	const struct partial_settings *settings;
	struct block_table table;
	struct volumes volumes;
	/* A disk seeks: one thread works in the order of the disk. Set by block_hashes_read(). */
	bool seeks;
	/* To share, the longest first; if a disk seeks, in the order of their destinations. */
	struct run_list runs;
	struct partial_count read; /* files whose blocks were read, and their sizes */
	struct partial_count known; /* files whose hashes were in the index */
	uint64_t failed; /* files that could not be read; each was logged */
	uint64_t changed; /* files that changed while they were read; each was logged */
	struct partial_count planned; /* runs that are not shared yet */
	struct partial_count already; /* runs, or parts of them, that share their blocks already */
};

/* Initializes. The caller must call partial_deinit() in any case. Returns 0 or -errno, logged. */
MUST_CHECK int partial_init(struct partial *partial, const struct partial_settings *settings);
void partial_deinit(struct partial *partial);
#define CLEANUP_PARTIAL CLEANUP(partial_deinit)

/* Reads the files, and finds the runs to share. Returns 0, or -errno, logged; -EINTR if
 * stop_requested(). */
MUST_CHECK int partial_plan(struct partial *partial);

/* Finds the runs to share again, without the files of the table that were dropped since. Returns as
 * partial_plan(), but logs nothing. On failure, partial->planned stays. */
MUST_CHECK int partial_plan_again(struct partial *partial);

#endif
