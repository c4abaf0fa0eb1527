/* SPDX-License-Identifier: MIT */
#ifndef CHOOSE_QUESTION_H
#define CHOOSE_QUESTION_H

/* The question before an act, on standard error and standard input: the balance of the plan, then
 * whether to act, to list the groups, or to decide group by group. For the main thread. */

#include "act/act.h"
#include "base/attributes.h"
#include "choose/plan.h"
#include "choose/rules.h"

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
