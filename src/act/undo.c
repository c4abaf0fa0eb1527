/* SPDX-License-Identifier: MIT */
#include "act/undo.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "act/act_log.h"
#include "act/recovery.h"
#include "act/undo_file.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/stop.h"

/* Files that are brought back before the changed folders are synced and the records written. */
#define BATCH_FILES 128

/* A pass over the records of the act. */
struct undo_pass {
	struct undo undo;
	char id[ACT_ID_SIZE]; /* of this undo, which is an act itself */
	uint64_t recorded; /* files that this undo brought back */
	size_t waiting; /* of these, not synced yet */
	/* numbers of the files of the act that an earlier undo brought back, ascending */
	uint64_t *files;
	size_t count, capacity;
};

const char *undo_outcome_text(enum undo_outcome outcome)
{
	static const char *const texts[] = {
		[UNDO_DONE] = "brought back",
		[UNDO_NEEDLESS] = "its content never changed",
		[UNDO_ALREADY] = "is there already",
		[UNDO_EXISTS] = "another file has its path now; move that file away and run "
				"'twinfs undo' again",
		[UNDO_EDITED] = "a program wrote to the linked file since",
		[UNDO_NO_CONTENT] =
			"no file with its content was found; if one exists in a source, "
			"run 'twinfs scan' and then 'twinfs undo' again",
		[UNDO_UNCERTAIN] =
			"another user could have forged the file with its hash, or the linked "
			"file; compare it with what you know, then copy it yourself",
		[UNDO_BUSY] = "the file with its content is open for writing or is being "
			      "written to; try again later",
		[UNDO_ABSENT] = "its source or the file system of its folder is absent",
		[UNDO_FAILED] = "failed",
	};

	return texts[outcome];
}

/* ---- files that are back already --------------------------------------------------------- */

static int note_undone(void *context, const struct record *record, const char *line)
{
	struct undo_pass *pass = context;
	int r;

	(void)line;
	if (!record->undone || strcmp(record->undone, pass->undo.settings->act) != 0)
		return 0;
	r = array_reserve(&pass->files, &pass->capacity, pass->count + 1, sizeof(*pass->files));
	if (r == 0)
		pass->files[pass->count++] = record->undone_file;
	return r;
}

static int compare_numbers(const void *a, const void *b)
{
	const uint64_t *one = a, *other = b;

	return (*one > *other) - (*one < *other);
}

static int read_undone(struct undo_pass *pass)
{
	struct act_log_pass undone = {.record = note_undone, .context = pass};
	int r = act_log_read(pass->undo.settings->folder, &undone);

	if (r == 0 && pass->count > 0)
		qsort(pass->files, pass->count, sizeof(*pass->files), compare_numbers);
	return r;
}

static bool is_undone(const struct undo_pass *pass, uint64_t file)
{
	return pass->count > 0 &&
	       bsearch(&file, pass->files, pass->count, sizeof(file), compare_numbers);
}

/* ---- the pass ---------------------------------------------------------------------------- */

/* Syncs the changed folders, writes the records, and resolves the journal. */
static int flush(struct undo_pass *pass)
{
	struct recovery recovery;
	int r = durable_sync_changed(&pass->undo.durable);

	pass->waiting = 0;
	return r < 0 ? r : recovery_run(pass->undo.journal, &recovery);
}

/* Adds the record that a file was brought back. */
static int add_record(struct undo_pass *pass, const struct record *undone)
{
	CLEANUP_BYTES struct bytes line = {0};
	const struct record record = {.act = pass->id,
				      .file = ++pass->recorded,
				      .command = RECORD_UNDO,
				      .time = clock_now(),
				      .source = undone->source,
				      .path = undone->path,
				      .undone = undone->act,
				      .undone_file = undone->file,
				      .size = undone->size};
	int r = record_encode(&line, &record);

	if (r == 0)
		r = bytes_text(&line)
			    ? act_log_append(journal_log(pass->undo.journal), bytes_text(&line))
			    : -ENOMEM;
	return r < 0 || ++pass->waiting < BATCH_FILES ? r : flush(pass);
}

/* Outcome of undo_one(): the user stopped the process. */
enum {
	STOPPED = 1,
};

static int undo_one(void *context, const struct record *record, const char *line)
{
	struct undo_pass *pass = context;
	const struct undo_settings *settings = pass->undo.settings;
	struct undo_result result;

	(void)line;
	if (stop_requested())
		return STOPPED;
	if (is_undone(pass, record->file))
		return 0;
	undo_file(&pass->undo, record, &result);
	settings->report(settings->context, record, &result);
	return result.outcome == UNDO_DONE || result.outcome == UNDO_ALREADY
		       ? add_record(pass, record)
		       : 0;
}

static int undo_all(struct undo_pass *pass)
{
	const struct undo_settings *settings = pass->undo.settings;
	struct act_log_pass records = {.record = undo_one, .context = pass, .act = settings->act};
	int r = read_undone(pass), flushed;

	if (r == 0)
		r = act_log_read(settings->folder, &records);
	flushed = flush(pass);
	if (r == STOPPED)
		r = 0;
	return r < 0 ? r : flushed;
}

int undo_act(const struct undo_settings *settings)
{
	struct undo_pass pass = {.undo = {.settings = settings}};
	struct recovery recovery;
	int r = journal_open(&pass.undo.journal, settings->folder);

	if (r < 0)
		return r;
	(void)signal(SIGIO, SIG_IGN);
	record_make_id(pass.id);
	r = recovery_run(pass.undo.journal, &recovery);
	if (r == 0)
		r = undo_all(&pass);
	undo_forget_last(&pass.undo);
	durable_deinit(&pass.undo.durable);
	journal_close(pass.undo.journal);
	free(pass.files);
	return r;
}
