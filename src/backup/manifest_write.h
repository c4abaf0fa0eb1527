/* SPDX-License-Identifier: MIT */
#ifndef BACKUP_MANIFEST_WRITE_H
#define BACKUP_MANIFEST_WRITE_H

/* Writes the manifest of what an index has. One thread; blocks on the disk, of which the extended
 * attributes are read. Memory for the redundant names of the directories on the way down.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

struct catalog;
struct catalog_reader;
struct sources;

/* All pointers are borrowed. */
struct manifest_task {
	struct catalog *catalog;
	struct catalog_reader *reader;
	const struct sources *sources;
	/* Takes each line; -errno ends the work. */
	int (*write)(void *context, const void *data, size_t length);
	void *context;
};

/* Two manifests of an index with the same generation are the same, byte by byte.
 *
 * left_out	counts the names that are missing in it, each named on stderr: those that could not be
 *		read, or are no longer what the index has
 *
 * 0, -EINTR when stop_requested(), what write() gave, or another -errno. */
MUST_CHECK int manifest_write(const struct manifest_task *task, uint64_t *left_out);

#endif
