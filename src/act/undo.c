/* SPDX-License-Identifier: MIT */
#include "act/undo.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "act/act_log.h"
#include "act/recovery.h"
#include "act/undo_make.h"
#include "base/array.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/path.h"
#include "base/stop.h"
#include "base/text.h"

/* Files that are brought back before the changed folders are synced and the records written. */
#define BATCH_FILES 128

/* A pass over the records of the act. */
struct undo_pass {
	struct undo undo;
	char id[ACT_ID_SIZE]; /* of this undo, which is an act itself */
	struct act_order order;
	uint64_t recorded; /* files that this undo brought back */
	size_t waiting; /* of these, not synced yet */
	struct number_set undone; /* files of the act that an earlier undo brought back */
	const char *below; /* only records below this path; NULL: all */
	struct bytes folders; /* records of removed folders, each with its NUL */
	size_t *folder_list; /* offsets in folders, sorted by path */
	size_t folder_count, folder_capacity;
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
		[UNDO_FOLDER_GONE] =
			"the folder is no longer where the act moved it; 'twinfs log' names the "
			"kept folder, which had the same content",
		[UNDO_ABSENT] = "its source or the file system of its folder is absent",
		[UNDO_FAILED] = "failed",
	};

	return texts[outcome];
}

/* ---- the log ----------------------------------------------------------------------------- */

static struct act_log *log_of(const struct undo_pass *pass)
{
	return journal_log(pass->undo.journal);
}

/* Reads the records of the act. */
static int read_act(const struct undo_pass *pass, void *context,
		    int (*record)(void *context, const struct record *record, const char *line))
{
	struct act_log_pass records = {.record = record,
				       .context = context,
				       .act = pass->undo.settings->act};

	return act_log_reread(log_of(pass), &records);
}

/* ---- the pass ---------------------------------------------------------------------------- */

/* Syncs the changed folders, writes the records, and resolves the journal. If this is a part of
 * another act, the intent of that act stays open until all is back. */
static int flush(struct undo_pass *pass)
{
	/* what waits for a disk was named before the undo began */
	const struct recovery_wish wish = {.is_quiet = true};
	struct recovery recovery;
	int r = durable_sync_changed(&pass->undo.durable);

	pass->waiting = 0;
	if (r < 0)
		return r;
	return pass->below ? journal_sync_records(pass->undo.journal)
			   : recovery_run(pass->undo.journal, &wish, &recovery);
}

/* Adds the record that a file was brought back. The last records wait for what follows all files:
 * a killed undo that has recorded all of them is not continued. */
static int add_record(struct undo_pass *pass, const struct record *undone)
{
	const struct record undo = {.act = pass->id,
				    .file = ++pass->recorded,
				    .order = pass->order};
	int r = pass->waiting < BATCH_FILES ? 0 : flush(pass);

	pass->waiting++;
	return r < 0 ? r : undone_add(log_of(pass), &undo, undone);
}

/* Outcome of undo_one(): the user stopped the process. */
enum {
	STOPPED = 1,
};

/* Returns whether the record is of a folder that was removed, and not of one that was moved. */
static bool is_removed_folder(const struct record *record)
{
	return S_ISDIR(record->type) && !record->to;
}

static bool is_wanted(const struct undo_pass *pass, const struct record *record)
{
	return record->state != RECORD_RETURNED && !number_set_has(&pass->undone, record->file) &&
	       (!pass->below || path_below(record->path, pass->below));
}

static int undo_record(struct undo_pass *pass, const struct record *record,
		       enum undo_outcome *outcome)
{
	const struct undo_settings *settings = pass->undo.settings;
	struct undo_result result = {.outcome = UNDO_FAILED};

	*outcome = result.outcome;
	if (stop_requested())
		return STOPPED;
	undo_file(&pass->undo, record, &result);
	*outcome = result.outcome;
	settings->report(settings->context, record, &result);
	return result.outcome == UNDO_DONE || result.outcome == UNDO_ALREADY
		       ? add_record(pass, record)
		       : 0;
}

static int undo_one(void *context, const struct record *record, const char *line)
{
	struct undo_pass *pass = context;
	enum undo_outcome outcome;

	(void)line;
	if (!is_wanted(pass, record) || is_removed_folder(record))
		return 0;
	return undo_record(pass, record, &outcome);
}

/* ---- folders ----------------------------------------------------------------------------- */

static int note_folder(void *context, const struct record *record, const char *line)
{
	struct undo_pass *pass = context;
	int r;

	if (!is_removed_folder(record) || !is_wanted(pass, record))
		return 0;
	r = array_reserve(&pass->folder_list, &pass->folder_capacity, pass->folder_count + 1,
			  sizeof(*pass->folder_list));
	if (r < 0)
		return r;
	pass->folder_list[pass->folder_count++] = pass->folders.length;
	r = bytes_append(&pass->folders, record->path, strlen(record->path) + 1);
	return r < 0 ? r : bytes_append(&pass->folders, line, strlen(line) + 1);
}

static int compare_folders(const void *a, const void *b, void *context)
{
	const char *text = context;

	return strcmp(text + *(const size_t *)a, text + *(const size_t *)b);
}

/* Decodes the record of a folder. */
static int read_folder(const struct undo_pass *pass, size_t index, struct decoded_record *decoded)
{
	const char *path = (const char *)pass->folders.data + pass->folder_list[index];
	const char *line = path + strlen(path) + 1;

	return record_decode(line, strlen(line), decoded);
}

/* Makes the removed folders, each one before those in it. Leaves those in the list that did not
 * exist. */
static int make_folders(struct undo_pass *pass)
{
	CLEANUP_DECODED_RECORD struct decoded_record decoded = {.record = {.act = NULL}};
	enum undo_outcome outcome = UNDO_FAILED;
	int r = read_act(pass, pass, note_folder);
	size_t made = 0;

	if (r == 0 && pass->folder_count > 1)
		qsort_r(pass->folder_list, pass->folder_count, sizeof(*pass->folder_list),
			compare_folders, pass->folders.data);
	for (size_t i = 0; r == 0 && i < pass->folder_count; i++) {
		r = read_folder(pass, i, &decoded);
		if (r == 0)
			r = undo_record(pass, &decoded.record, &outcome);
		if (r == 0 && outcome == UNDO_DONE)
			pass->folder_list[made++] = pass->folder_list[i];
	}
	pass->folder_count = made;
	return r;
}

/* Gives the folders their times, which the names in them have changed. */
static int restore_times(const struct undo_pass *pass)
{
	CLEANUP_DECODED_RECORD struct decoded_record decoded = {.record = {.act = NULL}};
	int r = 0;

	for (size_t i = pass->folder_count; r == 0 && i > 0; i--) {
		r = read_folder(pass, i - 1, &decoded);
		if (r == 0)
			undo_restore_time(&decoded.record);
	}
	return r;
}

/* ---- folders of a move ------------------------------------------------------------------- */

/* Notes the folders that the act made for a file: their number and the path of the file. */
static int note_made(void *context, const struct record *record, const char *line)
{
	struct text_list *made = context;
	AUTO_FREE char *text = NULL;
	const char *last = made->count > 0 ? made->items[made->count - 1] : "";
	int length;

	(void)line;
	if (record->command != RECORD_MOVE || !record->to || record->new_folders == 0)
		return 0;
	length = asprintf(&text, "%" PRIu64 " %s", record->new_folders, record->to);
	if (length < 0) {
		text = NULL;
		return -ENOMEM;
	}
	/* files of one folder mostly follow each other */
	if (strncmp(text, last, (size_t)(strrchr(text, '/') - text) + 1) == 0 &&
	    !strchr(last + (strrchr(text, '/') - text) + 1, '/'))
		return 0;
	return text_list_add(made, text, (size_t)length);
}

/* Removes the folders that a move made, as far as they are empty now. A folder can have others in
 * it that were made later. Before this, ends the intents of the files: recovery would take a
 * missing folder of an intent for one on a disk that is absent. */
static int remove_made(struct undo_pass *pass)
{
	struct text_list made = {0};
	int r = pass->below ? 0 : read_act(pass, &made, note_made);

	if (r == 0 && made.count > 0)
		r = durable_sync_changed(&pass->undo.durable);
	if (r == 0 && made.count > 0)
		r = journal_write_ends(pass->undo.journal);
	for (size_t i = made.count; r == 0 && i > 0; i--) {
		char *path;
		uint64_t count = strtoull(made.items[i - 1], &path, 10);

		place_remove_folders(path + 1, count);
	}
	text_list_free(&made);
	return r;
}

/* ---- hard links -------------------------------------------------------------------------- */

static int recall(void *context, const struct record *record, const char *line)
{
	struct undo_pass *pass = context;

	(void)line;
	if (record->links > 1 && number_set_has(&pass->undone, record->file))
		undo_recall(&pass->undo, record);
	return 0;
}

/* Remembers the files that an earlier undo brought back and that had several names. */
static int recall_all(struct undo_pass *pass)
{
	return pass->undone.count > 0 ? read_act(pass, pass, recall) : 0;
}

/* ---- all ----------------------------------------------------------------------------------- */

static int undo_all(struct undo_pass *pass)
{
	int r = undone_read(&pass->undone, log_of(pass), pass->undo.settings->act), flushed;

	if (r == 0)
		r = recall_all(pass);
	if (r == 0)
		r = make_folders(pass);
	if (r == 0)
		r = read_act(pass, pass, undo_one);
	if (r == 0)
		r = restore_times(pass);
	if (r == 0)
		r = remove_made(pass);
	flushed = flush(pass);
	if (r >= 0 && flushed == 0)
		undo_report_split(&pass->undo);
	if (r == STOPPED)
		r = 0;
	return r < 0 ? r : flushed;
}

static void undo_pass_deinit(struct undo_pass *pass)
{
	undo_forget(&pass->undo);
	durable_deinit(&pass->undo.durable);
	number_set_free(&pass->undone);
	free(pass->folder_list);
	bytes_free(&pass->folders);
}

static void count_missing(void *context, const struct record *record,
			  const struct undo_result *result)
{
	uint64_t *missing = context;

	(void)record;
	/* a program made the file that has the path */
	*missing += result->outcome > UNDO_ALREADY && result->outcome != UNDO_EXISTS;
}

int undo_part(struct journal *journal, const char *act, const char *path)
{
	uint64_t missing = 0;
	const struct undo_settings settings = {.act = act,
					       .report = count_missing,
					       .context = &missing};
	struct undo_pass pass = {.undo = {.settings = &settings, .journal = journal},
				 .below = path};
	int r;

	record_make_id(pass.id);
	r = undo_all(&pass);
	undo_pass_deinit(&pass);
	return r == 0 && missing > 0 ? -ENODATA : r;
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
	r = recovery_run(pass.undo.journal, NULL, &recovery);
	/* without a number, the undo follows its act in 'twinfs log' */
	if (r == 0 &&
	    act_order_take(settings->folder, settings->is_default_folder, &pass.order) < 0)
		pass.order = (struct act_order){0};
	if (r == 0)
		r = undo_all(&pass);
	undo_pass_deinit(&pass);
	journal_close(pass.undo.journal);
	return r;
}
