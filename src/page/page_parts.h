/* SPDX-License-Identifier: MIT */
#ifndef PAGE_PARTS_H
#define PAGE_PARTS_H

/* The parts of a page. One thread at a time. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/memory.h"
#include "choose/copies.h"
#include "choose/figures.h"
#include "choose/missing.h"
#include "index/hashes.h"
#include "index/record.h"
#include "page/html.h"
#include "page/page.h"
#include "page/tallies.h"

/* ---- facts ---------------------------------------------------------------------------------- */

/* The data of a report page, gathered from the index in short snapshots. One thread at a time. */

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

/* ---- parts ---------------------------------------------------------------------------------- */

/* A page being written; all borrowed. */
struct page_writing {
	const struct page_settings *settings;
	const struct page_facts *facts;
	struct html *html;
};

/* A page of at least this many bytes gets no more links, labels of boxes and tooltips. This limit
 * keeps a page with very long names below PAGE_BYTES_MAX. After the limit, a page can get 400 boxes
 * of 130 bytes and, if all characters are escaped, 200 names of 2,700 bytes. */
#define PAGE_BYTES_LONG (400UL << 10)

static inline bool page_has_room(const struct page_writing *writing)
{
	return writing->html->text.length < PAGE_BYTES_LONG;
}

/* Longest path that gets a link, in bytes. The system could not open a longer path in the view. */
#define PAGE_LINK_MAX 4000

/* Files of data/page: the beginning of a page, for html_fill(), and its style. Reclaimable bytes
 * have the accent colour, all other things are grey. The meaning of each colour is repeated by
 * words or lengths. Each colour has a light and a dark variant. The contrast of text is at least
 * 4.5. */
extern const char page_head[], page_style[];

/* Numbers of the style, which test_style.c compares: the pixels around nested boxes, and the number
 * of shades. */
#define PAGE_BOX_BORDER 3
#define PAGE_BOX_HEAD 21 /* with the border of the box */
#define PAGE_SHADES 5

/* Writes how many folders are whole copies, or nothing if there are none. */
void page_write_whole_copies(const struct page_writing *writing);

/* Writes the groups of equal folders with the most reclaimable bytes. */
void page_write_equal(const struct page_writing *writing);

/* Writes what of each source is in the other sources, too. */
void page_write_elsewhere(const struct page_writing *writing);

/* Writes reclaimable bytes by folder: a treemap and a table. Writes nothing if no bytes are
 * reclaimable. If memory is short, stores -ENOMEM in html. */
void page_write_folders(const struct page_writing *writing);

/* Writes the groups with the most reclaimable bytes, with names and pictures. */
void page_write_groups(const struct page_writing *writing);

/* ---- treemap -------------------------------------------------------------------------------- */

/* Divides a rectangle into boxes with areas proportional to given sizes, each box as square as
 * possible: M. Bruls, K. Huizing, J. van Wijk, "Squarified Treemaps", Data Visualization 2000. Pure
 * code, any thread.
 */

struct treemap_box {
	double x, y, width, height;
};

/* Lays out one box for each size. Linear in count.
 *
 * sizes	greater than 0, the largest first; boxes[i] is for sizes[i]
 * area		the rectangle to divide; width and height greater than 0
 * boxes	array for count boxes
 */
void treemap_lay_out(const uint64_t *sizes, size_t count, struct treemap_box area,
		     struct treemap_box *boxes);

#endif
