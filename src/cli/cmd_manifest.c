/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "backup/manifest_write.h"
#include "base/human_text.h"
#include "base/log.h"
#include "catalog/query.h"
#include "cli/command.h"
#include "cli/common_options.h"
#include "index/completeness.h"
#include "index/index_print.h"

static const struct option_table manifest_table = {
	.command = "twinfs manifest",
	.usage = {"SOURCE...", "MOUNTPOINT"},
	.summary = "Prints the manifest that 'twinfs restore' needs, besides a copy of uniques/, "
		   "to rebuild the whole tree: each name that uniques/ leaves out, the file that "
		   "has its content, and its metadata. The index is brought up to date first; the "
		   "index of a mounted view is brought up to date by that view.",
	.options = {scan_options, index_option, message_options},
	.apply = common_apply,
};

static int write_line(void *context, const void *data, size_t length)
{
	struct output *output = context;

	output_json(output, data, length);
	return output->error;
}

/* Prints the manifest. Files that are not compared yet are in uniques/, so the manifest is complete
 * without them.
 */
static int manifest_print(void *context, const struct current_index *index,
			  struct catalog_reader *reader, struct output *output,
			  enum twinfs_exit *status)
{
	const struct manifest_task task = {
		.catalog = index->catalog,
		.reader = reader,
		.sources = index->sources,
		.write = write_line,
		.context = output,
	};
	struct catalog_totals totals = {0};
	uint64_t left_out = 0;
	int r;

	(void)context;
	r = current_index_check_options(index, reader);
	if (r == 0)
		r = catalog_get_totals(reader, &totals);
	if (r == 0)
		r = manifest_write(&task, &left_out);
	if (r < 0)
		return r;
	*status = completeness_status(totals.errors, 0);
	if (left_out > 0) {
		log_warning("the manifest is incomplete: %" PRIu64
			    " %s missing; copy uniques/ and make the manifest again",
			    left_out, plural(left_out, "name is", "names are"));
		*status = TWINFS_EXIT_INCOMPLETE;
	}
	return 0;
}

enum twinfs_exit cmd_manifest(int argc, char *argv[])
{
	CLEANUP(common_settings_deinit) struct common_settings common;
	CLEANUP_CURRENT_INDEX struct current_index index = {0};
	const struct index_printer printer = {
		.noun = "manifest",
		.print = manifest_print,
	};
	int operands;
	int r;

	common_settings_init(&common);
	r = options_parse(&manifest_table, argc, argv, &common, &operands);
	if (r == 0)
		r = usage_check(&manifest_table,
				operands == argc ? "no SOURCE and no MOUNTPOINT given" : NULL);
	if (r != 0)
		return options_exit(r);
	if (current_index_open(&index, &common.index, argv + operands, (size_t)(argc - operands),
			       INDEX_MANIFEST) < 0)
		return TWINFS_EXIT_FAILED;
	return index_print(&printer, &index);
}
