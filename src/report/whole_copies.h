/* SPDX-License-Identifier: MIT */
#ifndef REPORT_WHOLE_COPIES_H
#define REPORT_WHOLE_COPIES_H

/* Counts the folders of folder groups that are whole copies, each byte once although groups contain
 * each other. One thread at a time. Linear in the names of these folders.
 *
 * A folder is a part if the folder that contains it has an equal folder, too. Parts are not
 * counted: they go or stay with the folders that contain them. Of the other folders of a group,
 * those that the rules make redundant are whole copies. So is the kept one if it need not stay and
 * the group has a part in a place that lasts as long. So no counted folder contains another one. Of
 * each group a folder stays: the kept one, or a part of one that stays. */

#include <stdint.h>

#include "report/folder_count.h"

struct copies;
struct filter;

/* All zeros may be freed. */
struct whole_copies {
	struct folder_count count;
	uint64_t folders;
};

/* Returns 0 or -ENOMEM. */
MUST_CHECK int whole_copies_begin(struct whole_copies *whole);

void whole_copies_free(struct whole_copies *whole);

/* Adds a group, after rules_apply(). The folders with names that the filter excludes must have been
 * removed. Returns 0, -EINTR if stop_requested(), or another -errno. */
MUST_CHECK int whole_copies_add(struct whole_copies *whole, struct catalog_reader *reader,
				const struct filter *filter, const struct copies *copies);

#endif
