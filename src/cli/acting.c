/* SPDX-License-Identifier: MIT */
#include "cli/acting.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/descriptor.h"
#include "base/filesystem.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/path.h"
#include "base/stop.h"
#include "base/text.h"
#include "choose/figures.h"
#include "choose/plan.h"
#include "choose/question.h"
#include "choose/stays.h"
#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/counted.h"
#include "cli/current_index.h"
#include "cli/selection.h"
#include "index/catalog.h"
#include "index/mount_table.h"
#include "index/operands.h"
#include "index/own.h"
#include "index/query.h"
#include "index/source.h"
#include "index/source_change.h"
#include "scan/index_folder.h"
#include "scan/indexing.h"

/* ---- the sources of a plan ------------------------------------------------------------------ */

/* The sources of a plan file, for an act without operands. For the main thread. */

/* Adds the sources if one of them has the path. */
static int add_if_covering(const struct sources *sources, const char *path, struct text_list *found)
{
	bool covers = false;
	int r = 0;

	for (size_t i = 0; i < sources->count; i++)
		covers = covers || path_below(path, sources->list[i].path);
	for (size_t i = 0; covers && r == 0 && i < sources->count; i++)
		r = text_list_add(found, sources->list[i].path, strlen(sources->list[i].path));
	return r;
}

/* Returns whether the index has whole sources, which a scan of these would not widen. */
static int is_of_sources(struct catalog *catalog, bool *is)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	bool of_operands = false;
	int r = catalog_read_begin(catalog, &reader);

	if (r == 0)
		r = catalog_is_of_operands(reader, &of_operands);
	*is = !of_operands;
	return r;
}

/* Adds the sources of one index if they have the path. An index that cannot be read has none, and
 * neither has one of single files. */
static int look_in(const char *folder, const char *path, struct text_list *found)
{
	struct sources sources = {0};
	struct catalog *catalog = NULL;
	bool is = false;
	int r = index_open_read_only(folder, &catalog);

	if (r != 0)
		return r == -ENOMEM ? r : 0;
	r = is_of_sources(catalog, &is);
	if (r == 0 && is)
		r = sources_open(&sources, catalog, NULL, false);
	if (r == 0)
		r = add_if_covering(&sources, path, found);
	sources_close(&sources);
	catalog_close(catalog);
	return r;
}

/* Finds the index that has the first path of a plan file in its sources: that of --index, or one in
 * the default folder. Adds its sources to the list. Returns 0 or -errno, logged. */
static int plan_sources_find(const char *plan_file, const struct index_settings *settings,
			     struct text_list *sources)
{
	CLEANUP_TEXT_LIST struct text_list folders = {0};
	CLEANUP_BYTES struct bytes path = {0};
	size_t indexes = 0;
	int r = plan_file_first_path(plan_file, &path);

	if (r == -ENODATA)
		log_error("the plan %s has no group", quote_path(plan_file));
	if (r < 0)
		return r;
	r = index_folders_chosen(settings->folder, &folders);
	for (size_t i = 0; r == 0 && i < folders.count; i++) {
		size_t before = sources->count;

		r = look_in(folders.items[i], bytes_text(&path), sources);
		indexes += sources->count > before;
	}
	if (r < 0) {
		log_error("cannot find the sources of the plan: %s", error_text(r));
		return r;
	}
	if (indexes == 1)
		return 0;
	log_error("%s has %s in its sources; give the SOURCE... of the plan %s",
		  indexes == 0 ? "no index" : "more than one index", quote_path(bytes_text(&path)),
		  quote_path(plan_file));
	return -ENOENT;
}

/* ---- the plan ------------------------------------------------------------------------------- */

/* The plan of a command that acts, from the selection to the answer of the user. For the main
 * thread. */

/* All zeros is valid and empty. */
struct prepared {
	struct act_plan plan;
	struct report_summary summary; /* of the snapshot from which the plan was made */
	uint64_t refused; /* copies that are not in the plan, as the act would refuse them */
};

#define CLEANUP_PREPARED CLEANUP(prepared_free)

/* Outcome: a path of --protect or --only, or a glob of --exclude, matches nothing. */
enum {
	PREPARED_MISSPELLED = 1,
};

static void prepared_free(struct prepared *prepared)
{
	act_plan_free(&prepared->plan);
}

/* Reads the plan of --plan. Returns 0 or -EXDEV, logged, or -EINTR. */
static int read_plan_file(struct prepared *prepared, const struct acting *acting,
			  const struct report *report)
{
	struct refusals refusals = {.verb = acting->verb, .sources = report->sources};
	int r = plan_file_read(acting->plan_file, report, &prepared->plan, &refusals);

	refusals_end(&refusals);
	prepared->refused += refusals.count;
	return r < 0 && r != -EINTR ? -EXDEV : r;
}

/* Refuses the act if an --exclude matches nothing. If it is misspelled, the files that it should
 * leave out are in the plan. */
static int refuse_misspelled(const struct acting *acting, const struct current_index *index)
{
	if (acting->selection.filters.unmatched_excludes + index->indexing.unmatched_excludes == 0)
		return 0;
	log_error("cannot %s: an --exclude is possibly misspelled; correct it or leave it out, or "
		  "give globs that need not match in a file, with --exclude-from",
		  acting->verb);
	return PREPARED_MISSPELLED;
}

/* Makes the plan from one snapshot of the index: by the rules, or by the file of --plan. Returns 0,
 * PREPARED_MISSPELLED or -errno; both are logged. */
static int prepared_make(struct prepared *prepared, const struct acting *acting,
			 const struct list_request *request, const struct current_index *index)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	struct report report;
	int r;

	r = act_plan_open(&prepared->plan, acting->act.kind);
	if (r < 0)
		return r;
	r = catalog_read_begin(index->catalog, &reader);
	if (r == 0)
		r = list_prepare(request, index, reader, &report);
	if (r == -EXDEV)
		return PREPARED_MISSPELLED;
	if (r == 0)
		r = summary_add_index(&prepared->summary, reader);
	if (r == 0)
		r = acting->plan_file ? read_plan_file(prepared, acting, &report)
				      : act_plan_select(&prepared->plan, &report);
	if (r == 0)
		r = filter_settings_explain(&request->selection->filters, index, reader);
	if (r == 0)
		r = refuse_misspelled(acting, index);
	if (r == -EUCLEAN && !index->served)
		catalog_judge(index->catalog, r);
	if (r < 0)
		index_explain_failure(r, "select the copies to %s", acting->verb);
	return r;
}

/* Drops from the plan what the act would refuse, and logs it. Blocks on the files. Returns 0 or
 * -errno; failures are logged. */
static int prepared_try(struct prepared *prepared, const struct acting *acting)
{
	struct plan_trial trial = {.settings = &acting->act,
				   .refusals = {.verb = acting->verb,
						.sources = acting->act.sources}};
	int r;

	r = act_plan_try(&prepared->plan, &trial, common_progress(&acting->selection.common));
	refusals_end(&trial.refusals);
	if (r < 0 && r != -EINTR)
		log_error("cannot check the copies to %s: %s", acting->verb, error_text(r));
	if (r < 0)
		return r;
	if (trial.needless > 0)
		log_info("%s the bytes of the kept copy already",
			 counted(trial.needless, "copy shares", "copies share").text);
	prepared->refused += trial.refusals.count;
	return 0;
}

/* Prints the plan of a dry run. Returns the exit status. */
static enum twinfs_exit prepared_print(struct prepared *prepared, const struct acting *acting,
				       const struct current_index *index)
{
	AUTO_FREE const char **shown = shown_paths_find(index);
	struct report report = {.sources = index->sources,
				.shown = shown,
				.format = acting->format};
	const struct act_plan *plan = &prepared->plan;
	CLEANUP_READER struct catalog_reader *reader = NULL;
	CLEANUP_OUTPUT struct output output;
	int r = shown ? catalog_read_begin(index->catalog, &reader) : -ENOMEM;

	output_init(&output, STDOUT_FILENO);
	report.reader = reader;
	if (r == 0)
		r = act_plan_print(&prepared->plan, &report, &output, &prepared->summary);
	if (r < 0 && r != -EPIPE && r != -EINTR)
		log_error("cannot print the copies to %s: %s", acting->verb, error_text(r));
	if (r == 0 && !acting->selection.common.quiet)
		log_info("nothing was done; without --dry-run, %s %s would be %s and %s freed",
			 number_text(plan->names).text, acting_noun(acting, plan->names),
			 acting->done, size_text(plan->freed_bytes).text);
	return r < 0 ? TWINFS_EXIT_FAILED : TWINFS_EXIT_COMPLETE;
}

/* Asks the user whether to act, unless --yes was given. The user can change the plan. Returns 1 to
 * act, 0 not to act, or -errno (logged). */
static int prepared_confirm(struct prepared *prepared, const struct acting *acting,
			    const struct current_index *index)
{
	AUTO_FREE const char **shown = shown_paths_find(index);
	const struct question question = {.act = &acting->act,
					  .verb = acting->verb,
					  .sources = index->sources,
					  .shown = shown,
					  .rules = &acting->selection.rules.rules};
	enum answer answer = acting->yes ? ANSWER_YES : ANSWER_CHOSEN;
	int r = shown ? 0 : -ENOMEM;

	while (r == 0 && answer == ANSWER_CHOSEN && prepared->plan.names > 0) {
		r = question_ask(&question, &prepared->plan, &answer);
		if (r == 0 && answer == ANSWER_CHOSEN && prepared_try(prepared, acting) < 0)
			return -ECANCELED;
	}
	if (r < 0 && r != -EINTR)
		log_error("cannot ask: %s", error_text(r));
	return r < 0 ? r : answer == ANSWER_YES && prepared->plan.names > 0;
}

/* ---- the destination of move ---------------------------------------------------------------- */

/* The destination folder of `move`. For the main thread. */

/* Finds the folders that the user named. Returns 0 or -errno. */
static int list_folders(const struct sources *sources, struct text_list *folders)
{
	const struct operands *operands = sources->operands;
	int r = 0;

	for (size_t i = 0; !operands && r == 0 && i < sources->count; i++)
		r = text_list_add(folders, sources->list[i].path, strlen(sources->list[i].path));
	for (size_t i = 0; operands && r == 0 && i < operands->count; i++) {
		CLEANUP_BYTES struct bytes path = {0};

		if (!operands->list[i].is_dir)
			continue;
		r = source_absolute_path(sources, 0, operands->list[i].path, &path);
		if (r == 0)
			r = text_list_add(folders, (const char *)path.data, path.length);
	}
	return r;
}

/* Refuses a folder that is a source, is inside a source or contains a source, also through a bind
 * mount. Later commands could find moved copies in such a folder, and act upon them again. If the
 * user named single files, only the folders that the user named count.
 *
 * destination	absolute, without symlinks; NULL: nothing is moved
 *
 * Returns 0 or -EINVAL, logged. */
static int move_destination_check(const char *destination, const struct sources *sources)
{
	CLEANUP_TABLE struct mount_table table = {0};
	CLEANUP_TEXT_LIST struct text_list folders = {0};
	int r = destination ? mount_table_read(&table) : 0;

	if (r == 0 && destination)
		r = list_folders(sources, &folders);
	for (size_t i = 0; r == 0 && i < folders.count; i++) {
		r = mount_table_overlap(&table, destination, folders.items[i]);
		if (r > 0)
			log_error("cannot move copies to %s: it overlaps with the source %s; "
				  "choose a folder outside of all sources",
				  quote_path(destination), quote_path(folders.items[i]));
	}
	if (r == 0 && destination && own_is_in_state(destination)) {
		log_error("cannot move copies to %s: it belongs to twinfs, so their files would be "
			  "left out of each view; choose another folder",
			  quote_path(destination));
		return -EINVAL;
	}
	if (r < 0)
		log_error("cannot find the mount of %s: %s", quote_path(destination),
			  error_text(r));
	return r == 0 ? 0 : -EINVAL;
}

/* ---- the command ---------------------------------------------------------------------------- */

const struct option_spec acting_options[] = {
	{.heading = "Acting"},
	{
		.name = "dry-run",
		.letter = 'n',
		.help = "change nothing; print for each group the kept copy, and the copies to act "
			"upon",
		.at = offsetof(struct acting, dry_run),
	},
	{
		.name = "format",
		.letter = 'F',
		.argument = LIST_FORMATS,
		.help = "format of --dry-run, see 'twinfs list'",
		.at = offsetof(struct acting, format),
		.given = offsetof(struct acting, format_given),
	},
	{
		.name = "plan",
		.argument = "FILE",
		.help = "act upon exactly the copies that this file names: the output of --dry-run "
			"--format=jsonl, possibly edited",
		.at = offsetof(struct acting, plan_file),
		.set = option_set_text,
	},
	{
		.name = "yes",
		.letter = 'y',
		.help = "do not ask for confirmation; required if standard input is no terminal",
		.at = offsetof(struct acting, yes),
	},
	{
		.name = "without-leases",
		.help = "also act upon files for which a lease cannot report a writer: files of "
			"other users, and files on file systems without leases",
		.at = offsetof(struct acting, act.without_leases),
	},
	{
		.name = "log",
		.argument = "FILE",
		.help = "append a record of each file to FILE, as 'twinfs log --format=jsonl ACT' "
			"prints it",
		.at = offsetof(struct acting, log),
		.set = option_set_text,
	},
	{0},
};

const struct option_spec folders_option[] = {
	{
		.name = "folders",
		.help = "act upon whole folders that are equal to another one, see 'twinfs list "
			"--folders'; the whole of a folder goes, or nothing of it",
		.at = offsetof(struct acting, folders),
	},
	{0},
};

void acting_init(struct acting *acting, enum act_kind kind, const char *verb, const char *done)
{
	acting->act.kind = kind;
	acting->verb = verb;
	acting->done = done;
	selection_init(&acting->selection);
}

void acting_free(void *acting)
{
	selection_free(&((struct acting *)acting)->selection);
}

/* ---- planning ------------------------------------------------------------------------------- */

/* Logs which files are skipped for their size. The index of a view can have smaller files than an
 * act includes by default.
 */
static void explain_left_out(const struct acting *acting, const struct current_index *index)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	const struct common_settings *common = &acting->selection.common;
	uint64_t min_size = 0;

	if (common->index.min_size_given || catalog_read_begin(index->catalog, &reader) < 0 ||
	    catalog_get_min_size(reader, &min_size) < 0 || min_size >= common->index.min_size)
		return;
	log_info("the index has files of %" PRIu64 " bytes and more: files smaller than %" PRIu64
		 " bytes are skipped; give --min-size=%" PRIu64 " to %s them too",
		 min_size, common->index.min_size, min_size, acting->verb);
}

/* Logs for which sources an act can free less than planned. */
static void explain_layers(const struct acting *acting, const struct sources *sources)
{
	if (acting->act.kind == ACT_DEDUPE || acting->act.kind == ACT_TRASH)
		return;
	for (size_t i = 0; i < sources->count; i++) {
		if (filesystem_has(filesystem_type_at(sources->list[i].fd), TRAIT_LAYERED))
			log_info("%s is on an overlay file system: a copy in a lower layer stays "
				 "there, and its space is not freed",
				 quote_path(sources->list[i].path));
	}
}

/* Logs how many moved copies are split from their hard links. */
static void explain_split(const struct acting *acting, const struct sources *sources,
			  const struct act_plan *plan)
{
	AUTO_CLOSE int to = -1;
	bool across = false;

	if (acting->act.kind != ACT_MOVE || plan->split == 0)
		return;
	to = open(acting->act.destination, O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < sources->count; i++)
		across |= to >= 0 && !can_rename_between(to, sources->list[i].fd);
	if (across)
		log_info("%s hard links that are not moved: on another file system, the moved name "
			 "becomes a separate file",
			 counted(plan->split, "copy has", "copies have").text);
}

/* Logs that a group is selected as a whole. A user could expect that only the names that match are
 * acted upon. */
static void explain_selected(const struct acting *acting)
{
	const struct rules *rules = &acting->selection.rules.rules;

	if (filter_settings_by_name(&acting->selection.filters) && !rules->only && !rules->protect)
		log_info("filters select whole groups: copies elsewhere are %s, too; restrict this "
			 "with --only=FOLDER or --protect=FOLDER",
			 acting->done);
}

/* ---- the command ---------------------------------------------------------------------------- */

static int act_on_group(struct act *act, const struct planned_group *group)
{
	const struct act_file kept = planned_file(group, 0);
	int r = 0;

	for (size_t i = 1; r == 0 && i < group->copies.count && !stop_requested(); i++) {
		const struct act_file copy = planned_file(group, i);

		if (group->copies.list[i].fate == FATE_REDUNDANT)
			r = group->copies.folders ? act_add_folder(act, &kept, &copy)
						  : act_add(act, &kept, &copy);
	}
	return r;
}

static int act_on_all(void *context, struct act *act)
{
	struct act_plan *plan = context;
	CLEANUP_PLANNED_GROUP struct planned_group group = {0};
	int r = 0;

	while (r == 0 && !stop_requested() && (r = act_plan_next(plan, &group)) == 0)
		r = act_on_group(act, &group);
	return r == -ENOENT ? 0 : r;
}

enum twinfs_exit acting_explain_refusal(int answer)
{
	if (answer == 0)
		log_info("nothing was done");
	log_mark_reported(); /* the refusal of the user needs no further message */
	return TWINFS_EXIT_FAILED;
}

/* Asks, and acts upon a plan. */
static enum twinfs_exit carry_out(struct acting *acting, struct current_index *index,
				  struct prepared *prepared)
{
	struct act_work work = {.add_all = act_on_all, .context = &prepared->plan};
	enum twinfs_exit done;
	int r;

	if (prepared->plan.names == 0) {
		if (!acting->selection.common.quiet)
			log_info("nothing to %s", acting->verb);
		return TWINFS_EXIT_COMPLETE;
	}
	r = prepared_confirm(prepared, acting, index);
	if (r <= 0)
		return acting_explain_refusal(r);
	work.names = prepared->plan.names;
	done = act_run(acting, index, &work);
	return act_run_update_emptied(index) < 0 ? TWINFS_EXIT_FAILED : done;
}

/* Returns whether the act can change the copies on a file system. */
static enum filesystem_support support_of(const struct acting *acting,
					  const struct filesystem_facts *facts)
{
	switch (acting->act.kind) {
	case ACT_LINK:
		return filesystem_links(facts);
	case ACT_MOVE:
	case ACT_TRASH:
		return filesystem_moves(facts);
	case ACT_REMOVE:
	case ACT_SYMLINK:
	case ACT_DEDUPE:
		break;
	}
	return SUPPORT_YES;
}

/* Names the sources whose file systems do not have, or possibly not, what the act needs. Only a
 * change of files could show it, so the trial does not find out. */
static void explain_file_systems(const struct acting *acting, const struct sources *sources)
{
	for (size_t i = 0; i < sources->count; i++) {
		const struct source *source = &sources->list[i];
		const struct filesystem_facts *facts =
			filesystem_facts_of(filesystem_type_at(source->fd), NULL);
		enum filesystem_support support = support_of(acting, facts);

		if (support == SUPPORT_NO)
			log_warning("cannot %s copies in %s: this needs hard links, which its file "
				    "system (%s) does not have; they will be skipped",
				    acting->verb, quote_path(source->path), facts->name);
		else if (support == SUPPORT_UNKNOWN)
			log_warning("copies in %s will be skipped if its file system (%s) has no "
				    "hard links, which this needs there; whether it has any is not "
				    "known",
				    quote_path(source->path), facts->name);
	}
}

static enum twinfs_exit act_upon(struct acting *acting, const struct list_request *request,
				 struct current_index *index)
{
	CLEANUP_PREPARED struct prepared prepared = {.refused = 0};
	CLEANUP_STAY_TALLY struct stay_tally stays = {0};
	struct list_request counted = *request;
	enum twinfs_exit status, done;
	int r;

	counted.report.stays = &stays;
	r = prepared_make(&prepared, acting, &counted, index);
	if (r != 0)
		return r < 0 ? TWINFS_EXIT_FAILED : TWINFS_EXIT_USAGE;
	stay_tally_explain(&stays);
	status = current_index_status(index, prepared.summary.errors, prepared.summary.pending);
	/* the trial also explains how folders differ from the kept ones */
	if ((acting->dry_run || !acting->yes || acting->folders) &&
	    prepared_try(&prepared, acting) < 0)
		return TWINFS_EXIT_FAILED;
	if (prepared.plan.names > 0)
		explain_selected(acting);
	if (prepared.plan.names > 0 && (acting->dry_run || !acting->yes))
		explain_file_systems(acting, index->sources);
	explain_split(acting, index->sources, &prepared.plan);
	done = acting->dry_run ? prepared_print(&prepared, acting, index)
			       : carry_out(acting, index, &prepared);
	if (done == TWINFS_EXIT_COMPLETE && prepared.refused > 0)
		return TWINFS_EXIT_INCOMPLETE;
	return done == TWINFS_EXIT_COMPLETE ? status : done;
}

/* Returns whether options select copies. */
static bool selects_copies(const struct acting *acting)
{
	const struct rules *rules = &acting->selection.rules.rules;

	return rules->keep || rules->protect || rules->only || rules->between_sources ||
	       (rules->include_bundles && !acting->attested) ||
	       filter_settings_given(&acting->selection);
}

/* Returns what is wrong with options beside --folders, or NULL. */
static const char *find_folders_fault(const struct acting *acting)
{
	if (!acting->folders)
		return NULL;
	if (acting->plan_file)
		return "--plan names files, not folders: omit --folders, or --plan";
	return acting->selection.common.index.names_from
		       ? "--folders is for whole folders: omit --files0-from"
		       : NULL;
}

const char *acting_question_fault(const struct acting *acting)
{
	return acting->dry_run || acting->yes || isatty(STDIN_FILENO)
		       ? NULL
		       : "cannot ask for confirmation: standard input is no terminal; check with "
			 "--dry-run, then give --yes";
}

const char *acting_fault(const void *settings, char *const *operands, size_t operand_count)
{
	const struct acting *acting = settings;
	const char *fault = filter_settings_fault(&acting->selection);

	if (!fault)
		fault = find_folders_fault(acting);
	if (!fault && (operand_count > 0 || !acting->plan_file))
		fault = find_operand_fault(&acting->selection.common.index, operand_count);
	if (fault)
		return fault;
	if (acting->plan_file && selects_copies(acting))
		return "--plan names the copies itself: give no options of filters and rules";
	fault = rule_settings_fault(&acting->selection.rules, operands, operand_count);
	if (fault)
		return fault;
	if (acting->act.relative && acting->act.kind != ACT_SYMLINK)
		return "--relative needs --symbolic";
	if (acting->format_given && !acting->dry_run)
		return "--format needs --dry-run";
	return acting_question_fault(acting);
}

enum twinfs_exit acting_run(void *settings, char **operands, size_t count)
{
	struct acting *acting = settings;
	CLEANUP_TEXT_LIST struct text_list found = {0};
	CLEANUP_CURRENT_INDEX struct current_index index = {0};
	struct list_request request = {.selection = &acting->selection};

	acting->selection.rules.rules.links =
		acting->act.kind == ACT_LINK || acting->act.kind == ACT_SYMLINK;
	acting->selection.rules.rules.shares_blocks = acting->act.kind == ACT_DEDUPE;
	request.report.part = REPORT_REDUNDANT;
	request.report.folders = acting->folders;
	if (acting->folders)
		acting->selection.common.index.takes_files = false;
	request.report.breaks_symlinks =
		!acting->selection.rules.rules.links && acting->act.kind != ACT_DEDUPE;
	/* if no name goes, no symlink breaks */
	acting->selection.rules.rules.break_symlinks |= !request.report.breaks_symlinks;
	interrupt_watch();
	interrupt_guard(false);
	if (count == 0 && !acting->selection.common.index.names_from) {
		if (plan_sources_find(acting->plan_file, &acting->selection.common.index, &found) <
		    0)
			return TWINFS_EXIT_FAILED;
		operands = found.items;
		count = found.count;
	}
	if (current_index_open(&index, &acting->selection.common.index, operands, count,
			       INDEX_ACT) < 0)
		return TWINFS_EXIT_FAILED;
	if (move_destination_check(acting->act.destination, index.sources) < 0)
		return TWINFS_EXIT_FAILED;
	if (!acting->plan_file && !acting->folders)
		explain_left_out(acting, &index);
	explain_layers(acting, index.sources);
	acting->act.sources = index.sources;
	return act_upon(acting, &request, &index);
}

/* ---- link ------------------------------------------------------------------------------------ */

static int set_symlink(void *member, const char *value)
{
	(void)value;
	*(enum act_kind *)member = ACT_SYMLINK;
	return 0;
}

static const struct option_spec link_options[] = {
	{
		.name = "symbolic",
		.letter = 's',
		.help = "make symbolic links with absolute paths instead of hard links",
		.at = offsetof(struct acting, act.kind),
		.set = set_symlink,
	},
	{
		.name = "relative",
		.letter = 'r',
		.help = "with --symbolic: use paths relative to the link",
		.at = offsetof(struct acting, act.relative),
	},
	{
		.name = "force-metadata",
		.help = "also link copies that differ from the kept copy in owner, mode or "
			"extended attributes, which are lost; with --symbolic, also where fewer "
			"users can reach the kept copy",
		.at = offsetof(struct acting, act.force_metadata),
	},
	{0},
};

static void init_link(void *settings)
{
	acting_init(settings, ACT_LINK, "link", "linked");
}

const struct command link_command = {
	.options = {.command = "twinfs link",
		    .usage = {"SOURCE|FILE...", "MOUNTPOINT"},
		    .summary = "Replaces each redundant copy by a hard link to the kept copy. Its "
			       "path leads to the content at every moment, and both files are "
			       "compared again, byte by byte, before the copy is removed. Linked "
			       "files share the owner, mode and times of the kept copy; a write to "
			       "one changes all.",
		    .options = {acting_options, link_options, filter_options, keep_option,
				rule_options, scan_options, walk_options, files_option,
				index_option, message_options}},
	.settings_bytes = sizeof(struct acting),
	.init = init_link,
	.deinit = acting_free,
	.find_fault = acting_fault,
	.run = acting_run,
};

/* ---- move ------------------------------------------------------------------------------------ */

/* Makes the path of the folder absolute and resolves its symlinks. Returns 0 or -ENOENT, logged. */
static int find_folder(const char *given, char **folder)
{
	struct stat status;

	*folder = realpath(given, NULL);
	if (*folder && stat(*folder, &status) == 0 && S_ISDIR(status.st_mode))
		return 0;
	log_error("cannot move copies to %s: %s; create the folder first", quote_path(given),
		  error_text(*folder ? ENOTDIR : errno));
	return -ENOENT;
}

/* Returns what is wrong with the number of operands, or NULL. A plan names its sources itself. */
static const char *find_move_fault(const void *settings, char *const *operands, size_t count)
{
	const struct acting *acting = settings;
	bool named = acting->plan_file || acting->selection.common.index.names_from;

	(void)operands;
	return count == 1 && !named ? "no SOURCE or no FOLDER given; the FOLDER is the last operand"
				    : NULL;
}

static enum twinfs_exit run_move(void *settings, char **operands, size_t count)
{
	struct acting *acting = settings;
	AUTO_FREE char *folder = NULL;

	if (find_folder(operands[--count], &folder) < 0)
		return TWINFS_EXIT_FAILED;
	if (usage_check(&move_command.options, acting_fault(acting, operands, count)) < 0)
		return TWINFS_EXIT_USAGE;
	acting->act.destination = folder;
	return acting_run(acting, operands, count);
}

static void init_move(void *settings)
{
	acting_init(settings, ACT_MOVE, "move", "moved");
}

const struct command move_command = {
	.options = {.command = "twinfs move",
		    .usage = {"SOURCE|FILE... FOLDER", "MOUNTPOINT FOLDER"},
		    .summary = "Moves redundant copies into FOLDER, with the paths that they have "
			       "in redundant/ of a view. Each copy is compared with the kept copy "
			       "again first. FOLDER must be outside of all sources. Existing files "
			       "in it are never replaced.",
		    .options = {acting_options, folders_option, filter_options, keep_option,
				rule_options, scan_options, walk_options, files_option,
				index_option, message_options}},
	.settings_bytes = sizeof(struct acting),
	.init = init_move,
	.deinit = acting_free,
	.lacks_operand = "no FOLDER given",
	.find_fault = find_move_fault,
	.run = run_move,
};
