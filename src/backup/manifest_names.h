/* SPDX-License-Identifier: MIT */
#ifndef BACKUP_MANIFEST_NAMES_H
#define BACKUP_MANIFEST_NAMES_H

/* Visits the names of an index in the order of a manifest (path_order()). One thread. Blocks on the
 * disk, because the extended attributes of files are read. Takes memory for the names of each
 * directory from the root to the current one.
 */

#include <stdbool.h>
#include <stdint.h>

#include "backup/manifest.h"
#include "base/attributes.h"

struct catalog;
struct catalog_reader;
struct known_hashes;
struct sources;
struct text_list;

/* All pointers are borrowed. */
struct manifest_names {
	struct catalog *catalog;
	struct catalog_reader *reader;
	const struct sources *sources;
	bool all; /* false: only the names that uniques/ leaves out */
	const struct known_hashes *known; /* if all: hashes that the index lacks */
	/* Gets the path of each directory that could not be listed, in the same order; NULL: these
	 * are not wanted. */
	struct text_list *unread;
	/* Called for each name, which is borrowed for the call. Returns 0, -EOVERFLOW if the name
	 * cannot be represented, or another -errno, which ends the visit. */
	int (*visit)(void *context, const struct manifest_name *name);
	void *context;
};

struct manifest_figures {
	uint64_t names; /* visited */
	uint64_t left_out; /* names that could not be visited; each is logged */
	uint64_t unproved; /* names visited without a hash; each is logged */
};

/* Visits all names and sets *figures. A name is left out if its file cannot be opened or differs
 * from the indexed one, or if it cannot be represented. Returns 0, -EINTR if stop_requested(), the
 * result of visit(), or another -errno. */
MUST_CHECK int manifest_names_visit(const struct manifest_names *task,
				    struct manifest_figures *figures);

/* Sets the metadata of the root of uniques/, with the path ".", if it is the root of the only
 * source. If there are several sources, the name stays empty. Returns 0 or -errno. */
MUST_CHECK int manifest_names_root(const struct manifest_names *task, struct manifest_name *root);

#endif
