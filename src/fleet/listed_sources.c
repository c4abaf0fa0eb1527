/* SPDX-License-Identifier: MIT */
#include "fleet/listed_sources.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/quote.h"
#include "catalog/paths.h"
#include "catalog/query.h"
#include "source/source.h"

int listed_sources_check_index(const struct file_list *list, const char *file,
			       struct catalog *catalog)
{
	if (catalog_identity(catalog) == list->index)
		return 0;
	log_error("cannot use %s %s: it was made for another index of these sources; run 'twinfs "
		  "export' and '%s' again",
		  file_list_noun(list->kind), quote_path(file), file_list_maker(list->kind));
	return -EXDEV;
}

int listed_sources_find(const struct file_list *list, const char *file,
			const struct sources *sources, size_t *numbers)
{
	for (size_t i = 0; i < list->sources.count; i++) {
		size_t found = 0;

		while (found < sources->count &&
		       strcmp(sources->list[found].path, list->sources.items[i]) != 0)
			found++;
		if (found == sources->count) {
			log_error("cannot use %s %s: its source %s is not a source of this index; "
				  "give the sources of the inventory",
				  file_list_noun(list->kind), quote_path(file),
				  quote_path(list->sources.items[i]));
			return -EXDEV;
		}
		numbers[i] = found;
	}
	return 0;
}

int listed_file_find(struct catalog_reader *reader, uint64_t root, const struct listed_file *row,
		     struct file_record *file, uint64_t *dir)
{
	struct entry_record entry;
	int r = catalog_find_path(reader, root, row->path, &entry);

	if (r == 0 && entry.kind != ENTRY_FILE)
		r = -ENOENT;
	if (r == 0)
		r = catalog_get_file(reader, entry.child, file);
	if (r < 0)
		return r;
	*dir = entry.dir;
	return S_ISREG(file->attributes.mode) ? 0 : -ENOENT;
}
