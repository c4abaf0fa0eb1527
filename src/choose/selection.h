/* SPDX-License-Identifier: MIT */
#ifndef CHOOSE_SELECTION_H
#define CHOOSE_SELECTION_H

/* Selects the groups or files without a copy that a report shows, in its order, and collects the
 * copies of a group. One thread at a time. Takes memory for one group, and for sorting
 * (choose/sorter.h).
 */

#include <stdint.h>

#include "base/attributes.h"
#include "choose/bundle.h"
#include "choose/copies.h"
#include "choose/report.h"

struct folder_group;
struct symlinks;

/* ---- the copies of a group ------------------------------------------------------------------ */

/* What is known of the snapshot of a report for all its groups. All zero is empty and valid. */
struct collector {
	struct bundle_finder bundles;
	struct symlinks *symlinks; /* NULL: not read yet */
};

void collector_free(struct collector *collector);

/* Reads the copies of a group as a report sees them: without excluded names, and with the fates
 * that the rules give. Sets group->inodes to the number of
 * copies without excluded names, and group->retained for them. A folder group that is implied has
 * no copies, unless report->implied.
 *
 * collector	NULL: without bundles, stores and symlinks
 * group	with report->folders, that of collect_record_of()
 *
 * Linear in the names of the group; for folders, in the names of their trees. Returns 0, -EINTR if
 * stop_requested(), or another -errno. */
MUST_CHECK int collect_copies(const struct report *report, struct collector *collector,
			      struct group_record *group, struct copies *copies);

/* Returns the record that represents a folder group, with its id, the size of one folder and their
 * number. The other fields are zero. */
struct group_record collect_record_of(const struct folder_group *folders);

/* ---- selection ------------------------------------------------------------------------------ */

/* A file without a copy, or a missing file. */
struct single {
	uint64_t file;
	uint64_t size; /* bytes */
	const struct copies *names;
};

/* Callbacks for selected groups and files. Each returns 0, or -errno, which aborts the
 * selection. */
struct visitor {
	/* copies: the copies of the group with their fates; the callback may take them, and leave
	 *	others, which are replaced
	 * group: of a folder group, has its id, the size of one folder and the number of folders */
	int (*group)(void *context, const struct group_record *group, struct copies *copies);
	int (*single)(void *context, const struct single *single);
	void *context;
	struct missing_tally *checked; /* of REPORT_MISSING: all files of the folders are added */
};

/* Calls visitor->group for each selected group in the order of the report, or visitor->single for
 * each selected file that has no copy (REPORT_SINGLES), or that is missing (REPORT_MISSING, see
 * missing.h), with those names that are in the folders.
 *
 * The order REPORT_BY_RECLAIMABLE is that of the index, of files the smallest first, so the first
 * call is immediate. The orders by size and count read all groups or files first. The order by path
 * reads all their names first, and reads those of groups again for the calls. Groups of folders are
 * all read first; the order by reclaimable bytes also reads all names of their redundant folders.
 *
 * Returns 0, -EINTR if stop_requested(), or another -errno. */
MUST_CHECK int selection_visit(const struct report *report, const struct visitor *visitor);

#endif
