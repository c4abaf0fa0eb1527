/* SPDX-License-Identifier: MIT */
#include "cli/prepared.h"

#include <errno.h>
#include <unistd.h>

#include "base/error.h"
#include "base/human_text.h"
#include "base/log.h"
#include "base/size.h"
#include "catalog/query.h"
#include "cli/shown_paths.h"
#include "plan/plan_file.h"
#include "plan/print.h"
#include "plan/question.h"
#include "plan/refusals.h"
#include "plan/try.h"

void prepared_free(struct prepared *prepared)
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
	if (acting->filters.unmatched_excludes + index->indexing.unmatched_excludes == 0)
		return 0;
	log_error("cannot %s: an --exclude is possibly misspelled; correct it or leave it out, or "
		  "give globs that need not match in a file, with --exclude-from",
		  acting->verb);
	return PREPARED_MISSPELLED;
}

int prepared_make(struct prepared *prepared, const struct acting *acting,
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
		    : acting->folders ? act_plan_select_folders(&prepared->plan, &report)
				      : act_plan_select(&prepared->plan, &report);
	if (r == 0)
		r = filter_settings_explain(request->filters, index, reader);
	if (r == 0)
		r = refuse_misspelled(acting, index);
	if (r == -EUCLEAN && !index->served)
		catalog_judge(index->catalog, r);
	if (r == -EUCLEAN)
		log_error("cannot select the copies to %s: the index is damaged; run 'twinfs scan' "
			  "to rebuild it",
			  acting->verb);
	else if (r < 0 && r != -EINTR && r != -EXDEV)
		log_error("cannot select the copies to %s: %s", acting->verb, error_text(r));
	return r;
}

int prepared_try(struct prepared *prepared, const struct acting *acting)
{
	struct plan_trial trial = {.settings = &acting->act,
				   .refusals = {.verb = acting->verb,
						.sources = acting->act.sources}};
	CLEANUP_ACT_PLAN struct act_plan possible = {0};
	char count[NUMBER_TEXT_MAX];
	int r;

	r = act_plan_open(&possible, acting->act.kind);
	possible.folders = acting->folders;
	if (r == 0)
		r = act_plan_try(&prepared->plan, &possible, &trial,
				 common_progress(&acting->common));
	refusals_end(&trial.refusals);
	if (r < 0 && r != -EINTR)
		log_error("cannot check the copies to %s: %s", acting->verb, error_text(r));
	if (r < 0)
		return r;
	if (trial.needless > 0)
		log_info("%s %s the bytes of the kept copy already",
			 number_format(count, trial.needless),
			 plural(trial.needless, "copy shares", "copies share"));
	prepared->refused += trial.refusals.count;
	act_plan_free(&prepared->plan);
	prepared->plan = possible;
	possible.spool = NULL;
	return 0;
}

enum twinfs_exit prepared_print(struct prepared *prepared, const struct acting *acting,
				const struct current_index *index)
{
	AUTO_FREE const char **shown =
		shown_paths_find(index->sources, index->given, index->given_count);
	struct report report = {.sources = index->sources,
				.shown = shown,
				.format = acting->format};
	const struct act_plan *plan = &prepared->plan;
	CLEANUP_READER struct catalog_reader *reader = NULL;
	CLEANUP_OUTPUT struct output output;
	char count[NUMBER_TEXT_MAX], size[SIZE_TEXT_MAX];
	int r = shown ? catalog_read_begin(index->catalog, &reader) : -ENOMEM;

	output_init(&output, STDOUT_FILENO);
	report.reader = reader;
	if (r == 0)
		r = act_plan_print(&prepared->plan, &report, &output, &prepared->summary);
	if (r < 0 && r != -EPIPE && r != -EINTR)
		log_error("cannot print the copies to %s: %s", acting->verb, error_text(r));
	if (r == 0 && !acting->common.quiet)
		log_info("nothing was done; without --dry-run, %s %s would be %s and %s freed",
			 number_format(count, plan->names), acting_noun(acting, plan->names),
			 acting->done, size_format(size, plan->freed_bytes));
	return r < 0 ? TWINFS_EXIT_FAILED : TWINFS_EXIT_COMPLETE;
}

int prepared_confirm(struct prepared *prepared, const struct acting *acting,
		     const struct current_index *index)
{
	AUTO_FREE const char **shown =
		shown_paths_find(index->sources, index->given, index->given_count);
	const struct question question = {.act = &acting->act,
					  .verb = acting->verb,
					  .sources = index->sources,
					  .shown = shown,
					  .rules = &acting->rules.rules};
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
