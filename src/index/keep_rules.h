/* SPDX-License-Identifier: MIT */
#ifndef INDEX_KEEP_RULES_H
#define INDEX_KEEP_RULES_H

/* The rules by which the user chooses the kept copy of a group: those of a view, which its index
 * has, or those of one list or act (--keep). A struct keep_rules of zeros has no rule. It is made
 * by one thread, and can then be read by any thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/text.h"

/* The index stores these numbers. */
enum keep_by {
	KEEP_SOURCE_ORDER, /* the first source of the command line */
	KEEP_FIRST_SEEN, /* the inode that the earliest scan found */
	KEEP_OLDEST, /* lowest mtime */
	KEEP_NEWEST, /* highest mtime */
	KEEP_SHORTEST_PATH, /* bytes of the absolute path */
	KEEP_LONGEST_PATH,
	KEEP_PATH, /* a path that matches the glob, see base/path.h */
	KEEP_MOST_LINKED, /* st_nlink, which includes links outside of the sources */
};
#define KEEP_BY_COUNT (KEEP_MOST_LINKED + 1)

struct keep_rule {
	enum keep_by by;
	uint32_t glob; /* KEEP_PATH: position in the lists of globs */
};

struct keep_rules {
	struct keep_rule *list; /* in the order in which they are applied */
	size_t count, capacity;
	struct bytes text; /* the rules as the user wrote them, "oldest,path:2019"; for messages */
	struct text_list globs; /* as given */
	/* The globs in the form for each source (index/patterns.h): all globs for source 0, then
	 * all for source 1, and so on. Empty: the globs as given, for every source. */
	struct text_list source_globs;
};

void keep_rules_free(struct keep_rules *rules);
#define CLEANUP_KEEP_RULES CLEANUP(keep_rules_free)

/* Appends a rule. glob: borrowed; for KEEP_PATH only, NULL otherwise. Returns 0 or -ENOMEM. */
MUST_CHECK int keep_rules_add(struct keep_rules *rules, enum keep_by by, const char *glob);

/* Returns the glob of a KEEP_PATH rule for a source. */
const char *keep_rules_glob(const struct keep_rules *rules, const struct keep_rule *rule,
			    uint32_t source);

/* Returns whether a rule depends on the paths of directories. */
bool keep_rules_use_paths(const struct keep_rules *rules);

/* The encoding for the index. keep_rules_decode() takes rules without a rule. Returns 0, -EUCLEAN
 * if the bytes are damaged, or -ENOMEM. The caller frees the rules in any case. */
MUST_CHECK int keep_rules_encode(const struct keep_rules *rules, struct bytes *encoded);
MUST_CHECK int keep_rules_decode(struct keep_rules *rules, const struct bytes *encoded);

#endif
