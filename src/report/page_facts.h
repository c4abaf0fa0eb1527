/* SPDX-License-Identifier: MIT */
#ifndef REPORT_PAGE_FACTS_H
#define REPORT_PAGE_FACTS_H

/* What a page says, gathered from the index in short snapshots. One thread at a time. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attributes.h"
#include "catalog/record.h"
#include "report/ages.h"
#include "report/copies.h"
#include "report/folders.h"
#include "report/page.h"
#include "report/summary.h"

/* Groups that are shown with their names. */
#define PAGE_GROUPS_MAX 24

/* Of one of them so many inodes are looked at, from which the first names are shown: a group may
 * have more copies than there is time for. */
#define PAGE_GROUP_INODES_MAX 64

/* Folders that are told apart at most: each has at least this part of what would come free. */
#define PAGE_FOLDERS_PART 400

struct page_group {
	struct group_record group;
	struct copies copies; /* the kept one first */
	struct bytes picture; /* empty: there is none */
};

/* A folder, named as in uniques/. */
struct page_folder {
	struct folder_node node;
	const char *path; /* with its source's folder; "" for that of a single source */
	const char *name; /* the end of it, behind the folder above; never "" */
};

struct page_facts {
	struct report_summary summary;
	uint64_t generation;
	bool changed; /* the index did, while it was looked at */
	struct ages all; /* regular files */
	struct ages redundant;
	struct page_group groups[PAGE_GROUPS_MAX];
	size_t group_count;
	struct page_folder *folders; /* in the order of folders_tree() */
	size_t folder_count;
	struct arena names; /* of the folders */
};

/* Fills in what was all zero. 0 or -errno; what there is then is to be freed all the same. */
MUST_CHECK int page_facts_gather(struct page_facts *facts, const struct page_settings *settings);
void page_facts_free(struct page_facts *facts);
#define CLEANUP_PAGE_FACTS CLEANUP(page_facts_free)

#endif
