/* SPDX-License-Identifier: MIT */
#include "catalog/source_change.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "catalog/query.h"
#include "catalog/source_identity.h"

bool directory_is_empty(int fd)
{
	int again = open_beneath_for_reading(fd, "", O_DIRECTORY, true);
	DIR *directory AUTO_CLOSEDIR = again >= 0 ? fdopendir(again) : NULL;
	const struct dirent *entry;

	if (!directory) {
		if (again >= 0)
			close(again);
		return false;
	}
	do {
		errno = 0;
		/* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is this function's alone */
		entry = readdir(directory);
	} while (entry && is_dots(entry->d_name));
	return !entry && errno == 0;
}

static int has_names(struct catalog_reader *reader, const struct source *source, bool *has)
{
	struct catalog_scan *scan CLEANUP_SCAN = NULL;
	struct entry_record entry;
	int r = catalog_scan_entries(reader, source->root, 0, &scan);

	if (r == 0)
		r = catalog_next_entry(scan, &entry);
	*has = r == 0;
	return r == -ENOENT ? 0 : r;
}

bool source_is_emptied(const struct sources *sources, const struct source *source, int fd)
{
	struct catalog_reader *reader CLEANUP_READER = NULL;
	bool has = false;

	return directory_is_empty(fd) && catalog_read_begin(sources->catalog, &reader) == 0 &&
	       has_names(reader, source, &has) == 0 && has;
}

static int compare(struct catalog_reader *reader, const struct source *source, uint64_t index,
		   enum source_change_kind *kind)
{
	struct source_identity known, now;
	bool has = false;
	int r = source_identity_get(reader, index, &known, NULL);

	*kind = SOURCE_GONE;
	if (r < 0 || source->fd < 0)
		return r;
	r = source_identity_read(source->fd, &now);
	if (r == 0)
		r = has_names(reader, source, &has);
	*kind = SOURCE_SAME;
	if (known.type != 0 && has && !source_identity_matches(&known, &now))
		*kind = SOURCE_REPLACED;
	else if (has && directory_is_empty(source->fd))
		*kind = SOURCE_EMPTIED;
	else if (known.type == 0 && directory_is_empty(source->fd))
		*kind = SOURCE_EMPTY;
	return r;
}

int sources_find_change(const struct sources *sources, size_t *which, enum source_change_kind *kind)
{
	struct catalog_reader *reader CLEANUP_READER = NULL;
	int r = catalog_read_begin(sources->catalog, &reader);

	*kind = SOURCE_SAME;
	for (size_t i = 0; r == 0 && *kind == SOURCE_SAME && i < sources->count; i++) {
		*which = i;
		r = compare(reader, &sources->list[i], i, kind);
	}
	return r;
}

static int accept_body(struct catalog_writer *w, void *context)
{
	const struct sources *sources = context;
	struct source_identity known, now;
	int r = 0;

	for (size_t i = 0; r == 0 && i < sources->count; i++) {
		r = source_identity_read(sources->list[i].fd, &now);
		if (r == 0)
			r = source_identity_get(catalog_writer_reader(w), i, &known, NULL);
		if (r == 0 &&
		    (known.type != now.type || known.uuid != now.uuid || known.fsid != now.fsid))
			r = source_identity_put(w, i, &now);
	}
	return r;
}

int sources_accept(const struct sources *sources)
{
	return catalog_write(sources->catalog, accept_body, (void *)(uintptr_t)sources);
}
