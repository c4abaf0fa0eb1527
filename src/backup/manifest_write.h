/* SPDX-License-Identifier: MIT */
#ifndef BACKUP_MANIFEST_WRITE_H
#define BACKUP_MANIFEST_WRITE_H

/* Writes the manifest of an index. One thread, blocks on the disk: see backup/manifest_names.h. */

#include <stddef.h>

#include "backup/manifest_names.h"
#include "base/attributes.h"

/* All pointers are borrowed. */
struct manifest_task {
	struct catalog *catalog;
	struct catalog_reader *reader;
	const struct sources *sources;
	enum manifest_format format;
	const struct known_hashes *known; /* for MANIFEST_ALL: hashes that the index lacks */
	struct text_list *unread; /* gets the directories that could not be listed; NULL: none */
	/* Writes a line. Returns 0, or -errno, which aborts the manifest. */
	int (*write)(void *context, const void *data, size_t length);
	void *context;
};

/* Writes all lines and sets *figures. If no name is left out and no extended attribute changed, two
 * manifests of the same generation of an index are equal byte by byte. A name is also left out if
 * its line would be too long. Returns 0, -EINTR if stop_requested(), the result of write(), or
 * another -errno. */
MUST_CHECK int manifest_write(const struct manifest_task *task, struct manifest_figures *figures);

#endif
