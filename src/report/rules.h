/* SPDX-License-Identifier: MIT */
#ifndef REPORT_RULES_H
#define REPORT_RULES_H

/* Which copies of a group may go, and which one stays for them.
 *
 * An inode stays or goes as a whole: to remove some of its names would give nothing back. So one
 * name that must stay has the others stay too. Of each group one inode is kept, whatever the rules
 * say; all that goes, goes for that one:
 *
 * 0. What is in a trash (report/trash.h) with all its names is no copy for which others may go, and
 *    stays; unless all are there, when it is a place like any other.
 * 1. Inodes that stay anyway (a name of theirs is protected, or outside of "only") are preferred.
 * 2. Among those, or else among all, the keep rules choose, each one among what those before it
 *    left equal; of several names of an inode the one that serves it best counts.
 * 3. Of what is still equal, an inode with no name in a bundle (report/bundle.h).
 * 4. Of what is still equal, the inode that the view keeps, else the one that it would choose: by
 *    source, then the one known longest, then by path.
 *
 * An inode with a name in a bundle stays, whether it is kept or not, unless include_bundles.
 *
 * With between_sources, an inode goes only if it has no name in a source in which the kept one has
 * a name. So of several copies in each of two sources all those stay that share the source of the
 * kept one, and all in the other source may go.
 *
 * Reads nothing but its arguments. One thread at a time for each struct copies and reader.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "report/copies.h"

struct catalog_reader;
struct sources;

enum keep_by {
	KEEP_SOURCE_ORDER, /* the first source of the command line */
	KEEP_FIRST_SEEN, /* the one known longest */
	KEEP_OLDEST, /* mtime */
	KEEP_NEWEST,
	KEEP_SHORTEST_PATH, /* bytes of the absolute path */
	KEEP_LONGEST_PATH,
	KEEP_PATH, /* one whose path matches the glob, see base/path.h */
	KEEP_MOST_LINKED, /* hard links as the file system counts them, outside of sources too */
};

struct keep_rule {
	enum keep_by by;
	const char *glob; /* KEEP_PATH only */
};

/* All pointers are borrowed. All zero: what the view keeps stays, the rest may go. */
struct rules {
	const struct keep_rule *keep; /* in turn */
	size_t keep_count;
	/* Absolute paths of folders and files, no symlink in them; NULL-terminated, NULL: none. */
	char *const *protect; /* nothing in these goes, nor these */
	char *const *only; /* nothing outside of these goes */
	bool between_sources;
	bool include_bundles; /* copies in bundles go like others */
};

/* Decides the fate of each name of a group, and why; puts the kept inode first, the others stay in
 * the order of copies_collect(). At least one inode is kept, with all its names.
 *
 * sources	those of the reader's index
 * copies	as copies_collect() left them, with their bundles
 *
 * Linear in the names of the group; memory for them. 0, -EUCLEAN for a damaged index (logged) or
 * another -errno: then no fate is to be relied on. */
MUST_CHECK int rules_apply(const struct rules *rules, struct catalog_reader *reader,
			   const struct sources *sources, const struct group_record *group,
			   struct copies *copies);

/* Outcome: a path of the rules has nothing to do with the sources. */
enum {
	RULES_STRAY = 1,
};

/* Finds a path of protect or only that would have no effect: it is no folder and no file that the
 * index has in a source, nor a folder that a source is in. A misspelled one must not unprotect
 * anything, so this is to be asked before rules_apply().
 *
 * stray	set to the path, borrowed from the rules, where there is one
 *
 * 0, RULES_STRAY or -errno. */
MUST_CHECK int rules_find_stray(const struct rules *rules, struct catalog_reader *reader,
				const struct sources *sources, const char **stray);

#endif
