/* SPDX-License-Identifier: MIT */
#ifndef INDEX_SOURCE_H
#define INDEX_SOURCE_H

/* The source trees of an index: their paths and their folders in the view. Opens their files.
 *
 * A struct sources is made once after the catalog is opened and before threads start, then read by
 * any thread. Only the thread that follows the sources sets the atomic fields.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/statvfs.h>

#include "base/attributes.h"
#include "base/text.h"
#include "index/catalog.h"
#include "index/own.h"

struct source {
	char *path; /* absolute, without symlinks */
	char *tree; /* folder of the source in uniques/; "" for a single source */
	uint64_t root; /* id of the root directory */
	/* The root directory (O_PATH); -1 if it could not be opened. While the source is followed,
	 * a recreated root directory can replace the file behind the descriptor at any time. The
	 * number of the descriptor does not change. */
	int fd;
	atomic_bool missing; /* the root directory is missing: nothing in the source is opened */
	/* names were possibly moved past the last walk, and no event reports them: the index can
	 * lack files until another walk */
	atomic_bool moved;
	/* since when a check of the root directory waits for its file system, by the monotonic
	 * clock; 0: no check waits */
	_Atomic uint64_t asked_ns;
};

struct operands;

struct sources {
	struct catalog *catalog; /* borrowed */
	struct source *list;
	size_t count, capacity;
	struct own own; /* folders that are no content of a source */
	bool cross_mounts; /* whether to enter other file systems */
	/* What the user named in the only source, borrowed. NULL: all of each source. */
	const struct operands *operands;
};

/* Resolves source paths: makes them absolute, resolves symlinks, and removes duplicates and paths
 * inside other sources. Also detects duplicates through a symlink, or through a bind mount of the
 * same directory. Keeps the order of first mention.
 *
 * given	borrowed, count of them, at least one
 * resolved	an empty list, which the caller frees, also after a failure
 *
 * Returns 0 or -errno; -ENOTDIR for a file. A failure of a path is logged.
 */
MUST_CHECK int source_paths_resolve(char *const *given, size_t count, struct text_list *resolved);

/* Works like source_paths_resolve(), but the sources need not exist. Sources that are inside others
 * by their paths are removed. Returns 0 or -errno, logged. */
MUST_CHECK int source_paths_recall(char *const *given, size_t count, struct text_list *resolved);

/* Opens the sources of the catalog.
 *
 * paths	resolved paths. A new index stores these paths. An existing index must have stored
 *		the same paths, or the result is -EXDEV. NULL: opens the stored paths; a source that
 *		cannot be opened gets fd -1
 *
 * Returns 0 or -errno. Logs each failure except a lack of memory. */
MUST_CHECK int sources_open(struct sources *sources, struct catalog *catalog, char *const *paths,
			    bool cross_mounts);
void sources_close(struct sources *sources);

/* Returns whether the source exists and its part of the index can lack names that were moved. */
bool source_lacks_moved(const struct source *source);

/* Returns the number of missing sources. */
size_t sources_missing(const struct sources *sources);

/* Returns for how long the file system of a source has not answered, in nanoseconds; 0 if it
 * answers, or has been asked a moment ago. Does not wait for it. */
uint64_t source_silent_ns(const struct source *source);

/* Returns the number of sources whose file systems do not answer. */
size_t sources_silent(const struct sources *sources);

/* Opens the folder of these operands as the only source of the catalog. Like sources_open(), but a
 * walk is restricted to the operands, which are borrowed, and other file systems are entered on the
 * way to them. An index of whole sources is refused, and sources_open() refuses this one. */
MUST_CHECK int sources_open_operands(struct sources *sources, struct catalog *catalog,
				     const struct operands *operands);

/* Refuses an index of single files if the sources are whole, and the reverse: a scan would forget
 * what the index knows. Returns 0, -EXDEV (logged) or another -errno. */
MUST_CHECK int sources_check_operands(const struct sources *sources);

/* Gets the attributes of an open file or directory in the form of the index: statx(2), with the
 * number of the file system in the catalog. Returns 0 or -errno. */
MUST_CHECK int source_attributes(struct catalog *catalog, int fd, struct attributes *attributes);

/* Outcome: the name is the root of another mount. */
enum {
	SOURCE_MOUNT_ROOT = 1
};

/* Flags of source_attributes_at(). */
enum {
	/* the directory is on a network or FUSE file system: do not use attributes cached by the
	 * kernel */
	SOURCE_REMOTE = 1,
	/* the caller enters other mounts */
	SOURCE_ENTERS_MOUNTS = 2,
};

/* Gets the attributes of a name in an open directory. Never follows a symlink or triggers an
 * automount.
 *
 * Without SOURCE_ENTERS_MOUNTS, sends no request to the server of another mount, which possibly
 * does not respond. The number of a file system that was not entered before is 0 then. With the
 * flag, waits for at most a second for an answer, once for each such file system; without an answer
 * the number is 0.
 *
 * Returns 0, SOURCE_MOUNT_ROOT with the cached attributes, or -errno.
 */
MUST_CHECK int source_attributes_at(struct catalog *catalog, int dir_fd, const char *name,
				    unsigned int flags, struct attributes *attributes);

/* Opens a directory of the index with O_PATH. Returns a descriptor or -errno. */
MUST_CHECK int source_open_dir(const struct sources *sources, struct catalog_reader *reader,
			       uint64_t dir);

/* Opens a file of the index under one of its names, for reading (flags 0) or O_PATH. Never blocks
 * on a FIFO or device, see base/descriptor.h.
 *
 * Returns a descriptor, -ESTALE if the file at this name has another inode, type or signature than
 * in the index, or another -errno. */
MUST_CHECK int source_open_file(const struct sources *sources, struct catalog_reader *reader,
				const struct file_record *file, int flags);

/* Opens a file of the index as O_PATH, even if its content or times have changed. Returns a
 * descriptor, -ESTALE if the file at its name has another inode or type, or another -errno. */
MUST_CHECK int source_open_inode(const struct sources *sources, struct catalog_reader *reader,
				 const struct file_record *file);

/* Appends the absolute path for a path relative to a source. Returns 0 or -errno. */
MUST_CHECK int source_absolute_path(const struct sources *sources, uint32_t source,
				    const char *relative, struct bytes *path);

/* Append the absolute path of a directory of the index, of a name in it, or of a file
 * (catalog_file_path()). Return 0, -ENOENT if the index does not have it, or another -errno. */
MUST_CHECK int source_dir_path(const struct sources *sources, struct catalog_reader *reader,
			       uint64_t dir, struct bytes *path);
MUST_CHECK int source_entry_path(const struct sources *sources, struct catalog_reader *reader,
				 uint64_t dir, uint64_t cookie, struct bytes *path);
MUST_CHECK int source_file_path(const struct sources *sources, struct catalog_reader *reader,
				const struct file_record *file, struct bytes *path);

/* ---- space -------------------------------------------------------------------------- */

/* Size of the blocks in bytes, in which all file systems are counted. */
#define SOURCE_SPACE_BLOCK 4096

/* Adds the blocks and inodes, all and free, of each file system that has the root of a source that
 * is not missing. A file system counts once; subvolumes of btrfs count as one each. A file system
 * that refuses statfs(2) counts as empty, and so do all if memory is short. */
void sources_add_space(const struct sources *sources, struct statvfs *space);

#endif
