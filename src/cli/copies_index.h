/* SPDX-License-Identifier: MIT */
#ifndef CLI_COPIES_INDEX_H
#define CLI_COPIES_INDEX_H

/* Queries an index for the verified copies of a file, or for the folders that are equal to a
 * folder, and checks on the disk that they are still as indexed. One thread at a time; blocks on
 * the disk.
 */

#include <stdint.h>

#include "base/attributes.h"
#include "base/text_list.h"

struct catalog;
struct sources;

/* The knowledge of an index about a file, from nothing to everything. That about a folder is the
 * lowest of all names in it. */
enum copies_knowledge {
	COPIES_NOT_COVERED, /* it is in no source */
	COPIES_NOT_INDEXED, /* it is in a source, but was missing or left out at the last scan */
	COPIES_EXCLUDED, /* it is in a source, and an --exclude of the last scan matches it */
	COPIES_CHANGED, /* it has changed since the last scan */
	COPIES_UNREADABLE, /* the last scan could not read it */
	COPIES_LEFT_OUT, /* the index lacks names of the folder */
	COPIES_TOO_SMALL, /* it is smaller than --min-size of the last scan: not compared */
	COPIES_PENDING, /* it is not compared yet */
	COPIES_KNOWN, /* its copies are known, or it has none */
};

struct copies_query {
	const char *given; /* operand, borrowed */
	char *path; /* absolute, without symlinks; freed by copies_query_deinit() */
	bool is_folder;
	enum copies_knowledge knowledge; /* the highest of the indexes so far */
	struct text_list copies; /* absolute paths, of the copies or of their folders in views */
	uint64_t changed; /* copies or folders that have changed or are missing; not in copies */
};

void copies_query_deinit(struct copies_query *query);

/* Queries one index and adds its results to the query. If mount_point is NULL, adds the copies. If
 * not, adds the folder that shows the file and its copies in the view mounted there; not for
 * folders. Linear in the names of the folder and of those that are equal to it. Returns 0 or
 * -errno. */
MUST_CHECK int copies_query_index(struct copies_query *query, struct catalog *catalog,
				  const struct sources *sources, const char *mount_point);

#endif
