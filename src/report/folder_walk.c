/* SPDX-License-Identifier: MIT */
#include "report/folder_walk.h"

#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "base/stop.h"
#include "catalog/scan.h"

static int visit_names(struct catalog_reader *reader, uint64_t dir, struct bytes *waiting,
		       folder_walk_fn *visit, void *context)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct entry_record entry;
	int r = catalog_scan_entries(reader, dir, 0, &scan);

	while (r == 0 && (r = catalog_next_entry(scan, &entry)) == 0) {
		r = visit(context, &entry);
		if (r == 0 && entry.kind == ENTRY_DIR)
			r = bytes_append(waiting, &entry.child, sizeof(entry.child));
	}
	return r == -ENOENT ? 0 : r;
}

int folder_walk(struct catalog_reader *reader, uint64_t dir, folder_walk_fn *visit, void *context)
{
	CLEANUP_BYTES struct bytes waiting = {0}; /* ids of directories */
	int r = bytes_append(&waiting, &dir, sizeof(dir));

	while (r == 0 && waiting.length > 0) {
		if (stop_requested())
			return -EINTR;
		waiting.length -= sizeof(dir);
		memcpy(&dir, waiting.data + waiting.length, sizeof(dir));
		r = visit_names(reader, dir, &waiting, visit, context);
	}
	return r;
}
