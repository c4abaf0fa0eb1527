/* SPDX-License-Identifier: MIT */

/* A line on stderr that says how far a long work is: files and bytes done, the
 * rate and the time left.
 *
 *	comparing  [====>    ]   50 %  1204/2510 files  512 MiB/1.0 GiB  128 MiB/s  0:04 left
 *
 * Any thread may move the counters and call progress_update(), as often as is
 * handy: at most five times a second one of them draws, while the others go on.
 * init, start and end are for one thread while no other one uses the progress.
 */
#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum progress_when {
	PROGRESS_AUTO, /* when stderr is a terminal */
	PROGRESS_ALWAYS,
	PROGRESS_NEVER,
};

/* How far a work is. Totals of 0 are not known. */
struct progress_counts {
	uint64_t files_done;
	uint64_t files_total;
	uint64_t bytes_done;
	uint64_t bytes_total;
};

struct progress {
	_Atomic uint64_t files_done;
	_Atomic uint64_t files_total;
	_Atomic uint64_t bytes_done;
	_Atomic uint64_t bytes_total;

	const char *label;
	bool wanted; /* false: nothing is ever drawn */
	bool drawn; /* the line stands there; of the thread that draws */
	uint64_t start_ns;
	_Atomic uint64_t next_draw_ns;
	atomic_flag drawing;
};

/* Decides whether anything is shown at all. */
void progress_init(struct progress *progress, enum progress_when when);

/* Begins a work: all counters are 0. Nothing is drawn in the first fifth of a second,
 * so that a short work draws nothing.
 *
 * label	borrowed until progress_end(); what is done, e.g. "comparing"
 */
void progress_start(struct progress *progress, const char *label);

/* More has become known of what there is to do. */
void progress_expect(struct progress *progress, uint64_t files, uint64_t bytes);

/* More has been done. */
void progress_add(struct progress *progress, uint64_t files, uint64_t bytes);

/* Draws the line, if it is time. Blocks only where stderr does. */
void progress_update(struct progress *progress);

/* The same for a caller that knows the time (CLOCK_MONOTONIC). */
void progress_update_at(struct progress *progress, uint64_t now_ns);

/* Ends a work and clears its line. */
void progress_end(struct progress *progress);

/* Room for any line, with its NUL. */
#define PROGRESS_LINE_MAX 256

/* Writes the line for a terminal of width columns: what matters least is left out
 * where it would not fit. Pure.
 *
 * elapsed_ns	since the start of the work
 */
void progress_format(char line[static PROGRESS_LINE_MAX], unsigned int width, const char *label,
		     const struct progress_counts *counts, uint64_t elapsed_ns);

#endif
