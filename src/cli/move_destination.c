/* SPDX-License-Identifier: MIT */
#include "cli/move_destination.h"

#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/log.h"
#include "base/path.h"
#include "base/quote.h"
#include "mountpoint/table.h"

static bool is_either_inside(const char *a, const char *b)
{
	return path_below(a, b) || path_below(b, a);
}

/* Finds whether two folders are the same or one contains the other, also through another mount of
 * the same file system. Returns 1, 0 or -errno.
 */
static int overlap(const struct mount_table *table, const char *a, const char *b)
{
	CLEANUP_BYTES struct bytes inside_a = {0}, inside_b = {0};
	const struct mount_entry *mount_a = mount_table_covering(table, a);
	const struct mount_entry *mount_b = mount_table_covering(table, b);
	int r;

	if (is_either_inside(a, b))
		return 1;
	if (!mount_a || !mount_b || strcmp(mount_a->device, mount_b->device) != 0)
		return 0;
	r = mount_entry_locate(mount_a, a, &inside_a);
	if (r == 0)
		r = mount_entry_locate(mount_b, b, &inside_b);
	if (r == 0 && (!bytes_text(&inside_a) || !bytes_text(&inside_b)))
		r = -ENOMEM;
	return r < 0 ? r : is_either_inside(bytes_text(&inside_a), bytes_text(&inside_b));
}

int move_destination_check(const char *destination, const struct sources *sources)
{
	CLEANUP_TABLE struct mount_table table = {0};
	int r = destination ? mount_table_read(&table) : 0;

	for (size_t i = 0; r == 0 && destination && i < sources->count; i++) {
		const char *source = sources->list[i].path;

		r = overlap(&table, destination, source);
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
