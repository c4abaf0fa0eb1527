/* SPDX-License-Identifier: MIT */
#include "scan/completeness.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/sort.h"
#include "index/mounts.h"
#include "index/query.h"
#include "index/scan.h"
#include "index/source.h"
#include "scan/index_settings.h"

enum twinfs_exit completeness_status(uint64_t errors, uint64_t pending)
{
	if (errors > 0)
		log_warning("the result is incomplete: %" PRIu64 " %s could not be read", errors,
			    plural(errors, "file or directory", "files or directories"));
	if (pending > 0)
		log_warning("the result is incomplete: %" PRIu64 " %s not compared yet", pending,
			    plural(pending, "file is", "files are"));
	return errors > 0 || pending > 0 ? TWINFS_EXIT_INCOMPLETE : TWINFS_EXIT_COMPLETE;
}

void completeness_name_missed(uint64_t missed)
{
	log_warning("the result is incomplete: %" PRIu64 " %s renamed or removed meanwhile, again "
		    "and again; run the command again when fewer files change",
		    missed, plural(missed, "file was", "files were"));
}

/* Number of file systems that are named, as there can be hundreds. */
#define NAMED_MAX 8

int completeness_name_left_out(struct catalog *catalog, const struct sources *sources,
			       const struct index_settings *settings)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	CLEANUP_TEXT_LIST struct text_list paths = {0};
	CLEANUP_BYTES struct bytes text = {0};
	int r = settings->file_systems_given ? 0 : catalog_read_begin(catalog, &reader);

	if (r == 0 && reader)
		r = left_out_list(reader, sources, &paths);
	if (r == 0 && paths.count > 1)
		qsort(paths.items, paths.count, sizeof(*paths.items), texts_by_bytes);
	for (size_t i = 0; r == 0 && i < paths.count && i < NAMED_MAX; i++)
		r = bytes_format(&text, "%s%s", i > 0 ? ", " : "", quote_path(paths.items[i]));
	if (r == 0 && paths.count > NAMED_MAX)
		r = bytes_append_text(&text, ", ...");
	if (r == 0 && paths.count > 0)
		log_warning("%zu %s below the sources %s left out: %s; give --cross-file-systems, "
			    "or --one-file-system to leave %s out",
			    paths.count, plural(paths.count, "file system", "file systems"),
			    plural(paths.count, "is", "are"), bytes_text(&text),
			    plural(paths.count, "it", "them"));
	return r;
}

/* Appends the absolute path of an unreadable file or directory. */
static int error_path(struct catalog_reader *reader, const struct sources *sources,
		      const struct error_entry *entry, struct bytes *path)
{
	struct file_record file;
	int r;

	if (entry->kind == ERROR_DIR)
		return source_dir_path(sources, reader, entry->id, path);
	r = catalog_get_file(reader, entry->id, &file);
	return r < 0 ? r : source_entry_path(sources, reader, file.dir, file.cookie, path);
}

static int name_error(struct catalog_reader *reader, const struct sources *sources,
		      const struct error_entry *entry)
{
	CLEANUP_BYTES struct bytes path = {0};
	int r = error_path(reader, sources, entry, &path);

	if (r < 0)
		return r == -ENOENT ? 0 : r; /* the file has no name any more */
	log_warning("cannot read %s: %s", quote_bytes((const char *)path.data, path.length),
		    error_text(entry->error));
	return 0;
}

int completeness_name_errors(struct catalog_reader *reader, const struct sources *sources)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct error_entry entry;
	int r = catalog_scan_errors(reader, &scan);

	while (r == 0 && (r = catalog_next_error(scan, &entry)) == 0)
		r = name_error(reader, sources, &entry);
	return r == -ENOENT ? 0 : r;
}
