/* SPDX-License-Identifier: MIT */
#ifndef PAGE_EQUAL_FACTS_H
#define PAGE_EQUAL_FACTS_H

/* The groups of equal folders of a page, as `list --folders` selects them, gathered in portions.
 * One thread at a time. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "report/copies.h"
#include "report/folder_tree.h"
#include "report/rules.h"

struct catalog_reader;
struct filter;
struct page_settings;

/* Highest number of groups that are shown with their folders. */
#define PAGE_EQUAL_MAX 10

struct page_equal {
	uint64_t folders; /* number of folders */
	uint64_t files, bytes; /* of one folder; each name counts */
	uint64_t reclaimable;
	struct copies copies; /* the kept folder first */
};

struct equal_facts {
	struct page_equal list[PAGE_EQUAL_MAX]; /* by reclaimable bytes, the most first */
	size_t count;
	uint64_t groups; /* number of all groups */
	uint64_t whole; /* folders that are whole copies */
	uint64_t whole_bytes; /* what removing these would free */
};

void equal_facts_free(struct equal_facts *facts);

/* The state between portions. */
struct equal_gathering {
	const struct page_settings *settings;
	struct filter *filter;
	struct equal_facts *facts;
	struct rules rules;
	struct folder_count whole;
	uint64_t group; /* the last one that was counted */
};

/* Begins; all pointers are borrowed, and facts must be all zero. Returns 0 or -ENOMEM. */
MUST_CHECK int equal_gathering_begin(struct equal_gathering *gathering,
				     const struct page_settings *settings, struct filter *filter,
				     struct equal_facts *facts);
void equal_gathering_free(struct equal_gathering *gathering);

/* Counts groups while *left is above 0; each name in them takes one from it. Returns 0, -ENOENT if
 * the facts are complete, -EINTR if stop_requested(), or another -errno. */
MUST_CHECK int equal_gather(struct equal_gathering *gathering, struct catalog_reader *reader,
			    size_t *left);

#endif
