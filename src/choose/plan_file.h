/* SPDX-License-Identifier: MIT */
#ifndef CHOOSE_PLAN_FILE_H
#define CHOOSE_PLAN_FILE_H

/* A plan that the user has as a file: the groups of a dry run in the format jsonl, possibly edited.
 * For the main thread. */

#include "base/attributes.h"
#include "choose/plan.h"
#include "choose/refusals.h"

struct report;

/* Reads a plan file. Each line is an object with a list "copies", of which each member has a path
 * and a fate. The copies with the fate "redundant" are to be acted upon, and the first one with the
 * fate "kept" is their kept copy.
 *
 * The whole file is refused if a line is malformed, if a path is not below a source, or if a file
 * both stays and goes. A file is known by its inode, so this includes hard links, two files that go
 * for each other, and chains. Therefore each file that goes has a kept file that stays, and no plan
 * removes the last copy.
 *
 * Adds the groups to the plan, and rewinds it. Skips and counts in refusals the copies that the
 * index does not have at their paths, that it knows to differ from their kept copy, or whose kept
 * copy is in a trash although they are not. Leaves copies by rules.links and
 * rules.break_symlinks of the report, and counts them in its tally. Its other rules do not apply.
 * The acts compare all bytes, as they always do. Takes memory for one line, and 32 bytes for each
 * name.
 *
 * Returns 0 or -errno. Failures are logged, except -EINTR if stop_requested(). */
MUST_CHECK int plan_file_read(const char *path, const struct report *report, struct act_plan *plan,
			      struct refusals *refusals);

/* Appends the first path of a plan file. Returns 0, -ENODATA if the file has no group, or another
 * -errno. Failures other than -ENODATA are logged. */
MUST_CHECK int plan_file_first_path(const char *path, struct bytes *first);

#endif
