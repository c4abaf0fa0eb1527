/* SPDX-License-Identifier: MIT */
#include "daemon/view_page.h"

#include <errno.h>

#include "base/clock.h"
#include "page/page.h"
#include "report/rules.h"
#include "view/node.h"
#include "view/view.h"

_Static_assert(PAGE_BYTES_MAX <= VIEW_REPORT_BYTES, "a page fits into the file of the view");

/* Appends the path in folders/ of an equal folder, see struct page_settings. */
static int find_equal_path(void *context, uint64_t dir, struct bytes *path)
{
	int r = view_path(context, node_make_folder(dir, 0), path);

	return r == -ENOENT ? -ESTALE : r;
}

int view_page_make(struct view *view, const struct keep_rules *keep, const char *view_root,
		   struct bytes *page, const struct cancellation *cancellation)
{
	const struct rules rules = {.of_index = keep};
	const struct page_settings settings = {
		.rules = &rules,
		.catalog = view->catalog,
		.sources = view->sources,
		.now = clock_now(),
		.view_root = view_root,
		.mount_point = view->mount_point,
		.equal_path = find_equal_path,
		.context = view,
		.cancellation = cancellation,
	};
	struct page_result result;

	return page_make(&settings, page, &result);
}
