/* SPDX-License-Identifier: MIT */
#ifndef ACT_PLACE_H
#define ACT_PLACE_H

/* A name in an open directory: what a system call acts upon without walking a path again. Any
 * thread. */

#include <stdbool.h>
#include <sys/stat.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "source/source.h"

struct place {
	int directory; /* O_PATH */
	const char *name; /* borrowed from the path */
};

/* Opens the directory of a path relative to a source. 0 or -errno; -ENODEV where the source is not
 * there. */
MUST_CHECK int place_open(struct place *place, const struct sources *sources, uint32_t source,
			  const char *path);

/* The same below an open directory, in whatever it is a part of. */
MUST_CHECK int place_open_below(struct place *place, int root, const char *path, bool cross_mounts);
void place_close(struct place *place);

/* Does the path still lead to that directory, from the source's own path down? An open directory goes
 * along when its folder is moved. Blocks on the source. */
bool place_is_at(const struct place *place, const struct sources *sources, uint32_t source,
		 const char *path);

bool place_is_symlink_to(const struct place *place, const char *name, const char *target);

/* What an open directory is known by when it is opened again. What is 0 is not known. */
struct root_identity {
	uint64_t inode;
	int64_t born_ns;
	uint64_t filesystem; /* filesystem_lasting_identity() */
};
struct root_identity place_identify_root(int root);

/* Opens a folder, O_PATH. -ENODEV if another folder or file system has taken its place, or another
 * -errno. What is 0 in the identity is not compared. */
MUST_CHECK int place_open_root(const char *path, const struct root_identity *identity);

/* Where a file system is mounted, and which one. */
struct mount_identity {
	const char *path; /* absolute; borrowed; NULL: not known */
	struct root_identity root;
};

/* Finds the mount that an open directory is in, with /proc. Sets path to the mount point. 0 or
 * -errno. */
MUST_CHECK int place_find_mount(int directory, struct bytes *path, struct root_identity *root);

/* Returns whether the file system is mounted there now. A mount that is not known counts as
 * mounted. */
bool place_is_mounted(const struct mount_identity *mount);

/* Time of birth as STATX_BTIME gave it, or 0. */
int64_t place_born_ns(const struct statx *status);

/* Does the name lead to this very inode? */
bool place_leads_to(const struct place *place, const char *name, const struct stat *inode);

/* Is it, or its directory, such that no name in it may change (FS_IMMUTABLE_FL, FS_APPEND_FL)? */
bool place_is_immutable(const struct place *place);

/* Would a new name in the directory stay there for ever, because the caller could not remove it? So
 * it is where the directory is append-only or immutable. It is so, too, where it is sticky and neither
 * it nor the file is the caller's, unless the caller has CAP_FOWNER, which not every root has
 * (unlink(2), EPERM).
 *
 * owner	of the file that would get the name */
bool place_keeps_names(const struct place *place, uid_t owner);

/* renameat2(2) of a name within the directory. 0 or -errno. */
MUST_CHECK int place_rename(const struct place *place, const char *from, const char *to,
			    unsigned int flags);

#endif
