/* SPDX-License-Identifier: MIT */
#ifndef CHOOSE_RULES_H
#define CHOOSE_RULES_H

/* The rules that decide which copy of a group is kept and which copies may be removed. The copies
 * of a folder group are folders; below, "inode" is then one folder.
 *
 * An inode stays or is removed as a whole, because removing only some of its names frees nothing.
 * So if one name must stay, all names of the inode stay. One inode of each group is always kept, so
 * that the redundant inodes may be removed. The kept inode is chosen in these steps:
 *
 * 0. Only inodes in the place that lasts longest (index/emptied_place.h) are eligible. The others
 *    stay if they are in a trash or a snapshot, or if the kept inode is in an emptied place or in a
 *    store (index/managed.h), too. Among the eligible ones, those without a name in a store are
 *    preferred, unless the act only shares blocks.
 * 1. Inodes with a name that is protected or outside of "only", or that must stay for another
 *    reason (copy.must_stay), are preferred.
 * 2. The keep rules of the command, or else those of the index, are applied in order, each to the
 *    inodes that the previous rules left equal. If an inode has several names, the name counts that
 *    the rules prefer.
 * 3. Among equal inodes, those without a name in a bundle (choose/bundle.h) are preferred.
 * 4. If the user named single files (index/operands.h), those named first are preferred.
 * 5. Inodes with hard links that are not among the names of the group are preferred, because their
 *    removal would free nothing.
 * 6. Inodes to which symlinks lead (symlinks.h) are preferred.
 * 7. If the inode that the view keeps is among the equal inodes, it is kept. If not, the view's
 *    order decides (index/kept.h).
 *
 * Unless break_symlinks is set, an inode to which a symlink leads stays even if it is not kept.
 * Unless include_bundles is set, an inode with a name in a bundle stays even if it is not kept. An
 * inode with a name in a store (index/managed.h) always stays, unless the act only shares blocks.
 * If the act links, all inodes stay that a program possibly writes in place.
 *
 * With between_sources, an inode is redundant only if it has no name in a source in which the kept
 * inode has a name. Example: two sources have several copies each. All copies in the source of the
 * kept copy stay, and all copies in the other source are redundant.
 *
 * Reads only its arguments. One thread at a time for each struct copies and reader.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "choose/copies.h"
#include "index/keep_rules.h"

struct catalog_reader;
struct sources;

/* All pointers are borrowed. If all fields are zero, only the steps 0 and 3 to 7 apply. */
struct rules {
	const struct keep_rules *keep; /* of the command; NULL or no rule: those of the index */
	const struct keep_rules *of_index; /* NULL: none */
	/* Absolute paths of folders and files, without symlinks; NULL-terminated. NULL: none. */
	char *const *protect; /* nothing at, below or above these paths is removed */
	char *const *only; /* nothing outside of these paths is removed */
	bool between_sources;
	bool include_bundles; /* copies in bundles are treated like others */
	bool break_symlinks; /* copies to which symlinks lead are treated like others */
	/* The act replaces copies by links to the kept copy: copies stay that have hard links which
	 * are not among the names of the group. */
	bool links;
	/* The act shares blocks, which a write separates again: with include_bundles, copies in
	 * stores are treated like others. */
	bool shares_blocks;
};

/* Sets the fate of each name of a group and the reason of the fate. Puts the kept inode first. The
 * other inodes stay in the order of copies_collect(). One inode is kept, with all its names.
 *
 * sources	the sources of the index
 * copies	as set by copies_collect(), with their bundles
 *
 * Linear in the names of the group; takes memory for them. Returns 0 or -ENOMEM. After a failure
 * the fates are invalid. */
MUST_CHECK int rules_apply(const struct rules *rules, const struct sources *sources,
			   const struct group_record *group, struct copies *copies);

/* Outcome: a path of the rules matches nothing in the sources. */
enum {
	RULES_UNMATCHED = 1,
};

/* Finds a path of protect or only that has no effect. Such a path is not an indexed folder or file,
 * and not a folder above a source. A misspelled path would protect nothing, so the caller must
 * check all paths before rules_apply().
 *
 * unmatched	set to the path, borrowed from the rules, if RULES_UNMATCHED is returned
 *
 * Returns 0, RULES_UNMATCHED or -errno. */
MUST_CHECK int rules_find_unmatched(const struct rules *rules, struct catalog_reader *reader,
				    const struct sources *sources, const char **unmatched);

#endif
