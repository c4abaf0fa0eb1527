/* SPDX-License-Identifier: MIT */
#ifndef PAGE_PARTS_H
#define PAGE_PARTS_H

/* The parts of a page. One thread at a time. */

#include "page/html.h"
#include "page/page.h"
#include "page/page_facts.h"

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

#endif
