/* SPDX-License-Identifier: MIT */
#ifndef REPORT_SIMILAR_COMMON_H
#define REPORT_SIMILAR_COMMON_H

/* The contents that many directories have, for report/similar.h: which of them two directories
 * share. One thread at a time. Takes 8 bytes for each directory of each content, and 20 bytes for
 * each content. All zeros is empty.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "report/similar_contents.h"
#include "report/similar_tree.h"

struct similar_common {
	struct similar_place *places; /* sorted by directory in similar_common_finish() */
	size_t count, capacity;
	uint64_t *sizes; /* of the contents, by their numbers */
	size_t size_count, size_capacity;
	uint32_t first; /* the directory whose contents are marked in in_first */
	uint64_t pairs; /* number of the present pair */
	uint32_t *in_first; /* the last directory that had the content */
	uint64_t *in_both; /* the last pair that shared the content */
};

/* Adds a content. Returns 0 or -errno. */
MUST_CHECK int similar_common_add(struct similar_common *common,
				  const struct similar_content *content);

/* Must be called after all contents were added. Returns 0 or -ENOMEM. */
MUST_CHECK int similar_common_finish(struct similar_common *common);

void similar_common_free(struct similar_common *common);

/* Adds the contents that two directories share, and their bytes. Linear in the places of b, and in
 * those of a unless it is that of the last call. */
void similar_common_share(struct similar_common *common, const struct similar_tree *tree,
			  const uint32_t pair[static 2], uint64_t *contents, uint64_t *bytes);

#endif
