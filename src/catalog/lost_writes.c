/* SPDX-License-Identifier: MIT */
#include "catalog/lost_writes.h"

#include <errno.h>

#include "catalog/change.h"
#include "catalog/integrity.h"
#include "catalog/query.h"
#include "catalog/scan.h"

/* Age of a change, at the last commit, after which its bytes count as written to the disk. The
 * kernel starts writing data that is 30 s old (vm.dirty_expire_centisecs). The time that the disk
 * needs to write all data is unknown, so this limit is much longer. */
#define WRITTEN_AFTER_SECONDS 600

/* Maximum number of files that are found in one snapshot and changed in one transaction. */
#define PORTION 4096

struct portion {
	time_t since; /* files that changed at or after this time are affected */
	uint64_t after; /* id of the last file that was examined */
	uint64_t files[PORTION];
	size_t count;
};

/* Finds the next affected files. Returns 0, -ENOENT if no files are left, or -errno. */
static int find(struct catalog *catalog, struct portion *portion)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct content_record content;
	struct file_record file;
	int r = catalog_read_begin(catalog, &reader);

	portion->count = 0;
	if (r == 0)
		r = catalog_scan_files(reader, portion->after, &scan);
	while (r == 0 && portion->count < PORTION && (r = catalog_next_file(scan, &file)) == 0) {
		portion->after = file.id;
		if (file.attributes.ctime.tv_sec >= portion->since &&
		    catalog_get_content(reader, file.id, &content) == 0)
			portion->files[portion->count++] = file.id;
	}
	return r;
}

static int forget_body(struct catalog_writer *w, void *context)
{
	const struct portion *portion = context;

	return catalog_forget_contents(w, portion->files, portion->count);
}

static int forget(struct catalog *catalog, struct portion *portion)
{
	struct catalog_totals totals;
	int found, r = catalog_totals_now(catalog, &totals);

	if (r < 0)
		return r == -ENOENT ? 0 : r; /* a new index */
	portion->since = totals.changed.tv_sec - WRITTEN_AFTER_SECONDS;
	do {
		found = find(catalog, portion);
		r = found < 0 && found != -ENOENT ? found : 0;
		if (r == 0 && portion->count > 0)
			r = catalog_write(catalog, forget_body, portion);
	} while (r == 0 && found == 0);
	return r;
}

int lost_writes_forget(struct catalog *catalog, int folder_fd)
{
	AUTO_FREE struct portion *portion = NULL;
	int r;

	if (index_is_of_this_boot(folder_fd))
		return 0;
	portion = calloc(1, sizeof(*portion));
	if (!portion)
		return -ENOMEM;
	r = forget(catalog, portion);
	if (r == -EUCLEAN)
		return 0; /* the next reader of the record handles the damage */
	return r < 0 ? r : index_note_boot(folder_fd);
}
