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

enum {
	OPT_GIVE_UP = OPTION_ID_OWN,
	OPT_YES,
};

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
		.id = OPT_GIVE_UP,
	},
	{
		.name = "yes",
		.letter = 'y',
		.help = "with --give-up: do not ask; required if standard input is no terminal",
		.id = OPT_YES,
	},
	{0},
};

static int recover_apply(void *context, int id, const char *value)
{
	struct recover_request *request = context;

	if (id == OPT_GIVE_UP)
		request->gives_up = true;
	else if (id == OPT_YES)
		request->yes = true;
	else
		return common_apply(&request->common, id, value);
	return 0;
}

static const struct option_table recover_table = {
	.command = "twinfs recover",
	.summary =
		"Restores the names of files whose act (remove, move, link or dedupe) was "
		"interrupted by a power failure or a signal. scan, mount, log, undo and the acts "
		"also do this when they start. recover does only this, for all indexes or for "
		"the one given with --index.",
	.options = {recover_options, one_index_option, version_option},
	.apply = recover_apply,
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

static const char *find_fault(const struct recover_request *request, bool has_operands)
{
	if (has_operands)
		return "no operands expected";
	if (request->yes && !request->gives_up)
		return "--yes is only possible with --give-up";
	if (request->gives_up && !request->yes && !isatty(STDIN_FILENO))
		return "cannot ask for confirmation: standard input is no terminal; check with "
		       "'twinfs recover', then give --yes";
	return NULL;
}

enum twinfs_exit cmd_recover(int argc, char *argv[])
{
	static const struct recovery_wish naming = {.give_up = name_left};
	static const struct recovery_wish giving_up = {.give_up = give_up, .is_quiet = true};
	CLEANUP_TEXT_LIST struct text_list folders = {0};
	struct recover_request request = {.yes = false};
	struct recovered recovered = {0};
	int operands;
	int r;

	common_settings_init(&request.common);
	r = options_parse(&recover_table, argc, argv, &request, &operands);
	if (r == 0)
		r = usage_check(&recover_table, find_fault(&request, operands < argc));
	if (r != 0)
		return options_exit(r);
	if (index_folders_chosen(request.common.index.folder, &folders) < 0)
		return TWINFS_EXIT_FAILED;
	recover_all(&folders, request.gives_up ? &naming : NULL, &recovered);
	if (!request.gives_up || recovered.left == 0)
		return report(&recovered);
	if (!confirm(&request, recovered.left)) {
		log_info("nothing was given up");
		return TWINFS_EXIT_INCOMPLETE;
	}
	recovered.left = 0;
	recover_all(&folders, &giving_up, &recovered);
	return report(&recovered);
}
