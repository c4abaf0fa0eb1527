/* SPDX-License-Identifier: MIT */
#ifndef REPORT_MISSING_H
#define REPORT_MISSING_H

/* Finds the files of some folders whose content is in no file of other folders. Only equal bytes
 * that were compared count: a file that could not be read or is not compared yet is missing. So is
 * a file whose other copies are all in a trash, or whose only name is shown by several mounts. One
 * thread at a time. Takes a fixed amount of memory; linear in names and copies.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

struct catalog_reader;
struct copies;
struct report;
struct size_entry;
struct sources;

/* Absolute paths without symlinks, NULL-terminated, borrowed. If folders of both lists contain each
 * other, a file belongs to the innermost of them. */
struct missing_folders {
	char *const *of; /* the files that are searched for */
	char *const *in; /* where their contents are searched */
};

/* Outcomes of missing_check(). */
enum missing_fault {
	MISSING_NOT_INDEXED = 1, /* a folder is in no source, or was left out of the index */
	MISSING_NOT_ENTERED = 2, /* a folder is on another file system, which was not entered */
};

/* Checks that all folders are in the index, which would otherwise be silent about them.
 *
 * folder	set to the path of the first folder that is not, borrowed
 *
 * Returns 0, an enum missing_fault, or -errno. */
MUST_CHECK int missing_check(const struct missing_folders *folders, struct catalog_reader *reader,
			     const struct sources *sources, const char **folder);

/* Counts the directories below folders->of that were not entered, as they are on other file
 * systems. Returns 0 or -errno. */
MUST_CHECK int missing_count_not_entered(const struct missing_folders *folders,
					 struct catalog_reader *reader,
					 const struct sources *sources, uint64_t *count);

struct missing_finder;

/* Makes a finder for a report with its folders, which it borrows. Names that the filter of the
 * report excludes are in no folder. Returns 0 or -ENOMEM. */
MUST_CHECK int missing_finder_new(struct missing_finder **finder, const struct report *report);
void missing_finder_free(struct missing_finder *finder); /* accepts NULL */

/* Sets *missing to whether the content of a file is in no file of folders->in. Files must be passed
 * in the order of catalog_scan_sizes(), so that each group is read once. The file can also be
 * outside of folders->of. Returns 0 or -errno. */
MUST_CHECK int missing_find(struct missing_finder *finder, const struct size_entry *entry,
			    bool *missing);

/* Removes all names that are not in folders->of. Returns 0 or -errno. */
MUST_CHECK int missing_keep_names(struct missing_finder *finder, struct copies *names);

#endif
