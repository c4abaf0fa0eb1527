/* SPDX-License-Identifier: MIT */

/* A line on stderr that says how far a long work is: files and bytes done, the
 * rate and the time left.
 *
 *	comparing [=====>      ]  48% 1204/2510 files 90/187 MiB 24 MiB/s 0:04 left
 *
 * On a terminal it is drawn again and again at its place, and gone at the end.
 * Where that cannot be, and it is asked for, there are plain lines: one every five
 * seconds and one at the end.
 *
 * A progress belongs to the thread that shows it; who works counts elsewhere. Blocks
 * only where stderr does.
 */
#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

enum progress_when {
	PROGRESS_AUTO, /* when stderr is a terminal */
	PROGRESS_ALWAYS,
	PROGRESS_NEVER,
};

enum progress_style {
	PROGRESS_NOTHING,
	PROGRESS_BAR,
	PROGRESS_LINES,
};

/* How far a work is. Totals of 0 are not known. */
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
	bool drawn; /* the line stands there */
	uint64_t start_ns; /* of CLOCK_MONOTONIC */
	uint64_t interval_ns;
	uint64_t next_ns;
};

/* Begins a work. Decides whether anything is shown at all; nothing is drawn yet, so that
 * a short work draws nothing.
 *
 * label	borrowed until progress_end(); what is done, e.g. "comparing"
 */
void progress_start(struct progress *progress, enum progress_when when, const char *label);

/* Will there be anything to see of it? */
bool progress_is_shown(const struct progress *progress);

/* Draws the line, if it is time: at most five times a second, and not in the first fifth; nor while
 * another program has the terminal, as for one in the background of a shell. */
void progress_update(struct progress *progress, const struct progress_counts *counts);

/* The same for a caller that knows the time (CLOCK_MONOTONIC). */
void progress_update_at(struct progress *progress, const struct progress_counts *counts,
			uint64_t now_ns);

/* Ends a work and clears its line. With PROGRESS_ALWAYS a plain line says the end. */
void progress_end(struct progress *progress, const struct progress_counts *counts);

/* Which part is done, from 0 to 1: by files and bytes, as far as their totals are known. Negative
 * where neither is. Pure. */
double progress_part(const struct progress_counts *counts);

/* How long the rest takes if it goes on as it did. False where nothing can be said of it yet. Pure.
 *
 * elapsed_ns	since the start of the work
 */
bool progress_seconds_left(const struct progress_counts *counts, uint64_t elapsed_ns,
			   uint64_t *seconds);

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
