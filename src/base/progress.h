/* SPDX-License-Identifier: MIT */

/* A line on stderr that shows the progress of long work: files and bytes done, the rate and the
 * time left.
 *
 *	comparing [=====>      ]  48% 1204/2510 files 90/187 MiB 24 MiB/s 0:04 left
 *
 * On a terminal the line is redrawn in place, and cleared at the end. If the line cannot be redrawn
 * and progress was requested, plain lines are written: one every five seconds and one at the end.
 *
 * A struct progress belongs to the thread that shows it; workers count elsewhere. Blocks only if a
 * write to stderr blocks.
 */
#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

enum progress_when {
	PROGRESS_AUTO, /* if stderr is a terminal */
	PROGRESS_ALWAYS,
	PROGRESS_NEVER,
};

enum progress_style {
	PROGRESS_NOTHING,
	PROGRESS_BAR,
	PROGRESS_LINES,
};

/* Amounts of work. A total of 0 is unknown. */
struct progress_counts {
	uint64_t files_done;
	uint64_t files_total;
	uint64_t bytes_done;
	uint64_t bytes_total;
};

struct progress {
	enum progress_when when;
	enum progress_style style;
	const char *label;
	bool drawn; /* the line is on the terminal */
	uint64_t start_ns; /* CLOCK_MONOTONIC */
	uint64_t interval_ns;
	uint64_t next_ns;
};

/* Starts the progress of work, and decides whether anything is shown. Draws nothing yet, so that
 * short work shows no progress.
 *
 * label	borrowed until progress_end(); the activity, e.g. "comparing"
 */
void progress_start(struct progress *progress, enum progress_when when, const char *label);

/* Returns whether progress is shown at all. */
bool progress_is_shown(const struct progress *progress);

/* Draws the line, at most five times a second, and not in the first fifth of a second. Draws
 * nothing while another program has the terminal, as for a background job of a shell. */
void progress_update(struct progress *progress, const struct progress_counts *counts);

/* Draws the line like progress_update(), for a caller that knows the time of CLOCK_MONOTONIC. */
void progress_update_at(struct progress *progress, const struct progress_counts *counts,
			uint64_t now_ns);

/* Ends the progress and clears its line. With PROGRESS_ALWAYS a plain line reports the end. */
void progress_end(struct progress *progress, const struct progress_counts *counts);

/* Returns the part that is done, from 0 to 1, by files and bytes as far as their totals are known.
 * Negative if neither total is known. Pure. */
double progress_part(const struct progress_counts *counts);

/* Estimates the time for the rest of the work at the rate so far. Returns false if it cannot be
 * estimated yet. Pure.
 *
 * elapsed_ns	since the start of the work
 */
bool progress_seconds_left(const struct progress_counts *counts, uint64_t elapsed_ns,
			   uint64_t *seconds);

/* Buffer size for any line, including the NUL. */
#define PROGRESS_LINE_MAX 256

/* Formats the line for a terminal of width columns. If it does not fit, the least important fields
 * are left out. Pure.
 *
 * elapsed_ns	since the start of the work
 */
void progress_format(char line[static PROGRESS_LINE_MAX], unsigned int width, const char *label,
		     const struct progress_counts *counts, uint64_t elapsed_ns);

#endif
