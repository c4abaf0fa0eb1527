/* SPDX-License-Identifier: MIT */
#ifndef INDEX_PATTERNS_H
#define INDEX_PATTERNS_H

/* Globs of the user (base/path.h), in the form that they have in each source.
 *
 * A glob with a slash is usually relative to the source. It can also begin with the path of the
 * source, or with the last components of that path: "/srv/Photos/2019" and "Photos/2019" mean
 * "2019" in the source "/srv/Photos". If the source has a folder "Photos" itself, "Photos/2019" is
 * relative to the source, as it would be without this rule.
 *
 * Made once, then read by any thread. All zero: no globs.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"

struct sources;

/* What a glob means that is the path of a source, or of a folder above it. */
enum pattern_use {
	PATTERN_TO_EXCLUDE, /* nothing: a source is never left out as a whole */
	PATTERN_TO_SELECT, /* all names in the source */
};

struct patterns {
	size_t count;
	char *const *globs; /* as given; borrowed */
	/* For each source the globs in their order, NULL-terminated. */
	char ***of_source;
	size_t source_count;
	atomic_bool *matched; /* for each glob; set by the users of of_source */
};

/* Sets the patterns from NULL-terminated globs (NULL: none), which are borrowed as long as the
 * patterns are used, and opened sources. Reads the root
 * directories of the sources. Returns 0 or -ENOMEM. */
MUST_CHECK int patterns_make(struct patterns *patterns, char *const *globs,
			     const struct sources *sources, enum pattern_use use);

void patterns_free(struct patterns *patterns);

/* Sets the globs of keep rules in the form for each source. As patterns_make() with
 * PATTERN_TO_SELECT. */
struct keep_rules;
MUST_CHECK int patterns_set_keep_rules(struct keep_rules *rules, const struct sources *sources);

/* Returns the globs for a source, or NULL if there are none. patterns may be NULL. */
static inline char *const *patterns_of(const struct patterns *patterns, size_t source)
{
	return patterns && source < patterns->source_count ? patterns->of_source[source] : NULL;
}

/* Records that a glob matched. */
static inline void patterns_mark(const struct patterns *patterns, size_t glob)
{
	/* most calls find the mark set, and a store would take the cache line from other threads */
	if (!atomic_load_explicit(&patterns->matched[glob], memory_order_relaxed))
		atomic_store_explicit(&patterns->matched[glob], true, memory_order_relaxed);
}

#endif
