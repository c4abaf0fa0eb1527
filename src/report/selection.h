/* SPDX-License-Identifier: MIT */
#ifndef REPORT_SELECTION_H
#define REPORT_SELECTION_H

/* Which groups and which files without a copy a report has, and in which order. One thread at a
 * time. Memory for one group, and for sorting (report/sorter.h).
 */

#include <stdint.h>

#include "base/attributes.h"
#include "report/copies.h"
#include "report/report.h"

/* A file without a copy. */
struct single {
	uint64_t file;
	uint64_t size; /* bytes */
	const struct copies *names;
};

/* Who is told of them. Each gives 0 or -errno, which ends it. */
struct visitor {
	/* copies are those of the group with their fates; NULL where only figures are asked for and
	 * no name matters to them */
	int (*group)(void *context, const struct group_record *group, const struct copies *copies);
	int (*single)(void *context, const struct single *single);
	void *context;
};

/* Tells of each selected group in the order that the report asks for.
 *
 * That of reclaimable bytes is the one of the index, and the first group comes at once. For size
 * and count all groups are looked at before; for path their names are, too, so that each is put
 * together twice.
 *
 * 0 or -errno: -EINTR when stop_requested(). */
MUST_CHECK int selection_groups(const struct report *report, const struct visitor *visitor);

/* The same for the files that have no copy: as the index has them, the smallest first, at once; in
 * the order of sizes or paths, after all were looked at. */
MUST_CHECK int selection_singles(const struct report *report, const struct visitor *visitor);

#endif
