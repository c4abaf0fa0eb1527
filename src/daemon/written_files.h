/* SPDX-License-Identifier: MIT */
#ifndef DAEMON_WRITTEN_FILES_H
#define DAEMON_WRITTEN_FILES_H

/* Hides files that were possibly written to, before the follower rechecks anything. One thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "catalog/catalog.h"
#include "watch/name_event.h"

/* A file that was possibly written to. */
struct written_file {
	uint64_t file;
	bool closed; /* every known writer has closed it */
};

/* Finds the files by their names in the index. Commits that their contents are unknown.
 *
 * list		from event_set_list()
 * trust	lowered to RENAME_UNTRUSTED if a write possibly belongs to another name
 * written	receives a struct written_file for each of these files
 *
 * Returns 0 or -errno. */
MUST_CHECK int written_files_hide(struct catalog *catalog, const struct name_events *const *list,
				  size_t count, enum rename_trust *trust, struct bytes *written);

#endif
