/* SPDX-License-Identifier: MIT */
#include "cli/acting.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "act/act_log.h"
#include "base/attributes.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/filesystem_kind.h"
#include "base/filesystem_table.h"
#include "base/human_text.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/quote.h"
#include "base/size.h"
#include "base/stop.h"
#include "base/text_list.h"
#include "catalog/query.h"
#include "cli/act_run.h"
#include "cli/list_print.h"
#include "cli/plan_sources.h"
#include "cli/prepared.h"
#include "index/current_index.h"
#include "index/remap.h"
#include "mountpoint/table.h"
#include "options/common_options.h"
#include "plan/plan.h"
#include "plan/refusals.h"
#include "report/figures.h"
#include "report/left.h"
#include "report/place_tally.h"
#include "source/operands.h"
#include "source/own.h"
#include "source/source.h"
#include "source/source_change.h"

/* ---- move destination ----------------------------------------------------------------------- */

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

/* ---- acting --------------------------------------------------------------------------------- */

enum {
	OPT_DRY_RUN = OPTION_ID_ACTING,
	OPT_FORMAT,
	OPT_YES,
	OPT_WITHOUT_LEASES,
	OPT_LOG,
	OPT_PLAN,
	OPT_FOLDERS,
};

const struct option_spec acting_options[] = {
	{.heading = "Acting"},
	{
		.name = "dry-run",
		.letter = 'n',
		.help = "change nothing; print for each group the kept copy, and the copies to act "
			"upon",
		.id = OPT_DRY_RUN,
	},
	{
		.name = "format",
		.letter = 'F',
		.argument = LIST_FORMATS,
		.help = "format of --dry-run, see 'twinfs list'",
		.id = OPT_FORMAT,
	},
	{
		.name = "plan",
		.argument = "FILE",
		.help = "act upon exactly the copies that this file names: the output of --dry-run "
			"--format=jsonl, possibly edited",
		.id = OPT_PLAN,
	},
	{
		.name = "yes",
		.letter = 'y',
		.help = "do not ask for confirmation; required if standard input is no terminal",
		.id = OPT_YES,
	},
	{
		.name = "without-leases",
		.help = "also act upon files for which a lease cannot report a writer: files of "
			"other users, and files on file systems without leases",
		.id = OPT_WITHOUT_LEASES,
	},
	{
		.name = "log",
		.argument = "FILE",
		.help = "append a record of each file to FILE, as 'twinfs log --format=jsonl ACT' "
			"prints it",
		.id = OPT_LOG,
	},
	{0},
};

const struct option_spec folders_option[] = {
	{
		.name = "folders",
		.help = "act upon whole folders that are equal to another one, see 'twinfs list "
			"--folders'; the whole of a folder goes, or nothing of it",
		.id = OPT_FOLDERS,
	},
	{0},
};

void acting_init(struct acting *acting, enum act_kind kind, const char *verb, const char *done)
{
	*acting = (struct acting){.act.kind = kind, .verb = verb, .done = done};
	common_settings_init(&acting->common);
	acting->common.index.takes_files = true;
	rule_settings_init(&acting->rules);
	filter_settings_init(&acting->filters);
}

void acting_deinit(struct acting *acting)
{
	filter_settings_deinit(&acting->filters);
	rule_settings_deinit(&acting->rules);
	common_settings_deinit(&acting->common);
}

int acting_apply(void *context, int id, const char *value)
{
	struct acting *acting = context;

	switch (id) {
	case OPT_DRY_RUN:
		acting->dry_run = true;
		return 0;
	case OPT_FORMAT:
		acting->format_given = true;
		return list_parse_format(value, &acting->format);
	case OPT_YES:
		acting->yes = true;
		return 0;
	case OPT_PLAN:
		acting->plan_file = value;
		return 0;
	case OPT_WITHOUT_LEASES:
		acting->act.without_leases = true;
		return 0;
	case OPT_LOG:
		acting->log = value;
		return 0;
	case OPT_FOLDERS:
		acting->folders = true;
		return 0;
	default:
		if (id >= OPTION_ID_RULES && id < OPTION_ID_OWN)
			return rule_apply(&acting->rules, id, value);
		if (id >= OPTION_ID_FILTERS && id < OPTION_ID_RULES)
			return filter_apply(&acting->filters, id, value);
		return common_apply(&acting->common, id, value);
	}
}

/* ---- planning ---------------------------------------------------------------------------- */

/* Logs which files are skipped for their size. The index of a view can have smaller files than an
 * act includes by default.
 */
static void explain_left_out(const struct acting *acting, const struct current_index *index)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	const struct common_settings *common = &acting->common;
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
		if (filesystem_has_layers_at(sources->list[i].fd))
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
	char count[NUMBER_TEXT_MAX];
	bool across = false;

	if (acting->act.kind != ACT_MOVE || plan->split == 0)
		return;
	to = open(acting->act.destination, O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < sources->count; i++)
		across |= to >= 0 && !can_rename_between(to, sources->list[i].fd);
	if (across)
		log_info("%s %s hard links that are not moved: on another file system, the moved "
			 "name becomes a separate file",
			 number_format(count, plan->split),
			 plural(plan->split, "copy has", "copies have"));
}

/* Logs that a group is selected as a whole. A user could expect that only the names that match are
 * acted upon. */
static void explain_selected(const struct acting *acting)
{
	const struct rules *rules = &acting->rules.rules;

	if (filter_settings_by_name(&acting->filters) && !rules->only && !rules->protect)
		log_info("filters select whole groups: copies elsewhere are %s, too; restrict this "
			 "with --only=FOLDER or --protect=FOLDER",
			 acting->done);
}

/* ---- acting -------------------------------------------------------------------------------- */

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

/* Asks, and acts upon a plan. */
static enum twinfs_exit carry_out(struct acting *acting, struct current_index *index,
				  struct prepared *prepared)
{
	struct act_work work = {.add_all = act_on_all, .context = &prepared->plan};
	enum twinfs_exit done;
	int r;

	if (prepared->plan.names == 0) {
		if (!acting->common.quiet)
			log_info("nothing to %s", acting->verb);
		return TWINFS_EXIT_COMPLETE;
	}
	r = prepared_confirm(prepared, acting, index);
	if (r <= 0) {
		if (r == 0)
			log_info("nothing was done");
		log_mark_reported(); /* the refusal of the user needs no further message */
		return TWINFS_EXIT_FAILED;
	}
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
	CLEANUP_BUNDLE_TALLY struct bundle_tally bundles = {0};
	CLEANUP_LEFT_TALLY struct left_tally left = {0};
	CLEANUP_PLACE_TALLY struct place_tally places = {0};
	struct list_request counted = *request;
	enum twinfs_exit status, done;
	int r;

	counted.report.bundles = &bundles;
	counted.report.left = &left;
	counted.report.places = &places;
	r = prepared_make(&prepared, acting, &counted, index);
	if (r != 0)
		return r < 0 ? TWINFS_EXIT_FAILED : TWINFS_EXIT_USAGE;
	list_explain_bundles(&bundles);
	list_explain_left(&left);
	place_tally_explain(&places);
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
	const struct rules *rules = &acting->rules.rules;

	return rules->keep || rules->protect || rules->only || rules->between_sources ||
	       (rules->include_bundles && !acting->attested) ||
	       filter_settings_given(&acting->filters, &acting->common.index);
}

/* Returns what is wrong with options beside --folders, or NULL. */
static const char *find_folders_fault(const struct acting *acting)
{
	if (!acting->folders)
		return NULL;
	if (acting->plan_file)
		return "--plan names files, not folders: omit --folders, or --plan";
	return acting->common.index.names_from
		       ? "--folders is for whole folders: omit --files0-from"
		       : NULL;
}

const char *acting_fault(const struct acting *acting, char *const *operands, size_t operand_count)
{
	const char *fault = filter_settings_fault(&acting->filters, &acting->common.index);

	if (!fault)
		fault = find_folders_fault(acting);
	if (!fault && (operand_count > 0 || !acting->plan_file))
		fault = find_operand_fault(&acting->common.index, operand_count);
	if (fault)
		return fault;
	if (acting->plan_file && selects_copies(acting))
		return "--plan names the copies itself: give no options of filters and rules";
	fault = rule_settings_fault(&acting->rules, operands, operand_count);
	if (fault)
		return fault;
	if (acting->act.relative && acting->act.kind != ACT_SYMLINK)
		return "--relative needs --symbolic";
	if (acting->format_given && !acting->dry_run)
		return "--format needs --dry-run";
	if (!acting->dry_run && !acting->yes && !isatty(STDIN_FILENO))
		return "cannot ask for confirmation: standard input is no terminal; check with "
		       "--dry-run, then give --yes";
	return NULL;
}

enum twinfs_exit acting_run(struct acting *acting, const struct option_table *table,
			    char *const *operands, size_t count)
{
	CLEANUP_TEXT_LIST struct text_list found = {0};
	CLEANUP_CURRENT_INDEX struct current_index index = {0};
	struct list_request request = {.rules = &acting->rules, .filters = &acting->filters};

	acting->rules.rules.links = acting->act.kind == ACT_LINK || acting->act.kind == ACT_SYMLINK;
	acting->rules.rules.shares_blocks = acting->act.kind == ACT_DEDUPE;
	request.report.part = REPORT_REDUNDANT;
	request.report.folders = acting->folders;
	if (acting->folders)
		acting->common.index.takes_files = false;
	request.report.breaks_symlinks =
		!acting->rules.rules.links && acting->act.kind != ACT_DEDUPE;
	/* if no name goes, no symlink breaks */
	acting->rules.rules.break_symlinks |= !request.report.breaks_symlinks;
	if (usage_check(table, acting_fault(acting, operands, count)) < 0)
		return TWINFS_EXIT_USAGE;
	interrupt_watch();
	interrupt_guard(false);
	if (count == 0 && !acting->common.index.names_from) {
		if (plan_sources_find(acting->plan_file, &acting->common.index, &found) < 0)
			return TWINFS_EXIT_FAILED;
		operands = found.items;
		count = found.count;
	}
	if (current_index_open(&index, &acting->common.index, operands, count, INDEX_ACT) < 0)
		return TWINFS_EXIT_FAILED;
	if (move_destination_check(acting->act.destination, index.sources) < 0)
		return TWINFS_EXIT_FAILED;
	if (!acting->plan_file && !acting->folders)
		explain_left_out(acting, &index);
	explain_layers(acting, index.sources);
	acting->act.sources = index.sources;
	return act_upon(acting, &request, &index);
}

enum twinfs_exit acting_main(struct acting *acting, const struct option_table *table, int argc,
			     char *argv[])
{
	int operands;
	int r;

	r = options_parse(table, argc, argv, acting, &operands);
	if (r != 0)
		return options_exit(r);
	return acting_run(acting, table, argv + operands, (size_t)(argc - operands));
}
