/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>

#include "backup/restore.h"
#include "base/human_text.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/quote.h"
#include "base/size.h"
#include "cli/command.h"
#include "cli/common_options.h"

enum {
	OPT_LINK = OPTION_ID_OWN,
	OPT_REFLINK,
};

#define OPERANDS 3

struct command_settings {
	struct common_settings common;
	struct restore_settings restore;
	bool is_conflicting; /* --link and --reflink were given */
};

static const struct option_spec restore_options[] = {
	{.heading = "Creating files"},
	{
		.name = "link",
		.help = "make hard links to the files in BACKUP, so that no byte is copied; a "
			"write to a file in TARGET then also changes BACKUP",
		.id = OPT_LINK,
	},
	{
		.name = "reflink",
		.help = "make files that share blocks with the files in BACKUP, if the file system "
			"supports it",
		.id = OPT_REFLINK,
	},
	{0},
};

static int set_way(struct command_settings *settings, enum restore_way way)
{
	settings->is_conflicting |=
		settings->restore.way != RESTORE_COPY && settings->restore.way != way;
	settings->restore.way = way;
	return 0;
}

static int restore_apply(void *context, int id, const char *value)
{
	struct command_settings *settings = context;

	switch (id) {
	case OPT_LINK:
		return set_way(settings, RESTORE_LINK);
	case OPT_REFLINK:
		return set_way(settings, RESTORE_REFLINK);
	default:
		return common_apply(&settings->common, id, value);
	}
}

static const struct option_table restore_table = {
	.command = "twinfs restore",
	.usage = {"MANIFEST BACKUP TARGET"},
	.summary = "Rebuilds the whole tree in TARGET, an empty directory: from BACKUP, a copy of "
		   "uniques/, and from the names in MANIFEST, which 'twinfs manifest' made with "
		   "it. If a restore is interrupted, the same command continues it.",
	.options = {restore_options, message_options},
	.apply = restore_apply,
};

static void explain_refused(const struct metadata_refused *refused)
{
	char count[NUMBER_TEXT_MAX];

	if (refused->owners > 0)
		log_warning("%s %s the owner, group or set-ID bits of the source; only root can "
			    "set these",
			    number_format(count, refused->owners),
			    plural(refused->owners, "name lacks", "names lack"));
	if (refused->xattrs > 0)
		log_warning("%s extended %s not set: this user may not set them, or the file "
			    "system does not support their kind or size",
			    number_format(count, refused->xattrs),
			    plural(refused->xattrs, "attribute was", "attributes were"));
}

static void explain_split(uint64_t split)
{
	char count[NUMBER_TEXT_MAX];

	if (split > 0)
		log_warning("%s %s in the backup, because the file system of the target refuses "
			    "such links",
			    number_format(count, split),
			    plural(split, "name is not the hard link that it is",
				   "names are not the hard links that they are"));
}

static enum twinfs_exit report(const struct restore_settings *settings,
			       const struct restore_result *result)
{
	char files[NUMBER_TEXT_MAX];
	char copies[NUMBER_TEXT_MAX];
	char size[SIZE_TEXT_MAX];

	log_info("restored %s %s of the backup and %s %s of the manifest, %s copied, in %s",
		 number_format(files, result->files), plural(result->files, "name", "names"),
		 number_format(copies, result->copies), plural(result->copies, "name", "names"),
		 size_format(size, result->bytes), quote_path(settings->target));
	explain_refused(&result->refused);
	explain_split(result->split);
	if (result->failed > 0)
		log_warning("%" PRIu64
			    " %s not restored; correct the errors above and run the same "
			    "command again, or remove %s in the target",
			    result->failed,
			    plural(result->failed, "name or directory is",
				   "names or directories are"),
			    result->folder);
	return result->failed > 0 || result->split > 0 || result->refused.owners > 0 ||
			       result->refused.xattrs > 0
		       ? TWINFS_EXIT_INCOMPLETE
		       : TWINFS_EXIT_COMPLETE;
}

/* Returns what is wrong with the command line, or NULL. */
static const char *find_fault(const struct command_settings *settings, int operand_count)
{
	if (operand_count != OPERANDS)
		return "give a MANIFEST, a BACKUP and a TARGET";
	return settings->is_conflicting ? "give only one of --link and --reflink" : NULL;
}

enum twinfs_exit cmd_restore(int argc, char *argv[])
{
	struct command_settings settings = {0};
	struct restore_result result;
	int operands;
	int r;

	common_settings_init(&settings.common);
	r = options_parse(&restore_table, argc, argv, &settings, &operands);
	if (r == 0)
		r = usage_check(&restore_table, find_fault(&settings, argc - operands));
	common_settings_deinit(&settings.common);
	if (r != 0)
		return options_exit(r);
	settings.restore.manifest = argv[operands];
	settings.restore.backup = argv[operands + 1];
	settings.restore.target = argv[operands + 2];
	settings.restore.progress = settings.common.index.progress;
	interrupt_watch();
	r = restore_run(&settings.restore, &result);
	return r < 0 ? TWINFS_EXIT_FAILED : report(&settings.restore, &result);
}
