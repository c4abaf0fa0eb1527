/* SPDX-License-Identifier: MIT */
#ifndef PAGE_FACTS_H
#define PAGE_FACTS_H

/* The data of a report page, gathered from the index in short snapshots. One thread at a time. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attributes.h"
#include "base/bytes.h"
#include "choose/copies.h"
#include "choose/figures.h"
#include "choose/missing.h"
#include "index/blocks.h"
#include "index/record.h"
#include "page/folders.h"
#include "page/page.h"
#include "page/tallies.h"

/* Highest number of files and folders that are named. */
#define UNREADABLE_MAX 20

struct unreadable {
	struct bytes path; /* absolute */
	int error; /* positive errno */
};

/* The names of the first files and folders that could not be read. */
struct unreadable_facts {
	struct unreadable list[UNREADABLE_MAX];
	size_t count;
};

/* Highest number of groups that are shown with their folders. */
#define PAGE_EQUAL_MAX 10

struct page_equal {
	uint64_t folders; /* number of folders */
	uint64_t files, bytes; /* of one folder; each name counts */
	uint64_t reclaimable;
	struct copies copies; /* the kept folder first */
};

/* The groups of equal folders of a page, as `list --folders` selects them. */
struct equal_facts {
	struct page_equal list[PAGE_EQUAL_MAX]; /* by reclaimable bytes, the most first */
	size_t count;
	uint64_t groups; /* number of all groups */
	uint64_t whole; /* folders that are whole copies */
	uint64_t whole_bytes; /* what removing these would free */
};

/* Highest number of sources that are compared with the others. A page of more has no such facts. */
#define ELSEWHERE_SOURCES_MAX 8

struct page_elsewhere {
	struct missing_tally all; /* the files of the source */
	uint64_t missing, missing_bytes; /* those that are in no other source */
};

/* What of each source is also in the other sources, by the index: what `covered --ignore-symlinks`
 * says of the files that the index knows. */
struct elsewhere_facts {
	struct page_elsewhere list[ELSEWHERE_SOURCES_MAX]; /* by number of the source */
	size_t count; /* 0: there are no facts */
};

/* Highest number of groups that are shown with their names. */
#define PAGE_GROUPS_MAX 24

/* Highest number of inodes of a group whose names are read. The first of these names are shown. A
 * group can have more copies than can be read in reasonable time. */
#define PAGE_GROUP_INODES_MAX 64

/* Number of equal parts of the redundant bytes of the index. A folder that has at least one part is
 * shown. */
#define PAGE_FOLDERS_PART 400

struct page_group {
	struct group_record group;
	struct copies copies; /* the kept copy first */
	struct bytes picture; /* empty: no picture */
};

/* A folder, named as in uniques/. */
struct page_folder {
	struct folder_node node;
	const char *path; /* relative to uniques/; "" for the root of a single source */
	const char *name; /* the last component of path, or the path of the source; never "" */
	/* Bytes of all regular files in the folder and in subfolders that are not shown; and with
	 * all its descendants. */
	uint64_t own_bytes, all_bytes;
};

struct page_facts {
	struct report_summary summary;
	uint64_t generation;
	bool changed; /* the index changed while it was read */
	struct ages all; /* regular files */
	struct ages redundant; /* redundant copies */
	struct kinds kinds; /* by redundant bytes, the most first */
	struct equal_facts equal;
	struct elsewhere_facts elsewhere;
	struct equal_parts parts; /* runs is 0 if none are known */
	struct page_group groups[PAGE_GROUPS_MAX];
	size_t group_count;
	struct page_folder *folders; /* in the order of folders_tree() */
	size_t folder_count;
	struct unreadable_facts unreadable; /* the first of summary.errors */
	struct arena names; /* paths of the folders */
};

/* Fills in facts, which must be all zero. Returns 0 or -errno. The caller must free facts in both
 * cases. */
MUST_CHECK int page_facts_gather(struct page_facts *facts, const struct page_settings *settings);
void page_facts_free(struct page_facts *facts);
#define CLEANUP_PAGE_FACTS CLEANUP(page_facts_free)

#endif
