/* SPDX-License-Identifier: MIT */
#include "choose/question.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/stop.h"
#include "choose/balance.h"
#include "choose/dialog.h"
#include "choose/plan.h"
#include "index/source.h"

/* ---- choice --------------------------------------------------------------------------------- */

/* Decisions of the user, group by group, like those of 'fdupes -d'. For the main thread. */

/* The dialog for one group:
 *
 *	group 3 of 120: 2 copies, 4.2 MiB each
 *	  1  stays  Photos/2019/a.jpg
 *	  2  goes   Backup/a.jpg
 *	     goes   Backup/another name of it.jpg
 *	y: as shown, 1-2: this one stays, n: all stay, a: all groups from here as shown, q: quit
 */

struct choosing {
	const struct question *question;
	struct planned_group *group; /* the current one */
	uint64_t number; /* of the group, from 1 */
	uint64_t groups;
	bool takes_all; /* all further groups go as shown */
	bool quits; /* all further groups stay */
};

/* ---- showing ------------------------------------------------------------------------------ */

static int show_name(const struct choosing *choosing, size_t index, size_t number,
		     struct output *output)
{
	const struct copies *copies = &choosing->group->copies;
	const struct copy *copy = &copies->list[index];
	const char *source = choosing->question->shown[copy->source];
	CLEANUP_BYTES struct bytes path = {0};
	int r = bytes_format(&path, "%s%s%s", source,
			     source[0] && source[strlen(source) - 1] == '/' ? "" : "/",
			     copy_path(copies, copy));

	if (r < 0)
		return r;
	if (copy->another_name)
		output_text(output, "     ");
	else
		output_format(output, "%3zu  ", number);
	output_text(output, copy->fate == FATE_KEPT ? "stays  " : "goes   ");
	output_name(output, path.data, path.length);
	output_text(output, "\n");
	return 0;
}

static int show_group(const struct choosing *choosing)
{
	const struct planned_group *group = choosing->group;
	CLEANUP_OUTPUT struct output output;
	char number[NUMBER_TEXT_MAX], groups[NUMBER_TEXT_MAX], size[SIZE_TEXT_MAX];
	size_t file = 0;
	int r = 0;

	output_init(&output, STDERR_FILENO);
	output.terminal = true; /* names must not control the terminal */
	output_format(&output, "\ngroup %s of %s: %zu copies, %s each\n",
		      number_format(number, choosing->number),
		      number_format(groups, choosing->groups), copies_count_inodes(&group->copies),
		      size_format(size, group->group.size));
	for (size_t i = 0; r == 0 && i < group->copies.count; i++) {
		file += !group->copies.list[i].another_name;
		r = show_name(choosing, i, file, &output);
	}
	if (group->copies.kept_must_stay)
		output_format(&output, "the first one always stays: %s\n",
			      group->copies.list[0].why);
	return r < 0 ? r : output_flush(&output);
}

/* ---- deciding ----------------------------------------------------------------------------- */

static void spare_all(struct planned_group *group)
{
	for (size_t i = 0; i < group->copies.count; i++)
		group->copies.list[i].fate = FATE_SPARED;
}

/* Parses numbers of files that stay, such as "2" or "1,3". Sets *kept to the first of them, and
 * marks all in stays. Returns whether the answer is such a list. */
static bool parse_numbers(const char *answer, size_t count, bool *stays, size_t *kept)
{
	bool any = false;

	while (*answer) {
		unsigned long number;
		char *end;

		if (!isdigit((unsigned char)*answer))
			return false;
		number = strtoul(answer, &end, 10);
		if (number < 1 || number > count)
			return false;
		stays[number - 1] = true;
		if (!any)
			*kept = number - 1;
		any = true;
		answer = end + strspn(end, ", ");
	}
	return any;
}

/* Returns whether the kept file has a name in the source of this copy. */
static bool shares_source(const struct planned_group *group, size_t kept, size_t index)
{
	for (size_t i = kept; i < copies_inode_end(&group->copies, kept); i++) {
		if (group->copies.list[i].source == group->copies.list[index].source)
			return true;
	}
	return false;
}

/* Moves the names of the kept file to the front. */
static int put_first(struct planned_group *group, size_t kept)
{
	struct copies *copies = &group->copies;
	size_t count = copies_inode_end(copies, kept) - kept;
	AUTO_FREE struct copy *list = calloc(count, sizeof(*list));
	AUTO_FREE struct planned_name *names = calloc(count, sizeof(*names));

	if (!list || !names)
		return -ENOMEM;
	memcpy(list, copies->list + kept, count * sizeof(*list));
	memcpy(names, group->names + kept, count * sizeof(*names));
	memmove(copies->list + count, copies->list, kept * sizeof(*list));
	memmove(group->names + count, group->names, kept * sizeof(*names));
	memcpy(copies->list, list, count * sizeof(*list));
	memcpy(group->names, names, count * sizeof(*names));
	return 0;
}

static enum emptied_place place_of(const struct choosing *choosing, size_t name)
{
	return planned_place(choosing->group, choosing->question->sources, name);
}

/* Returns the place of the name that lasts longest of a file, given by its number. */
static enum emptied_place place_of_file(const struct choosing *choosing, size_t chosen)
{
	const struct copies *copies = &choosing->group->copies;
	enum emptied_place best = PLACE_MEMORY;
	size_t file = 0;

	for (size_t i = 0; i < copies->count; i++) {
		file += !copies->list[i].another_name;
		if (file - 1 == chosen && place_of(choosing, i) < best)
			best = place_of(choosing, i);
	}
	return best;
}

/* Applies the choice of files that stay; chosen is the number of the one that is kept. If it is in
 * a place that something else empties, those elsewhere stay, too. */
static int keep_files(struct choosing *choosing, const bool *stays, size_t chosen)
{
	struct planned_group *group = choosing->group;
	bool between = choosing->question->rules->between_sources;
	enum emptied_place place = place_of_file(choosing, chosen);
	size_t file = 0, kept = 0;

	for (size_t i = 0; i < group->copies.count; i++) {
		struct copy *copy = &group->copies.list[i];

		file += !copy->another_name;
		if (file - 1 == chosen && !copy->another_name)
			kept = i;
		if (file - 1 == chosen)
			copy->fate = FATE_KEPT;
		else if (stays[file - 1] || (file == 1 && group->copies.kept_must_stay) ||
			 place_spares(place, place_of(choosing, i)))
			copy->fate = FATE_SPARED;
		else
			copy->fate = FATE_REDUNDANT;
		copy->why = "chosen";
	}
	for (size_t i = 0; between && i < group->copies.count; i++) {
		if (group->copies.list[i].fate == FATE_REDUNDANT && shares_source(group, kept, i))
			group->copies.list[i].fate = FATE_SPARED;
	}
	return put_first(group, kept);
}

/* Outcome besides -errno: the answer has no meaning. */
enum {
	NOT_UNDERSTOOD = 1,
};

static int apply_numbers(struct choosing *choosing, const char *answer)
{
	size_t count = copies_count_inodes(&choosing->group->copies), kept = 0;
	AUTO_FREE bool *stays = calloc(count + 1, sizeof(*stays));

	if (!stays)
		return -ENOMEM;
	if (!parse_numbers(answer, count, stays, &kept))
		return NOT_UNDERSTOOD;
	return keep_files(choosing, stays, kept);
}

static int apply_answer(struct choosing *choosing, const char *answer)
{
	if (strcmp(answer, "y") == 0)
		return 0;
	if (strcmp(answer, "a") == 0) {
		choosing->takes_all = true;
		return 0;
	}
	choosing->quits = strcmp(answer, "q") == 0;
	if (choosing->quits || strcmp(answer, "n") == 0) {
		spare_all(choosing->group);
		return 0;
	}
	return apply_numbers(choosing, answer);
}

static void explain_answers(size_t files)
{
	char text[256];

	(void)snprintf(text, sizeof(text),
		       "y: as shown, 1-%zu: this one stays, n: all stay, a: all groups from here "
		       "as shown, q: no further groups",
		       files);
	dialog_print(text);
}

/* Asks about the current group. The end of the input quits. */
static int ask_group(struct choosing *choosing)
{
	size_t files = copies_count_inodes(&choosing->group->copies);
	char answer[ANSWER_SIZE], prompt[64];
	bool explains = choosing->number == 1;
	int r = show_group(choosing);

	if (r < 0)
		return r;
	(void)snprintf(prompt, sizeof(prompt), "as shown? [y/1-%zu/n/a/q]", files);
	do {
		if (explains)
			explain_answers(files);
		dialog_prompt(prompt);
		if (dialog_read(answer) < 0)
			(void)strcpy(answer, "q");
		r = stop_requested() ? -EINTR : apply_answer(choosing, answer);
		explains = true;
	} while (r == NOT_UNDERSTOOD);
	return r;
}

/* Shows a group of the plan and asks what stays, unless the user has decided about all. */
static int decide(void *context, struct planned_group *group)
{
	struct choosing *choosing = context;
	int r;

	choosing->number++;
	choosing->group = group;
	if (choosing->takes_all)
		return 0;
	r = ask_group(choosing);
	return r < 0 ? r : choosing->quits;
}

/* ---- question ------------------------------------------------------------------------------- */

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

int question_ask(const struct question *question, struct act_plan *plan, enum answer *answer)
{
	struct choosing choosing = {.question = question, .groups = plan->groups};
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
	return act_plan_sift(plan, decide, &choosing);
}
