/* SPDX-License-Identifier: MIT */
#include "cli/move_destination.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/quote.h"
#include "base/text_list.h"
#include "mountpoint/table.h"
#include "source/operands.h"
#include "source/own.h"

/* Finds the folders that the user named. Returns 0 or -errno. */
static int list_folders(const struct sources *sources, struct text_list *folders)
{
	const struct operands *operands = sources->operands;
	int r = 0;

	for (size_t i = 0; !operands && r == 0 && i < sources->count; i++)
		r = text_list_add(folders, sources->list[i].path, strlen(sources->list[i].path));
	for (size_t i = 0; operands && r == 0 && i < operands->count; i++) {
		CLEANUP_BYTES struct bytes path = {0};

		if (!operands->list[i].is_dir)
			continue;
		r = source_absolute_path(sources, 0, operands->list[i].path, &path);
		if (r == 0)
			r = text_list_add(folders, (const char *)path.data, path.length);
	}
	return r;
}

int move_destination_check(const char *destination, const struct sources *sources)
{
	CLEANUP_TABLE struct mount_table table = {0};
	CLEANUP_TEXT_LIST struct text_list folders = {0};
	int r = destination ? mount_table_read(&table) : 0;

	if (r == 0 && destination)
		r = list_folders(sources, &folders);
	for (size_t i = 0; r == 0 && i < folders.count; i++) {
		r = mount_table_overlap(&table, destination, folders.items[i]);
		if (r > 0)
			log_error("cannot move copies to %s: it overlaps with the source %s; "
				  "choose a folder outside of all sources",
				  quote_path(destination), quote_path(folders.items[i]));
	}
	if (r == 0 && destination && own_is_in_state(destination)) {
		log_error("cannot move copies to %s: it belongs to twinfs, so their files would be "
			  "left out of each view; choose another folder",
			  quote_path(destination));
		return -EINVAL;
	}
	if (r < 0)
		log_error("cannot find the mount of %s: %s", quote_path(destination),
			  error_text(r));
	return r == 0 ? 0 : -EINVAL;
}
