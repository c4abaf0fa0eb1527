/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/stop.h"
#include "choose/figures.h"
#include "choose/question.h"
#include "cli/acting.h"
#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/counted.h"
#include "cli/current_index.h"
#include "index/hashes.h"
#include "index/query.h"
#include "partial/partial.h"

/* Default of --partial: blocks of 128 KiB. */
#define PARTIAL_BLOCK_BITS 17U

/* Default of --min-size with --partial, in bytes. */
#define PARTIAL_MIN_SIZE (UINT64_C(1) << 20)

/* Default of --min-run, in bytes. Measured with a file that consists of such runs in random order,
 * read from a solid-state disk (btrfs and xfs): with runs of 128 KiB at 0.23 to 0.28 of its former
 * speed, 64 KiB at 0.21 to 0.25, 16 KiB at 0.12 to 0.14, 4 KiB at 0.06, and 1 MiB at 0.5 or
 * more. */
#define PARTIAL_MIN_RUN (UINT64_C(1) << 17)

#define BLOCK_EXPECTED "a power of two from 4k to 16M, like 128k"

struct deduping {
	struct acting acting;
	bool is_partial;
	struct partial_settings partial;
	bool min_run_given;
};

/* Parses the argument of --partial, which can be omitted. */
static int set_block(void *member, const char *text)
{
	unsigned int *bits = member;
	uint64_t bytes = UINT64_C(1) << PARTIAL_BLOCK_BITS;
	int r = text ? size_parse(text, &bytes) : 0;

	if (r < 0)
		return r;
	if (bytes == 0 || (bytes & (bytes - 1)) != 0)
		return -EINVAL;
	*bits = (unsigned int)__builtin_ctzll(bytes);
	return *bits < BLOCKS_BITS_MIN || *bits > BLOCKS_BITS_MAX ? -EINVAL : 0;
}

static const struct option_spec partial_options[] = {
	{.heading = "Parts of files"},
	{
		.name = "partial",
		.argument = "BLOCK",
		.can_omit = true,
		.help = "share equal parts of files that differ: aligned blocks of BLOCK bytes, a "
			"power of two from 4k to 16M (default: 128k); of files of at least 1 MiB, "
			"unless --min-size is given",
		.at = offsetof(struct deduping, partial.block_bits),
		.given = offsetof(struct deduping, is_partial),
		.set = set_block,
		.expects = BLOCK_EXPECTED,
	},
	{
		.name = "min-run",
		.argument = "SIZE",
		.help = "with --partial: leave out runs of equal blocks that are shorter than "
			"SIZE, as each run can split the files into more extents (default: 128k)",
		.at = offsetof(struct deduping, partial.min_run),
		.given = offsetof(struct deduping, min_run_given),
		.set = option_set_size,
		.expects = SIZE_EXPECTED,
	},
	{0},
};

/* ---- parts of files ------------------------------------------------------------------ */

/* Returns whether options select groups or copies, which parts do not have. */
static bool selects_groups(const struct deduping *deduping)
{
	const struct filter *filter = &deduping->acting.selection.filters.filter;
	const struct rules *rules = &deduping->acting.selection.rules.rules;

	return rules->keep || rules->protect || rules->only || rules->between_sources ||
	       rules->include_bundles || rules->break_symlinks ||
	       filter_settings_by_name(&deduping->acting.selection.filters) || filter->has_newer ||
	       filter->has_older || deduping->acting.selection.filters.copies_given ||
	       filter->same_name || filter->top != UINT64_MAX;
}

/* Returns what is wrong with the command line, or NULL. */
static const char *find_partial_fault(const struct deduping *deduping, size_t operand_count)
{
	const struct acting *acting = &deduping->acting;
	const char *fault = find_operand_fault(&acting->selection.common.index, operand_count);

	if (!fault)
		fault = filter_settings_fault(&acting->selection);
	if (fault)
		return fault;
	if (acting->plan_file || acting->log || acting->act.without_leases)
		return "--partial shares parts of files: omit --plan, --log and --without-leases";
	if (selects_groups(deduping))
		return "--partial has no groups and no kept copies: of the options that select, "
		       "give only --min-size, --max-size and --exclude";
	if (acting->format_given && !acting->dry_run)
		return "--format needs --dry-run";
	if (!partial_can_print(acting->format))
		return "--partial needs one of --format=text, json, jsonl, csv and null";
	return acting_question_fault(acting);
}

/* Sets the filter, in a snapshot of its own. Returns 0 or -errno, logged. */
static int prepare_filter(struct deduping *deduping, const struct current_index *index)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	struct filter_settings *filters = &deduping->acting.selection.filters;
	int r = catalog_read_begin(index->catalog, &reader);

	if (r == 0)
		r = current_index_check_options(index, reader);
	if (r == 0)
		r = filter_settings_prepare(filters, index, reader, false);
	if (!deduping->acting.selection.common.index.min_size_given)
		filters->filter.min_size = PARTIAL_MIN_SIZE;
	if (r < 0 && r != -EXDEV)
		log_error("cannot read the index %s: %s", catalog_folder(index->catalog),
			  error_text(r));
	return r;
}

/* Asks whether to share. Returns 1, 0 or -errno. */
static int confirm(const struct partial *partial)
{
	CLEANUP_BYTES struct bytes text = {0};
	char answer[ANSWER_SIZE] = "";
	int r = bytes_format(&text,
			     "%s of equal blocks, %s. The kernel compares them again first. "
			     "--dry-run only prints them. Share them? y: yes, n: no [y/N]",
			     counted(partial->planned.count, "run", "runs").text,
			     size_text(partial->planned.bytes).text);

	if (r < 0 || !bytes_text(&text))
		return -ENOMEM;
	dialog_prompt(bytes_text(&text));
	if (dialog_read(answer) < 0)
		answer[0] = '\0';
	if (stop_requested())
		return -EINTR;
	return answer[0] == 'y' || answer[0] == 'Y';
}

static void print_count(struct output *output, const char *label, const struct partial_count *count,
			const char *noun, const char *nouns)
{
	if (count->count > 0)
		figure_print(output, label, "%s, %s", counted(count->count, noun, nouns).text,
			     figure_text(count->bytes).text);
}

static void print_result(const struct partial *partial, const struct sharing_result *result)
{
	CLEANUP_OUTPUT struct output output;

	output_init(&output, STDOUT_FILENO);
	figure_print(&output, "shared", "%s, %s", counted(result->shared.count, "run", "runs").text,
		     figure_text(result->shared.bytes).text);
	print_count(&output, "unchanged", &partial->already, "run was shared already",
		    "runs were shared already");
	print_count(&output, "differing", &result->differing, "run", "runs");
	print_count(&output, "skipped", &result->refused, "run", "runs");
	print_count(&output, "read", &partial->read, "file", "files");
	print_count(&output, "known", &partial->known, "unchanged file", "unchanged files");
	print_result_end(&output);
}

/* Notes in the index what can be shared, unless only some of the files were compared. */
static void note_parts(const struct deduping *deduping, const struct partial *partial,
		       const struct current_index *index)
{
	const struct filter *filter = &deduping->acting.selection.filters.filter;
	const struct equal_parts left = {
		.runs = partial->planned.count,
		.bytes = partial->planned.bytes,
		.block_bytes = UINT64_C(1) << deduping->partial.block_bits,
		.time = clock_now(),
	};

	if (filter->min_size <= PARTIAL_MIN_SIZE && filter->max_size == UINT64_MAX &&
	    !filter_excludes(filter) && deduping->partial.min_run <= PARTIAL_MIN_RUN)
		catalog_note_equal_parts(index->catalog, &left);
}

static enum twinfs_exit print_plan(const struct deduping *deduping, const struct partial *partial,
				   const struct current_index *index)
{
	AUTO_FREE const char **shown = shown_paths_find(index);
	CLEANUP_OUTPUT struct output output;
	int r;

	output_init(&output, STDOUT_FILENO);
	r = shown ? partial_print(partial, deduping->acting.format, shown, &output) : -ENOMEM;
	if (r < 0 && r != -EPIPE && r != -EINTR)
		log_error("cannot print the runs to share: %s", error_text(r));
	note_parts(deduping, partial, index);
	if (r == 0 && !deduping->acting.selection.common.quiet)
		log_info("nothing was done; without --dry-run, %s of %s would be compared and "
			 "shared",
			 counted(partial->planned.count, "run", "runs").text,
			 size_text(partial->planned.bytes).text);
	return r < 0 ? TWINFS_EXIT_FAILED : TWINFS_EXIT_COMPLETE;
}

static enum twinfs_exit share(const struct deduping *deduping, struct partial *partial,
			      struct current_index *index)
{
	struct sharing_result result = {.is_full = false};
	int r = 1;

	if (partial->planned.count > 0 && !deduping->acting.yes)
		r = confirm(partial);
	if (r <= 0)
		return acting_explain_refusal(r);
	if (index_remap_begin(index) < 0)
		return TWINFS_EXIT_FAILED;
	r = sharing_run(partial, &result);
	note_parts(deduping, partial, index);
	if (result.is_full)
		log_error("stopped: the disk is full; free some space there, then run the command "
			  "again");
	else if (r == -EINTR)
		log_error("stopped: interrupted; run the command again to continue");
	else if (r < 0)
		log_error("stopped: cannot share the blocks: %s", error_text(r));
	if (!deduping->acting.selection.common.quiet)
		print_result(partial, &result);
	if (result.shared.count > 0 && index_remap(index) < 0)
		return TWINFS_EXIT_FAILED;
	if (r < 0 || result.is_full)
		return TWINFS_EXIT_FAILED;
	return result.refused.count > 0 ? TWINFS_EXIT_INCOMPLETE : TWINFS_EXIT_COMPLETE;
}

/* Logs where the hashes of the blocks stay. */
static void explain_view(const struct current_index *index)
{
	if (index->served)
		log_info("a view maintains the index, so the hashes of the blocks of changed files "
			 "are not kept; unmount it first if they should be");
}

static enum twinfs_exit dedupe_parts(struct deduping *deduping, struct current_index *index)
{
	struct partial_settings *settings = &deduping->partial;
	CLEANUP_PARTIAL struct partial partial = {.settings = settings};
	struct catalog_totals totals = {0};
	enum twinfs_exit status, done;

	settings->filter = &deduping->acting.selection.filters.filter;
	settings->progress = common_progress(&deduping->acting.selection.common);
	settings->disk = deduping->acting.selection.common.index.disk;
	settings->sources = index->sources;
	settings->keeps_hashes = !index->served;
	explain_view(index);
	if (partial_init(&partial, settings) < 0 || partial_plan(&partial) < 0 ||
	    catalog_totals_now(index->catalog, &totals) < 0)
		return TWINFS_EXIT_FAILED;
	status = current_index_status(index, totals.errors, 0);
	done = deduping->acting.dry_run ? print_plan(deduping, &partial, index)
					: share(deduping, &partial, index);
	if (done == TWINFS_EXIT_COMPLETE && partial.failed + partial.changed > 0)
		return TWINFS_EXIT_INCOMPLETE;
	return done == TWINFS_EXIT_COMPLETE ? status : done;
}

static enum twinfs_exit run_partial(struct deduping *deduping, char *const *operands, size_t count)
{
	CLEANUP_CURRENT_INDEX struct current_index index = {0};
	struct index_settings *settings = &deduping->acting.selection.common.index;

	interrupt_watch();
	interrupt_guard(false);
	settings->names_only = true;
	if (current_index_open(&index, settings, operands, count, INDEX_ACT) < 0 ||
	    prepare_filter(deduping, &index) < 0)
		return TWINFS_EXIT_FAILED;
	return dedupe_parts(deduping, &index);
}

/* ---- the command --------------------------------------------------------------------- */

/* Returns what is wrong with the command line, or NULL. */
static const char *find_fault(const void *context, char *const *operands, size_t count)
{
	const struct deduping *deduping = context;

	if (deduping->is_partial)
		return find_partial_fault(deduping, count);
	return deduping->min_run_given ? "--min-run needs --partial"
				       : acting_fault(&deduping->acting, operands, count);
}

static enum twinfs_exit run(void *context, char **operands, size_t count)
{
	struct deduping *deduping = context;

	return deduping->is_partial ? run_partial(deduping, operands, count)
				    : acting_run(&deduping->acting, operands, count);
}

static void init(void *context)
{
	struct deduping *deduping = context;

	acting_init(&deduping->acting, ACT_DEDUPE, "dedupe", "deduped");
	deduping->partial.min_run = PARTIAL_MIN_RUN;
}

const struct command dedupe_command = {
	.options = {.command = "twinfs dedupe",
		    .usage = {"SOURCE|FILE...", "MOUNTPOINT"},
		    .summary = "Makes redundant copies share the blocks of the kept copy, on file "
			       "systems that support it (btrfs, XFS, bcachefs). Every file keeps "
			       "its own name, times and owner, and can be changed independently. "
			       "The kernel compares the bytes first. With --partial, equal parts "
			       "of different files share their blocks, too.",
		    .options = {acting_options, partial_options, filter_options, keep_option,
				rule_options, scan_options, walk_options, files_option,
				index_option, message_options}},
	.settings_bytes = sizeof(struct deduping),
	.init = init,
	.deinit = acting_free,
	.find_fault = find_fault,
	.run = run,
};
