/* SPDX-License-Identifier: MIT */
#include "cli/move_destination.h"

#include <errno.h>

#include "base/error.h"
#include "base/log.h"
#include "base/quote.h"
#include "mountpoint/table.h"

int move_destination_check(const char *destination, const struct sources *sources)
{
	CLEANUP_TABLE struct mount_table table = {0};
	int r = destination ? mount_table_read(&table) : 0;

	for (size_t i = 0; r == 0 && destination && i < sources->count; i++) {
		const char *source = sources->list[i].path;

		r = mount_table_overlap(&table, destination, source);
		if (r > 0)
			log_error("cannot move copies to %s: it overlaps with the source %s; "
				  "choose a folder outside of all sources",
				  quote_path(destination), quote_path(source));
	}
	if (r < 0)
		log_error("cannot find the mount of %s: %s", quote_path(destination),
			  error_text(r));
	return r == 0 ? 0 : -EINVAL;
}
