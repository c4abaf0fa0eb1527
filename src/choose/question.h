/* SPDX-License-Identifier: MIT */
#ifndef CHOOSE_QUESTION_H
#define CHOOSE_QUESTION_H

/* The question before an act: the balance of the plan, then whether to act, to list the groups, or
 * to decide group by group. It is a dialog on standard error and standard input. For the main
 * thread. */

#include <stddef.h>

#include "act/act.h"
#include "base/attributes.h"
#include "base/output.h"
#include "choose/plan.h"
#include "choose/rules.h"

/* ---- dialog --------------------------------------------------------------------------------- */

/* Highest number of bytes of an answer, with the NUL. More bytes of its line are discarded. */
#define ANSWER_SIZE 256

/* Prints a text, broken between words so that the lines fit the terminal. */
void dialog_print(const char *text);

/* Prints a text like dialog_print(), with a blank instead of a line end. */
void dialog_prompt(const char *text);

/* Reads a line of standard input, without its end. Blocks. Returns 0, or -ENODATA at the end of the
 * input or after a signal. */
MUST_CHECK int dialog_read(char answer[static ANSWER_SIZE]);

/* ---- question ------------------------------------------------------------------------------- */

/* All pointers are borrowed. */
struct question {
	const struct act_settings *act;
	const char *verb; /* of the act, for messages: "remove" */
	const struct sources *sources;
	const char *const *shown; /* the path of each source as the user wrote it */
	const struct rules *rules; /* that selected the copies */
};

enum answer {
	ANSWER_NO,
	ANSWER_YES,
	/* The plan is what the user chose, group by group. The caller must try it again and ask
	 * whether to act. */
	ANSWER_CHOSEN,
};

/* Asks about a plan that is not empty. If the answer is ANSWER_CHOSEN, replaces the plan. Blocks
 * until the user answers; the end of the input and a signal are ANSWER_NO. Returns 0, -EINTR if
 * stop_requested(), or another -errno. */
MUST_CHECK int question_ask(const struct question *question, struct act_plan *plan,
			    enum answer *answer);

#endif
