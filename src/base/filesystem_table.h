/* SPDX-License-Identifier: MIT */
#ifndef BASE_FILESYSTEM_TABLE_H
#define BASE_FILESYSTEM_TABLE_H

/* What types of file systems promise: one row for each type. A promise that a row neither keeps nor
 * lacks is unknown. An unknown promise counts as absent until twinfs has observed it. Any thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum filesystem_promise {
	/* Each change of a file sets its ctime to the time of the change. No program can choose the
	 * ctime, and the file system stores it. */
	PROMISE_CTIME = 1 << 0,
	/* The ctime changes before a byte of a file does, also for a store to a shared mapping. For
	 * that, the store must fault: the file system has a page_mkwrite that calls
	 * file_update_time(), and write-back protects clean pages again. */
	PROMISE_STORES = 1 << 1,
	/* Times have the resolution of the kernel. */
	PROMISE_FINE_TIMES = 1 << 2,
	/* inotify reports every change: no other host, and no program behind a mount, writes. */
	PROMISE_EVENTS = 1 << 3,
	/* A lease (F_SETLEASE of fcntl(2)) detects every writer. The kernel grants leases even
	 * where writers on other hosts, or behind the serving program, break none. */
	PROMISE_LEASES = 1 << 4,
	/* renameat2(2) accepts these flags. */
	PROMISE_NOREPLACE = 1 << 5,
	PROMISE_EXCHANGE = 1 << 6,
	/* fsync(2) of a folder makes the names in it durable. */
	PROMISE_FOLDER_SYNC = 1 << 7,
	/* statx(2) gives a birth time of each file. */
	PROMISE_BIRTH_TIMES = 1 << 8,
	/* A file has the same inode number after it was evicted from memory, and after a remount.
	 */
	PROMISE_INODES = 1 << 9,
	/* Files can share extents (FICLONE of ioctl_ficlone(2)). */
	PROMISE_EXTENTS = 1 << 10,
	/* Files can have holes. */
	PROMISE_HOLES = 1 << 11,
	/* st_blocks has all bytes of a file that have or will have blocks, as soon as they are
	 * written. Others count blocks when they reach the disk (ZFS), or not at all (some of
	 * FUSE). */
	PROMISE_BLOCKS = 1 << 12,
	/* A file can have several names, and all have its inode number. */
	PROMISE_LINKS = 1 << 13,
};

enum filesystem_trait {
	/* Files are lost when the machine stops. */
	TRAIT_MEMORY = 1 << 0,
	/* Shows files of other file systems. A removed file can remain in one of those. */
	TRAIT_LAYERED = 1 << 1,
	/* Is made as a whole and then only read. */
	TRAIT_IMAGE = 1 << 2,
	/* Several hosts can write to its disk. */
	TRAIT_CLUSTER = 1 << 3,
	/* Has no block device in st_dev, and no other host can serve it. */
	TRAIT_LOCAL = 1 << 4,
	/* Has subvolumes with their own st_dev. */
	TRAIT_SUBVOLUMES = 1 << 5,
	/* f_fsid of statfs(2) is made from the UUID, or from the device number. */
	TRAIT_FSID_OF_UUID = 1 << 6,
	TRAIT_FSID_OF_DEVICE = 1 << 7,
};

struct filesystem_facts {
	uint32_t type; /* f_type of statfs(2) */
	const char *name; /* as in /proc/self/mountinfo: "ext4", "fuse.sshfs" */
	unsigned int keeps, lacks; /* enum filesystem_promise */
	unsigned int traits; /* enum filesystem_trait */
};

/* Returns the row of a type; never NULL. Several rows can have one type. The row with the name is
 * preferred, then the first row of the type, which holds for all names. A type that the table lacks
 * has a row of its own, with no promise.
 *
 * type		f_type of statfs(2)
 * name		type of the mount in /proc/self/mountinfo, or NULL if unknown */
const struct filesystem_facts *filesystem_facts_of(uint32_t type, const char *name);

/* Returns whether the type is in the table. */
bool filesystem_facts_are_known(const struct filesystem_facts *facts);

enum filesystem_support {
	SUPPORT_NO,
	SUPPORT_UNKNOWN,
	SUPPORT_YES,
};

/* Returns whether hard links can be made. */
enum filesystem_support filesystem_links(const struct filesystem_facts *facts);

/* Returns whether a file can be renamed without the risk to replace another one: by
 * RENAME_NOREPLACE, or by a hard link and the removal of the old name. */
enum filesystem_support filesystem_moves(const struct filesystem_facts *facts);

/* Types whose files need calls of their own. */
#define FILESYSTEM_TYPE_FUSE 0x65735546
#define FILESYSTEM_TYPE_XFS 0x58465342

#endif
