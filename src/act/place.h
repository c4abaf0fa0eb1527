/* SPDX-License-Identifier: MIT */
#ifndef ACT_PLACE_H
#define ACT_PLACE_H

/* A name in an open directory. System calls use the directory and do not resolve the path again, so
 * a renamed or replaced folder on the path has no effect. Any thread. */

#include <stdbool.h>
#include <sys/stat.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "source/source.h"

struct place {
	int directory; /* O_PATH */
	const char *name; /* borrowed from the path */
};

/* Opens the directory of a path relative to a source. Returns 0, -ENODEV if the source is missing,
 * or another -errno. */
MUST_CHECK int place_open(struct place *place, const struct sources *sources, uint32_t source,
			  const char *path);

/* Opens the directory of a path relative to an open directory. Returns 0 or -errno.
 *
 * cross_mounts	false: a mount point in the path is -EXDEV
 */
MUST_CHECK int place_open_below(struct place *place, int root, const char *path, bool cross_mounts);
void place_close(struct place *place);

/* Returns whether the directory of this path in a source is still the open directory, and the
 * source is still at its own path. An open directory stays open if it is moved, hence this check.
 * Blocks on the source. */
bool place_is_at(const struct place *place, const struct sources *sources, uint32_t source,
		 const char *path);

/* Returns whether the name is a symlink with this target. */
bool place_is_symlink_to(const struct place *place, const char *name, const char *target);

/* Identity of a directory, by which the directory is recognized when it is opened again. A field
 * that is 0 is unknown. */
struct root_identity {
	uint64_t inode;
	int64_t born_ns;
	uint64_t filesystem; /* filesystem_lasting_identity() */
};
struct root_identity place_identify_root(int root);

/* Opens a folder, O_PATH. An unknown inode or file system of the identity is not compared. Returns
 * the descriptor, -ENODEV if another folder or file system is at the path, or another -errno. */
MUST_CHECK int place_open_root(const char *path, const struct root_identity *identity);

/* A mounted file system. */
struct mount_identity {
	const char *path; /* mount point, absolute; borrowed; NULL: unknown */
	struct root_identity root;
};

/* Finds the mount that contains an open directory. Sets path to the mount point, read from /proc,
 * and root to its identity. Returns 0 or -errno. */
MUST_CHECK int place_find_mount(int directory, struct bytes *path, struct root_identity *root);

/* Returns whether the file system is mounted at mount->path now. An unknown mount counts as
 * mounted. */
bool place_is_mounted(const struct mount_identity *mount);

/* Returns the birth time of STATX_BTIME in nanoseconds, or 0 if it is unknown. */
int64_t place_born_ns(const struct statx *status);

/* Returns whether this inode has the name. A symlink is not followed. */
bool place_leads_to(const struct place *place, const char *name, const struct stat *inode);

/* Returns whether the file or its directory is immutable or append-only (FS_IMMUTABLE_FL,
 * FS_APPEND_FL), so that the name cannot change. */
bool place_is_immutable(const struct place *place);

/* Returns true if unlink(2) of a new name in the directory would fail with EPERM. Names are
 * permanent in an append-only or immutable directory. They are also permanent in a sticky directory
 * if neither directory nor file belongs to the effective user, and the process has no CAP_FOWNER.
 *
 * owner	user id of the file that would get the name
 */
bool place_has_permanent_names(const struct place *place, uid_t owner);

/* Renames within the directory by renameat2(2). Returns 0 or -errno. */
MUST_CHECK int place_rename(const struct place *place, const char *from, const char *to,
			    unsigned int flags);

/* Renames a file from its quarantine name to its own name. If another file has its own name, uses
 * the name NAME.kept-N and sets leftover to it. If not, leftover is empty. Returns 0 or -errno. */
MUST_CHECK int place_restore(const struct place *place, const char *other, struct bytes *leftover);

#endif
