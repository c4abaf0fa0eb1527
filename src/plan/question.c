/* SPDX-License-Identifier: MIT */
#include "plan/question.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/human_text.h"
#include "base/quote.h"
#include "base/size.h"
#include "base/stop.h"
#include "plan/balance.h"
#include "plan/choice.h"
#include "plan/dialog.h"
#include "plan/print.h"

/* Appends what the act would free. */
static int append_freed(struct bytes *text, const struct question *question,
			const struct act_plan *plan)
{
	char size[SIZE_TEXT_MAX], count[NUMBER_TEXT_MAX];
	int r;

	if (question->act->kind == ACT_TRASH)
		return bytes_append_text(text, "nothing freed until the trash is emptied");
	r = bytes_format(text, "%s freed", size_format(size, plan->freed_bytes));
	if (r < 0 || plan->freed_unknown == 0)
		return r;
	return bytes_format(text, ", and unknown bytes of %s %s on an overlay",
			    number_format(count, plan->freed_unknown),
			    plural(plan->freed_unknown, "copy", "copies"));
}

static int show_balance(const struct question *question, struct act_plan *plan)
{
	CLEANUP_BALANCE struct balance balance = {0};
	CLEANUP_OUTPUT struct output output;
	int r = balance_make(&balance, plan, question->shown);

	if (r < 0)
		return r;
	output_init(&output, STDERR_FILENO);
	balance_print(&balance, &output, dialog_width());
	return output_flush(&output);
}

/* Prints the groups on standard error. */
static int list_groups(const struct question *question, struct act_plan *plan)
{
	const struct report report = {.sources = question->sources,
				      .shown = question->shown,
				      .format = REPORT_FDUPES};
	struct report_summary summary = {0};
	CLEANUP_OUTPUT struct output output;

	output_init(&output, STDERR_FILENO);
	output.terminal = true; /* names must not control the terminal */
	return act_plan_print(plan, &report, &output, &summary);
}

/* Appends what the act would do, for people. */
static int append_facts(struct bytes *text, const struct question *question,
			const struct act_plan *plan)
{
	char names[NUMBER_TEXT_MAX], groups[NUMBER_TEXT_MAX];
	int r = bytes_format(text, "%s %s of %s %s, ", number_format(names, plan->names),
			     plan->folders ? plural(plan->names, "folder", "folders")
					   : plural(plan->names, "copy", "copies"),
			     number_format(groups, plan->groups),
			     plural(plan->groups, "group", "groups"));

	if (r == 0)
		r = append_freed(text, question, plan);
	if (r == 0)
		r = bytes_append_text(text, ". Each copy is compared again first. --dry-run only "
					    "prints the copies");
	if (r == 0 && question->act->kind == ACT_REMOVE)
		r = bytes_append_text(text, ", --trash moves them to the trash");
	return r < 0 ? r : bytes_append_text(text, ".");
}

/* Appends the question. */
static int append_question(struct bytes *text, const struct question *question,
			   const struct act_plan *plan)
{
	bool is_trash = question->act->kind == ACT_TRASH;
	const char *to = question->act->destination;
	int r = bytes_format(text, "%s %s", is_trash ? "move" : question->verb,
			     plural(plan->names, "it", "them"));

	if (r == 0 && is_trash)
		r = bytes_append_text(text, " to the trash");
	else if (r == 0 && to)
		r = bytes_format(text, " to %s", quote_path(to));
	return r < 0 ? r
		     : bytes_append_text(text,
					 "? y: yes, n: no, l: list the copies, g: decide group "
					 "by group [y/N/l/g]");
}

/* Asks until the answer is another than to list the copies. The end of the input is "". */
static int read_answer(const struct question *question, struct act_plan *plan, const char *prompt,
		       char answer[static ANSWER_SIZE])
{
	for (;;) {
		int r;

		dialog_prompt(prompt);
		if (dialog_read(answer) < 0)
			answer[0] = '\0';
		if (stop_requested())
			return -EINTR;
		if (strcmp(answer, "l") != 0)
			return 0;
		r = list_groups(question, plan);
		if (r < 0)
			return r;
	}
}

/* Replaces the plan by what the user chooses. */
static int choose(const struct question *question, struct act_plan *plan)
{
	CLEANUP_ACT_PLAN struct act_plan chosen = {0};
	int r = act_plan_open(&chosen, question->act->kind);

	chosen.folders = plan->folders;
	if (r == 0)
		r = choice_make(question, plan, &chosen);
	if (r < 0)
		return r;
	act_plan_free(plan);
	*plan = chosen;
	chosen.spool = NULL;
	return 0;
}

int question_ask(const struct question *question, struct act_plan *plan, enum answer *answer)
{
	CLEANUP_BYTES struct bytes facts = {0}, prompt = {0};
	char typed[ANSWER_SIZE];
	int r = show_balance(question, plan);

	*answer = ANSWER_NO;
	if (r == 0)
		r = append_facts(&facts, question, plan);
	if (r == 0)
		r = append_question(&prompt, question, plan);
	if (r < 0 || !bytes_text(&facts) || !bytes_text(&prompt))
		return r < 0 ? r : -ENOMEM;
	dialog_print(bytes_text(&facts));
	r = read_answer(question, plan, bytes_text(&prompt), typed);
	if (r < 0)
		return r;
	if (typed[0] == 'y' || typed[0] == 'Y')
		*answer = ANSWER_YES;
	if (strcmp(typed, "g") != 0)
		return 0;
	*answer = ANSWER_CHOSEN;
	return choose(question, plan);
}
