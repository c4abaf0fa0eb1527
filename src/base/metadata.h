/* SPDX-License-Identifier: MIT */
#ifndef BASE_METADATA_H
#define BASE_METADATA_H

/* The metadata of files: owner, mode, times, extended attributes, and flags of chattr(1). Any
 * thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

#include "base/attributes.h"
#include "base/memory.h"

struct metadata {
	uint32_t mode; /* permissions, 07777 */
	uint32_t uid;
	uint32_t gid;
	struct timespec mtime;
	const struct xattrs *xattrs; /* borrowed */
};

/* Numbers of owners, attributes and times that could not be set: this user may not set them, or the
 * file system cannot store them. A time that is only rounded is not counted. */
struct metadata_refused {
	uint64_t owners;
	uint64_t xattrs;
	uint64_t times;
};

/* Returns the metadata of a file from the results of stat(2) and xattrs_read(), which are
 * borrowed. */
struct metadata metadata_of(const struct stat *status, const struct xattrs *xattrs);

/* Sets the metadata of the open file fd, which may be O_PATH: owner, attributes, mode, and finally
 * the mtime. If a file other than a directory does not get its owner and group, its set-user-ID,
 * set-group-ID and sticky bits are not set. If the access ACL is refused, the mode is reduced so
 * that no user gains access (xattrs_safe_mode). Adds to *refused. Returns 0 or -errno. */
MUST_CHECK int metadata_apply(const struct metadata *metadata, int fd,
			      struct metadata_refused *refused);

/* Returns whether the mtime of a file is the wanted time as its file system stores it. File systems
 * round down: to 100 ns (NTFS), 10 ms (exFAT), one or two seconds (FAT). They round the ctime as
 * well, so a time is not rounded if the ctime has more digits. Pure. */
bool stored_time_equals(struct timespec wanted, const struct stat *found);

/* Sets the mtime of a file, as utimensat(2) with these arguments, and keeps its atime. File systems
 * that use libfuse 2 ignore without an error that only one of both is set; they get both. Fills
 * *now with the status after that. Returns 0 or -errno. */
MUST_CHECK int stored_time_set(int directory, const char *path, int flags, struct timespec mtime,
			       struct stat *now);

/* The file attributes of chattr(1) that statx(2) reports for all types of files. */
enum inode_flag {
	INODE_APPEND = 1, /* a: only appending is allowed */
	INODE_NODUMP = 2, /* d: dump(8) leaves it out */
	INODE_IMMUTABLE = 4, /* i: nothing can be changed */
};

/* The letters of all flags and a NUL. */
#define INODE_FLAGS_TEXT_MAX 4

/* Sets *flags to the flags of a file, which may be open with O_PATH. Those of files other than
 * regular files and directories are left out, because no program can set them. Returns 0 or
 * -errno. */
MUST_CHECK int inode_flags_read(int fd, uint32_t *flags);

/* Adds flags to a regular file or a directory, which is open for reading. The caller must be root
 * for INODE_APPEND and INODE_IMMUTABLE, and the owner for the other one. Returns 0 or -errno. */
MUST_CHECK int inode_flags_add(int fd, uint32_t flags);

/* Bits of FS_IOC_GETFLAGS. The functions below use all of them that a user can set with chattr(1),
 * also those that statx(2) does not report. Immutable and append-only are not among them. */

/* Sets *bits to those of a regular file or folder, which may be open with O_PATH. Returns whether
 * they are known: the file system has flags, and the user may read the file. */
bool inode_flag_bits_read(int fd, uint32_t *bits);

/* Sets the bits that must be set before a file has content: copy on write, compression. */
void inode_flag_bits_set_early(int fd, uint32_t bits);

/* Sets all bits. fd may be open with O_PATH. Returns whether the file has these bits now. */
bool inode_flag_bits_set(int fd, uint32_t bits);

/* Formats flags as the letters of lsattr(1). Returns text. */
const char *inode_flags_text(uint32_t flags, char text[static INODE_FLAGS_TEXT_MAX]);

/* Parses such letters. Returns false if one is unknown. */
bool inode_flags_parse(const char *text, uint32_t *flags);

/* ---- extended attributes ----------------------------------------------------------- */

/* The extended attributes of one file, including ACLs (acl(5)), which are attributes
 * system.posix_acl_*.
 *
 * Other attributes of the system namespace are excluded: they represent data that is elsewhere in
 * the inode. One thread at a time. A struct xattrs of zeros is valid and empty. */

struct xattr {
	const char *name;
	const void *value;
	size_t length; /* of value, in bytes */
};

struct xattrs {
	struct xattr *list; /* sorted by name, each name once */
	size_t count;
	size_t capacity;
	struct arena arena; /* names and values of the list */
	char *room; /* buffer for system calls, reused for each file */
};

void xattrs_free(struct xattrs *xattrs);
#define CLEANUP_XATTRS CLEANUP(xattrs_free)

/* Removes all attributes, but keeps the memory. */
void xattrs_clear(struct xattrs *xattrs);

/* Inserts a copy of an attribute, sorted by name. Returns 0, -EEXIST if the name exists, or
 * -ENOMEM.
 */
MUST_CHECK int xattrs_add(struct xattrs *xattrs, const char *name, const void *value,
			  size_t length);

/* Replaces the attributes by those of the open file fd, which may be O_PATH; by none if the file
 * system does not support them. Returns 0 or -errno. */
MUST_CHECK int xattrs_read(struct xattrs *xattrs, int fd);

/* Reads only the ACLs, like xattrs_read(). */
MUST_CHECK int xattrs_read_acls(struct xattrs *xattrs, int fd);

/* Sets the attributes of the open file fd. Removes ACLs that the file inherited from its folder.
 *
 * refused	incremented for each attribute that this user may not set, or that the file system
 *		cannot store
 *
 * Returns 0 or -errno. */
MUST_CHECK int xattrs_write(const struct xattrs *xattrs, int fd, uint64_t *refused);

/* Returns the mode that a file may have after xattrs_write(): mode, or a more restricted mode if
 * the access ACL was refused. */
mode_t xattrs_safe_mode(const struct xattrs *xattrs, int fd, mode_t mode);

bool xattrs_equal(const struct xattrs *a, const struct xattrs *b);

/* Reads and compares the attributes of two open files, which may be O_PATH. Returns 1 if they are
 * equal, 0 if not, or -errno. */
MUST_CHECK int xattrs_are_same(int a, int b);

/* Returns the mode for a copy that cannot have the access ACL of a file. In a mode with an ACL, the
 * group bits are the mask, not the permissions of the owning group. With the returned mode, no user
 * can do anything that the ACL denies. This includes users and groups that the ACL names in order
 * to deny access.
 *
 * acl	borrowed, as in the attribute (linux/posix_acl_xattr.h); if it is not a valid ACL, only the
 *	owner has access
 * mode	of the file with the ACL; bits other than those of group and others do not change */
mode_t acl_mode_without(const void *acl, size_t length, mode_t mode);

#endif
