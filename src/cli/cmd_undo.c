/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "act/act_log.h"
#include "act/journal.h"
#include "act/recovery.h"
#include "act/undo.h"
#include "base/attributes.h"
#include "base/bytes.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/progress.h"
#include "base/stop.h"
#include "base/text.h"
#include "choose/figures.h"
#include "cli/act_logs.h"
#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/counted.h"
#include "index/catalog.h"
#include "index/paths.h"
#include "index/query.h"
#include "index/scan.h"
#include "scan/index_folder.h"

/* ---- content search ------------------------------------------------------------------------- */

/* Finds files that possibly have the content of a record, without a scan. In this order: files with
 * its hash in the index, files that the log of acts names, and files of its size whose hash the
 * index does not know. The number of files of each kind is limited; if the content is not found,
 * this is logged. For the main thread. */

struct content_search {
	const char *folder; /* of the index, borrowed */
	struct catalog *catalog; /* NULL: not opened, or the index cannot be opened */
	bool is_opened;
	struct hash128 hash; /* of the last search */
	uint64_t inode; /* of the last search for a copy with several names, which all are listed */
	struct text_list paths; /* its result, absolute */
	size_t limit; /* number of paths with which the current kind of files ends */
	bool is_limited; /* more files would be possible */
	bool is_explained; /* that was logged */
};

#define CLEANUP_CONTENT_SEARCH CLEANUP(content_search_deinit)

/* Highest number of files of each kind that are tried for one content. It bounds memory, and the
 * time if very many files have its size. */
#define PATHS_MAX 1000

static void content_search_deinit(struct content_search *search)
{
	if (search->catalog)
		catalog_close(search->catalog);
	text_list_free(&search->paths);
}

/* Begins another kind of files, which has a limit of its own. */
static void begin_kind(struct content_search *search)
{
	search->limit = search->paths.count + PATHS_MAX;
}

/* Adds a path, unless it is known or the limit is reached. */
static int add_path(struct content_search *search, const char *path)
{
	if (!path || text_list_has(&search->paths, path))
		return 0;
	if (search->paths.count == search->limit) {
		search->is_limited = true;
		return 0;
	}
	return text_list_add(&search->paths, path, strlen(path));
}

/* ---- by the index ------------------------------------------------------------------------ */

/* Adds the path of a name of a file. */
static int add_name(struct content_search *search, struct catalog_reader *reader, uint64_t dir,
		    uint64_t cookie)
{
	CLEANUP_BYTES struct bytes path = {0}, relative = {0};
	uint32_t source = 0;
	uint64_t root;
	int r = catalog_entry_path(reader, dir, cookie, &relative, &source);

	if (r == 0)
		r = catalog_get_source(reader, source, &path, &root);
	if (r == 0)
		r = bytes_format(&path, "/%.*s", (int)relative.length, (const char *)relative.data);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	return bytes_text(&path) ? add_path(search, bytes_text(&path)) : -ENOMEM;
}

/* Adds the path of a file, or all its paths if it is the copy. The act removed some of them. */
static int add_file(struct content_search *search, struct catalog_reader *reader, uint64_t id)
{
	struct catalog_scan *names = NULL;
	struct file_record file;
	uint64_t dir, cookie;
	int r = catalog_get_file(reader, id, &file);
	bool is_copy;

	if (r < 0)
		return 0;
	is_copy = search->inode && file.attributes.inode == search->inode;
	r = catalog_scan_names(reader, &file, &names);
	while (r == 0 && (r = catalog_next_name(names, &dir, &cookie)) == 0) {
		r = add_name(search, reader, dir, cookie);
		if (!is_copy)
			break;
	}
	catalog_scan_end(names);
	return r == -ENOMEM ? r : 0;
}

/* What the index knows about a file of the size. */
enum knowledge {
	CONTENT_OTHER, /* it has another hash */
	CONTENT_SAME, /* it has the hash */
	CONTENT_UNKNOWN, /* the index has no hash of it */
};

static enum knowledge judge(struct catalog_reader *reader, const struct size_entry *entry,
			    const struct record *record)
{
	struct group_record group;
	struct content_record content;

	if (entry->group)
		return catalog_get_group(reader, entry->group, &group) == 0 &&
				       hash128_equal(group.hash, record->hash)
			       ? CONTENT_SAME
			       : CONTENT_OTHER;
	if (catalog_get_content(reader, entry->file, &content) != 0 || !content_has_hash(&content))
		return CONTENT_UNKNOWN;
	return hash128_equal(content.hash, record->hash) ? CONTENT_SAME : CONTENT_OTHER;
}

/* Adds the files of the size of which the index knows this. */
static int add_sizes(struct content_search *search, struct catalog_reader *reader,
		     const struct record *record, enum knowledge knowledge)
{
	const struct size_entry from = {.size = record->size};
	struct catalog_scan *scan = NULL;
	struct size_entry entry;
	int r = catalog_scan_sizes(reader, &from, &scan);

	begin_kind(search);
	while (r == 0 && (r = catalog_next_size(scan, &entry)) == 0 && entry.size == record->size) {
		if (judge(reader, &entry, record) != knowledge)
			continue;
		if (search->paths.count == search->limit) {
			search->is_limited = true;
			break;
		}
		r = add_file(search, reader, entry.file);
	}
	catalog_scan_end(scan);
	return r == -ENOMEM ? r : 0;
}

static void begin_reading(struct content_search *search, struct catalog_reader **reader)
{
	const struct catalog_options options = {.folder = search->folder, .read_only = true};

	if (!search->is_opened && catalog_open(&search->catalog, &options) != 0)
		search->catalog = NULL; /* the log can still find the content */
	search->is_opened = true;
	if (search->catalog && catalog_read_begin(search->catalog, reader) < 0)
		*reader = NULL;
}

/* ---- by the log -------------------------------------------------------------------------- */

static int add_logged(void *context, const struct record *record, const char *line)
{
	struct content_search *search = context;
	int r = 0;

	(void)line;
	if (record->command == RECORD_UNDO || !hash128_equal(record->hash, search->hash))
		return 0;
	r = add_path(search, record->to);
	if (r == 0)
		r = add_path(search, record->kept);
	return r == 0 ? add_path(search, record->path) : r;
}

static int search_log(struct content_search *search, const struct record *record)
{
	char digits[HASH128_DIGITS + 1];
	struct act_log_pass pass = {.record = add_logged, .context = search, .containing = digits};
	int r;

	begin_kind(search);
	hash128_format(record->hash, digits);
	r = act_log_read(search->folder, &pass);
	return r == -ENOMEM ? r : 0;
}

/* Lists the files that possibly have the content, the most certain ones first. */
static int list_paths(struct content_search *search, const struct record *record)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	int r;

	text_list_free(&search->paths);
	search->paths = (struct text_list){.count = 0};
	search->hash = record->hash;
	search->inode = record->links > 1 ? record->inode : 0;
	search->is_limited = search->is_explained = false;
	begin_reading(search, &reader);
	r = reader ? add_sizes(search, reader, record, CONTENT_SAME) : 0;
	if (r == 0)
		r = search_log(search, record);
	if (r == 0 && reader)
		r = add_sizes(search, reader, record, CONTENT_UNKNOWN);
	return r;
}

static void explain_limit(struct content_search *search, const struct record *record)
{
	if (!search->is_limited || search->is_explained)
		return;
	search->is_explained = true;
	log_warning("the content of %s was searched in %s files only, and others have its size; if "
		    "you know a file with this content, put a copy of it at %s and run 'twinfs "
		    "undo' again",
		    quote_path(record->path), number_text(search->paths.count).text,
		    quote_path(record->kept ? record->kept : record->path));
}

/* Does the work of the function find of struct undo_settings. */
static int content_search_find(struct content_search *search, const struct record *record,
			       int (*try)(void *trying, const char *path), void *trying)
{
	int r = 0;

	if (!hash128_equal(search->hash, record->hash) ||
	    (record->links > 1 && search->inode != record->inode))
		r = list_paths(search, record);
	for (size_t i = 0; r == 0 && i < search->paths.count; i++)
		r = try(trying, search->paths.items[i]);
	if (r == 0)
		explain_limit(search, record);
	return r;
}

/* ---- cmd undo ------------------------------------------------------------------------------- */

struct undo_request {
	struct common_settings common;
	bool yes;
	bool any_filesystem;
};

static const struct option_spec undo_options[] = {
	{.heading = "Acting"},
	{
		.name = "yes",
		.letter = 'y',
		.help = "do not ask for confirmation; required if standard input is no terminal",
		.at = offsetof(struct undo_request, yes),
	},
	{
		.name = "any-file-system",
		.help = "bring the files back to their paths even if another file system is there "
			"than at the time of the act; for one that will not return",
		.at = offsetof(struct undo_request, any_filesystem),
	},
	{0},
};

/* ---- results ----------------------------------------------------------------------------- */

struct undo_run {
	struct content_search search;
	struct progress progress;
	struct progress_counts counts;
	struct name_counts done;
	struct name_counts already;
	struct name_counts refused;
	/* brought back without all metadata or in a private folder, or there with other metadata */
	uint64_t changed;
	bool any_filesystem;
};

static void explain_absent(const struct undo_run *undoing, const char *path, const char *absent)
{
	if (undoing->any_filesystem)
		log_warning("cannot bring back %s: %s is no folder now; create it and run 'twinfs "
			    "undo' again",
			    quote_path(path), quote_path(absent));
	else
		log_warning("cannot bring back %s: %s is not mounted, or is another folder or file "
			    "system than at the time of the act; mount the former one and run "
			    "'twinfs undo' again, or use --any-file-system",
			    quote_path(path), quote_path(absent));
}

static void explain(const struct undo_run *undoing, const struct record *record,
		    const struct undo_result *result)
{
	if (result->outcome == UNDO_FAILED)
		log_warning("cannot bring back %s: %s", quote_path(record->path),
			    error_text(result->error));
	else if (result->outcome == UNDO_ABSENT)
		explain_absent(undoing, record->path, result->absent);
	else if (result->outcome > UNDO_ALREADY)
		log_warning("cannot bring back %s: %s", quote_path(record->path),
			    undo_outcome_text(result->outcome));
	else if (result->other_metadata)
		log_warning("%s is there already, with another owner, mode or time; it stays as it "
			    "is",
			    quote_path(record->path));
	else if (result->other_owner)
		log_warning("brought back %s with another owner: only root can restore its owner",
			    quote_path(record->path));
	else if (result->fewer_flags)
		log_warning("brought back %s without all of its inode flags; compare lsattr(1)",
			    quote_path(record->path));
	else if (result->fewer_xattrs)
		log_warning("brought back %s without all of its extended attributes and ACLs",
			    quote_path(record->path));
	else if (result->other_time)
		log_warning("brought back %s with another time: its file system cannot store its "
			    "time",
			    quote_path(record->path));
}

static void report_file(void *context, const struct record *record,
			const struct undo_result *result)
{
	struct undo_run *undoing = context;

	undoing->counts.files_done++;
	undoing->counts.bytes_done = size_add(undoing->counts.bytes_done, record->size);
	if (result->outcome != UNDO_NEEDLESS)
		name_counts_add(result->outcome == UNDO_DONE      ? &undoing->done
				: result->outcome == UNDO_ALREADY ? &undoing->already
								  : &undoing->refused,
				record->type);
	undoing->changed += result->other_owner || result->fewer_xattrs || result->fewer_flags ||
			    result->other_time || result->private_folder || result->other_metadata;
	explain(undoing, record, result);
	progress_update(&undoing->progress, &undoing->counts);
}

static void report_split(void *context, const char *path, uint64_t missing)
{
	struct undo_run *undoing = context;

	undoing->changed++;
	log_warning("brought back %s as another file than %s of its hard links, which %s not known "
		    "or not back",
		    quote_path(path), number_text(missing).text, plural(missing, "is", "are"));
}

static void print_counts(struct output *output, const char *label, const struct name_counts *counts)
{
	CLEANUP_BYTES struct bytes text = {0};

	if (name_counts_format(counts, &text) == 0 && bytes_text(&text))
		figure_print(output, label, "%s", bytes_text(&text));
}

static void print_result(const struct undo_run *undoing)
{
	CLEANUP_OUTPUT struct output output;

	output_init(&output, STDOUT_FILENO);
	print_counts(&output, "brought back", &undoing->done);
	if (name_counts_sum(&undoing->already) > 0)
		print_counts(&output, "there already", &undoing->already);
	if (name_counts_sum(&undoing->refused) > 0)
		print_counts(&output, "not back", &undoing->refused);
	print_result_end(&output);
}

static int find_content(void *context, const struct record *record,
			int (*try)(void *trying, const char *path), void *trying)
{
	struct undo_run *undoing = context;

	return content_search_find(&undoing->search, record, try, trying);
}

/* ---- the command ------------------------------------------------------------------------- */

/* Returns the act to undo, or NULL: then *status is set and the reason is logged.
 *
 * later	set to whether a later act is in no log
 */
static const struct logged_act *choose_act(const struct act_logs *logs, const char *id, bool yes,
					   bool *later, enum twinfs_exit *status)
{
	const struct logged_act *act = NULL;
	int r;

	*status = TWINFS_EXIT_FAILED;
	*later = false;
	if (id)
		return act_logs_find(logs, id);
	if (logs->unsettled) {
		log_error("cannot know which act was the last one, because of the index %s; mend "
			  "the cause named above, or give an act that 'twinfs log' lists",
			  quote_path(logs->unsettled));
		return NULL;
	}
	r = act_logs_last(logs, &act);
	if (r == ACT_LOGS_EMPTY) {
		*status = logs->incomplete ? TWINFS_EXIT_INCOMPLETE : TWINFS_EXIT_COMPLETE;
		log_info("no act is recorded");
	}
	*later = r == ACT_LOGS_LATER;
	if (*later && yes)
		act_logs_explain_unknown(logs, "a later act is in no log, as its index was removed "
					       "or its log is older or cannot be read");
	return r == 0 || (*later && !yes) ? act : NULL;
}

/* Returns whether there is something to undo. If not, logs the reason. */
static bool can_undo(const struct logged_act *act, enum twinfs_exit *status)
{
	*status = TWINFS_EXIT_COMPLETE;
	if (act->command == RECORD_UNDO) {
		log_error("cannot undo act %s: it is an undo itself; 'twinfs log' lists the acts",
			  act->id);
		*status = TWINFS_EXIT_FAILED;
	} else if (act->command == RECORD_DEDUPE) {
		log_info("nothing to undo: act %s, a dedupe, changed no content", act->id);
	} else if (name_counts_sum(&act->names) == 0 && act->waiting > 0) {
		log_info("nothing to undo yet: act %s was interrupted; its files wait until their "
			 "disk is mounted",
			 act->id);
		*status = TWINFS_EXIT_INCOMPLETE;
	} else if (name_counts_sum(&act->names) == 0) {
		log_info("nothing to undo: act %s was interrupted, and its files are as they were",
			 act->id);
	} else if (name_counts_sum(&act->undone) >= name_counts_sum(&act->names)) {
		log_info("nothing to undo: act %s was undone already", act->id);
	} else {
		return true;
	}
	return false;
}

static uint64_t less(uint64_t all, uint64_t some)
{
	return all > some ? all - some : 0;
}

/* Returns the names that no undo has brought back. */
static struct name_counts left_of(const struct logged_act *act)
{
	return (struct name_counts){less(act->names.files, act->undone.files),
				    less(act->names.folders, act->undone.folders),
				    less(act->names.others, act->undone.others)};
}

/* Reads the answer to a question. */
static bool answers_yes(void)
{
	char answer[8] = "";

	if (!fgets(answer, sizeof(answer), stdin))
		(void)fputc('\n', stderr);
	return answer[0] == 'y' || answer[0] == 'Y';
}

static bool confirm(const struct undo_request *request, const struct logged_act *act, bool later)
{
	const struct name_counts left = left_of(act);
	CLEANUP_BYTES struct bytes counts = {0};

	if (request->yes)
		return true;
	if (name_counts_format(&left, &counts) < 0 || !bytes_text(&counts))
		return false;
	(void)fprintf(stderr, "%sAct %s, %s: bring back %s, %s? [y/N] ",
		      later ? "A later act is in no log. " : "", act->id,
		      record_command_text(act->command), bytes_text(&counts),
		      size_text(act->bytes).text);
	return answers_yes();
}

static void explain_failure(const struct logged_act *act, int result)
{
	if (result == -EWOULDBLOCK)
		log_error("another process acts upon the copies of this index; try again when it "
			  "has finished");
	else
		log_error("stopped: cannot read the log or write the journal in %s: %s",
			  quote_path(act->folder), error_text(result));
}

static enum twinfs_exit undo(const struct undo_request *request, const struct logged_act *act)
{
	const struct name_counts left = left_of(act);
	struct undo_run undoing = {.search = {.folder = act->folder},
				   .counts = {.files_total = name_counts_sum(&left)},
				   .any_filesystem = request->any_filesystem};
	const struct undo_settings settings = {.folder = act->folder,
					       .is_default_folder = !request->common.index.folder,
					       .any_filesystem = request->any_filesystem,
					       .act = act->id,
					       .find = find_content,
					       .report = report_file,
					       .split = report_split,
					       .context = &undoing};
	int r;

	interrupt_watch();
	interrupt_guard(false);
	progress_start(&undoing.progress, common_progress(&request->common), "bringing back");
	r = undo_act(&settings);
	progress_end(&undoing.progress, &undoing.counts);
	content_search_deinit(&undoing.search);
	if (r < 0)
		explain_failure(act, r);
	if (!request->common.quiet && r != -EWOULDBLOCK)
		print_result(&undoing);
	if (r < 0 || stop_requested())
		return TWINFS_EXIT_FAILED;
	return name_counts_sum(&undoing.refused) + undoing.changed + act->waiting > 0
		       ? TWINFS_EXIT_INCOMPLETE
		       : TWINFS_EXIT_COMPLETE;
}

/* Returns the exit status. A line of the log that cannot be read is possibly a file of the act. */
static enum twinfs_exit whole(const struct act_logs *logs, enum twinfs_exit status)
{
	return status == TWINFS_EXIT_COMPLETE && logs->incomplete ? TWINFS_EXIT_INCOMPLETE : status;
}

static const char *find_undo_fault(const void *context, char *const *operands, size_t count)
{
	const struct undo_request *request = context;

	(void)operands;
	(void)count;
	return request->yes || isatty(STDIN_FILENO)
		       ? NULL
		       : "cannot ask for confirmation: standard input is no terminal; check with "
			 "'twinfs log', then give --yes";
}

static enum twinfs_exit run_undo(void *context, char **operands, size_t count)
{
	const struct undo_request *request = context;
	CLEANUP_ACT_LOGS struct act_logs logs = {.count = 0};
	const struct logged_act *act;
	enum twinfs_exit status;
	bool later;

	if (act_logs_read(&logs, &request->common) < 0)
		return TWINFS_EXIT_FAILED;
	act = choose_act(&logs, count > 0 ? operands[0] : NULL, request->yes, &later, &status);
	if (!act)
		return status;
	if (!can_undo(act, &status))
		return whole(&logs, status);
	if (!confirm(request, act, later)) {
		log_info("nothing was done");
		log_mark_reported(); /* the refusal of the user needs no further message */
		return TWINFS_EXIT_FAILED;
	}
	return whole(&logs, undo(request, act));
}

const struct command undo_command = {
	.options = {.command = "twinfs undo",
		    .usage = {"[ACT]"},
		    .summary = "Brings back the files of an act, by default of the last one in "
			       "'twinfs log'. Removed copies are copied from the kept copy, moved "
			       "and trashed files return, and links become files of their own "
			       "again, each with its former metadata. The content of each file is "
			       "verified, and no existing file is replaced.",
		    .options = {undo_options, one_index_option, message_options}},
	.settings_bytes = sizeof(struct undo_request),
	.operands_max = 1,
	.excess_operand = "more than one ACT given",
	.find_fault = find_undo_fault,
	.run = run_undo,
};

/* ---- recover --------------------------------------------------------------------------------- */

struct recover_request {
	struct common_settings common;
	bool gives_up;
	bool yes;
};

static const struct option_spec recover_options[] = {
	{.heading = "Acting"},
	{
		.name = "give-up",
		.help = "end the interrupted acts that wait for a disk or file that will not "
			"return; names each file that they possibly left elsewhere",
		.at = offsetof(struct recover_request, gives_up),
	},
	{
		.name = "yes",
		.letter = 'y',
		.help = "with --give-up: do not ask; required if standard input is no terminal",
		.at = offsetof(struct recover_request, yes),
	},
	{0},
};

/* The sum of the results of all indexes. */
struct recovered {
	uint64_t files;
	uint64_t completed;
	uint64_t left;
	uint64_t given_up;
	uint64_t incomplete;
	bool had_intents;
	bool failed;
};

static void recover(const char *folder, const struct recovery_wish *wish,
		    struct recovered *recovered)
{
	struct recovery undone;
	int r = act_logs_recover(folder, wish, &undone);

	recovered->files += undone.files;
	recovered->completed += undone.completed;
	recovered->had_intents |= undone.had_intents;
	recovered->left += undone.left;
	recovered->given_up += undone.given_up;
	recovered->incomplete += undone.incomplete;
	recovered->failed |= r < 0 && r != -EWOULDBLOCK;
}

static void recover_all(const struct text_list *folders, const struct recovery_wish *wish,
			struct recovered *recovered)
{
	for (size_t i = 0; i < folders->count; i++)
		recover(folders->items[i], wish, recovered);
}

/* Names what an intent possibly left behind. */
static bool name_left(void *context, const struct intent *intent)
{
	AUTO_FREE char *other = recovery_other_path(intent);
	CLEANUP_BYTES struct bytes path = {0};

	(void)context;
	if (!other || bytes_format(&path, "%s/%s", intent->source, intent->path) < 0 ||
	    !bytes_text(&path))
		return false;
	log_info("%s: possibly it is %s, if the disk returns%s%s", quote_path(bytes_text(&path)),
		 quote_path(other), intent->saved ? "; its bytes were saved in " : "",
		 intent->saved ? quote_path(intent->saved) : "");
	return false;
}

static bool give_up(void *context, const struct intent *intent)
{
	(void)context;
	(void)intent;
	return true;
}

static bool confirm_giving_up(const struct recover_request *request, uint64_t left)
{
	if (request->yes)
		return true;
	(void)fprintf(stderr, "Give up the interrupted acts on %s, named above? [y/N] ",
		      counted(left, "file", "files").text);
	return answers_yes();
}

static enum twinfs_exit report(const struct recovered *recovered)
{
	if (recovered->failed)
		return TWINFS_EXIT_FAILED;
	if (recovered->given_up > 0)
		log_info("gave up %s; 'twinfs log' lists them as interrupted",
			 counted(recovered->given_up, "file", "files").text);
	if (recovered->completed > 0)
		log_info("completed the act on %s",
			 counted(recovered->completed, "name", "names").text);
	if (recovered->files > 0 || recovered->left > 0)
		log_info("restored %s%s", counted(recovered->files, "file", "files").text,
			 recovered->left > 0 ? "; the rest must wait for the next recovery" : "");
	else if (recovered->given_up + recovered->completed + recovered->incomplete == 0)
		log_info(recovered->had_intents ? "an interrupted act left nothing to restore"
						: "no act was interrupted");
	return recovered->left + recovered->incomplete > 0 ? TWINFS_EXIT_INCOMPLETE
							   : TWINFS_EXIT_COMPLETE;
}

static const char *find_recover_fault(const void *context, char *const *operands, size_t count)
{
	const struct recover_request *request = context;

	(void)operands;
	(void)count;
	if (request->yes && !request->gives_up)
		return "--yes is only possible with --give-up";
	if (request->gives_up && !request->yes && !isatty(STDIN_FILENO))
		return "cannot ask for confirmation: standard input is no terminal; check with "
		       "'twinfs recover', then give --yes";
	return NULL;
}

static enum twinfs_exit run_recover(void *context, char **operands, size_t count)
{
	static const struct recovery_wish naming = {.give_up = name_left};
	static const struct recovery_wish giving_up = {.give_up = give_up, .is_quiet = true};
	CLEANUP_TEXT_LIST struct text_list folders = {0};
	const struct recover_request *request = context;
	struct recovered recovered = {0};

	(void)operands;
	(void)count;
	if (index_folders_chosen(request->common.index.folder, &folders) < 0)
		return TWINFS_EXIT_FAILED;
	recover_all(&folders, request->gives_up ? &naming : NULL, &recovered);
	if (!request->gives_up || recovered.left == 0)
		return report(&recovered);
	if (!confirm_giving_up(request, recovered.left)) {
		log_info("nothing was given up");
		return TWINFS_EXIT_INCOMPLETE;
	}
	recovered.left = 0;
	recover_all(&folders, &giving_up, &recovered);
	return report(&recovered);
}

const struct command recover_command = {
	.options = {.command = "twinfs recover",
		    .summary = "Restores the names of files whose act (remove, move, link or "
			       "dedupe) was interrupted by a power failure or a signal. scan, "
			       "mount, log, undo and the acts also do this when they start. "
			       "recover does only this, for all indexes or for the one given with "
			       "--index.",
		    .options = {recover_options, one_index_option, version_option}},
	.settings_bytes = sizeof(struct recover_request),
	.excess_operand = "no operands expected",
	.find_fault = find_recover_fault,
	.run = run_recover,
};
