/* SPDX-License-Identifier: MIT */
#ifndef PARTIAL_PARTIAL_H
#define PARTIAL_PARTIAL_H

/* `dedupe --partial`: finds equal blocks in files that differ, and has the kernel share them.
 *
 *	files of the index
 *	   |  hashes from the index (index/hashes.h), or of blocks that are read
 *	   v
 *	blocks.h	   blocks with equal hashes are a class
 *			   adjacent blocks that are equal at two places
 *			   without what is shared already
 *	   v
 *	sharing.c	   FIDEDUPERANGE: the kernel compares all bytes under its locks
 *
 * A hash only nominates: two ranges share blocks only after the kernel found them equal. No name,
 * byte or time stamp changes, so there is no journal. After an interruption a part of the runs is
 * shared, and a second call continues. For the main thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/output.h"
#include "base/progress.h"
#include "choose/report.h"
#include "partial/blocks.h"
#include "partial/files.h"
#include "scan/ingest.h"

struct filter;
struct sources;

/* Everything is borrowed. */
struct partial_settings {
	unsigned int block_bits; /* the blocks have 2^block_bits bytes */
	uint64_t min_run; /* bytes; shorter runs are left out */
	const struct filter *filter; /* its sizes and excludes select the files */
	enum progress_when progress;
	enum ingest_disk disk;
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

/* ---- printing ------------------------------------------------------------------------------- */

/* Returns whether runs can be printed in the format: it has offsets. */
bool partial_can_print(enum report_format format);

/* Prints the runs of a plan in their order. For the main thread.
 *
 * format	one that partial_can_print()
 * shown	the path of each source as the user wrote it, for the format text; other formats
 *		have absolute paths
 *
 * Returns 0, -EINTR if stop_requested(), or another -errno. */
MUST_CHECK int partial_print(const struct partial *partial, enum report_format format,
			     const char *const *shown, struct output *output);

/* ---- sharing -------------------------------------------------------------------------------- */

/* Shares the runs of a plan. For the main thread, which starts further threads: each takes the next
 * run.
 *
 * A source that cannot be read any more, or has changed, would cost the runs of all files that are
 * equal to it. So the rest is planned again without it, and shared. */

struct sharing_result {
	struct partial_count shared;
	/* Runs of the last plan: */
	struct partial_count differing; /* changed since the blocks were hashed */
	struct partial_count refused; /* failures; each file was logged once */
	bool is_full; /* stopped, as the disk is full */
};

/* Shares the runs of partial->runs, and takes them off partial->planned. Counts bad sources in
 * partial->failed and partial->changed. Returns 0, -EINTR if stop_requested(), or another
 * -errno. */
MUST_CHECK int sharing_run(struct partial *partial, struct sharing_result *result);

#endif
