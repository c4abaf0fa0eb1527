/* SPDX-License-Identifier: MIT */
#include "cli/list_print.h"

#include "catalog/query.h"
#include "cli/completeness.h"
#include "cli/index_print.h"
#include "cli/shown_paths.h"

int list_print(void *context, const struct index_snapshot *snapshot, struct output *output,
	       enum twinfs_exit *status)
{
	const struct list_request *request = context;
	CLEANUP(shown_paths_free) struct shown_paths shown = {0};
	struct report report = {
		.reader = snapshot->reader,
		.sources = snapshot->sources,
		.format = request->format,
		.part = request->part,
		.min_size = request->common->min_size,
	};
	struct report_summary summary = {0};
	int r;

	r = shown_paths_make(&shown, snapshot->sources, snapshot->given, snapshot->given_count);
	report.shown = shown.list;
	/* what is served may be of smaller files too: then they are wanted, unless said otherwise */
	if (r == 0 && !request->common->min_size_given)
		r = catalog_get_min_size(snapshot->reader, &report.min_size);
	if (r == 0)
		r = report_print(&report, output, &summary);
	if (r == 0)
		*status = completeness_status(summary.errors, summary.pending);
	return r;
}
