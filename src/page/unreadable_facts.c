/* SPDX-License-Identifier: MIT */
#include "page/unreadable_facts.h"

#include <errno.h>

#include "catalog/paths.h"
#include "catalog/query.h"
#include "catalog/scan.h"
#include "source/source.h"

void unreadable_facts_free(struct unreadable_facts *facts)
{
	for (size_t i = 0; i < facts->count; i++)
		bytes_free(&facts->list[i].path);
}

static int find_path(struct catalog_reader *reader, const struct error_entry *error,
		     struct bytes *path, uint32_t *source)
{
	struct file_record file;
	int r;

	if (error->kind == ERROR_DIR)
		return catalog_dir_path(reader, error->id, path, source);
	r = catalog_get_file(reader, error->id, &file);
	return r < 0 ? r : catalog_file_path(reader, &file, path, source);
}

/* Adds an error, unless its file has no name. */
static int add(struct unreadable_facts *facts, struct catalog_reader *reader,
	       const struct sources *sources, const struct error_entry *error)
{
	CLEANUP_BYTES struct bytes relative = {0};
	struct unreadable *added = &facts->list[facts->count];
	uint32_t source = 0;
	int r = find_path(reader, error, &relative, &source);

	if (r == -ENOENT)
		return 0;
	if (r == 0 && !bytes_text(&relative))
		r = -ENOMEM;
	if (r < 0)
		return r;
	facts->count++;
	added->error = error->error;
	return source_absolute_path(sources, source, bytes_text(&relative), &added->path);
}

int unreadable_list(struct unreadable_facts *facts, struct catalog_reader *reader,
		    const struct sources *sources)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct error_entry error;
	int r = catalog_scan_errors(reader, &scan);

	while (r == 0 && facts->count < UNREADABLE_MAX &&
	       (r = catalog_next_error(scan, &error)) == 0)
		r = add(facts, reader, sources, &error);
	return r == -ENOENT ? 0 : r;
}
