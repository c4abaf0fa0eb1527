/* SPDX-License-Identifier: MIT */

/* A line on stderr that shows the progress of long work: files and bytes done, the rate and the
 * time left.
 *
 *	comparing [=====>      ]  48% 1204/2510 files 90/187 MiB 24 MiB/s 0:04 left
 *
 * A struct progress is for one thread at a time. Blocks only if a write to stderr blocks.
 */
#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"

enum progress_when {
	PROGRESS_AUTO, /* show progress if stderr is a terminal */
	PROGRESS_ALWAYS,
	PROGRESS_NEVER,
};

enum progress_style {
	PROGRESS_NOTHING,
	PROGRESS_BAR, /* one line, redrawn in place; for a terminal that can do that */
	PROGRESS_LINES, /* messages; for other terminals, and for files with PROGRESS_ALWAYS */
};

/* Amounts of work. A total of 0 means that the total is unknown. */
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
	bool drawn; /* the bar is on the terminal */
	uint64_t start_ns; /* CLOCK_MONOTONIC */
	uint64_t interval_ns; /* between two updates: a fifth of a second, or 5 s for lines */
	uint64_t next_ns; /* the earliest time of the next update */
};

/* Starts the progress of work, and chooses its style. Shows nothing until one interval has passed,
 * so that short work shows no progress.
 *
 * label	borrowed until progress_end(); the activity, e.g. "comparing"
 */
void progress_start(struct progress *progress, enum progress_when when, const char *label);

/* Returns whether progress is shown at all. */
bool progress_is_shown(const struct progress *progress);

/* Draws the bar or logs a line, if the interval has passed since the last update. Does not draw the
 * bar while another program has the terminal, as for a background job of a shell. */
void progress_update(struct progress *progress, const struct progress_counts *counts);

/* Updates like progress_update(), at a time of CLOCK_MONOTONIC that the caller gives. */
void progress_update_at(struct progress *progress, const struct progress_counts *counts,
			uint64_t now_ns);

/* Ends the progress. Clears the bar. With PROGRESS_LINES and PROGRESS_ALWAYS, logs a last line. */
void progress_end(struct progress *progress, const struct progress_counts *counts);

/* Returns the part that is done, from 0 to 1, by files and bytes as far as their totals are known.
 * Returns a negative number if neither total is known. Pure. */
double progress_part(const struct progress_counts *counts);

/* Returns the part that is done in percent, at most 99, as only the end of the work is 100 %.
 * Returns a negative number if neither total is known. Pure. */
int progress_percent(const struct progress_counts *counts);

/* Estimates the time for the rest of the work at the rate so far. Returns false if it cannot be
 * estimated yet, or is 999 hours or more. Pure.
 *
 * elapsed_ns	since the start of the work
 */
bool progress_seconds_left(const struct progress_counts *counts, uint64_t elapsed_ns,
			   uint64_t *seconds);

/* Appends a time for people: "less than a minute", "2 minutes", "3 hours". Returns 0 or -ENOMEM.
 * Pure. */
MUST_CHECK int progress_append_left(struct bytes *text, uint64_t seconds);

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
