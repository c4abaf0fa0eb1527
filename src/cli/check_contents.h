/* SPDX-License-Identifier: MIT */
#ifndef CLI_CHECK_CONTENTS_H
#define CLI_CHECK_CONTENTS_H

/* Finds wrong records of file contents in an index. Compares the index with a new index of the same
 * sources, which was built just now (check.c).
 *
 * Only files with the same signature in both indexes are compared; other files have changed. So the
 * cause of a difference is a disk that returns other bytes than before, or a wrong record. For the
 * main thread; everything is borrowed.
 */

#include <stdint.h>

#include "base/attributes.h"
#include "index/record.h"

struct bytes;
struct catalog_reader;
struct check_printing;
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

struct content_sides {
	struct catalog_reader *indexed, *fresh;
	const struct sources *sources; /* of the index */
	struct check_printing *printing;
	struct bytes *touched; /* ids of the files of differences are appended */
};

struct content_figures {
	uint64_t groups; /* visible groups of the index, all of which were compared */
	uint64_t differences;
	uint64_t unverified; /* files */
};

/* Finds and prints all differences, then the unverified files. Reads the files that were not read
 * completely for the new index, and again those of groups that differ. Returns 0 or -errno. */
MUST_CHECK int content_differences_print(const struct content_sides *sides,
					 struct content_figures *figures);

#endif
