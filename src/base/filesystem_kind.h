/* SPDX-License-Identifier: MIT */
#ifndef BASE_FILESYSTEM_KIND_H
#define BASE_FILESYSTEM_KIND_H

/* Properties of file systems, by type (base/filesystem_table.h). Any thread. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum filesystem_kind {
	/* Unknown type: the time stamps are possibly in seconds, like those of FAT. */
	FILESYSTEM_UNKNOWN,
	/* Local, with time stamps of the resolution of the kernel; or read-only. ext2 to ext4 with
	 * inodes of 128 bytes have stamps in seconds, but the same type. */
	FILESYSTEM_FINE,
	/* Shared with other hosts or served by a program (NFS, CIFS, 9p, FUSE, Ceph, AFS ...).
	 * Locks and shared mappings differ from those of a local file system. Other hosts can
	 * change files without an event. */
	FILESYSTEM_REMOTE,
};

/* Returns f_type of statfs(2) for the file system of fd. On failure returns 0, which no file system
 * has as its type.
 */
uint32_t filesystem_type_at(int fd);

/* Returns the kind of a file system; type is f_type of statfs(2). */
enum filesystem_kind filesystem_kind_of(uint32_t type);

/* Returns whether a file system of this type is made as a whole and then only read. The signature
 * of a file can then be the same as in an earlier image although the bytes differ. In reproducible
 * images, all times are set to the same value.
 *
 * type: f_type of statfs(2) */
bool filesystem_is_image(uint32_t type);

/* Returns whether a lease (F_SETLEASE of fcntl(2)) on a file of this type of file system detects
 * every writer. The kernel also grants leases on FUSE and other remote file systems. Such a lease
 * does not detect writers on another host, or writers that bypass the serving program. A FUSE file
 * system with a block device (fuseblk) has no such writers.
 *
 * type		f_type of statfs(2)
 * device	st_dev of the file */
bool filesystem_leases_are_reliable(uint32_t type, dev_t device);

/* Returns whether ctime always changes before a byte of a file does, also for a store to a shared
 * mapping. For that, the store must fault: the file system has a page_mkwrite that calls
 * file_update_time(), and write-back protects clean pages again. tmpfs and ramfs map pages writable
 * at a read fault and never protect them. overlayfs has the times of its layers, whose types
 * statfs(2) does not show. For these types and for unknown types the result is false.
 *
 * type: f_type of statfs(2) */
bool filesystem_times_are_reliable(uint32_t type);

/* Whether the ctime of a file is the time of its last change, which no program can choose. */
enum filesystem_ctime {
	CTIME_KEPT,
	/* The ctime is a copy of the mtime, which programs set to any value: the bytes of a file
	 * can change while its signature stays the same. */
	CTIME_ABSENT,
	CTIME_UNKNOWN, /* absent, until a file has a ctime that is not its mtime */
};

/* type: f_type of statfs(2) */
enum filesystem_ctime filesystem_ctime_of(uint32_t type);

/* Returns whether the bytes of a file can change while its times stay the same for ever. This is
 * true of file systems in memory, and of file systems with layers (filesystem_has_layers). On all
 * other file systems, the times change at the latest when the store is written to the disk or to
 * another host.
 *
 * type: f_type of statfs(2) */
bool filesystem_may_hide_stores(uint32_t type);

/* Returns whether the bytes of one regular file, open for reading, can change while its times stay
 * the same. On a file system with layers, examines the layer that has the file.
 */
bool filesystem_hides_stores_at(int fd);

/* Returns whether a file system of this type shows files of other file systems. A removed file can
 * remain in one of those file systems. Neither statfs(2) nor stat(2) shows in which layer a file
 * is.
 *
 * type: f_type of statfs(2) */
bool filesystem_has_layers(uint32_t type);

/* Returns whether the file system of fd has layers; false if statfs(2) fails. */
bool filesystem_has_layers_at(int fd);

/* Returns whether st_blocks has all bytes of a file that have or will have blocks, as soon as they
 * are written. Others count blocks when they reach the disk (ZFS), or not at all (some of FUSE).
 *
 * type: f_type of statfs(2) */
bool filesystem_counts_blocks(uint32_t type);

/* Returns whether files on the file system of fd can share extents (reflinks). fd must be open for
 * reading. Asks the file system where its type does not decide: XFS can be made without reflinks.
 */
bool filesystem_shares_extents_at(int fd);

/* Returns whether fd is on an XFS that was made without reflinks. */
bool filesystem_lacks_reflinks_at(int fd);

/* Returns whether a file system like that of fd can have subvolumes, as btrfs has; false if
 * statfs(2) fails. */
bool filesystem_has_subvolumes_at(int fd);

/* Returns whether f_fsid of statfs(2) is made from the UUID, or from the device number.
 *
 * type: f_type of statfs(2) */
bool filesystem_fsid_is_of_uuid(uint32_t type);
bool filesystem_fsid_is_of_device(uint32_t type);

/* Returns the kind of the file system of fd; FILESYSTEM_UNKNOWN if statfs(2) fails. */
enum filesystem_kind filesystem_kind_at(int fd);

/* Returns whether the open file is surely on a file system that no other host can write to or
 * serve: one with a block device, or of a type that has none but is local. Disks that several hosts
 * write to (GFS2, OCFS2), network file systems, FUSE without a block device, and unknown types
 * without one are not of this host. */
bool filesystem_is_of_this_host(int fd);

/* The same for a type, f_type of statfs(2), and a device, st_dev of the file. */
bool filesystem_type_is_of_this_host(uint32_t type, dev_t device);

/* Returns whether the file system of fd keeps its files in memory, so that they are lost when the
 * machine stops: tmpfs, ramfs, hugetlbfs, a block device in memory (brd, zram), or a layer above
 * one of these (base/storage.h), such as a loop device. Returns false if the layers cannot be
 * found. fd may be O_PATH. */
bool filesystem_is_in_memory_at(int fd);

/* Returns whether a directory is a stub: a snapshot of btrfs has an empty one in place of each
 * subvolume that was in the original. Nothing can be created in it. Its times are invented: they
 * are those of a look-up.
 *
 * type		f_type of statfs(2)
 * inode	number of the directory */
bool filesystem_is_stub(uint32_t type, uint64_t inode);

/* Returns whether fd is in a read-only snapshot: a subvolume of btrfs that is read-only, was made
 * from another one, and was not received (btrfs-receive(8)) as a backup is. fd may be an O_PATH
 * descriptor of a directory. */
bool filesystem_is_snapshot_at(int fd);

static inline bool is_remote_filesystem(int fd)
{
	return filesystem_kind_at(fd) == FILESYSTEM_REMOTE;
}

#endif
