/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>

#include "base/log.h"
#include "base/numbers.h"
#include "base/stop.h"
#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/current_index.h"
#include "fleet/inventory.h"
#include "fleet/json_lines.h"
#include "fleet/row_set.h"
#include "index/catalog.h"
#include "scan/source_check.h"

struct export_settings {
	struct common_settings common;
	const char *host;
	const char *output;
};

static int set_host(void *member, const char *value)
{
	*(const char **)member = value;
	return host_name_is_valid(value) ? 0 : -EINVAL;
}

static const struct option_spec export_options[] = {
	{.heading = "Inventory"},
	{
		.name = "host",
		.argument = "NAME",
		.help = "name of this machine in the fleet: letters, digits, dots, underscores "
			"and hyphens",
		.at = offsetof(struct export_settings, host),
		.set = set_host,
		.expects = HOST_NAME_RULE,
	},
	{
		.name = "output",
		.letter = 'o',
		.argument = "DIR",
		.help = "folder to write the inventory to; an earlier inventory of this host in it "
			"is replaced when the new one is complete",
		.at = offsetof(struct export_settings, output),
		.expects = "a folder",
	},
	{0},
};

/* Logs why the inventory could not be made, unless the user interrupted it. */
static enum twinfs_exit explain(int result)
{
	if (result == -EUCLEAN)
		log_error("cannot export the inventory: the index is damaged; run 'twinfs scan' to "
			  "rebuild it");
	else if (result != -EINTR && result != -EXDEV)
		log_error("cannot export the inventory: %s", error_text(result));
	return TWINFS_EXIT_FAILED;
}

static int await_changes(void *context)
{
	struct current_index *index = context;
	int r = current_index_sync(index);

	return r == 0 && index->unfinished ? INVENTORY_NOT_AWAITED : r;
}

static enum twinfs_exit write_inventory(const struct export_settings *settings,
					struct current_index *index, struct row_set *set)
{
	const struct inventory_task task = {
		.sources = index->sources,
		.examines_disk = !settings->common.index.no_scan,
		.outdated = index->unfinished || index->lacks_moved,
		.progress = settings->common.index.progress,
		.await_changes =
			index->served && !settings->common.index.no_scan ? await_changes : NULL,
		.context = index,
	};
	struct inventory_result result = {0};
	char number[NUMBER_TEXT_MAX];
	int r = current_index_check_options_now(index);

	if (r == 0)
		r = inventory_write(&task, set, &result);
	if (!index->served)
		catalog_judge(index->catalog, r);
	if (r < 0)
		return explain(r);
	if (result.changed)
		log_info("the index changed meanwhile; each row is true at the time it was read");
	/* a later update adds rows only for some files */
	index->lacks_moved |= task.outdated;
	log_info("exported %s %s to %s", number_format(number, result.rows),
		 plural(result.rows, "file", "files"), quote_path(settings->output));
	index->lacks_files = result.missed > 0;
	if (index->lacks_files)
		completeness_name_missed(result.missed);
	return current_index_status(index, result.errors, result.pending);
}

/* The folder is checked before the index is updated, which can take long. */
static enum twinfs_exit run_export(void *context, char **operands, size_t count)
{
	const struct export_settings *settings = context;
	CLEANUP_CURRENT_INDEX struct current_index index = {0};
	CLEANUP_ROW_SET struct row_set set;
	const struct row_set_settings set_settings = {
		.folder = settings->output,
		.format = INVENTORY_FORMAT,
		.noun = "inventory",
		.host = settings->host,
	};

	interrupt_watch();
	interrupt_guard(true);
	if (row_set_begin(&set, &set_settings) < 0 ||
	    current_index_open(&index, &settings->common.index, operands, count, INDEX_READ) < 0)
		return TWINFS_EXIT_FAILED;
	return write_inventory(settings, &index, &set);
}

/* Returns what is wrong with the command line, or NULL. */
static const char *find_export_fault(const void *context, char *const *operands, size_t count)
{
	const struct export_settings *settings = context;
	const struct index_settings *index = &settings->common.index;

	(void)operands;
	if (!settings->host)
		return "no --host=NAME given";
	if (!settings->output)
		return "no --output=DIR given";
	if (count == 0 && !index->no_scan)
		return "no SOURCE and no MOUNTPOINT given";
	return find_source_fault(index, count);
}

const struct command export_command = {
	.options = {.command = "twinfs export",
		    .usage = {"SOURCE...", "MOUNTPOINT"},
		    .summary = "Writes an inventory of this machine: the names, sizes and times of "
			       "all regular files in the sources, and which of them are equal. "
			       "twinfs-fleet compares the inventories of several machines. The "
			       "index is brought up to date first; the index of a mounted view is "
			       "brought up to date by that view.",
		    .options = {export_options, scan_options, walk_options, index_option,
				no_scan_option, message_options}},
	.settings_bytes = sizeof(struct export_settings),
	.find_fault = find_export_fault,
	.run = run_export,
};
