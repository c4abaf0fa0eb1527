/* SPDX-License-Identifier: MIT */
#include "base/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/output.h"

#define DRAW_INTERVAL_NS (SECOND_NS / 5)
#define LINE_INTERVAL_NS (5 * SECOND_NS)

/* The work of opening one file, as the number of bytes that could be read in that time. */
#define FILE_BYTES 65536.0

/* The time left is shown after LEFT_KNOWN_NS, or when LEFT_KNOWN_PART of the work is done. Earlier,
 * the time left cannot be estimated.
 */
#define LEFT_KNOWN_NS (2 * SECOND_NS)
#define LEFT_KNOWN_PART 0.1

#define BAR_MIN 8
#define BAR_MAX 40

/* Spaces between the fields of the line; fewer if the line would not fit. */
#define GAP_WIDE 2
#define GAP_NARROW 1
#define FIELD_SIZE 64

enum field {
	FIELD_LABEL,
	FIELD_BAR,
	FIELD_PERCENT,
	FIELD_FILES,
	FIELD_BYTES,
	FIELD_RATE,
	FIELD_LEFT,
	FIELD_COUNT,
};

struct fields {
	char text[FIELD_COUNT][FIELD_SIZE];
	int gap;
};

/* Returns the amount of work: each file takes time, however small it is. When only bytes were
 * counted, 130,000 small files of /usr, read from a disk for the first time, began with "24:02
 * left" and took 10 seconds. */
static double work_of(uint64_t files, uint64_t bytes)
{
	return (double)files * FILE_BYTES + (double)bytes;
}

double progress_part(const struct progress_counts *counts)
{
	uint64_t files = counts->files_total > 0 ? counts->files_done : 0;
	uint64_t bytes = counts->bytes_total > 0 ? counts->bytes_done : 0;
	double done = work_of(files, bytes);
	double total = work_of(counts->files_total, counts->bytes_total);

	if (total <= 0)
		return -1;
	return done < total ? done / total : 1;
}

int progress_percent(const struct progress_counts *counts)
{
	double part = progress_part(counts);

	return part < 1 ? (int)(part * 100) : 99;
}

static void format_files(char *text, const struct progress_counts *counts)
{
	if (counts->files_total > 0)
		(void)snprintf(text, FIELD_SIZE, "%" PRIu64 "/%" PRIu64 " files",
			       counts->files_done, counts->files_total);
	else
		(void)snprintf(text, FIELD_SIZE, "%" PRIu64 " files", counts->files_done);
}

static void format_bytes(char *text, const struct progress_counts *counts)
{
	char done[SIZE_TEXT_MAX];
	char total[SIZE_TEXT_MAX];
	char *unit;

	(void)size_format(done, counts->bytes_done);
	if (counts->bytes_total == 0) {
		(void)snprintf(text, FIELD_SIZE, "%s", counts->bytes_done > 0 ? done : "");
		return;
	}
	(void)size_format(total, counts->bytes_total);
	unit = strchr(done, ' ');
	if (strcmp(unit, strchr(total, ' ')) == 0)
		*unit = '\0';
	(void)snprintf(text, FIELD_SIZE, "%s/%s", done, total);
}

static void format_rate(char *text, const struct progress_counts *counts, double elapsed_s)
{
	static const double fastest = 1e18; /* any uint64_t can hold it */
	double rate = (double)counts->bytes_done / elapsed_s;
	char size[SIZE_TEXT_MAX];

	if (counts->bytes_done > 0)
		(void)snprintf(text, FIELD_SIZE, "%s/s",
			       size_format(size, (uint64_t)(rate < fastest ? rate : fastest)));
	else if (counts->bytes_total == 0)
		(void)snprintf(text, FIELD_SIZE, "%.0f files/s",
			       (double)counts->files_done / elapsed_s);
}

bool progress_seconds_left(const struct progress_counts *counts, uint64_t elapsed_ns,
			   uint64_t *seconds)
{
	/* a longer time is meaningless */
	static const double longest_s = 999.0 * 3600;
	double part = progress_part(counts);
	double left_s = (double)elapsed_ns / (double)SECOND_NS * (1 - part) / part;

	if (part <= 0 || (part < LEFT_KNOWN_PART && elapsed_ns < LEFT_KNOWN_NS) ||
	    !(left_s < longest_s))
		return false;
	*seconds = (uint64_t)(left_s + 0.5);
	return true;
}

int progress_append_left(struct bytes *text, uint64_t seconds)
{
	uint64_t minutes = (seconds + 30) / 60;

	if (minutes == 0)
		return bytes_append_text(text, "less than a minute");
	if (minutes < 120)
		return bytes_format(text, "%" PRIu64 " %s", minutes,
				    plural(minutes, "minute", "minutes"));
	return bytes_format(text, "%" PRIu64 " hours", (minutes + 30) / 60);
}

static void format_left(char *text, const struct progress_counts *counts, uint64_t elapsed_ns)
{
	uint64_t seconds;

	if (!progress_seconds_left(counts, elapsed_ns, &seconds))
		return;
	if (seconds >= 3600)
		(void)snprintf(text, FIELD_SIZE, "%" PRIu64 ":%02u:%02u left", seconds / 3600,
			       (unsigned int)(seconds / 60 % 60), (unsigned int)(seconds % 60));
	else
		(void)snprintf(text, FIELD_SIZE, "%u:%02u left", (unsigned int)(seconds / 60),
			       (unsigned int)(seconds % 60));
}

static size_t line_length(const struct fields *fields)
{
	size_t length = strlen(fields->text[FIELD_LABEL]);

	for (size_t i = FIELD_LABEL + 1; i < FIELD_COUNT; i++) {
		if (fields->text[i][0] != '\0')
			length += (size_t)fields->gap + strlen(fields->text[i]);
	}
	return length;
}

/* Narrows the gaps, then removes fields until the line fits, least important first. */
static void fit_fields(struct fields *fields, size_t width)
{
	static const enum field order[] = {FIELD_RATE, FIELD_FILES,   FIELD_BAR,  FIELD_BYTES,
					   FIELD_LEFT, FIELD_PERCENT, FIELD_LABEL};

	if (line_length(fields) > width)
		fields->gap = GAP_NARROW;
	for (size_t i = 0; i < ARRAY_SIZE(order) && line_length(fields) > width; i++)
		fields->text[order[i]][0] = '\0';
}

/* Formats a bar with this many columns between its brackets. */
static void format_bar(char *text, double part, size_t columns)
{
	size_t filled = (size_t)(part * (double)columns);

	text[0] = '[';
	memset(text + 1, '=', filled);
	memset(text + 1 + filled, ' ', columns - filled);
	if (filled < columns)
		text[1 + filled] = '>';
	memcpy(text + 1 + columns, "]", sizeof("]"));
}

/* Widens the bar, if there is one, to the remaining columns. */
static void widen_bar(struct fields *fields, double part, size_t width)
{
	size_t columns = BAR_MIN + width - line_length(fields);

	if (fields->text[FIELD_BAR][0] != '\0')
		format_bar(fields->text[FIELD_BAR], part, columns < BAR_MAX ? columns : BAR_MAX);
}

static void fill_fields(struct fields *fields, const char *label,
			const struct progress_counts *counts, uint64_t elapsed_ns)
{
	double part = progress_part(counts);
	double elapsed_s = (double)elapsed_ns / (double)SECOND_NS;

	*fields = (struct fields){.gap = GAP_WIDE};
	(void)snprintf(fields->text[FIELD_LABEL], FIELD_SIZE, "%s", label);
	format_files(fields->text[FIELD_FILES], counts);
	format_bytes(fields->text[FIELD_BYTES], counts);
	if (elapsed_s > 0)
		format_rate(fields->text[FIELD_RATE], counts, elapsed_s);
	if (part >= 0)
		(void)snprintf(fields->text[FIELD_PERCENT], FIELD_SIZE, "%3.0f%%", part * 100);
	format_left(fields->text[FIELD_LEFT], counts, elapsed_ns);
}

static void join_fields(const struct fields *fields, char line[static PROGRESS_LINE_MAX])
{
	size_t length = 0;

	line[0] = '\0';
	for (size_t i = 0; i < FIELD_COUNT; i++) {
		if (fields->text[i][0] != '\0')
			length +=
				(size_t)snprintf(line + length, PROGRESS_LINE_MAX - length, "%*s%s",
						 length > 0 ? fields->gap : 0, "", fields->text[i]);
	}
}

void progress_format(char line[static PROGRESS_LINE_MAX], unsigned int width, const char *label,
		     const struct progress_counts *counts, uint64_t elapsed_ns)
{
	struct fields fields;
	double part = progress_part(counts);

	fill_fields(&fields, label, counts, elapsed_ns);
	if (part >= 0)
		format_bar(fields.text[FIELD_BAR], part, BAR_MIN);
	fit_fields(&fields, width);
	widen_bar(&fields, part, width);
	join_fields(&fields, line);
}

/* ---- output ------------------------------------------------------------------------------ */

static enum progress_style choose_style(enum progress_when when)
{
	bool terminal = terminal_width(STDERR_FILENO) > 0;

	if (when == PROGRESS_NEVER || (when == PROGRESS_AUTO && !terminal))
		return PROGRESS_NOTHING;
	return terminal && terminal_redraws() ? PROGRESS_BAR : PROGRESS_LINES;
}

void progress_start(struct progress *progress, enum progress_when when, const char *label)
{
	*progress = (struct progress){
		.when = when,
		.style = choose_style(when),
		.label = label,
		.start_ns = clock_monotonic_ns(),
	};
	progress->interval_ns =
		progress->style == PROGRESS_BAR ? DRAW_INTERVAL_NS : LINE_INTERVAL_NS;
	progress->next_ns = progress->start_ns + progress->interval_ns;
}

bool progress_is_shown(const struct progress *progress)
{
	return progress->style != PROGRESS_NOTHING;
}

/* Replaces the current line of the terminal by text. A failed write is ignored: a message would go
 * to the same terminal.
 */
static void overwrite(const char *text)
{
	char buffer[PROGRESS_LINE_MAX + 8];
	int length = snprintf(buffer, sizeof(buffer), "\r%s" TERMINAL_CLEAR_REST, text);
	ssize_t written = write(STDERR_FILENO, buffer, (size_t)length);

	(void)written;
}

static void draw_bar(const struct progress *progress, const struct progress_counts *counts,
		     uint64_t now_ns)
{
	unsigned int width = terminal_width(STDERR_FILENO);
	char line[PROGRESS_LINE_MAX];

	if (width == 0)
		width = TERMINAL_WIDTH_DEFAULT;
	/* some terminals wrap when the last column is used */
	progress_format(line, width - 1, progress->label, counts, now_ns - progress->start_ns);
	log_set_bar_shown(true);
	overwrite(line);
}

static void log_progress(const struct progress *progress, const struct progress_counts *counts,
			 uint64_t now_ns)
{
	struct fields fields;
	char line[PROGRESS_LINE_MAX];

	fill_fields(&fields, progress->label, counts, now_ns - progress->start_ns);
	join_fields(&fields, line);
	log_info("%s", line);
}

void progress_update_at(struct progress *progress, const struct progress_counts *counts,
			uint64_t now_ns)
{
	if (progress->style == PROGRESS_NOTHING || now_ns < progress->next_ns)
		return;
	progress->next_ns = now_ns + progress->interval_ns;
	if (progress->style == PROGRESS_LINES) {
		log_progress(progress, counts, now_ns);
	} else if (terminal_is_foreground(STDERR_FILENO)) {
		draw_bar(progress, counts, now_ns);
		progress->drawn = true;
	}
}

void progress_update(struct progress *progress, const struct progress_counts *counts)
{
	progress_update_at(progress, counts, clock_monotonic_ns());
}

void progress_end(struct progress *progress, const struct progress_counts *counts)
{
	if (progress->style == PROGRESS_LINES && progress->when == PROGRESS_ALWAYS)
		log_progress(progress, counts, clock_monotonic_ns());
	if (!progress->drawn)
		return;
	progress->drawn = false;
	log_set_bar_shown(false);
	overwrite("");
}
