/* SPDX-License-Identifier: MIT */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

/* A page in HTML that shows where the space went: figures, folders, the groups that would give back
 * most, how old it all is. It needs nothing but itself to be read: no network, no script.
 *
 * It is made from many short snapshots, so that no state of the index has to be kept meanwhile.
 * Memory for the groups shown and the folders told apart (report/folders.h). Linear in files. One
 * thread for a page; several may make one each.
 */

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/attributes.h"
#include "base/bytes.h"

struct catalog;
struct interruption;
struct sources;

/* The most that a picture may have, in bytes. */
#define PAGE_PICTURE_MAX (48UL << 10)

/* The most that a page has beside its pictures, in bytes, however long names are. */
#define PAGE_BYTES_MAX (1UL << 20)

/* All pointers are borrowed. */
struct page_settings {
	struct catalog *catalog;
	const struct sources *sources;
	uint64_t min_size; /* groups of smaller files are left out */
	bool min_size_given; /* false: as the index has it */
	struct timespec now; /* from when ages are counted */
	/* It is .twinfs/report.html of a view: links lead to what that shows, and pictures come
	 * from there. */
	bool in_view;
	/* Appends a small picture (JPEG or PNG) of what is in a file; nothing where it is none.
	 * Called without a snapshot. 0, or -errno which ends it. NULL: no pictures. */
	int (*picture)(void *context, uint64_t file, struct bytes *picture);
	void *context;
	const struct interruption *interruption; /* ends it with -EINTR; NULL: none */
};

/* What of it is not complete. */
struct page_result {
	uint64_t errors;
	uint64_t pending;
};

/* Appends the page. 0 or -errno: -EINTR when stop_requested(). */
MUST_CHECK int page_make(const struct page_settings *settings, struct bytes *page,
			 struct page_result *result);

#endif
