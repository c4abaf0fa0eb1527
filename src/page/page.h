/* SPDX-License-Identifier: MIT */
#ifndef PAGE_H
#define PAGE_H

/* The report page: an HTML page with figures, commands to go on with, equal folders, the folders
 * and the groups with the most reclaimable bytes, and the extensions and ages of files. The page is
 * self-contained: no network and no script is needed.
 *
 * The page is made from many short snapshots, so that no read transaction stays open for long.
 * Takes memory for the groups shown and for the sums of folders (page/tallies.h). Linear in
 * files. One thread makes a page; several threads can each make one.
 */

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/attributes.h"
#include "base/bytes.h"

struct cancellation;
struct filter;
struct rules;
struct sources;

/* Highest number of bytes of a picture. */
#define PAGE_PICTURE_MAX (48UL << 10)

/* Highest number of bytes of a page without its pictures, for names of any length. */
#define PAGE_BYTES_MAX (1UL << 20)

/* All pointers are borrowed. */
struct page_settings {
	const struct sources *sources;
	struct filter *filter; /* selects the groups; NULL: all groups of the index */
	/* Rules that choose the kept copies; only keep rules are used. NULL: the kept copies of the
	 * index. */
	const struct rules *rules;
	struct timespec now; /* the time that ages are relative to */
	/* The page is report.html of a view, whose root has this path from the folder of the page,
	 * such as "../". The links and pictures of the page are files of the view. NULL: it is not
	 * in a view. */
	const char *view_root;
	/* What the commands of the page name instead of the sources: the mount point of a view of
	 * the index, absolute. NULL: none. */
	const char *mount_point;
	/* Options of these commands, each after a space and quoted for a shell: which files are in
	 * the index, and which groups the page shows. "" or NULL: none. */
	const char *scan_options, *group_options;
	/* Appends a small picture (JPEG or PNG) of a file's contents. Appends nothing if the file
	 * is no picture. Called without a snapshot. Returns 0, or -errno, which aborts the page.
	 * NULL: the page has no pictures. */
	int (*picture)(void *context, uint64_t file, struct bytes *picture);
	/* Appends the path in the view of an equal folder, beside the folders that are equal to it.
	 * Called without a snapshot. Returns 0, -ESTALE if the view has no such path, or another
	 * -errno, which aborts the page. NULL: equal folders have no links. */
	int (*equal_path)(void *context, uint64_t dir, struct bytes *path);
	void *context;
	const struct cancellation *cancellation; /* aborts the page with -EINTR; NULL: none */
};

/* Numbers of files and folders that the page does not account for. */
struct page_result {
	uint64_t errors;
	uint64_t pending;
};

/* Appends the page. Returns 0 or -errno; -EINTR if stop_requested() or interrupted. */
MUST_CHECK int page_make(const struct page_settings *settings, struct bytes *page,
			 struct page_result *result);

#endif
