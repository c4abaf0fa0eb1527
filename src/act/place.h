/* SPDX-License-Identifier: MIT */
#ifndef ACT_PLACE_H
#define ACT_PLACE_H

/* A name in an open directory. System calls use the directory and do not resolve the path again, so
 * a renamed or replaced folder on the path has no effect. Any thread. */

#include <stdbool.h>
#include <sys/stat.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "index/source.h"

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

/* Opens the directory of an absolute path. Returns 0, -ENOENT if path is NULL, or another -errno.
 * name is borrowed from the path. */
MUST_CHECK int place_open_parent(struct place *place, const char *path);
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

/* Returns whether a status, with STATX_INO and STATX_BTIME, is of this inode. Birth times are
 * compared if both are known: born_ns 0 is unknown. */
bool place_is_inode(const struct statx *status, uint64_t inode, int64_t born_ns);

/* Returns whether the name in a directory leads to this inode, as place_is_inode(). The name "" is
 * the open file itself. A symlink is not followed. */
bool place_has_inode(int directory, const char *name, uint64_t inode, int64_t born_ns);

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

/* Returns how many of the last folders of the path of a file are missing, which a move makes. */
uint64_t place_count_missing(const char *path);

/* Removes this number of the last folders of the path of a file, as far as they are empty. path can
 * be NULL. */
void place_remove_folders(const char *path, uint64_t count);

/* ---- renames that replace no file -------------------------------------------------------- */

/* RENAME_NOREPLACE and RENAME_EXCHANGE (renameat2(2)) do each of these in one call. NFS, 9p, Ceph
 * and most FUSE file systems refuse both with EINVAL. There:
 *
 *	to a private name	rename(2). The name is random: no other program has it.
 *	of a folder		rename(2), which replaces at most an empty folder.
 *	to another name		link(2), which fails if the name exists, then unlink(2) of the old
 *				name. A process that is killed in between leaves both names.
 *	without hard links	place_restore() copies the file; the others return
 *				-EOPNOTSUPP.
 *	an exchange		Three renames, the first to the private name with PLACE_SWAP. The
 *				name leads to no file for a moment. place_end_exchange() ends an
 *				interrupted exchange.
 *
 * Any thread. */

/* Suffix of the private name that place_exchange() uses. */
#define PLACE_SWAP ".swap"

/* What follows place_hide(). */
enum place_next {
	PLACE_STAYS, /* the file is removed or restored */
	PLACE_MOVES, /* place_move() moves it to another name than its own */
	PLACE_MOVES_AS_INODE, /* the same, and its inode number must show that it arrived */
};

/* Renames a file or folder within its directory to a random name that only this process knows.
 * Returns 0, -EOPNOTSUPP if what follows is not possible with a regular file here, or another
 * -errno. */
MUST_CHECK int place_hide(const struct place *place, const char *other, enum place_next next);

/* Renames a file or folder to another place on its file system. Returns 0, -EEXIST if the name
 * exists, -EXDEV if the place is on another file system, -EOPNOTSUPP if the file system can rename
 * the file only if that can replace another one, or another -errno. */
MUST_CHECK int place_move(const struct place *from, const struct place *to);

/* Returns whether both names lead to one regular file, or are symlinks with one target. Removing
 * one of the names then loses no content. */
bool place_are_one_file(const struct place *a, const struct place *b);

/* Exchanges the file with the name of the place and the one with the private name other. If another
 * program makes a file with the name of the place meanwhile, that file stays, the file that had the
 * name gets the name NAME.kept-N, and leftover is set to it. Returns 0, -EEXIST in this case, or
 * another -errno. */
MUST_CHECK int place_exchange(const struct place *place, const char *other, struct bytes *leftover);

/* Outcome of place_end_exchange(): the name leads to the file again that it led to before. */
enum {
	PLACE_RESTORED = 1,
};

/* Ends an exchange that was interrupted: completes it, or undoes it. Returns 0, PLACE_RESTORED or
 * -errno. */
MUST_CHECK int place_end_exchange(const struct place *place, const char *other,
				  struct bytes *leftover);

/* Renames a file from its private name to its own name. If another file has its own name, uses the
 * name NAME.kept-N and sets leftover to it. If not, leftover is empty. Returns 0 or -errno; -EBUSY
 * if the file has to be copied and a program has it open for writing. */
MUST_CHECK int place_restore(const struct place *place, const char *other, struct bytes *leftover);

#endif
