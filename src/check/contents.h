/* SPDX-License-Identifier: MIT */
#ifndef CHECK_CONTENTS_H
#define CHECK_CONTENTS_H

/* Finds wrong records of file contents in an index. Compares the index with a new index of the same
 * sources, which was built just now (check.c).
 *
 * Only files with the same signature in both indexes are compared; other files have changed. So the
 * cause of a difference is a disk that returns other bytes than before, or a wrong record. For the
 * main thread; everything is borrowed.
 */

#include <stdint.h>

#include "base/attributes.h"
#include "catalog/record.h"

struct catalog_reader;
struct sources;

enum content_difference {
	CONTENT_NOT_EQUAL, /* files of a group differ */
	CONTENT_NOT_GROUPED, /* equal files are in no group, or in several */
	CONTENT_OTHER, /* the bytes of a file in no group changed */
	CONTENT_NOT_KEPT, /* the keep rules choose another copy than the kept one: this file */
};

enum content_state {
	CONTENT_AS_RECORDED, /* the same bytes as in the index */
	CONTENT_CHANGED, /* other bytes than in the index */
	CONTENT_UNKNOWN, /* the file could not be read */
};

/* Why the bytes of a file could not be verified, or only in part. */
enum unverified_reason {
	UNVERIFIED_NO_HASH, /* the index has no hash of the whole file */
	UNVERIFIED_BUSY, /* a program has the file open for writing, or wrote to it recently */
	UNVERIFIED_UNREADABLE, /* the file could not be read */
};

struct unverified {
	uint64_t file; /* id in the index */
	enum unverified_reason reason;
	uint64_t checked; /* bytes at the beginning of the file that were verified */
};

/* Callbacks. Each call of difference is followed by calls of file for the files of this difference.
 * group is NULL for CONTENT_OTHER. unverified is called between other calls, at most once for a
 * file. Each callback returns 0, or -errno, which ends the search. */
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
	uint64_t groups; /* visible groups of the index, all of which were compared */
	uint64_t differences;
	uint64_t unverified; /* files */
};

/* Finds all differences. Reads the files that were not read completely for the new index, and again
 * those of groups that differ. Returns 0 or -errno. */
MUST_CHECK int content_differences_find(const struct content_sides *sides,
					const struct content_listener *listener,
					struct content_figures *figures);

#endif
