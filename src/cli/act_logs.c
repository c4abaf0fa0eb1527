/* SPDX-License-Identifier: MIT */
#include "cli/act_logs.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "act/act_log.h"
#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/human_text.h"
#include "base/log.h"
#include "base/quote.h"
#include "base/size.h"
#include "index/index_folder.h"
#include "index/index_open.h"

int act_logs_folders(const struct common_settings *settings, struct text_list *folders)
{
	AUTO_FREE char *given = NULL;
	int r;

	if (!settings->index.folder)
		return index_folders_list(folders);
	r = index_folder_given(settings->index.folder, &given);
	return r < 0 ? r : text_list_add(folders, given, strlen(given));
}

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
				   .order = logs->count++};
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
	act->files++;
	act->bytes = size_add(act->bytes, record->size);
	act->interrupted += record->state == RECORD_INTERRUPTED;
	undone = record->undone ? find(summing, record->undone) : NULL;
	if (undone)
		undone->undone++;
	return 0;
}

/* Logs which lines of the log are corrupt. */
static void explain_corrupt(const char *folder, const struct act_log_pass *pass)
{
	CLEANUP_BYTES struct bytes numbers = {0};
	uint64_t named =
		pass->corrupt < ACT_LOG_CORRUPT_NAMED ? pass->corrupt : ACT_LOG_CORRUPT_NAMED;
	char count[NUMBER_TEXT_MAX];
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < named; i++)
		r = bytes_format(&numbers, "%s%" PRIu64, i > 0 ? ", " : "", pass->corrupt_lines[i]);
	log_warning("cannot read %s %s of the log in %s: corrupt, %s %s%s; skipped",
		    number_format(count, pass->corrupt), plural(pass->corrupt, "line", "lines"),
		    quote_path(folder), plural(pass->corrupt, "number", "numbers"),
		    r == 0 && bytes_text(&numbers) ? bytes_text(&numbers) : "?",
		    named < pass->corrupt ? " and others" : "");
}

static int read_one(struct act_logs *logs, const char *folder)
{
	struct summing summing = {logs, folder, logs->count};
	struct act_log_pass pass = {.record = sum_record, .context = &summing};
	int r = act_log_read(folder, &pass);

	if (r == -ENOMEM)
		return r;
	if (r == -EPERM)
		index_explain(folder, r);
	else if (r < 0)
		log_error("cannot read the log in %s: %s", quote_path(folder), error_text(r));
	if (pass.corrupt > 0)
		explain_corrupt(folder, &pass);
	logs->incomplete |= r < 0 || pass.corrupt > 0;
	return 0;
}

static int compare_times(const void *a, const void *b)
{
	const struct logged_act *one = a, *other = b;

	if (one->time.tv_sec != other->time.tv_sec)
		return one->time.tv_sec < other->time.tv_sec ? -1 : 1;
	return one->order < other->order ? -1 : 1;
}

int act_logs_read(struct act_logs *logs, const struct common_settings *settings)
{
	int r;

	*logs = (struct act_logs){.count = 0};
	r = act_logs_folders(settings, &logs->folders);
	for (size_t i = 0; r == 0 && i < logs->folders.count; i++)
		r = read_one(logs, logs->folders.items[i]);
	if (r == 0 && logs->count > 0)
		qsort(logs->acts, logs->count, sizeof(*logs->acts), compare_times);
	return r;
}

void act_logs_free(struct act_logs *logs)
{
	free(logs->acts);
	text_list_free(&logs->folders);
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
