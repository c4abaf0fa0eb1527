/* SPDX-License-Identifier: MIT */
#ifndef CHOOSE_PLAN_H
#define CHOOSE_PLAN_H

/* The plan: the acts to do, group by group, in an unnamed file. A plan is made from one snapshot of
 * the index, and has all that the acts need. So no snapshot stays open while the user decides, or
 * during the acts, which can take hours. Each step that drops copies leaves a plan of the rest:
 *
 *	act_plan_select() -> act_plan_try() -> the choices of the user -> the acts
 *
 * One thread. Takes memory for one group. */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "act/act.h"
#include "base/attributes.h"
#include "base/progress.h"
#include "choose/copies.h"
#include "choose/report.h"
#include "choose/stays.h"
#include "index/emptied_place.h"

struct act_plan {
	FILE *spool;
	bool folders; /* whole folders go: the copies of each group are folders */
	bool is_dedupe; /* the act shares blocks, and removes no name */
	uint64_t groups;
	uint64_t names; /* names to act upon */
	uint64_t bytes; /* size of their inodes, each counted once: the most that can be freed */
	uint64_t split; /* how many of these inodes have further names, not acted upon */
	uint64_t freed_bytes; /* as found by act_plan_try(); 0 before */
	uint64_t freed_unknown; /* copies on overlays for which the freed bytes are unknown */
};

/* What is planned for a name. */
struct planned_name {
	struct attributes attributes; /* of its inode in the index */
	struct hash128 hash; /* of its content, for the record of the act; zero: unknown */
	uint64_t freed_bytes; /* of the inode, if all its names go; 0 before act_plan_try() */
	bool freed_is_unknown;
};

/* A group of the plan: all names of the kept inode, then the names to act upon. All zeros is an
 * empty group. */
struct planned_group {
	struct group_record group;
	struct copies copies; /* fates are FATE_KEPT or FATE_REDUNDANT */
	struct planned_name *names; /* for each of copies.list */
	size_t capacity;
	uint64_t files; /* regular files in each folder */
};

void planned_group_free(struct planned_group *group);
#define CLEANUP_PLANNED_GROUP CLEANUP(planned_group_free)

/* Returns a name of the group for act_add(). Valid until the group changes. */
struct act_file planned_file(const struct planned_group *group, size_t index);

/* Returns the place of a name of the group. */
enum emptied_place planned_place(const struct planned_group *group, const struct sources *sources,
				 size_t index);

/* Returns whether the act frees the bytes of the inode whose first name has this index: it shares
 * the blocks, or no name of the inode stays. */
bool act_plan_frees(const struct act_plan *plan, const struct planned_group *group, size_t first);

/* Removes the names with FATE_SPARED from the group, and counts the redundant inodes. */
void planned_group_drop_spared(struct planned_group *group);

/* Opens an empty plan of files. Returns 0 or -errno. The caller must call act_plan_free() in any
 * case. */
MUST_CHECK int act_plan_open(struct act_plan *plan, enum act_kind kind);
void act_plan_free(struct act_plan *plan);

/* Adds a group, unless nothing in it is redundant. Returns 0 or -errno. */
MUST_CHECK int act_plan_add(struct act_plan *plan, const struct planned_group *group);

/* Goes back to the first group. Must be called between act_plan_add() and act_plan_next(). Returns
 * 0 or -errno. */
MUST_CHECK int act_plan_rewind(struct act_plan *plan);

/* Reads the next group. Returns 0, -ENOENT at the end of the plan, or -errno. */
MUST_CHECK int act_plan_next(struct act_plan *plan, struct planned_group *group);

/* Decides about a group of a plan: the names that it gives FATE_SPARED leave the plan. Returns 0, 1
 * to drop this group and all that follow, or -errno. */
typedef int act_plan_sift_fn(void *context, struct planned_group *group);

/* Decides about all groups, and makes the plan one of the rest. Rewinds it. Returns 0 or -errno;
 * then the plan must not be read any more. */
MUST_CHECK int act_plan_sift(struct act_plan *plan, act_plan_sift_fn *decide, void *context);

/* Adds the groups that the report selects, and rewinds the plan. Returns 0 or -errno; -EINTR if
 * stop_requested().
 *
 * For groups of folders, makes the plan one of folders. Folders can contain each other, so the
 * largest groups are decided first, and each later group without the folders that go already. A
 * folder stays if it is the root of a source, is in a kept folder, or contains one. So nothing in a
 * kept folder goes. Takes memory for the ids of all groups and of the planned folders. */
MUST_CHECK int act_plan_select(struct act_plan *plan, const struct report *report);

struct plan_trial {
	const struct act_settings *settings;
	struct refusals refusals;
	uint64_t needless; /* copies that already share the bytes of the kept copy */
};

/* Tries each act of a plan (act_try()). Leaves those that would be done in the plan, with the bytes
 * that they would free, and rewinds it. Counts and logs the others in trial; the caller calls
 * refusals_end(). Blocks on the files. Returns 0, -EINTR if stop_requested(), or -errno. */
MUST_CHECK int act_plan_try(struct act_plan *plan, struct plan_trial *trial,
			    enum progress_when when);

/* Prints a plan, and rewinds it.
 *
 * report	its members sources, shown and format are used; for folders also reader, unless
 *		the format prints names only
 * summary	has the figures of the whole index
 *
 * Returns 0, -EINTR if stop_requested(), or another -errno. */
MUST_CHECK int act_plan_print(struct act_plan *plan, const struct report *report,
			      struct output *output, struct report_summary *summary);

/* ---- a plan file ---------------------------------------------------------------------------- */

/* A plan that the user has as a file: the groups of a dry run in the format jsonl, possibly edited.
 * plan_file.c reads it, in the main thread. */

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
