/* SPDX-License-Identifier: MIT */
#ifndef SOURCE_SOURCE_H
#define SOURCE_SOURCE_H

/* The source trees of an index: which they are, how they look in the view, and opening what the
 * index knows in them by descriptor.
 *
 * Made once after the catalog is opened, before threads start; then read by any thread. What is
 * missing is set by one that examines the roots.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/attributes.h"
#include "catalog/catalog.h"

struct source {
	char *path; /* absolute, no symlink in it */
	char *tree; /* its folder in uniques/ ("" where it is the only source) */
	uint64_t root; /* dir id */
	/* Its root directory (O_PATH). While it is followed, what is made anew in its place may
	 * take over the descriptor at any time; the number stays. */
	int fd;
	atomic_bool missing; /* its root is not there: nothing in it is opened */
};

struct sources {
	struct catalog *catalog; /* borrowed */
	struct source *list;
	size_t count, capacity;
	bool cross_mounts; /* enter other file systems */
};

/* Puts source paths in order: makes them absolute without symlinks, drops those that are given
 * twice or lie inside another (also through a symlink, or a bind mount that shows the very same
 * directory), keeping the order of the first mention.
 *
 * given	borrowed, count of them
 * resolved	a NULL-terminated array that the caller frees with source_paths_free
 *
 * Logs what is wrong with which path; -errno (-ENOTDIR for a file).
 */
MUST_CHECK int source_paths_resolve(char *const *given, size_t count, char ***resolved);
void source_paths_free(char **resolved);

/* Opens the sources of the catalog. paths: as resolved; they are stored in a new index and must
 * be those of an existing one (-EXDEV, logged, otherwise). NULL: those that the index names, which
 * may then be missing (fd -1). */
MUST_CHECK int sources_open(struct sources *sources, struct catalog *catalog, char *const *paths,
			    bool cross_mounts);
void sources_close(struct sources *sources);

/* Attributes of an open file or directory as the index keeps them: statx(2) with the catalog's
 * number for the file system. 0 or -errno. */
MUST_CHECK int source_attributes(struct catalog *catalog, int fd, struct attributes *attributes);

/* Outcome: it is the root of another mount. */
enum {
	SOURCE_MOUNT_ROOT = 1
};

/* The same for a name in an open directory, never following a symlink nor triggering an
 * automount, nor asking the server of a mount, which may be dead, that stands there.
 *
 * remote	the directory is on a network or FUSE file system: attributes are not taken from
 *		the kernel's cache
 *
 * 0, SOURCE_MOUNT_ROOT with the attributes as cached, or -errno.
 */
MUST_CHECK int source_attributes_at(struct catalog *catalog, int dir_fd, const char *name,
				    bool remote, struct attributes *attributes);

/* Opens a directory of the index. -errno. */
MUST_CHECK int source_open_dir(const struct sources *sources, struct catalog_reader *reader,
			       uint64_t dir, int flags);

/* Opens a file of the index under one of its names, for reading its bytes (flags 0) or O_PATH.
 * Regular files are never waited for, see base/descriptor.h.
 *
 * Checks what was opened against the record: -ESTALE where it is another inode or kind of thing, or
 * its signature is not the one in the index. */
MUST_CHECK int source_open_file(const struct sources *sources, struct catalog_reader *reader,
				const struct file_record *file, int flags);

/* Opens a file of the index as O_PATH, whatever its content and its times are by now: -ESTALE where it is
 * another inode or kind of thing, or -errno. */
MUST_CHECK int source_open_inode(const struct sources *sources, struct catalog_reader *reader,
				 const struct file_record *file);

/* Appends the absolute path of what is at a path relative to a source. */
MUST_CHECK int source_absolute_path(const struct sources *sources, uint32_t source,
				    const char *relative, struct bytes *path);

#endif
