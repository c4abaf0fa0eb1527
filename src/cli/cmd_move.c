/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <sys/stat.h>

#include "base/log.h"
#include "cli/acting.h"
#include "cli/command.h"
#include "cli/common_options.h"

static const struct option_table move_table = {
	.command = "twinfs move",
	.usage = {"SOURCE|FILE... FOLDER", "MOUNTPOINT FOLDER"},
	.summary =
		"Moves redundant copies into FOLDER, with the paths that they have in "
		"redundant/ of a view. Each copy is compared with the kept copy again first. "
		"FOLDER must be outside of all sources. Existing files in it are never replaced.",
	.options = {acting_options, folders_option, filter_options, keep_option, rule_options,
		    scan_options, walk_options, files_option, index_option, message_options},
	.apply = acting_apply,
};

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
static const char *find_fault(const struct acting *acting, int operand_count)
{
	bool named = acting->plan_file || acting->common.index.names_from;

	if (operand_count == 0)
		return "no FOLDER given";
	return operand_count == 1 && !named
		       ? "no SOURCE or no FOLDER given; the FOLDER is the last operand"
		       : NULL;
}

enum twinfs_exit cmd_move(int argc, char *argv[])
{
	CLEANUP_ACTING struct acting acting;
	AUTO_FREE char *folder = NULL;
	int operands;
	int r;

	acting_init(&acting, ACT_MOVE, "move", "moved");
	r = options_parse(&move_table, argc, argv, &acting, &operands);
	if (r == 0)
		r = usage_check(&move_table, find_fault(&acting, argc - operands));
	if (r != 0)
		return options_exit(r);
	if (find_folder(argv[argc - 1], &folder) < 0)
		return TWINFS_EXIT_FAILED;
	acting.act.destination = folder;
	return acting_run(&acting, &move_table, argv + operands, (size_t)(argc - operands - 1));
}
