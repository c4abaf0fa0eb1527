/* SPDX-License-Identifier: MIT */
#ifndef REPORT_SELECTION_H
#define REPORT_SELECTION_H

/* Selects the groups or files without a copy that a report shows, in its order. One thread at a
 * time. Takes memory for one group, and for sorting (report/sorter.h).
 */

#include <stdint.h>

#include "base/attributes.h"
#include "report/copies.h"
#include "report/report.h"

/* A file without a copy, or a missing file. */
struct single {
	uint64_t file;
	uint64_t size; /* bytes */
	const struct copies *names;
};

/* Callbacks for selected groups and files. Each returns 0, or -errno, which aborts the
 * selection. */
struct visitor {
	/* copies: the copies of the group with their fates
	 * group: of a folder group, has its id, the size of one folder and the number of folders */
	int (*group)(void *context, const struct group_record *group, const struct copies *copies);
	int (*single)(void *context, const struct single *single);
	void *context;
};

/* Calls visitor->group for each selected group in the order of the report.
 *
 * The order by reclaimable bytes is that of the index, so the first call is immediate. The orders
 * by size and count read all groups first. The order by path reads the names of all groups first,
 * and reads them again for the calls.
 *
 * Returns 0, -EINTR if stop_requested(), or another -errno. */
MUST_CHECK int selection_groups(const struct report *report, const struct visitor *visitor);

/* Works like selection_groups() for folder groups. All orders read all groups first; the order
 * by reclaimable bytes also reads all names of their redundant folders. */
MUST_CHECK int selection_folders(const struct report *report, const struct visitor *visitor);

/* Calls visitor->single for each selected file that has no copy. With REPORT_BY_RECLAIMABLE, the
 * order is that of the index, the smallest file first, and the first call is immediate. The other
 * orders read all files first. Returns 0, -EINTR if stop_requested(), or another -errno. */
MUST_CHECK int selection_singles(const struct report *report, const struct visitor *visitor);

/* As selection_singles(), for the files that are missing (report/missing.h), with those names that
 * are in the folders. Adds all files of the folders to the tally. */
MUST_CHECK int selection_missing(const struct report *report, const struct visitor *visitor,
				 struct missing_tally *tally);

#endif
