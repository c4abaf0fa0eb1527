/* SPDX-License-Identifier: MIT */
#include "daemon/written_files.h"

#include <errno.h>

#include "catalog/change.h"
#include "catalog/paths.h"
#include "catalog/query.h"
#include "daemon/rename_trust.h"

static int add_written(struct catalog_reader *reader, const struct name_events *dirty,
		       enum rename_trust *trust, struct bytes *written)
{
	struct name name = {dirty->name, dirty->length};
	bool seen = dirty->events & EVENT_WRITTEN;
	struct written_file file = {.closed = !seen || dirty->events & EVENT_CLOSED};
	struct entry_record entry;
	int r = catalog_find_entry(reader, dirty->dir, name, &entry);

	if (r == -ENOENT || (r == 0 && entry.kind != ENTRY_FILE)) {
		if (seen)
			rename_trust_lower(trust, RENAME_UNTRUSTED);
		return 0;
	}
	file.file = r == 0 ? entry.child : 0;
	return r < 0 ? r : bytes_append(written, &file, sizeof(file));
}

static int find_written(enum rename_trust *trust, struct catalog *catalog,
			const struct name_events *const *list, size_t count, struct bytes *written)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	uint32_t effects;
	int r = catalog_read_begin(catalog, &reader);

	for (size_t i = 0; r == 0 && i < count; i++) {
		effects = name_event_effects(list[i]->events);
		if (effects & EFFECT_UNTRUSTS)
			rename_trust_lower(trust, RENAME_UNTRUSTED);
		if (effects & EFFECT_HIDES && list[i]->length > 0)
			r = add_written(reader, list[i], trust, written);
	}
	return r;
}

static int hide_files(struct catalog_writer *w, void *context)
{
	const struct bytes *written = context;
	const struct written_file *files = (const void *)written->data;
	int r = 0;

	for (size_t i = 0; r == 0 && i < written->length / sizeof(*files); i++)
		r = catalog_forget_contents(w, &files[i].file, 1);
	return r;
}

int written_files_hide(struct catalog *catalog, const struct name_events *const *list, size_t count,
		       enum rename_trust *trust, struct bytes *written)
{
	int r = find_written(trust, catalog, list, count, written);

	return r < 0 || written->length == 0 ? r : catalog_write(catalog, hide_files, written);
}
