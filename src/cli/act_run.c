/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "act/act_log.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/stop.h"
#include "choose/figures.h"
#include "choose/stays.h"
#include "cli/acting.h"
#include "cli/counted.h"
#include "cli/current_index.h"
#include "index/catalog.h"
#include "index/source_change.h"

struct doing {
	const struct acting *acting;
	const struct act_work *work;
	struct progress progress;
	struct progress_counts counts;
	char label[16]; /* for the progress line */
	uint64_t done;
	uint64_t unchanged; /* copies that already share the bytes of the kept copy */
	uint64_t unchanged_bytes;
	struct refusals refusals;
	bool is_full; /* stopped, as the disk of the destination is full */
	uint64_t freed_bytes;
	uint64_t split; /* moved copies that were split from a hard link */
	uint64_t freed_unknown; /* copies for which the freed bytes are unknown */
};

static bool is_disk_full(const struct act_result *result)
{
	return result->outcome == ACT_FAILED &&
	       (result->error == ENOSPC || result->error == EDQUOT);
}

/* Stops the act if all remaining copies would be refused for the same cause. Returns false then. */
static bool is_worth_continuing(struct doing *doing, const struct act_result *result)
{
	if (doing->acting->act.kind == ACT_MOVE && is_disk_full(result)) {
		doing->is_full = true;
		return false;
	}
	if (!refusals_concern_all(&doing->refusals, result))
		return true;
	refusals_add_rest(&doing->refusals, result, doing->work->names - doing->counts.files_done);
	return false;
}

static bool report_act(void *context, const struct act_file *copy, const struct act_result *result)
{
	struct doing *doing = context;
	bool goes_on = true;

	doing->counts.files_done++;
	doing->counts.bytes_done =
		size_add(doing->counts.bytes_done,
			 doing->acting->folders ? result->folder.bytes : copy->attributes->size);
	doing->freed_bytes = size_add(doing->freed_bytes, result->freed_bytes);
	doing->freed_unknown += result->freed_is_unknown;
	if (act_is_refused(result->outcome)) {
		refusals_add(&doing->refusals, copy, result);
		goes_on = is_worth_continuing(doing, result);
	} else if (result->outcome == ACT_DONE) {
		doing->done++;
	} else {
		doing->unchanged++;
		doing->unchanged_bytes = size_add(doing->unchanged_bytes, copy->attributes->size);
	}
	progress_update(&doing->progress, &doing->counts);
	return goes_on;
}

/* Makes "removing" from "remove". */
static void name_activity(char *label, size_t size, const char *verb)
{
	size_t length = strlen(verb);

	if (verb[length - 1] == 'e')
		length--;
	(void)snprintf(label, size, "%.*sing", (int)length, verb);
}

static void print_freed(struct output *output, const struct doing *doing)
{
	if (doing->freed_unknown == 0)
		figure_print(output, "freed", "%s", figure_text(doing->freed_bytes).text);
	else
		figure_print(output, "freed", "%s, and unknown bytes of %s on an overlay",
			     figure_text(doing->freed_bytes).text,
			     counted(doing->freed_unknown, "copy", "copies").text);
}

static void print_result(const struct doing *doing)
{
	uint64_t refused = doing->refusals.count;
	uint64_t left = doing->work->names - doing->done - doing->unchanged - refused;
	CLEANUP_OUTPUT struct output output;

	output_init(&output, STDOUT_FILENO);
	figure_print(&output, doing->acting->done, "%s %s", number_text(doing->done).text,
		     acting_noun(doing->acting, doing->done));
	print_freed(&output, doing);
	if (doing->split > 0)
		figure_print(&output, "split", "%s: hard links became separate files",
			     counted(doing->split, "copy", "copies").text);
	if (doing->unchanged > 0)
		figure_print(&output, "unchanged", "already shared: %s, %s",
			     counted(doing->unchanged, "file", "files").text,
			     size_text(doing->unchanged_bytes).text);
	if (refused > 0)
		figure_print(&output, "skipped", "%s %s", number_text(refused).text,
			     acting_noun(doing->acting, refused));
	if (left > 0)
		figure_print(&output, "not started", "%s %s", number_text(left).text,
			     acting_noun(doing->acting, left));
	print_result_end(&output);
}

static void explain_begin(const struct acting *acting, int result)
{
	if (result == -EWOULDBLOCK)
		log_error("another process acts upon the copies of this index; try again when it "
			  "has finished");
	else
		log_error("cannot %s: cannot open the journal in %s: %s", acting->verb,
			  quote_path(acting->act.folder), error_text(result));
}

/* Opens the file of --log. Returns 0 or -errno, logged. */
static int records_open(struct acting *acting, struct act_log **records)
{
	int r = acting->log ? act_log_open_file(records, acting->log) : 0;

	if (r < 0)
		log_error("cannot open %s: %s", quote_path(acting->log), error_text(r));
	acting->act.records = *records;
	return r;
}

static void close_records(struct act_log **records)
{
	act_log_close(*records);
}

/* Ensures that all records are in the file of --log. Returns 0 or -errno, logged. */
static int records_sync(const struct acting *acting, struct act_log *records)
{
	int r = records ? act_log_sync(records) : 0;

	if (r < 0)
		log_error("cannot write records to %s: %s; 'twinfs log' prints them",
			  quote_path(acting->log), error_text(r));
	return r;
}

enum twinfs_exit act_run(struct acting *acting, struct current_index *index,
			 const struct act_work *work)
{
	struct doing doing = {.acting = acting,
			      .work = work,
			      .refusals = {.verb = acting->verb, .sources = index->sources}};
	CLEANUP(close_records) struct act_log *records = NULL;
	struct act *act = NULL;
	int r, ended;

	acting->act.folder = catalog_folder(index->catalog);
	acting->act.is_default_folder = !acting->selection.common.index.folder;
	acting->act.report = report_act;
	acting->act.context = &doing;
	doing.counts.files_total = work->names;
	if (records_open(acting, &records) < 0)
		return TWINFS_EXIT_FAILED;
	if (acting->act.kind == ACT_DEDUPE && index_remap_begin(index) < 0)
		return TWINFS_EXIT_FAILED;
	r = act_begin(&act, &acting->act);
	if (r < 0) {
		explain_begin(acting, r);
		return TWINFS_EXIT_FAILED;
	}
	name_activity(doing.label, sizeof(doing.label), acting->verb);
	progress_start(&doing.progress, common_progress(&acting->selection.common), doing.label);
	r = work->add_all(work->context, act);
	if (r == 0)
		r = act_flush(act);
	doing.split = act_count_split(act);
	ended = act_end(act);
	progress_end(&doing.progress, &doing.counts);
	refusals_end(&doing.refusals);
	if (doing.is_full)
		log_error("stopped: the disk of %s is full; free some space there, then run the "
			  "command again",
			  quote_path(acting->act.destination));
	if (r < 0 || ended < 0)
		log_error("stopped: cannot read the plan or write the journal in %s: %s",
			  quote_path(acting->act.folder), error_text(r < 0 ? r : ended));
	if (!acting->selection.common.quiet)
		print_result(&doing);
	if (acting->act.kind == ACT_DEDUPE && doing.done > 0 && index_remap(index) < 0)
		return TWINFS_EXIT_FAILED;
	if ((r != 0 && r != ACT_STOPPED) || ended != 0 || doing.is_full || stop_requested() ||
	    records_sync(acting, records) < 0)
		return TWINFS_EXIT_FAILED;
	return doing.refusals.count > 0 ? TWINFS_EXIT_INCOMPLETE : TWINFS_EXIT_COMPLETE;
}

int act_run_update_emptied(struct current_index *index)
{
	const struct sources *sources = index->sources;

	for (size_t i = 0; !index->served && i < sources->count; i++) {
		if (source_is_emptied(sources, &sources->list[i], sources->list[i].fd))
			return indexing_names(&index->indexing, PROGRESS_NEVER);
	}
	return 0;
}
