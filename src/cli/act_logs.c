/* SPDX-License-Identifier: MIT */
#include "cli/act_logs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "act/act_log.h"
#include "base/array.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/numbers.h"
#include "cli/counted.h"
#include "scan/index_folder.h"

/* ---- numbers of names ------------------------------------------------------------------- */

void name_counts_add(struct name_counts *counts, uint32_t type)
{
	counts->files += S_ISREG(type) || type == 0;
	counts->folders += S_ISDIR(type);
	counts->others += !S_ISREG(type) && !S_ISDIR(type) && type != 0;
}

uint64_t name_counts_sum(const struct name_counts *counts)
{
	return counts->files + counts->folders + counts->others;
}

int name_counts_format(const struct name_counts *counts, struct bytes *text)
{
	int r = bytes_format(text, "%s", counted(counts->files, "file", "files").text);

	if (r == 0 && counts->folders > 0)
		r = bytes_format(text, ", %s", counted(counts->folders, "folder", "folders").text);
	if (r == 0 && counts->others > 0)
		r = bytes_format(text, ", %s",
				 counted(counts->others, "other name", "other names").text);
	return r;
}

/* ---- one index -------------------------------------------------------------------------- */

/* A pass over the log of one index. */
struct summing {
	struct act_logs *logs;
	const char *folder;
	size_t first; /* the first act of this index in the list */
};

/* Returns the act with this id in the current index, or NULL. Most often it is the last one. */
static struct logged_act *find(const struct summing *summing, const char *id)
{
	for (size_t i = summing->logs->count; i > summing->first; i--) {
		if (strcmp(summing->logs->acts[i - 1].id, id) == 0)
			return &summing->logs->acts[i - 1];
	}
	return NULL;
}

/* Adds an act with this record, without files. Returns NULL if memory is short. */
static struct logged_act *add_act(const struct summing *summing, const struct record *record)
{
	struct act_logs *logs = summing->logs;
	struct logged_act *act;

	if (array_reserve(&logs->acts, &logs->capacity, logs->count + 1, sizeof(*logs->acts)) < 0)
		return NULL;
	act = &logs->acts[logs->count];
	*act = (struct logged_act){.folder = summing->folder,
				   .command = record->command,
				   .time = record->time,
				   .order = record->order,
				   .place = logs->count++};
	(void)snprintf(act->id, sizeof(act->id), "%s", record->act);
	if (record->undone)
		(void)snprintf(act->undone_act, sizeof(act->undone_act), "%s", record->undone);
	return act;
}

static int sum_record(void *context, const struct record *record, const char *line)
{
	struct summing *summing = context;
	struct logged_act *act = find(summing, record->act), *undone;

	(void)line;
	if (!act)
		act = add_act(summing, record);
	if (!act)
		return -ENOMEM;
	act->is_interrupted |= record->state != RECORD_DONE;
	act->waiting += record->state == RECORD_WAITING;
	if (record->state == RECORD_RETURNED || record->state == RECORD_WAITING)
		return 0;
	name_counts_add(&act->names, record->type);
	act->bytes = size_add(act->bytes, record->size);
	act->interrupted += record->state == RECORD_INTERRUPTED;
	undone = record->undone ? find(summing, record->undone) : NULL;
	if (undone)
		name_counts_add(&undone->undone, record->type);
	return 0;
}

/* Logs which lines of the log are corrupt. */
static void explain_corrupt(const char *folder, const struct act_log_pass *pass)
{
	CLEANUP_BYTES struct bytes numbers = {0};
	uint64_t named =
		pass->corrupt < ACT_LOG_CORRUPT_NAMED ? pass->corrupt : ACT_LOG_CORRUPT_NAMED;
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < named; i++)
		r = bytes_format(&numbers, "%s%" PRIu64, i > 0 ? ", " : "", pass->corrupt_lines[i]);
	log_warning("cannot read %s of the log in %s: corrupt, %s %s%s; skipped",
		    counted(pass->corrupt, "line", "lines").text, quote_path(folder),
		    plural(pass->corrupt, "number", "numbers"),
		    r == 0 && bytes_text(&numbers) ? bytes_text(&numbers) : "?",
		    named < pass->corrupt ? " and others" : "");
}

static int read_log(const struct summing *summing)
{
	struct act_logs *logs = summing->logs;
	struct act_log_pass pass = {.record = sum_record, .context = (void *)summing};
	int r = act_log_read(summing->folder, &pass);

	if (r == -ENOMEM)
		return r;
	if (r == -EPERM)
		index_explain(summing->folder, r);
	else if (r < 0)
		log_error("cannot read the log in %s: %s", quote_path(summing->folder),
			  error_text(r));
	if (r < 0)
		logs->unsettled = summing->folder;
	if (pass.corrupt > 0)
		explain_corrupt(summing->folder, &pass);
	logs->incomplete |= r < 0 || pass.corrupt > 0;
	return 0;
}

/* ---- interrupted acts ------------------------------------------------------------------- */

int act_logs_recover(const char *folder, const struct recovery_wish *wish, struct recovery *undone)
{
	int r = recovery_run_of(folder, wish, undone);

	if (r == -EWOULDBLOCK)
		log_warning("skipped the index %s: a process is acting upon its copies",
			    quote_path(folder));
	else if (r == -EPERM)
		index_explain(folder, r);
	else if (r < 0)
		log_error("cannot undo the interrupted acts of the index %s: %s",
			  quote_path(folder), error_text(r));
	return r;
}

/* Notes the record of an act that waits. */
static bool note_waiting(void *context, const struct intent *intent)
{
	CLEANUP_DECODED_RECORD struct decoded_record decoded = {.record = {.act = NULL}};
	CLEANUP_BYTES struct bytes line = {0};
	struct act_logs *logs = context;

	if (!intent->record || record_decode(intent->record, strlen(intent->record), &decoded) < 0)
		return false;
	decoded.record.state = RECORD_WAITING;
	if (record_encode(&line, &decoded.record) < 0 || !bytes_text(&line) ||
	    text_list_add(&logs->waiting, bytes_text(&line), line.length) < 0)
		logs->incomplete = true;
	return false;
}

/* Adds the waiting records from this one on to the acts of their index. */
static int sum_waiting(struct summing *summing, size_t from)
{
	CLEANUP_DECODED_RECORD struct decoded_record decoded = {.record = {.act = NULL}};
	const struct text_list *waiting = &summing->logs->waiting;
	int r = 0;

	for (size_t i = from; r == 0 && i < waiting->count; i++) {
		const char *line = waiting->items[i];

		r = record_decode(line, strlen(line), &decoded);
		if (r == 0)
			r = sum_record(summing, &decoded.record, line);
	}
	return r == -EPROTO ? 0 : r;
}

/* ---- their order ------------------------------------------------------------------------ */

/* Notes which acts of an index are before acts of the current series, and sets their places. */
static void place_acts(struct act_logs *logs, size_t first)
{
	uint64_t number = 0, before = 0;
	int64_t seconds = INT64_MIN;

	for (size_t i = logs->count; i > first; i--) {
		struct logged_act *act = &logs->acts[i - 1];

		for (size_t j = 0; !before && j < logs->series.before.count; j++) {
			const char *line = logs->series.before.items[j];

			if (strncmp(line, act->id, strlen(act->id)) == 0)
				before = strtoull(line + strlen(act->id), NULL, 10);
		}
		act->before = before;
	}
	for (size_t i = first; i < logs->count; i++) {
		struct logged_act *act = &logs->acts[i];

		if (!logs->series.id)
			logs->series.id = act->order.series;
		if (act->order.series && act->order.series == logs->series.id)
			act->number = act->order.number;
		else
			act->number = number;
		number = act->number > number ? act->number : number;
		seconds = act->time.tv_sec > seconds ? act->time.tv_sec : seconds;
		act->seconds = seconds;
	}
}

static int compare_places(const void *a, const void *b)
{
	const struct logged_act *one = a, *other = b;

	if (one->number != other->number)
		return one->number < other->number ? -1 : 1;
	if (one->seconds != other->seconds)
		return one->seconds < other->seconds ? -1 : 1;
	return one->place < other->place ? -1 : 1;
}

/* Returns whether it is certain that an act is after an act of another index. */
static bool is_after(const struct act_logs *logs, const struct logged_act *act,
		     const struct logged_act *other)
{
	if (act->order.series && act->order.series == other->order.series)
		return act->order.number > other->order.number;
	return other->before && act->order.series == logs->series.id &&
	       act->order.number >= other->before;
}

/* Returns the last act of an index that is no undo, or NULL. */
static const struct logged_act *last_of(const struct act_logs *logs, const char *folder)
{
	for (size_t i = logs->count; i > 0; i--) {
		const struct logged_act *act = &logs->acts[i - 1];

		if (act->folder == folder && act->command != RECORD_UNDO)
			return act;
	}
	return NULL;
}

/* Returns whether an act is certainly after those of all other indexes. */
static bool is_last(const struct act_logs *logs, const struct logged_act *act)
{
	for (size_t i = 0; i < logs->folders.count; i++) {
		const struct logged_act *other = last_of(logs, logs->folders.items[i]);

		if (other && other != act && !is_after(logs, act, other))
			return false;
	}
	return true;
}

void act_logs_explain_unknown(const struct act_logs *logs, const char *cause)
{
	log_error("cannot know which act was the last one: %s; give the act", cause);
	for (size_t i = 0; i < logs->folders.count; i++) {
		const struct logged_act *act = last_of(logs, logs->folders.items[i]);
		bool is_earlier = false;
		char time[CLOCK_TEXT_MAX];

		for (size_t j = 0; act && !is_earlier && j < logs->folders.count; j++) {
			const struct logged_act *other = last_of(logs, logs->folders.items[j]);

			is_earlier = other && other != act && is_after(logs, other, act);
		}
		if (act && !is_earlier)
			log_info("'twinfs undo %s': %s of %s, index %s", act->id,
				 record_command_text(act->command),
				 clock_format_local(time, act->time), quote_path(act->folder));
	}
}

/* Returns whether a log that was removed, or replaced by an older one, had a later act than all
 * logs that can be read. */
static bool lacks_later(const struct act_logs *logs)
{
	for (size_t i = 0; i < logs->count; i++) {
		const struct logged_act *act = &logs->acts[i];

		if (act->command != RECORD_UNDO && act->order.series == logs->series.id &&
		    act->order.number >= logs->series.logged)
			return false;
	}
	return logs->series.logged > 0;
}

int act_logs_last(const struct act_logs *logs, const struct logged_act **act)
{
	bool is_empty = true;

	for (size_t i = 0; i < logs->folders.count; i++) {
		*act = last_of(logs, logs->folders.items[i]);
		is_empty &= !*act;
		if (*act && is_last(logs, *act))
			return lacks_later(logs) ? ACT_LOGS_LATER : 0;
	}
	if (is_empty)
		return ACT_LOGS_EMPTY;
	act_logs_explain_unknown(logs, "these have no common order");
	return ACT_LOGS_AMBIGUOUS;
}

/* ---- all -------------------------------------------------------------------------------- */

static int read_one(struct act_logs *logs, const char *folder)
{
	struct summing summing = {logs, folder, logs->count};
	const struct recovery_wish wish = {.give_up = note_waiting, .context = logs};
	size_t waiting = logs->waiting.count;
	struct recovery undone;
	int r = act_logs_recover(folder, &wish, &undone);

	if (r == -EPERM || r == -ENOMEM) {
		logs->incomplete = true;
		return r == -ENOMEM ? r : 0;
	}
	if (r < 0)
		logs->unsettled = folder;
	logs->incomplete |= r < 0 || undone.left > 0;
	r = read_log(&summing);
	if (r == 0)
		r = sum_waiting(&summing, waiting);
	place_acts(logs, summing.first);
	return r;
}

/* Reads the order of the acts.
 *
 * index	folder of the only index; NULL: that of the default folder
 */
static int read_order(struct act_logs *logs, const char *index)
{
	AUTO_FREE char *indexes = NULL;
	int r = index ? 0 : index_folders_parent(&indexes);
	const char *folder = index ? index : indexes;

	if (r < 0)
		return r;
	r = act_order_read(folder, index, &logs->series);
	if (r < 0 && r != -ENOMEM)
		log_warning("cannot read the order of acts in %s: %s", quote_path(folder),
			    error_text(r));
	if (index)
		logs->series.logged = 0; /* that act is possibly one of another index */
	return r == -ENOMEM ? r : 0;
}

int act_logs_read(struct act_logs *logs, const struct common_settings *settings)
{
	int r;

	*logs = (struct act_logs){.count = 0};
	r = index_folders_chosen(settings->index.folder, &logs->folders);
	if (r == 0)
		r = read_order(logs, settings->index.folder ? logs->folders.items[0] : NULL);
	for (size_t i = 0; r == 0 && i < logs->folders.count; i++)
		r = read_one(logs, logs->folders.items[i]);
	if (r == 0 && logs->count > 0)
		qsort(logs->acts, logs->count, sizeof(*logs->acts), compare_places);
	return r;
}

void act_logs_free(struct act_logs *logs)
{
	free(logs->acts);
	text_list_free(&logs->folders);
	text_list_free(&logs->waiting);
	act_order_series_free(&logs->series);
}

const struct logged_act *act_logs_find(const struct act_logs *logs, const char *id)
{
	for (size_t i = 0; i < logs->count; i++) {
		if (strcmp(logs->acts[i].id, id) == 0)
			return &logs->acts[i];
	}
	log_error("no act %s is recorded; 'twinfs log' lists the acts", quote_path(id));
	return NULL;
}
