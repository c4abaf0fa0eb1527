/* SPDX-License-Identifier: MIT */
#include "catalog/lost_writes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/boot.h"
#include "catalog/change.h"
#include "catalog/handle.h"
#include "catalog/query.h"
#include "catalog/scan.h"
#include "store/index_files.h"
#include "twinfs/format.h"

/* Age of a change, at the last commit, after which its bytes count as written to the disk. The
 * kernel starts writing data that is 30 s old (vm.dirty_expire_centisecs). The time that the disk
 * needs to write all data is unknown, so this limit is much longer. */
#define WRITTEN_AFTER_SECONDS 600

/* Maximum number of files that are found in one snapshot and changed in one transaction. */
#define PORTION 4096

/* Text of TWINFS_INDEX_BOOT instead of the id of a boot: contents of files that changed at or after
 * this time, in seconds, are being forgotten. Each commit moves the time of the last commit, so
 * after a kill the time cannot be computed again. */
#define SINCE_FORMAT "since %"

struct lost_portion {
	int64_t since; /* files that changed at or after this time are affected */
	bool since_is_stored;
	uint64_t after; /* id of the last file that was examined */
	uint64_t *files; /* PORTION numbers */
	size_t count;
};

/* Finds the next affected files, also those of unknown content: digests and hashes of blocks depend
 * on the version of the content, too. Returns 0, -ENOENT if no files are left, or -errno. */
static int find(struct catalog *catalog, struct lost_portion *portion)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct file_record file;
	int r = catalog_read_begin(catalog, &reader);

	portion->count = 0;
	if (r == 0)
		r = catalog_scan_files(reader, portion->after, &scan);
	while (r == 0 && portion->count < PORTION && (r = catalog_next_file(scan, &file)) == 0) {
		portion->after = file.id;
		if (file.attributes.ctime.tv_sec >= portion->since && S_ISREG(file.attributes.mode))
			portion->files[portion->count++] = file.id;
	}
	return r;
}

static int forget_body(struct catalog_writer *w, void *context)
{
	const struct lost_portion *portion = context;

	return catalog_forget_contents(w, portion->files, portion->count);
}

static int store_since(int folder_fd, struct lost_portion *portion)
{
	char text[BOOT_ID_MAX];

	if (portion->since_is_stored)
		return 0;
	(void)snprintf(text, sizeof(text), SINCE_FORMAT PRId64, portion->since);
	portion->since_is_stored = true;
	return index_file_replace(folder_fd, TWINFS_INDEX_BOOT, text);
}

/* Finds the time that a killed start stored, or else that of the last commit. */
static int find_since(struct catalog *catalog, const char *boot_text, struct lost_portion *portion)
{
	struct catalog_totals totals;
	int r;

	portion->since_is_stored = sscanf(boot_text, SINCE_FORMAT SCNd64, &portion->since) == 1;
	if (portion->since_is_stored)
		return 0;
	r = catalog_totals_now(catalog, &totals);
	if (r == 0)
		portion->since = totals.changed.tv_sec - WRITTEN_AFTER_SECONDS;
	return r == -ENOENT ? 0 : r; /* a new index */
}

static int forget(struct catalog *catalog, int folder_fd, struct lost_portion *portion)
{
	AUTO_FREE uint64_t *files = malloc(PORTION * sizeof(*files));
	int found, r;

	if (!files)
		return -ENOMEM;
	portion->files = files;
	do {
		found = find(catalog, portion);
		r = found < 0 && found != -ENOENT ? found : 0;
		if (r == 0 && portion->count > 0)
			r = store_since(folder_fd, portion);
		if (r == 0 && portion->count > 0)
			r = catalog_write(catalog, forget_body, portion);
	} while (r == 0 && found == 0);
	return r;
}

int catalog_lost_since(struct catalog *catalog, int64_t *since)
{
	char text[BOOT_ID_MAX], boot[BOOT_ID_MAX];
	struct lost_portion portion = {0};
	int r = index_file_read(catalog->folder_fd, TWINFS_INDEX_BOOT, text, sizeof(text));

	*since = INT64_MAX;
	if (r < 0)
		return r;
	if (text[0] && strcmp(text, boot_id(boot)) == 0)
		return 0;
	r = find_since(catalog, text, &portion);
	*since = portion.since;
	return r;
}

int lost_writes_forget(struct catalog *catalog, int folder_fd)
{
	AUTO_FREE struct lost_portion *portion = NULL;
	char text[BOOT_ID_MAX], boot[BOOT_ID_MAX];
	int r = index_file_read(folder_fd, TWINFS_INDEX_BOOT, text, sizeof(text));

	if (r < 0)
		text[0] = '\0';
	if (text[0] && strcmp(text, boot_id(boot)) == 0)
		return 0;
	portion = calloc(1, sizeof(*portion));
	if (!portion)
		return -ENOMEM;
	r = find_since(catalog, text, portion);
	if (r == 0)
		r = forget(catalog, folder_fd, portion);
	if (r == -EUCLEAN)
		return 0; /* the next reader of the record handles the damage */
	return r < 0 ? r : index_file_replace(folder_fd, TWINFS_INDEX_BOOT, boot_id(boot));
}
