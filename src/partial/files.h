/* SPDX-License-Identifier: MIT */
#ifndef PARTIAL_FILES_H
#define PARTIAL_FILES_H

/* The files of a plan: their volumes, their paths and their descriptors. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"

struct partial;

/* ---- volumes -------------------------------------------------------------------------------- */

/* Volumes: sets of files whose blocks the kernel can share. A file system is one, with all its
 * subvolumes and mounts. Files of btrfs without checksums are another one, as btrfs does not share
 * blocks between files with and without checksums. Locked by the caller. */

/* Bytes of the identity of a volume. */
#define VOLUME_ID_BYTES 24

struct volume {
	uint8_t id[VOLUME_ID_BYTES];
	bool can_share; /* the file system shares blocks between files */
	bool reported; /* a message says that it does not */
};

struct volumes {
	struct volume *list;
	size_t count, capacity;
};

void volumes_free(struct volumes *volumes);

/* Finds the volume of a regular file that is open for reading, and adds it if it is new. Returns
 * its index or -errno. */
MUST_CHECK long volumes_find(struct volumes *volumes, int fd);

/* ---- file text ------------------------------------------------------------------------------ */

/* Paths of files of the index, for messages and output. Any thread that has no reader. */

/* Appends the path of a file below the source as the user wrote it.
 *
 * shown	the path of each source; NULL: absolute paths
 *
 * Returns 0, -ENOENT if the file has no name any more, or another -errno. */
MUST_CHECK int file_text_path(const struct partial *partial, uint64_t id, const char *const *shown,
			      struct bytes *path);

/* Logs a warning: "cannot VERB PATH: CAUSE". A file without a name is called so. */
void file_text_warn(const struct partial *partial, uint64_t id, const char *verb,
		    const char *cause);

/* Logs a warning that a file has changed since it was selected. */
void file_text_warn_changed(const struct partial *partial, uint64_t id);

/* ---- open files ----------------------------------------------------------------------------- */

/* Keeps the last used files of the table open for reading. Each thread has its own. */

/* Highest number of open files of a thread. */
#define OPEN_FILES_MAX 32U

struct open_files {
	const struct partial *partial; /* borrowed */
	struct {
		int fd; /* -1: free */
		uint32_t file; /* index in the table */
		uint64_t used; /* number of the last use */
	} slots[OPEN_FILES_MAX];
	uint64_t uses;
};

void open_files_init(struct open_files *files, const struct partial *partial);
void open_files_deinit(struct open_files *files);

/* Opens a file, if it still has the signature of the index. The descriptor is valid until
 * OPEN_FILES_MAX - 1 other files were opened. The thread must have no reader. Returns a descriptor,
 * -ESTALE if the file has changed, or another -errno. */
MUST_CHECK int open_files_get(struct open_files *files, uint32_t file);

/* Works like open_files_get(), but also checks a file that is open: closes it, and opens it again.
 */
MUST_CHECK int open_files_get_again(struct open_files *files, uint32_t file);

#endif
