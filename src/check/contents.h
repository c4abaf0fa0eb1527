/* SPDX-License-Identifier: MIT */
#ifndef CHECK_CONTENTS_H
#define CHECK_CONTENTS_H

/* What an index has of the contents of files that is not so, found by holding it against a new one
 * of the same sources (fresh_index.h), whose files were all read a moment ago.
 *
 * Only files count that have the same signature in both: of the others nothing is said, they have
 * changed. So a difference is a disk that gives other bytes than it once did, or an index that is
 * wrong. For the first thread; everything is borrowed.
 */

#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "catalog/record.h"

struct catalog_reader;
struct sources;

enum content_difference {
	CONTENT_NOT_EQUAL, /* files of a group that are not */
	CONTENT_NOT_GROUPED, /* equal files that are in no group, or in several */
	CONTENT_OTHER, /* a file in no group has other bytes than were read once */
};

enum content_state {
	CONTENT_AS_RECORDED,
	CONTENT_CHANGED, /* other bytes than the index knows */
	CONTENT_UNKNOWN, /* it cannot be told which of them changed */
};

/* Why nothing, or not everything, can be said of the bytes of a file. */
enum unverified_reason {
	UNVERIFIED_NO_HASH, /* it was never read to its end */
	UNVERIFIED_BUSY, /* another program has it open for writing, or wrote to it a moment ago */
	UNVERIFIED_UNREADABLE,
};

struct unverified {
	uint64_t file; /* its id in the index */
	enum unverified_reason reason;
	uint64_t checked; /* bytes at its beginning that are as recorded */
};

/* Who is told: of each difference first, then of its files. group is NULL for CONTENT_OTHER. Of each
 * file at most once that it is unverified, at any time. 0 or -errno, which ends the search. */
struct content_listener {
	int (*difference)(void *context, enum content_difference what,
			  const struct group_record *group);
	int (*file)(void *context, const struct file_record *file, enum content_state state);
	int (*unverified)(void *context, const struct unverified *unverified);
	void *context;
};

struct content_sides {
	struct catalog_reader *indexed, *fresh;
	const struct sources *sources; /* of the index */
};

struct content_figures {
	uint64_t groups; /* of the index */
	uint64_t differences;
	uint64_t unverified; /* files */
};

/* Finds all of them; files that stand for a wrong group are read once more. 0 or -errno. */
MUST_CHECK int content_differences_find(const struct content_sides *sides,
					const struct content_listener *listener,
					struct content_figures *figures);

#endif
