/* SPDX-License-Identifier: MIT */
#ifndef BACKUP_MANIFEST_NAMES_H
#define BACKUP_MANIFEST_NAMES_H

/* Writes the manifest of an index, and compares an older manifest with an index. Both visit the
 * names of the index in the order of a manifest (path_order()). One thread. Blocks on the disk,
 * because the extended attributes of files are read. Takes memory for the names of each directory
 * from the root to the current one. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backup/manifest.h"
#include "base/attributes.h"
#include "base/text.h"

struct catalog_reader;
struct known_hashes;
struct sources;

/* The index whose names a manifest has. All pointers are borrowed. */
struct manifest_index {
	struct catalog_reader *reader;
	const struct sources *sources;
	const struct known_hashes *known; /* for MANIFEST_ALL: hashes that the index lacks */
	/* Gets the path of each directory that could not be listed, in the order of a manifest;
	 * NULL: these are not wanted. */
	struct text_list *unread;
};

struct manifest_figures {
	uint64_t names; /* visited */
	uint64_t left_out; /* names that could not be visited; each is logged */
	uint64_t unproved; /* names visited without a hash; each is logged */
};

/* All pointers are borrowed. */
struct manifest_task {
	struct manifest_index index;
	enum manifest_format format;
	/* Writes a line. Returns 0, or -errno, which aborts the manifest. */
	int (*write)(void *context, const void *data, size_t length);
	void *context;
};

/* Writes all lines and sets *figures. A name is left out if its file cannot be opened or differs
 * from the indexed one, or if its line would be too long. If no name is left out and no extended
 * attribute changed, two manifests of the same generation of an index are equal byte by byte.
 * Returns 0, -EINTR if stop_requested(), the result of write(), or another -errno. */
MUST_CHECK int manifest_write(const struct manifest_task *task, struct manifest_figures *figures);

/* ---- manifest compare ----------------------------------------------------------------------- */

/* An older manifest is compared with an index: whether a copy of uniques/ that was made since then
 * has what the manifest needs. */

enum manifest_difference {
	MANIFEST_SAME,
	/* the name does not exist, or is one that this kind of manifest does not list */
	MANIFEST_GONE,
	/* a manifest of redundant names lacks the name: the copy need not have its content */
	MANIFEST_NEW,
	MANIFEST_CONTENT, /* its type or its bytes differ, or cannot be proved */
	MANIFEST_PLACE, /* another name in uniques/ has its bytes */
	MANIFEST_METADATA, /* mode, owner, time, links or attributes differ */
};

/* All pointers are borrowed. */
struct manifest_comparison {
	struct manifest_index index;
	int fd; /* of the manifest, which is valid (known_hashes_load()) */
	const char *path; /* of the manifest, for messages */
	/* Called for each name that is affected. Returns 0, or -errno, which ends the comparison.
	 * */
	int (*found)(void *context, const struct bytes *name, enum manifest_difference difference);
	void *context;
};

struct manifest_compared {
	uint64_t affected; /* names */
	uint64_t unread; /* directories of the manifest that could not be listed for it */
};

/* Compares all names and sets *result. Some changes affect no name of a manifest of all names: new
 * names, the times of directories, and changes of files without a hash, which were being written
 * to. Returns 0, -EINTR if stop_requested(), the result of found(), or another -errno. */
MUST_CHECK int manifest_compare(const struct manifest_comparison *comparison,
				struct manifest_compared *result);

/* Finds a directory that has names in a manifest.
 *
 * fd		of the manifest; path is for messages
 * directories	in the order of path_order(); "" is the root
 * found	set to the first one of them, borrowed, or NULL
 *
 * Returns 0, or -errno of manifest_reader_next(). */
MUST_CHECK int manifest_find_below(int fd, const char *path, const struct text_list *directories,
				   const char **found);

#endif
