/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "backup/backup_check.h"
#include "backup/restore.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/output.h"
#include "base/stop.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/common_options.h"

#define OPERANDS 3
#define CHECK_OPERANDS 2

struct restore_command_settings {
	struct common_settings common;
	struct restore_settings restore;
	struct restore_only only;
	bool check;
	bool is_conflicting; /* --link and --reflink were given */
};

static int set_way(struct restore_command_settings *settings, enum restore_way way)
{
	settings->is_conflicting |=
		settings->restore.way != RESTORE_COPY && settings->restore.way != way;
	settings->restore.way = way;
	return 0;
}

static int set_link(void *settings, const char *value)
{
	(void)value;
	return set_way(settings, RESTORE_LINK);
}

static int set_reflink(void *settings, const char *value)
{
	(void)value;
	return set_way(settings, RESTORE_REFLINK);
}

static int add_only(void *member, const char *value)
{
	return restore_only_add(member, value);
}

static const struct option_spec restore_options[] = {
	{.heading = "Choice of names"},
	{
		.name = "only",
		.argument = "PATH",
		.help = "restore only this file or folder, with the folders above it; PATH is "
			"relative, as in MANIFEST; can be given more than once",
		.at = offsetof(struct restore_command_settings, only),
		.set = add_only,
		.expects = "a relative path",
	},
	{
		.name = "check",
		.help = "restore nothing: read BACKUP, and print what is missing, damaged or "
			"surplus in it according to MANIFEST, which 'twinfs manifest --all' made",
		.at = offsetof(struct restore_command_settings, check),
	},
	{.heading = "Creating files"},
	{
		.name = "link",
		.help = "make hard links to the files in BACKUP, so that no byte is copied; a "
			"write to a file in TARGET then also changes BACKUP",
		.set = set_link,
	},
	{
		.name = "reflink",
		.help = "make files that share blocks with the files in BACKUP, if the file system "
			"supports it",
		.set = set_reflink,
	},
	{0},
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

static void explain_times_and_flags(const struct restore_result *result)
{
	char count[NUMBER_TEXT_MAX];

	if (result->refused.times > 0)
		log_warning("%s %s another time than in the backup",
			    number_format(count, result->refused.times),
			    plural(result->refused.times, "name has", "names have"));
	if (result->flags > 0)
		log_warning("%s %s attributes of chattr", number_format(count, result->flags),
			    plural(result->flags, "name lacks", "names lack"));
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
	explain_times_and_flags(result);
	explain_split(result->split);
	if (result->failed > 0)
		log_warning("%" PRIu64
			    " %s not restored; correct the errors above and run the same "
			    "command again, or remove %s in the target",
			    result->failed,
			    plural(result->failed, "name or directory is",
				   "names or directories are"),
			    result->folder);
	return result->failed + result->split + result->refused.owners + result->refused.xattrs +
				       result->refused.times + result->flags >
			       0
		       ? TWINFS_EXIT_INCOMPLETE
		       : TWINFS_EXIT_COMPLETE;
}

/* ---- checking ---------------------------------------------------------------------------- */

static int print_fault(void *context, const struct bytes *path, enum backup_fault fault, int error)
{
	static const char *const words[] = {
		[BACKUP_MISSING] = "missing",       [BACKUP_DAMAGED] = "damaged",
		[BACKUP_UNREADABLE] = "unreadable", [BACKUP_SURPLUS] = "surplus",
		[BACKUP_UNPROVED] = "unproved",     [BACKUP_UNLISTED] = "unlisted",
	};
	CLEANUP_BYTES struct bytes text = {0};
	struct output *output = context;
	int r = shell_name_append(&text, (const char *)path->data, path->length);

	output_format(output, "%-10s  ", words[fault]);
	output_bytes(output, text.data, text.length);
	output_text(output, "\n");
	if (fault == BACKUP_UNREADABLE)
		log_warning("cannot read %s in the backup: %s",
			    quote_bytes((const char *)path->data, path->length), error_text(error));
	return r < 0 ? r : output->error;
}

static bool explain_metadata(const struct backup_metadata *metadata)
{
	if (metadata->first.length == 0)
		return false;
	log_warning("names in the backup differ from the manifest in mode (%" PRIu64
		    "), owner or group (%" PRIu64 "), time (%" PRIu64 "), hard links (%" PRIu64
		    ") and extended attributes (%" PRIu64 "); the first one is %s",
		    metadata->modes, metadata->owners, metadata->times, metadata->links,
		    metadata->xattrs,
		    quote_bytes((const char *)metadata->first.data, metadata->first.length));
	return true;
}

static enum twinfs_exit report_check(const struct backup_check *check,
				     struct backup_figures *figures)
{
	const uint64_t *faults = figures->faults;
	uint64_t unproved = faults[BACKUP_UNPROVED], unlisted = faults[BACKUP_UNLISTED];
	bool differs = explain_metadata(&figures->metadata);
	char count[NUMBER_TEXT_MAX];
	uint64_t sum = 0;

	for (size_t i = 0; i < BACKUP_UNPROVED; i++)
		sum += faults[i];
	if (unproved > 0)
		log_warning("the manifest has no hash of %s %s; only the names were checked",
			    number_format(count, unproved), plural(unproved, "file", "files"));
	if (unlisted > 0)
		log_warning("the manifest lacks what is in %s %s, which could not be read when it "
			    "was made",
			    number_format(count, unlisted), plural(unlisted, "folder", "folders"));
	if (sum > 0)
		log_warning("the backup %s is not whole: missing %" PRIu64 ", damaged %" PRIu64
			    ", unreadable %" PRIu64 ", surplus %" PRIu64,
			    quote_path(check->backup), faults[BACKUP_MISSING],
			    faults[BACKUP_DAMAGED], faults[BACKUP_UNREADABLE],
			    faults[BACKUP_SURPLUS]);
	else
		log_info("the backup %s has all %s names of the manifest",
			 quote_path(check->backup), number_format(count, figures->names));
	return sum + unproved + unlisted > 0 || differs ? TWINFS_EXIT_INCOMPLETE
							: TWINFS_EXIT_COMPLETE;
}

static enum twinfs_exit check_backup(const struct restore_command_settings *settings,
				     char *const *operands)
{
	CLEANUP_BACKUP_FIGURES struct backup_figures figures = {0};
	CLEANUP_OUTPUT struct output output;
	const struct backup_check check = {
		.manifest = operands[0],
		.backup = operands[1],
		.progress = settings->common.index.progress,
		.found = print_fault,
		.context = &output,
	};
	int written;
	int r;

	output_init(&output, STDOUT_FILENO);
	r = backup_check_run(&check, &figures);
	written = output_flush(&output);
	if (written < 0 && written != -EPIPE)
		log_error("cannot print the check: %s", error_text(written));
	return r < 0 || written < 0 ? TWINFS_EXIT_FAILED : report_check(&check, &figures);
}

/* ---- the command ------------------------------------------------------------------------- */

static enum twinfs_exit restore(struct restore_command_settings *settings, char *const *operands)
{
	struct restore_result result;

	settings->restore.manifest = operands[0];
	settings->restore.backup = operands[1];
	settings->restore.target = operands[2];
	settings->restore.only = &settings->only;
	settings->restore.progress = settings->common.index.progress;
	return restore_run(&settings->restore, &result) < 0 ? TWINFS_EXIT_FAILED
							    : report(&settings->restore, &result);
}

static enum twinfs_exit run_restore(void *context, char **operands, size_t count)
{
	struct restore_command_settings *settings = context;

	(void)count;
	interrupt_watch();
	interrupt_guard(false);
	return settings->check ? check_backup(settings, operands) : restore(settings, operands);
}

static const char *find_restore_fault(const void *context, char *const *operands, size_t count)
{
	const struct restore_command_settings *settings = context;

	(void)operands;
	if (settings->check && count != CHECK_OPERANDS)
		return "give a MANIFEST and a BACKUP";
	if (settings->check &&
	    (settings->only.paths.count > 0 || settings->restore.way != RESTORE_COPY))
		return "give --check without --only, --link and --reflink";
	if (!settings->check && count != OPERANDS)
		return "give a MANIFEST, a BACKUP and a TARGET";
	return settings->is_conflicting ? "give only one of --link and --reflink" : NULL;
}

static void deinit_restore(void *settings)
{
	restore_only_free(&((struct restore_command_settings *)settings)->only);
}

const struct command restore_command = {
	.options = {.command = "twinfs restore",
		    .usage = {"MANIFEST BACKUP TARGET", "--check MANIFEST BACKUP"},
		    .summary = "Rebuilds the whole tree in TARGET, an empty directory: from "
			       "BACKUP, a copy of uniques/, and from the names in MANIFEST, which "
			       "'twinfs manifest' made with it. If a restore is interrupted, the "
			       "same command continues it.",
		    .options = {restore_options, message_options}},
	.settings_bytes = sizeof(struct restore_command_settings),
	.deinit = deinit_restore,
	.find_fault = find_restore_fault,
	.run = run_restore,
};
