/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>

#include "act/recovery.h"
#include "base/error.h"
#include "base/human_text.h"
#include "base/log.h"
#include "base/quote.h"
#include "cli/act_logs.h"
#include "cli/command.h"
#include "index/index_open.h"
#include "options/common_options.h"

static const struct option_table recover_table = {
	.command = "twinfs recover",
	.summary = "Restores the names of files whose act (remove, move, link or dedupe) was "
		   "interrupted by a power failure or a signal. scan, mount and the acts also do "
		   "this when they start. recover does only this, for all indexes or for the one "
		   "given with --index.",
	.options = {one_index_option, version_option},
	.apply = common_apply,
};

/* The sum of the results of all indexes. */
struct recovered {
	uint64_t files;
	uint64_t left;
	bool failed;
};

static void recover(const char *folder, struct recovered *recovered)
{
	struct recovery undone;
	int r = recovery_run_of(folder, &undone);

	recovered->files += undone.files + undone.completed;
	recovered->left += undone.left;
	if (r == -EWOULDBLOCK)
		log_warning("skipped the index %s: a process is acting upon its copies",
			    quote_path(folder));
	else if (r == -EPERM)
		index_explain(folder, r);
	else if (r < 0)
		log_error("cannot undo the interrupted acts of the index %s: %s",
			  quote_path(folder), error_text(r));
	recovered->failed |= r < 0 && r != -EWOULDBLOCK;
}

static int recover_all(const struct common_settings *settings, struct recovered *recovered)
{
	CLEANUP_TEXT_LIST struct text_list folders = {0};
	int r = act_logs_folders(settings, &folders);

	for (size_t i = 0; r == 0 && i < folders.count; i++)
		recover(folders.items[i], recovered);
	return r;
}

enum twinfs_exit cmd_recover(int argc, char *argv[])
{
	struct common_settings settings;
	struct recovered recovered = {0};
	char count[NUMBER_TEXT_MAX];
	int operands;
	int r;

	common_settings_init(&settings);
	r = options_parse(&recover_table, argc, argv, &settings, &operands);
	if (r == 0)
		r = usage_check(&recover_table, operands < argc ? "no operands expected" : NULL);
	if (r != 0)
		return options_exit(r);
	r = recover_all(&settings, &recovered);
	if (r < 0 || recovered.failed)
		return TWINFS_EXIT_FAILED;
	if (recovered.files == 0 && recovered.left == 0)
		log_info("no act was interrupted");
	else
		log_info("restored %s %s%s", number_format(count, recovered.files),
			 plural(recovered.files, "file", "files"),
			 recovered.left > 0 ? "; the rest must wait for the next recovery" : "");
	return recovered.left > 0 ? TWINFS_EXIT_INCOMPLETE : TWINFS_EXIT_COMPLETE;
}
