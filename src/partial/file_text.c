/* SPDX-License-Identifier: MIT */
#include "partial/file_text.h"

#include <errno.h>

#include "base/log.h"
#include "base/quote.h"
#include "catalog/paths.h"
#include "catalog/query.h"
#include "partial/partial.h"
#include "source/source.h"

/* Appends the path below its source. */
static int relative_path(const struct partial *partial, uint64_t id, struct bytes *path,
			 uint32_t *source)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	struct file_record file;
	int r = catalog_read_begin(partial->settings->catalog, &reader);

	if (r == 0)
		r = catalog_get_file(reader, id, &file);
	return r < 0 ? r : catalog_file_path(reader, &file, path, source);
}

int file_text_path(const struct partial *partial, uint64_t id, const char *const *shown,
		   struct bytes *path)
{
	CLEANUP_BYTES struct bytes relative = {0};
	const char *folder;
	uint32_t source;
	int r = relative_path(partial, id, &relative, &source);

	if (r == 0 && !bytes_text(&relative))
		r = -ENOMEM;
	if (r < 0)
		return r;
	if (!shown)
		return source_absolute_path(partial->settings->sources, source,
					    bytes_text(&relative), path);
	folder = shown[source];
	r = bytes_append_text(path, folder);
	if (r == 0 && (path->length == 0 || path->data[path->length - 1] != '/'))
		r = bytes_append_text(path, "/");
	return r < 0 ? r : bytes_append(path, relative.data, relative.length);
}

void file_text_warn(const struct partial *partial, uint64_t id, const char *verb, const char *cause)
{
	CLEANUP_BYTES struct bytes path = {0};
	int r = file_text_path(partial, id, NULL, &path);

	if (r == 0 && bytes_text(&path))
		log_warning("cannot %s %s: %s", verb, quote_path(bytes_text(&path)), cause);
	else if (r == -ENOENT)
		log_warning("cannot %s a file that has no name any more: %s", verb, cause);
}

void file_text_warn_changed(const struct partial *partial, uint64_t id)
{
	file_text_warn(partial, id, "share blocks of",
		       "it changed meanwhile; run the command again");
}
