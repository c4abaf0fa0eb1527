/* SPDX-License-Identifier: MIT */
#ifndef CHOOSE_COLLECT_H
#define CHOOSE_COLLECT_H

/* The copies of a group as a report sees them: without excluded names, and with their fates. One
 * thread at a time.
 */

#include "base/attributes.h"
#include "choose/bundle.h"

struct copies;
struct folder_group;
struct group_record;
struct report;
struct symlinks;

/* What is known of the snapshot of a report for all its groups. All zero is empty and valid. */
struct collector {
	struct bundle_finder bundles;
	struct symlinks *symlinks; /* NULL: not read yet */
};

void collector_free(struct collector *collector);

/* Reads the copies of a group and applies the rules to them. Sets group->inodes to the number of
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

#endif
