/* SPDX-License-Identifier: MIT */
#include "report/summary.h"

#include <errno.h>

#include "catalog/query.h"

static int add_groups(struct catalog_reader *reader, uint64_t min_size,
		      struct report_summary *summary)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct group_record group;
	int r;

	r = catalog_scan_ranks(reader, NULL, &scan);
	if (r < 0)
		return r;
	while ((r = catalog_next_rank(scan, &group)) == 0) {
		if (group.size < min_size)
			continue;
		summary->groups++;
		summary->redundant_files += group.inodes - 1;
		summary->redundant_bytes += (group.inodes - 1) * group.size;
		summary->reclaimable_bytes += group_reclaimable(&group);
	}
	return r == -ENOENT ? 0 : r;
}

int report_summarize(struct catalog_reader *reader, uint64_t min_size,
		     struct report_summary *summary)
{
	struct catalog_totals totals;
	int r;

	r = catalog_get_totals(reader, &totals);
	if (r < 0)
		return r;
	*summary = (struct report_summary){
		.files = totals.files,
		.directories = totals.directories,
		.bytes = totals.bytes,
		.errors = totals.errors,
	};
	r = catalog_count_pending(reader, &summary->pending, &summary->pending_bytes);
	if (r < 0)
		return r;
	return add_groups(reader, min_size, summary);
}
