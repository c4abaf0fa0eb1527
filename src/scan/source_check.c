/* SPDX-License-Identifier: MIT */
#include "scan/source_check.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/descriptor.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/sort.h"
#include "base/text.h"
#include "index/mount_point.h"
#include "index/mount_table.h"
#include "index/own.h"
#include "index/query.h"
#include "index/scan.h"
#include "index/source.h"
#include "index/source_change.h"
#include "scan/index_folder.h"
#include "scan/indexing.h"

static const char *change_text(enum source_change_kind kind)
{
	static const char *const texts[] = {
		[SOURCE_GONE] = "it does not exist",
		[SOURCE_REPLACED] = "it is on another file system than when it was scanned",
		[SOURCE_EMPTIED] = "it is empty, but was not empty when it was scanned",
		[SOURCE_EMPTY] = "it is empty, and was never scanned",
	};

	return texts[kind];
}

static int refuse(const struct source *source, enum source_change_kind kind,
		  enum source_check_use use)
{
	if (use == SOURCE_CHECK_SERVED && kind == SOURCE_GONE)
		log_error("cannot use source %s: %s; mount its disk", quote_path(source->path),
			  change_text(kind));
	else
		log_error("cannot use source %s: %s; mount its disk or, if this is intended, %suse "
			  "--accept-changed-source",
			  quote_path(source->path), change_text(kind),
			  use == SOURCE_CHECK_SERVED ? "unmount the view, and " : "");
	return -ESTALE;
}

static int check_mounted_below(const struct sources *sources)
{
	CLEANUP_BYTES struct bytes path = {0};
	int r = sources_find_unmounted(sources, &path);

	if (r < 0 || path.length == 0)
		return r;
	log_error(
		"cannot use folder %s: it is empty, and another file system was mounted there when "
		"it was scanned; mount that file system or, if this is intended, use "
		"--accept-changed-source",
		quote_path(bytes_text(&path) ? bytes_text(&path) : ""));
	return -ESTALE;
}

int source_check(const struct sources *sources, const struct index_settings *settings,
		 enum source_check_use use)
{
	enum source_change_kind kind;
	size_t which = 0;
	int r = sources_find_change(sources, &which, &kind);

	if (r == 0 && kind == SOURCE_SAME && sources->cross_mounts && use != SOURCE_CHECK_SERVED &&
	    !settings->accept_changed_source)
		r = check_mounted_below(sources);
	if (r == -ESTALE)
		return r;
	if (r < 0) {
		log_error("cannot compare the sources with the index %s: %s",
			  quote_path(catalog_folder(sources->catalog)), error_text(r));
		return r;
	}
	if (kind == SOURCE_EMPTY && use != SOURCE_CHECK_WARY)
		kind = SOURCE_SAME;
	if (kind == SOURCE_SAME || (settings->accept_changed_source && use != SOURCE_CHECK_SERVED))
		return 0;
	return refuse(&sources->list[which], kind, use);
}

/* ---- views ---------------------------------------------------------------------------------- */

int source_check_content(const char *path)
{
	AUTO_FREE char *point = NULL;
	int r = mount_point_of(path, &point);

	if (r == 0 && !point && own_is_in_state(path)) {
		log_error("cannot use %s: it belongs to twinfs, which keeps its indexes there; "
			  "give another folder",
			  quote_path(path));
		return -EINVAL;
	}
	if (r < 0)
		log_error("cannot find %s: %s", quote_path(path), error_text(r));
	if (r < 0 || !point)
		return r;
	log_error("cannot use %s: it is in the view at %s, which shows files of its sources; "
		  "give folders of the sources",
		  quote_path(path), quote_path(point));
	return -EINVAL;
}

/* ---- mount points whose view is not mounted ----------------------------------------------- */

/* Returns true if the last view of the index in the folder was mounted at the path. Returns false
 * if the index cannot be read. */
static bool is_mount_point_of(const char *folder, const char *path)
{
	CLEANUP_BYTES struct bytes mount_point = {0};
	struct catalog_reader *reader = NULL;
	struct catalog *catalog = NULL;
	bool is = false;

	if (index_open_read_only(folder, &catalog) != 0)
		return false;
	if (catalog_read_begin(catalog, &reader) == 0)
		is = catalog_get_view(reader, &mount_point) == 0 && bytes_text(&mount_point) &&
		     strcmp(bytes_text(&mount_point), path) == 0;
	catalog_read_end(reader);
	catalog_close(catalog);
	return is;
}

static bool is_empty(const char *path)
{
	AUTO_CLOSE int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd >= 0 && directory_check_empty(fd, NULL) == 0;
}

static int check_mount_point(const char *path, const struct text_list *folders)
{
	for (size_t i = 0; i < folders->count; i++) {
		if (!is_mount_point_of(folders->items[i], path))
			continue;
		log_error(
			"cannot use source %s: it is empty, and the mount point of a view that is "
			"not mounted; mount the view or, if the folder is intended, use "
			"--accept-changed-source",
			quote_path(path));
		return -ESTALE;
	}
	return 0;
}

static int list_folders(const struct index_settings *settings, struct text_list *folders)
{
	AUTO_FREE char *given = NULL;
	int r = index_folders_list(folders);

	if (!settings->folder)
		return r;
	/* with --index, the default folder is not needed, even if it cannot be read */
	r = index_folder_given(settings->folder, &given);
	return r < 0 ? r : text_list_add(folders, given, strlen(given));
}

int source_check_mount_points(char *const *paths, const struct index_settings *settings)
{
	CLEANUP_TEXT_LIST struct text_list folders = {0};
	int r = 0;

	for (; r == 0 && *paths && !settings->accept_changed_source; paths++) {
		if (!is_empty(*paths))
			continue;
		if (folders.count == 0)
			r = list_folders(settings, &folders);
		if (r == 0)
			r = check_mount_point(*paths, &folders);
	}
	return r;
}

/* ---- what a result lacks -------------------------------------------------------------------- */

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
