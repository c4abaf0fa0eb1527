/* SPDX-License-Identifier: MIT */
#ifndef REPORT_SIMILAR_CONTENTS_H
#define REPORT_SIMILAR_CONTENTS_H

/* Reads the contents of an index with their directories, for report/similar.h. One thread at a
 * time. Takes memory for the directories of one content.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

struct report;
struct similar_tree;

/* A content. It belongs to a group of equal files, or to one inode. */
struct similar_content {
	uint64_t size; /* bytes, above 0 */
	/* the directories with a name of a file that has the content, each once, in their order */
	const uint32_t *dirs;
	size_t count; /* at least 1 */
};

/* Returns 0, or -errno, which ends the reading. */
typedef int similar_content_fn(void *context, const struct similar_content *content);

/* Calls a function for each content that the sizes and --exclude of the report's filter leave.
 * A file that was not read, or that failed, is a content of its own. Linear in names and copies.
 * Returns 0, -EINTR if stop_requested(), or another -errno. */
MUST_CHECK int similar_read_contents(const struct report *report, const struct similar_tree *tree,
				     similar_content_fn *take, void *context);

#endif
