/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "act/journal.h"
#include "act/recovery.h"
#include "base/log.h"
#include "base/numbers.h"
#include "cli/act_logs.h"
#include "cli/command.h"
#include "cli/common_options.h"
#include "scan/index_folder.h"

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

static bool confirm(const struct recover_request *request, uint64_t left)
{
	char count[NUMBER_TEXT_MAX];
	char answer[8] = "";

	if (request->yes)
		return true;
	(void)fprintf(stderr, "Give up the interrupted acts on %s %s, named above? [y/N] ",
		      number_format(count, left), plural(left, "file", "files"));
	if (!fgets(answer, sizeof(answer), stdin))
		(void)fputc('\n', stderr);
	return answer[0] == 'y' || answer[0] == 'Y';
}

static enum twinfs_exit report(const struct recovered *recovered)
{
	char count[NUMBER_TEXT_MAX];

	if (recovered->failed)
		return TWINFS_EXIT_FAILED;
	if (recovered->given_up > 0)
		log_info("gave up %s %s; 'twinfs log' lists them as interrupted",
			 number_format(count, recovered->given_up),
			 plural(recovered->given_up, "file", "files"));
	if (recovered->completed > 0)
		log_info("completed the act on %s %s", number_format(count, recovered->completed),
			 plural(recovered->completed, "name", "names"));
	if (recovered->files > 0 || recovered->left > 0)
		log_info("restored %s %s%s", number_format(count, recovered->files),
			 plural(recovered->files, "file", "files"),
			 recovered->left > 0 ? "; the rest must wait for the next recovery" : "");
	else if (recovered->given_up + recovered->completed + recovered->incomplete == 0)
		log_info(recovered->had_intents ? "an interrupted act left nothing to restore"
						: "no act was interrupted");
	return recovered->left + recovered->incomplete > 0 ? TWINFS_EXIT_INCOMPLETE
							   : TWINFS_EXIT_COMPLETE;
}

static const char *find_fault(const void *context, char *const *operands, size_t count)
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

static enum twinfs_exit run(void *context, char **operands, size_t count)
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
	if (!confirm(request, recovered.left)) {
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
	.find_fault = find_fault,
	.run = run,
};
