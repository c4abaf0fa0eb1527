/* SPDX-License-Identifier: MIT */
#ifndef CLI_CONTENT_SEARCH_H
#define CLI_CONTENT_SEARCH_H

/* Finds files that possibly have the content of a record, without a scan. In this order: files with
 * its hash in the index, files that the log of acts names, and files of its size whose hash the
 * index does not know. The number of files of each kind is limited; if the content is not found,
 * this is logged. For the main thread. */

#include "act/record.h"
#include "base/attributes.h"
#include "base/text_list.h"

struct catalog;

struct content_search {
	const char *folder; /* of the index, borrowed */
	struct catalog *catalog; /* NULL: not opened, or the index cannot be opened */
	bool is_opened;
	struct hash128 hash; /* of the last search */
	uint64_t inode; /* of the last search for a copy with several names, which all are listed */
	struct text_list paths; /* its result, absolute */
	size_t limit; /* number of paths with which the current kind of files ends */
	bool is_limited; /* more files would be possible */
	bool is_explained; /* that was logged */
};

void content_search_deinit(struct content_search *search);
#define CLEANUP_CONTENT_SEARCH CLEANUP(content_search_deinit)

/* Does the work of the function find of struct undo_settings. */
MUST_CHECK int content_search_find(struct content_search *search, const struct record *record,
				   int (*try)(void *trying, const char *path), void *trying);

#endif
