/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "act/act.h"
#include "base/array.h"
#include "base/attributes.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/output.h"
#include "base/progress.h"
#include "base/stop.h"
#include "choose/bundle.h"
#include "choose/question.h"
#include "choose/report.h"
#include "choose/stays.h"
#include "choose/symlinks.h"
#include "cli/acting.h"
#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/counted.h"
#include "cli/current_index.h"
#include "cli/selection.h"
#include "fleet/attestations.h"
#include "fleet/file_list.h"
#include "fleet/promises.h"
#include "index/catalog.h"
#include "index/query.h"
#include "index/source.h"
#include "scan/index_folder.h"
#include "twinfs/exit.h"

/* ---- attested removal ----------------------------------------------------------------------- */

/* `twinfs remove --plan=LIST --attested=DIR`: removes files whose contents other hosts keep. For
 * the main thread.
 *
 *	list		what can go, and which hosts keep it (fleet/file_list.h)
 *	attestations	which of these hosts read their files again lately (fleet/attestations.h)
 *	promises	what this host keeps for others (fleet/promises.h)
 *	act		each file is held, its SHA-256 computed, and it is removed (act/act.h)
 */

/* Maximum and default age of an attestation, in seconds. The maximum is below the validity of a
 * promise (fleet/promises.h), so that clocks may differ by days. */
#define ATTESTED_AGE_MAX (UINT64_C(7) * 24 * 3600)
#define ATTESTED_AGE_MIN UINT64_C(60)
#define ATTESTED_AGE_DEFAULT (UINT64_C(24) * 3600)

struct attested_settings {
	const char *folder; /* of the attestations, borrowed; NULL: not given */
	uint64_t max_age_s; /* 0: not given */
};

/* Rows that are looked up in one snapshot. */
#define BATCH 64

/* A row that can be acted upon. */
struct attested_candidate {
	const struct listed_file *row;
	uint64_t file; /* its id in the index */
	struct attributes attributes;
	uint32_t source; /* number in the sources of the index */
	enum act_outcome outcome; /* ACT_DONE: nothing is against the removal so far */
	bool stays; /* in a bundle or store, which stays whole, or symlinks lead to it */
};

/* What the command works on. */
struct attested_removal {
	struct acting *acting;
	struct file_list list;
	struct attestations *attestations;
	struct promises *promises;
	struct current_index index;
	size_t *sources; /* number in the index of each source of the list */
	struct bundle_finder bundles;
	struct stay_tally tally;
	uint64_t stayed; /* candidates that were chosen and then stayed */
	struct symlinks *symlinks; /* NULL: not read yet */
	struct act_trial *trial; /* NULL: the act itself finds what is against it */
	struct refusals refusals; /* before the act */
	struct progress progress;
	struct progress_counts counts;
	const struct listed_file **rows; /* that nothing is against */
	size_t count, capacity;
	uint64_t last_file; /* that was counted in the members below */
	uint64_t files;
	uint64_t freed_bytes; /* if the trial ran */
};

static void removal_free(struct attested_removal *removal)
{
	act_trial_free(removal->trial);
	stay_tally_free(&removal->tally);
	symlinks_free(removal->symlinks);
	promises_close(removal->promises);
	current_index_close(&removal->index);
	attestations_free(removal->attestations);
	file_list_free(&removal->list);
	free(removal->sources);
	free(removal->rows);
}

/* Returns what is wrong with the command line, or NULL. */
static const char *attested_fault(const struct attested_settings *settings,
				  const struct acting *acting)
{
	if (!settings->folder)
		return settings->max_age_s > 0 ? "--max-age needs --attested" : NULL;
	if (!acting->plan_file)
		return "--attested needs --plan=LIST, a list of 'twinfs-fleet plan'";
	if (acting->folders || acting->selection.common.index.names_from)
		return "--attested is for the files of a list: omit --folders and --files0-from";
	return acting->format_given ? "--attested has one format: omit --format" : NULL;
}

/* ---- one row --------------------------------------------------------------------------------- */

static struct act_file file_of(const struct attested_candidate *candidate)
{
	return (struct act_file){.source = candidate->source,
				 .path = candidate->row->path,
				 .attributes = &candidate->attributes};
}

/* Finds the indexed file at the path of a row. Sets *dir to its directory. Returns 0, -ENOENT if
 * there is none, or -errno. */
static int find_file(const struct attested_removal *removal, struct catalog_reader *reader,
		     struct attested_candidate *candidate, uint64_t *dir)
{
	uint64_t root = removal->index.sources->list[candidate->source].root;
	struct file_record file = {.names = 0};
	int r = listed_file_find(reader, root, candidate->row, &file, dir);

	candidate->file = file.id;
	candidate->attributes = file.attributes;
	return r;
}

/* Returns what attestations and promises say about the content of a row. */
static enum act_outcome judge_content(const struct attested_removal *removal,
				      const struct listed_file *row)
{
	if (attestations_count(removal->attestations, row) < removal->list.keep_replicas)
		return ACT_NOT_ATTESTED;
	return promises_until(removal->promises, row->sha256, row->size) > 0 ? ACT_PROMISED
									     : ACT_DONE;
}

/* Finds out whether a row is in a bundle or store, and counts the name then. The act refuses files
 * of a set. */
static int check_bundle(struct attested_removal *removal, struct catalog_reader *reader,
			uint64_t dir, struct attested_candidate *candidate)
{
	const struct sources *sources = removal->index.sources;
	struct bundle_stay stay = {.source = candidate->source, .path = candidate->row->path};
	int r = bundle_find(&removal->bundles, reader, sources, dir, &stay.place);

	if (removal->acting->selection.rules.rules.include_bundles)
		stay.place.bundle = 0;
	candidate->stays = stay.place.kind || stay.place.bundle != 0;
	return r == 0 && candidate->stays
		       ? stay_tally_add_bundle(&removal->tally, reader, sources, &stay)
		       : r;
}

/* Finds out whether symlinks lead to a file, and counts them then. */
static int check_symlinks(struct attested_removal *removal, struct catalog_reader *reader,
			  struct attested_candidate *candidate)
{
	const struct report report = {
		.breaks_symlinks = removal->acting->selection.rules.rules.break_symlinks,
	};
	struct copies copies = {.folders = false};
	int r = 0;

	if (removal->symlinks)
		symlinks_continue(removal->symlinks, reader);
	else
		r = symlinks_new(&removal->symlinks, reader, removal->index.sources, false);
	if (r == 0)
		r = copies_add_file(&copies, reader, candidate->file, FATE_REDUNDANT);
	if (r == 0)
		r = symlinks_find(removal->symlinks, &copies);
	if (r == 0 && copies.count > 0 && copies.list[0].symlinks > 0) {
		candidate->stays = !removal->acting->selection.rules.rules.break_symlinks;
		copies.list[0].stays_for_symlinks = candidate->stays;
		r = stay_tally_add(&removal->tally, &report, &copies);
	}
	copies_free(&copies);
	return r;
}

/* Examines a row in a snapshot. Sets the outcome of the candidate. Returns 0 or -errno. */
static int examine(struct attested_removal *removal, struct catalog_reader *reader,
		   struct attested_candidate *candidate)
{
	uint64_t dir = 0;
	int r;

	candidate->outcome = judge_content(removal, candidate->row);
	if (candidate->outcome != ACT_DONE)
		return 0;
	r = find_file(removal, reader, candidate, &dir);
	if (r == -ENOENT) {
		candidate->outcome = ACT_NOT_INDEXED;
		return 0;
	}
	if (r == 0 && candidate->attributes.size != candidate->row->size) {
		candidate->outcome = ACT_OTHER_CONTENT;
		return 0;
	}
	if (r < 0)
		return r;
	if (attestations_have_file(removal->attestations, candidate->attributes.inode,
				   clock_ns(candidate->attributes.btime))) {
		candidate->outcome = ACT_ATTESTED_ITSELF;
		return 0;
	}
	r = check_bundle(removal, reader, dir, candidate);
	return r < 0 || candidate->stays ? r : check_symlinks(removal, reader, candidate);
}

/* Examines up to BATCH rows in one snapshot. */
static int examine_batch(struct attested_removal *removal, const struct listed_file *const *rows,
			 struct attested_candidate *candidates, size_t count)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	int r = catalog_read_begin(removal->index.catalog, &reader);

	for (size_t i = 0; r == 0 && i < count; i++) {
		candidates[i] =
			(struct attested_candidate){.row = rows[i],
						    .source = (uint32_t)removal
								      ->sources[rows[i]->source]};
		r = examine(removal, reader, &candidates[i]);
	}
	bundle_finder_free(&removal->bundles); /* it is for one snapshot */
	removal->bundles = (struct bundle_finder){.memos = NULL};
	return r;
}

/* ---- what can go ----------------------------------------------------------------------------- */

static void refuse(struct attested_removal *removal, const struct attested_candidate *candidate,
		   const struct act_result *result)
{
	const struct act_file file = file_of(candidate);

	refusals_add(&removal->refusals, &file, result);
}

/* Tries the removal, if there is a trial. Returns whether it would be done. */
static bool try_candidate(struct attested_removal *removal,
			  const struct attested_candidate *candidate)
{
	const struct act_file file = file_of(candidate);
	struct act_result result = {.outcome = ACT_DONE};

	if (removal->trial)
		act_try(removal->trial, NULL, &file, &result);
	if (act_is_refused(result.outcome)) {
		refuse(removal, candidate, &result);
		return false;
	}
	/* the names of a file follow each other */
	if (candidate->file != removal->last_file) {
		removal->files++;
		removal->freed_bytes = size_add(removal->freed_bytes, result.freed_bytes);
	}
	removal->last_file = candidate->file;
	return true;
}

static int choose(struct attested_removal *removal, const struct attested_candidate *candidate)
{
	const struct act_result result = {.outcome = candidate->outcome};
	int r;

	removal->counts.files_done++;
	progress_update(&removal->progress, &removal->counts);
	if (candidate->stays)
		return 0;
	if (candidate->outcome != ACT_DONE) {
		refuse(removal, candidate, &result);
		return 0;
	}
	if (!try_candidate(removal, candidate))
		return 0;
	r = array_reserve(&removal->rows, &removal->capacity, removal->count + 1,
			  sizeof(const struct listed_file *));
	if (r == 0)
		removal->rows[removal->count++] = candidate->row;
	return r;
}

/* Chooses the rows that nothing is against. */
static int choose_all(struct attested_removal *removal)
{
	const struct listed_file *rows[BATCH];
	struct attested_candidate candidates[BATCH];
	int r = 0;

	for (size_t i = 0; r == 0 && i < removal->list.count;) {
		size_t count = 0;

		for (; count < BATCH && i < removal->list.count; count++)
			rows[count] = &removal->list.rows[i++];
		r = stop_requested() ? -EINTR : examine_batch(removal, rows, candidates, count);
		for (size_t k = 0; r == 0 && k < count; k++)
			r = choose(removal, &candidates[k]);
	}
	return r;
}

/* Logs which candidates stay, and forgets them. */
static void explain_stays(struct attested_removal *removal)
{
	stay_tally_explain(&removal->tally);
	stay_tally_free(&removal->tally);
}

/* Chooses what can go, and says what cannot. Returns 0 or -errno, logged. */
static int prepare(struct attested_removal *removal)
{
	struct acting *acting = removal->acting;
	int r = 0;

	if (acting->dry_run || !acting->yes)
		r = act_trial_new(&removal->trial, &acting->act);
	removal->refusals =
		(struct refusals){.verb = acting->verb, .sources = removal->index.sources};
	removal->counts.files_total = removal->list.count;
	progress_start(&removal->progress, common_progress(&acting->selection.common), "checking");
	if (r == 0)
		r = choose_all(removal);
	progress_end(&removal->progress, &removal->counts);
	refusals_end(&removal->refusals);
	explain_stays(removal);
	if (r == -EUCLEAN && !removal->index.served)
		catalog_judge(removal->index.catalog, r);
	if (r == -EINTR)
		log_error("stopped: interrupted; nothing was done");
	else if (r < 0)
		log_error("cannot check the files to %s: %s", acting->verb, error_text(r));
	return r;
}

/* ---- the act --------------------------------------------------------------------------------- */

/* Adds a row to the act. A file that was changed since it was chosen is left to the act, which
 * names it; one that is not in the index any more is not there. */
static int add_row(struct attested_removal *removal, struct act *act,
		   const struct attested_candidate *candidate)
{
	CLEANUP_BYTES struct bytes hosts = {0};
	const struct act_file file = file_of(candidate);
	struct act_attested attested;
	int r = attestations_hosts(removal->attestations, candidate->row, &hosts);

	attested.hosts = r == 0 ? bytes_text(&hosts) : NULL;
	if (!attested.hosts)
		return -ENOMEM;
	memcpy(attested.sha256, candidate->row->sha256, sizeof(attested.sha256));
	return act_add_attested(act, &file, &attested);
}

static int add_all(void *context, struct act *act)
{
	struct attested_removal *removal = context;
	struct attested_candidate candidates[BATCH];
	int r = 0;

	for (size_t i = 0; r == 0 && i < removal->count && !stop_requested();) {
		size_t left = removal->count - i, count = left < BATCH ? left : BATCH;

		r = examine_batch(removal, removal->rows + i, candidates, count);
		for (size_t k = 0; r == 0 && k < count && !stop_requested(); k++) {
			const struct act_result result = {.outcome = candidates[k].outcome};

			if (result.outcome != ACT_DONE)
				refuse(removal, &candidates[k], &result);
			else if (candidates[k].stays)
				removal->stayed++;
			else
				r = add_row(removal, act, &candidates[k]);
		}
		i += count;
	}
	return r;
}

static int print_row(const struct attested_removal *removal, struct output *output,
		     const struct listed_file *row)
{
	CLEANUP_BYTES struct bytes path = {0}, hosts = {0};
	int r = source_absolute_path(removal->index.sources,
				     (uint32_t)removal->sources[row->source], row->path, &path);

	if (r == 0)
		r = attestations_hosts(removal->attestations, row, &hosts);
	if (r < 0 || !bytes_text(&hosts))
		return -ENOMEM;
	output_name(output, path.data, path.length);
	output_format(output, "  (%s)\n", bytes_text(&hosts));
	return 0;
}

/* Appends how much would go, and who keeps it. */
static int append_facts(struct bytes *text, const struct attested_removal *removal)
{
	int r = bytes_format(text, "%s", counted(removal->files, "file", "files").text);

	if (r == 0 && removal->count > removal->files)
		r = bytes_format(text, " with %s names", number_text(removal->count).text);
	if (r == 0 && removal->acting->act.kind == ACT_TRASH)
		r = bytes_append_text(text, ", nothing freed until the trash is emptied");
	else if (r == 0)
		r = bytes_format(text, ", %s freed", size_text(removal->freed_bytes).text);
	return r;
}

static enum twinfs_exit print_all(const struct attested_removal *removal)
{
	CLEANUP_BYTES struct bytes facts = {0};
	CLEANUP_OUTPUT struct output output;
	int r = 0;

	output_init(&output, STDOUT_FILENO);
	for (size_t i = 0; r == 0 && i < removal->count; i++)
		r = print_row(removal, &output, removal->rows[i]);
	if (r == 0)
		r = output_flush(&output);
	if (r == 0)
		r = append_facts(&facts, removal);
	if (r < 0 && r != -EPIPE)
		log_error("cannot print the files to %s: %s", removal->acting->verb, error_text(r));
	if (r == 0 && !removal->acting->selection.common.quiet && bytes_text(&facts))
		log_info("nothing was done; without --dry-run: %s", bytes_text(&facts));
	return r < 0 ? TWINFS_EXIT_FAILED : TWINFS_EXIT_COMPLETE;
}

/* Asks whether to act. Returns 1 if yes, 0 if no, or -ENOMEM. */
static int confirm(const struct attested_removal *removal)
{
	CLEANUP_BYTES struct bytes facts = {0};
	char answer[ANSWER_SIZE] = "";
	bool is_trash = removal->acting->act.kind == ACT_TRASH;
	int r;

	if (removal->acting->yes)
		return 1;
	r = append_facts(&facts, removal);
	if (r == 0)
		r = bytes_append_text(&facts, ". Other hosts attested that they keep the contents, "
					      "and --dry-run prints which. The SHA-256 of each "
					      "file is computed again first.");
	if (r == 0 && !is_trash)
		r = bytes_append_text(&facts, " 'twinfs undo' cannot bring the files back, unless "
					      "this host has equal ones.");
	if (r < 0 || !bytes_text(&facts))
		return -ENOMEM;
	dialog_print(bytes_text(&facts));
	dialog_prompt(is_trash ? "move them to the trash? [y/N]" : "remove them? [y/N]");
	if (dialog_read(answer) < 0 || stop_requested())
		return 0;
	return answer[0] == 'y' || answer[0] == 'Y';
}

static enum twinfs_exit carry_out(struct attested_removal *removal)
{
	const struct act_work work = {removal->count, add_all, removal};
	enum twinfs_exit done;
	int r = confirm(removal);

	if (r <= 0)
		return acting_explain_refusal(0);
	done = act_run(removal->acting, &removal->index, &work);
	refusals_end(&removal->refusals);
	explain_stays(removal);
	if (done == TWINFS_EXIT_COMPLETE && removal->stayed > 0)
		done = TWINFS_EXIT_INCOMPLETE;
	return act_run_update_emptied(&removal->index) < 0 ? TWINFS_EXIT_FAILED : done;
}

/* Acts upon what can go. What cannot was named. */
static enum twinfs_exit act_upon(struct attested_removal *removal)
{
	enum twinfs_exit done = TWINFS_EXIT_COMPLETE;

	if (prepare(removal) < 0)
		return TWINFS_EXIT_FAILED;
	if (removal->count == 0 && !removal->acting->selection.common.quiet)
		log_info("nothing to %s", removal->acting->verb);
	else if (removal->count > 0)
		done = removal->acting->dry_run ? print_all(removal) : carry_out(removal);
	if (done == TWINFS_EXIT_COMPLETE && removal->refusals.count > 0)
		done = TWINFS_EXIT_INCOMPLETE;
	return done == TWINFS_EXIT_COMPLETE ? current_index_status(&removal->index, 0, 0) : done;
}

/* ---- the command ----------------------------------------------------------------------------- */

/* Checks that the list is one of this index, and finds its sources there. Returns 0 or -errno,
 * logged. */
static int check_list(struct attested_removal *removal)
{
	const struct file_list *list = &removal->list;
	const char *file = removal->acting->plan_file;
	int r = current_index_check_options_now(&removal->index);

	if (r == 0)
		r = listed_sources_check_index(list, file, removal->index.catalog);
	if (r < 0)
		return r;
	removal->sources = calloc(list->sources.count + 1, sizeof(*removal->sources));
	return removal->sources
		       ? listed_sources_find(list, file, removal->index.sources, removal->sources)
		       : -ENOMEM;
}

/* Reads the list and the attestations. Returns 0 or -errno, logged. */
static int read_all(struct attested_removal *removal, const struct attested_settings *settings)
{
	int r = file_list_read(&removal->list, FILE_LIST_REMOVE, removal->acting->plan_file);

	if (r == 0)
		r = attestations_read(&removal->attestations, &removal->list, settings->folder,
				      settings->max_age_s > 0 ? settings->max_age_s
							      : ATTESTED_AGE_DEFAULT);
	if (r == -ENOMEM)
		log_error("cannot read the list or the attestations: %s", error_text(r));
	return r;
}

/* Runs the command for its operands, SOURCE... or MOUNTPOINT; without operands, for the sources of
 * the list. Returns the exit status. */
static enum twinfs_exit attested_removal(struct acting *acting,
					 const struct attested_settings *settings,
					 char *const *operands, size_t count)
{
	CLEANUP(removal_free) struct attested_removal removal = {.acting = acting};
	AUTO_FREE char *indexes = NULL;

	interrupt_watch();
	interrupt_guard(false);
	if (read_all(&removal, settings) < 0)
		return TWINFS_EXIT_FAILED;
	if (count == 0) {
		operands = removal.list.sources.items;
		count = removal.list.sources.count;
	}
	acting->selection.common.index.names_only = true;
	if (current_index_open(&removal.index, &acting->selection.common.index, operands, count,
			       INDEX_ACT) < 0 ||
	    check_list(&removal) < 0 || index_folders_parent(&indexes) < 0 ||
	    promises_open(&removal.promises, indexes, catalog_folder(removal.index.catalog),
			  &removal.list) < 0)
		return TWINFS_EXIT_FAILED;
	acting->act.sources = removal.index.sources;
	return act_upon(&removal);
}

/* ---- cmd remove ----------------------------------------------------------------------------- */

struct remove_settings {
	struct acting acting;
	struct attested_settings attested;
};

static int set_age(void *member, const char *text)
{
	uint64_t *seconds = member;
	uint64_t milliseconds = 0;
	int r = duration_parse(text, &milliseconds);

	*seconds = milliseconds / 1000;
	return r < 0 || *seconds < ATTESTED_AGE_MIN || *seconds > ATTESTED_AGE_MAX ? -EINVAL : 0;
}

static int set_trash(void *member, const char *value)
{
	(void)value;
	*(enum act_kind *)member = ACT_TRASH;
	return 0;
}

static const struct option_spec remove_options[] = {
	{
		.name = "trash",
		.help = "move the copies to the trash of the desktop instead",
		.at = offsetof(struct acting, act.kind),
		.set = set_trash,
	},
	{
		.name = "attested",
		.argument = "DIR",
		.help = "remove what other hosts keep: --plan is a list of 'twinfs-fleet plan', "
			"and DIR has their attestations",
		.at = offsetof(struct remove_settings, attested.folder),
		.given = offsetof(struct acting, attested),
	},
	{
		.name = "max-age",
		.argument = "AGE",
		.help = "age of an attestation up to which it counts, at most 7d (default 1d)",
		.at = offsetof(struct remove_settings, attested.max_age_s),
		.set = set_age,
		.expects = "a time from 1m to 7d, like 12h or 2d",
	},
	{0},
};

/* Returns what is wrong with the command line, or NULL. */
static const char *find_fault(const void *context, char *const *operands, size_t count)
{
	const struct remove_settings *settings = context;
	const char *fault = attested_fault(&settings->attested, &settings->acting);

	return fault ? fault : acting_fault(&settings->acting, operands, count);
}

static enum twinfs_exit run(void *context, char **operands, size_t count)
{
	struct remove_settings *settings = context;

	return settings->attested.folder
		       ? attested_removal(&settings->acting, &settings->attested, operands, count)
		       : acting_run(&settings->acting, operands, count);
}

static void init(void *settings)
{
	acting_init(settings, ACT_REMOVE, "remove", "removed");
}

const struct command remove_command = {
	.options = {.command = "twinfs remove",
		    .usage = {"SOURCE|FILE...", "MOUNTPOINT"},
		    .summary = "Removes redundant copies. One copy of each group always stays. "
			       "Each copy is compared with the kept copy again, byte by byte, "
			       "immediately before it is removed.",
		    .options = {acting_options, remove_options, folders_option, filter_options,
				keep_option, rule_options, scan_options, walk_options, files_option,
				index_option, message_options}},
	.settings_bytes = sizeof(struct remove_settings),
	.init = init,
	.deinit = acting_free,
	.find_fault = find_fault,
	.run = run,
};
