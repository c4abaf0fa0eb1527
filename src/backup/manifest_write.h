/* SPDX-License-Identifier: MIT */
#ifndef BACKUP_MANIFEST_WRITE_H
#define BACKUP_MANIFEST_WRITE_H

/* Writes the manifest of an index. One thread. Blocks on the disk, because the extended attributes
 * of files are read. Takes memory for the subdirectories and redundant names of each directory from
 * the root to the current one.
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
	/* Writes a line. Returns 0, or -errno, which aborts the manifest. */
	int (*write)(void *context, const void *data, size_t length);
	void *context;
};

/* Writes all lines. If no name is left out and no extended attribute changed, two manifests of the
 * same generation of an index are equal byte by byte. A name is left out if its file cannot be
 * opened or differs from the indexed one, or if its line would be too long.
 *
 * left_out	set to the number of names left out; each is logged
 *
 * Returns 0, -EINTR if stop_requested(), the result of write(), or another -errno. */
MUST_CHECK int manifest_write(const struct manifest_task *task, uint64_t *left_out);

#endif
