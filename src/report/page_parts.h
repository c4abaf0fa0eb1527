/* SPDX-License-Identifier: MIT */
#ifndef REPORT_PAGE_PARTS_H
#define REPORT_PAGE_PARTS_H

/* The parts of a page, each in a file of its own. One thread at a time. */

#include "report/html.h"
#include "report/page.h"
#include "report/page_facts.h"

/* A page being written; all borrowed. */
struct page_writing {
	const struct page_settings *settings;
	const struct page_facts *facts;
	struct html *html;
};

/* Where names are very long, a page gets no links and hints from here on, so that it ends before
 * PAGE_BYTES_MAX: 400 boxes of 130 bytes, and 140 names of 2,700 with all of it odd. */
#define PAGE_BYTES_LONG (400UL << 10)

static inline bool page_has_room(const struct page_writing *writing)
{
	return writing->html->text.length < PAGE_BYTES_LONG;
}

/* Links lead into the view: nobody could follow a longer one. */
#define PAGE_LINK_MAX 4000

/* How it looks: the content of <style>, in pieces up to NULL. */
extern const char *const page_style[];

/* The figures, and what of it all could come free. */
void page_write_figures(const struct page_writing *writing);

/* What could come free in which folder: boxes and a table. Nothing where there is none. -ENOMEM
 * stays in html. */
void page_write_folders(const struct page_writing *writing);

/* The groups that would give back most, with their names and pictures. */
void page_write_groups(const struct page_writing *writing);

/* How old files are, and those that could go. */
void page_write_ages(const struct page_writing *writing);

#endif
